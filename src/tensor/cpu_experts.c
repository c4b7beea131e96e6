/* Mixtures of experts: rows are collected by expert, and each expert's rows go through its matrices
 * in blocks. Sums over experts run in their order, so that results do not depend on threads. */
#include <math.h>

#include "base/ints.h"
#include "tensor/cpu_private.h"

enum { BLOCK = 256 }; /* rows of an expert at a time */

typedef struct {
    cs_cpu *cpu;
    const cs_op_experts *o;
    cs_cpu_matrix x, scores, in, out, y;
    float *weight;   /* R x chosen */
    int32_t *expert; /* R x chosen */
    int32_t *row;    /* BLOCK: of the whole matrix */
    float *share;    /* BLOCK: weights of these rows */
    float *rows, *units, *made;
} mixture;

static cs_status open_mixture(const cs_run *run, const cs_op_experts *o, mixture *t)
{
    *t = (mixture){.cpu = cs_cpu_of(run),
                   .o = o,
                   .x = cs_cpu_operand(run, o->x),
                   .scores = cs_cpu_operand(run, o->scores),
                   .in = cs_cpu_operand(run, o->in),
                   .out = cs_cpu_operand(run, o->out),
                   .y = cs_cpu_tensor(run, o->y)};
    const int64_t choices = t->x.rows * o->chosen, block = cs_least(BLOCK, t->x.rows),
                  width = t->x.cols, units = t->out.cols;
    cs_status status = cs_cpu_partial(t->cpu, 2 * choices + block * (2 + 2 * width + 2 * units));
    float *next = t->cpu->partial;
    t->weight = next;
    t->expert = (int32_t *)(void *)(next += choices);
    t->row = (int32_t *)(void *)(next += choices);
    t->share = next += block;
    t->rows = next += block;
    t->made = next += block * width;
    t->units = next + block * width;
    return status;
}

/* The experts of a row and their weights; `p` is scratch of one float an expert. */
static void choose(const void *ctx, int64_t r, float *p)
{
    const mixture *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t experts = t->scores.cols, chosen = t->o->chosen;
    float *weight = t->weight + r * chosen;
    int32_t *expert = t->expert + r * chosen;
    kernels->copy(experts, t->scores.x + r * t->scores.ld, p);
    const float all = kernels->exp_store(experts, kernels->max(experts, p), p);
    float sum = 0;
    for (int64_t k = 0; k < chosen; ++k) {
        int64_t best = 0;
        for (int64_t e = 1; e < experts; ++e) {
            best = p[e] > p[best] ? e : best;
        }
        weight[k] = p[best];
        expert[k] = (int32_t)best;
        sum += p[best];
        p[best] = -1;
    }
    kernels->scale(chosen, 1 / (t->o->normalised ? sum : all), weight, weight);
}

/* y += the weighted outputs of expert e for the `n` rows collected. */
static cs_status apply(const mixture *t, int64_t e, int64_t n)
{
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t width = t->x.cols, units = t->out.cols;
    for (int64_t i = 0; i < n; ++i) {
        kernels->copy(width, t->x.x + t->row[i] * t->x.ld, t->rows + i * width);
    }
    cs_cpu_product in = {.m = n,
                         .n = 2 * units,
                         .k = width,
                         .a = t->rows,
                         .lda = width,
                         .a_along = true,
                         .b = t->in.x + e * 2 * units * t->in.ld,
                         .ldb = t->in.ld,
                         .b_along = true,
                         .c = t->units,
                         .ldc = 2 * units};
    cs_status status = cs_cpu_multiply(t->cpu, &in);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        float *a = t->units + i * 2 * units;
        kernels->activate(t->o->act, units, a, a);
        kernels->multiply(units, a + units, a);
    }
    cs_cpu_product out = {.m = n,
                          .n = width,
                          .k = units,
                          .a = t->units,
                          .lda = 2 * units,
                          .a_along = true,
                          .b = t->out.x + e * width * t->out.ld,
                          .ldb = t->out.ld,
                          .b_along = true,
                          .c = t->made,
                          .ldc = width};
    if (status == CS_OK) status = cs_cpu_multiply(t->cpu, &out);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        kernels->axpy(width, t->share[i], t->made + i * width, t->y.x + t->row[i] * t->y.ld);
    }
    return status;
}

cs_status cs_cpu_experts(const cs_run *run, const cs_op *op)
{
    mixture t;
    cs_status status = open_mixture(run, &op->experts, &t);
    if (status == CS_OK) status = cs_cpu_rows(t.cpu, t.x.rows, t.scores.cols, choose, &t);
    for (int64_t r = 0; r < t.y.rows && status == CS_OK; ++r) {
        cs_cpu_put(t.cpu->kernels, t.y.cols, NULL, t.y.x + r * t.y.ld, false);
    }
    for (int64_t e = 0; e < t.scores.cols && status == CS_OK; ++e) {
        int64_t n = 0;
        for (int64_t i = 0; i < t.x.rows * t.o->chosen && status == CS_OK; ++i) {
            if (t.expert[i] == e) {
                t.row[n] = (int32_t)(i / t.o->chosen);
                t.share[n++] = t.weight[i];
            }
            if (n == BLOCK) {
                status = apply(&t, e, n);
                n = 0;
            }
        }
        if (n > 0 && status == CS_OK) status = apply(&t, e, n);
    }
    return status;
}

/* No graph with experts is trained. */
cs_status cs_cpu_experts_back(const cs_run *run, const cs_op *op)
{
    (void)run;
    (void)op;
    return cs_fail(CS_ERR_USAGE, "experts have no gradient");
}
