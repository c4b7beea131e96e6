/* The double reference with every activation and its gradient rounded to bf16 after the operation
 * that wrote it: how far such rounding alone carries a result, whatever its condition. Gradients
 * that cancel (of keys and queries, of layer norms' inputs) have larger errors than their size
 * suggests. */
#include <math.h>

#include "tensor_support.h"

/* The reference's own functions, while it rounds. */
static struct {
    cs_status (*forward[CS_OP_COUNT])(const cs_run *run, const cs_op *op);
    cs_status (*backward[CS_OP_COUNT])(const cs_run *run, const cs_op *op);
} exact;

/* To 8 bits, half to even. */
static double to_bf16(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return isfinite(x) ? ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8) : x;
}

static void round_matrix(const cs_matrix *m, double *x)
{
    for (int64_t r = 0; x && r < m->rows; ++r) {
        for (int64_t c = 0; c < m->cols; ++c) {
            x[r * m->ld + c] = to_bf16(x[r * m->ld + c]);
        }
    }
}

static void round_tensor(const cs_run *run, int tensor)
{
    if (tensor != CS_NONE && run->graph->tensor[tensor].space == CS_SPACE_ACTIVATION) {
        cs_matrix m = cs_run_matrix(run, tensor);
        round_matrix(&m, m.x);
    }
}

static cs_status rounded_forward(const cs_run *run, const cs_op *op)
{
    cs_status status = exact.forward[op->kind](run, op);
    switch (op->kind) {
    case CS_OP_LINEAR:
        round_tensor(run, op->linear.z);
        round_tensor(run, op->linear.y);
        break;
    case CS_OP_EMBED:
        round_tensor(run, op->embed.y);
        break;
    case CS_OP_ADD:
        round_tensor(run, op->add.y);
        break;
    case CS_OP_LAYER_NORM:
        round_tensor(run, op->layer_norm.s);
        round_tensor(run, op->layer_norm.y);
        break;
    case CS_OP_ATTENTION:
    case CS_OP_LINEAR_ATTENTION:
        round_tensor(run, op->attention.y);
        break;
    default: /* rows are moved, losses are statistics */
        break;
    }
    return status;
}

static void round_gradient(void *ctx, cs_operand *operand)
{
    const cs_run *run = ctx;
    if (operand->grad && run->graph->tensor[operand->tensor].space == CS_SPACE_ACTIVATION) {
        cs_matrix m = cs_run_matrix(run, operand->tensor);
        round_matrix(&m, m.grad);
    }
}

static cs_status rounded_backward(const cs_run *run, const cs_op *op)
{
    cs_op copy = *op;
    cs_run seen = *run;
    cs_status status = exact.backward[op->kind](run, op);
    cs_op_operands(&copy, round_gradient, &seen);
    return status;
}

void cs_tensor_round(cs_backend *ref)
{
    for (int i = 0; i < CS_OP_COUNT; ++i) {
        exact.forward[i] = ref->forward[i];
        exact.backward[i] = ref->backward[i];
        ref->forward[i] = rounded_forward;
        ref->backward[i] = rounded_backward;
    }
}
