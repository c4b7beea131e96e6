/* Linear maps: one product forward, two backward, with bias and activation while C is in cache.
 *
 * Backward turns y' into z' in place, row block by row block, just before the product that makes x'
 * packs those rows; the same pass sums the bias' gradient by chunks of CS_CPU_CHUNK rows.
 */

#include "base/threads.h"
#include "tensor/cpu_private.h"

typedef struct {
    cs_cpu *cpu;
    cs_activation act;
    cs_cpu_matrix x, w, b, z, y;
    float *partial; /* of the bias: chunks x cols; NULL without */
} linear;

static linear linear_of(const cs_run *run, const cs_op_linear *o)
{
    return (linear){.cpu = cs_cpu_of(run),
                    .act = o->act,
                    .x = cs_cpu_operand(run, o->x),
                    .w = cs_cpu_operand(run, o->w),
                    .b = cs_cpu_operand(run, o->b),
                    .z = cs_cpu_tensor(run, o->z),
                    .y = cs_cpu_tensor(run, o->y)};
}

static void activate_part(void *ctx, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    const linear *t = ctx;
    const cs_cpu_matrix *z = t->z.x ? &t->z : &t->y;
    for (int64_t r = row; r < row + rows; ++r) {
        t->cpu->kernels->activate(t->act, cols, z->x + r * z->ld + col, t->y.x + r * t->y.ld + col);
    }
}

/* Rows of padding of x, in which product left what was there before, become 0. */
static void clear_padding(const cs_cpu_kernels *kernels, const cs_cpu_matrix *of, float *x)
{
    for (int64_t b = 0; of->live && x && b < of->batch; ++b) {
        const int64_t first = b * of->length + of->live[b + 1] - of->live[b];
        for (int64_t r = first; r < (b + 1) * of->length; ++r) {
            cs_cpu_put(kernels, of->cols, NULL, x + r * of->ld, false);
        }
    }
}

static cs_cpu_filled filled(const cs_cpu_matrix *m)
{
    return (cs_cpu_filled){m->live, m->batch, m->length};
}

cs_status cs_cpu_linear(const cs_run *run, const cs_op *op)
{
    linear t = linear_of(run, &op->linear);
    const cs_cpu_matrix *z = t.z.x ? &t.z : &t.y;
    cs_cpu_product product = {.m = t.x.rows,
                              .n = t.w.rows,
                              .k = t.x.cols,
                              .a = t.x.x,
                              .lda = t.x.ld,
                              .a_along = true,
                              .b = t.w.x,
                              .ldb = t.w.ld,
                              .b_along = true,
                              .c = z->x,
                              .ldc = z->ld,
                              .rows = filled(&t.x),
                              .bias = t.b.x,
                              .after = t.act != CS_ACT_NONE ? activate_part : NULL,
                              .ctx = &t};
    clear_padding(t.cpu->kernels, &t.y, t.y.x);
    clear_padding(t.cpu->kernels, &t.z, t.z.x);
    return cs_cpu_multiply(t.cpu, &product);
}

/* z' over y', and sums of its columns by chunks. */
static void start_rows(void *ctx, int64_t row, int64_t rows)
{
    const linear *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t n = t->y.cols;
    for (int64_t r = row; r < row + rows; ++r) {
        float *dz = t->y.grad + r * t->y.ld;
        float *sum = t->partial ? t->partial + r / CS_CPU_CHUNK * n : NULL;
        if (t->act != CS_ACT_NONE) {
            kernels->slope(t->act, n, t->z.x + r * t->z.ld, dz);
        }
        if (sum && r % CS_CPU_CHUNK == 0) {
            kernels->copy(n, dz, sum);
        } else if (sum) {
            kernels->add(n, dz, sum);
        }
    }
}

static cs_status start_chunk(void *ctx, int64_t item)
{
    const linear *t = ctx;
    int64_t row = item * CS_CPU_CHUNK, left = t->y.rows - row;
    start_rows(ctx, row, left < CS_CPU_CHUNK ? left : CS_CPU_CHUNK);
    return CS_OK;
}

static cs_status input_gradient(linear *t, bool start)
{
    cs_cpu_product product = {.m = t->x.rows,
                              .n = t->x.cols,
                              .k = t->y.cols,
                              .a = t->y.grad,
                              .lda = t->y.ld,
                              .a_along = true,
                              .b = t->w.x,
                              .ldb = t->w.ld,
                              .c = t->x.grad,
                              .ldc = t->x.ld,
                              .add = t->x.add,
                              .rows = filled(&t->x),
                              .before = start ? start_rows : NULL,
                              .ctx = t};
    if (!t->x.add) clear_padding(t->cpu->kernels, &t->x, t->x.grad);
    return cs_cpu_multiply(t->cpu, &product);
}

static cs_status weight_gradient(linear *t)
{
    cs_cpu_product product = {.m = t->w.rows,
                              .n = t->w.cols,
                              .k = t->y.rows,
                              .a = t->y.grad,
                              .lda = t->y.ld,
                              .b = t->x.x,
                              .ldb = t->x.ld,
                              .c = t->w.grad,
                              .ldc = t->w.ld,
                              .steps = filled(&t->y),
                              .add = true};
    return cs_cpu_multiply(t->cpu, &product);
}

cs_status cs_cpu_linear_back(const cs_run *run, const cs_op *op)
{
    linear t = linear_of(run, &op->linear);
    const int64_t chunks = cs_cpu_chunks(t.y.rows);
    bool start = t.act != CS_ACT_NONE || t.b.grad;
    cs_status status = CS_OK;
    if (t.b.grad) {
        status = cs_cpu_partial(t.cpu, chunks * t.y.cols);
        t.partial = t.cpu->partial;
    }
    const bool apart = start && (!t.x.grad || t.x.live); /* pieces of rows end within chunks */
    if (status == CS_OK && apart) status = cs_parallel(chunks, t.cpu->threads, start_chunk, &t);
    if (status == CS_OK && t.x.grad) status = input_gradient(&t, start && !apart);
    if (status == CS_OK && t.w.grad) status = weight_gradient(&t);
    return status == CS_OK ? cs_cpu_reduce(t.cpu, chunks, t.y.cols, t.y.cols, t.partial, t.b.grad)
                           : status;
}
