/* Layer norm, of whole rows or of their parts, with the residual sum before it. Gradients of gain and bias
 * are summed by chunks of CS_CPU_CHUNK rows, then over the chunks in their order. */
#include <string.h>

#include "base/threads.h"
#include "tensor/cpu_private.h"

typedef struct {
    cs_cpu *cpu;
    cs_cpu_matrix x, r, gain, bias, s, y, mean, rstd;
    cs_cpu_drop drop;
    float eps;
    bool s_used, rms;
    int64_t groups, part; /* columns of a part */
    int64_t gains, next;  /* gains, and from those of a part to those of the next */
    float *partial;       /* chunks x 2 gains: gain, bias */
} norm_job;

static norm_job norm_of(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    const int64_t part = cs_cpu_tensor(run, o->y).cols / o->groups,
                  gains = cs_cpu_operand(run, o->gain).cols;
    return (norm_job){.groups = o->groups,
                      .part = part,
                      .gains = gains,
                      .next = gains > part ? part : 0,
                      .rms = o->rms,
                      .cpu = cs_cpu_of(run),
                      .x = cs_cpu_operand(run, o->x),
                      .r = cs_cpu_operand(run, o->r),
                      .gain = cs_cpu_operand(run, o->gain),
                      .bias = cs_cpu_operand(run, o->bias),
                      .s = cs_cpu_tensor(run, o->s == CS_NONE ? o->x.tensor : o->s),
                      .y = cs_cpu_tensor(run, o->y),
                      .mean = cs_cpu_tensor(run, o->mean),
                      .rstd = cs_cpu_tensor(run, o->rstd),
                      .drop = cs_cpu_drop_of(run, op, 0, o->p),
                      .eps = (float)o->eps,
                      .s_used = o->s_used};
}

/* x *= keep / (1 - p) of row r. */
static void apply_drop(const norm_job *t, int64_t r, float *x, float *scratch)
{
    if (t->drop.drops) {
        cs_cpu_drop row = t->drop;
        row.row = (uint32_t)r;
        t->cpu->kernels->drop(&row, t->y.cols, scratch);
        t->cpu->kernels->multiply(t->y.cols, scratch, x);
    }
}

static void norm_row(const void *ctx, int64_t r, float *scratch)
{
    const norm_job *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    float *s = t->s.x + r * t->s.ld;
    if (t->r.x) {
        kernels->copy(t->y.cols, t->r.x + r * t->r.ld, s);
        apply_drop(t, r, s, scratch);
        kernels->add(t->y.cols, t->x.x + r * t->x.ld, s);
    }
    for (int64_t g = 0; g < t->groups; ++g) {
        cs_cpu_norm_row row = {.n = t->part,
                               .s = s + g * t->part,
                               .gain = t->gain.x + g * t->next,
                               .bias = t->bias.x ? t->bias.x + g * t->next : NULL,
                               .eps = t->eps,
                               .rms = t->rms,
                               .y = t->y.x + r * t->y.ld + g * t->part,
                               .mean = t->mean.x + r * t->mean.ld + g,
                               .rstd = t->rstd.x + r * t->rstd.ld + g};
        kernels->norm(&row);
    }
}

cs_status cs_cpu_layer_norm(const cs_run *run, const cs_op *op)
{
    norm_job t = norm_of(run, op);
    return cs_cpu_rows(t.cpu, t.y.rows, t.y.cols, norm_row, &t);
}

static cs_status norm_back_chunk(void *ctx, int64_t item, int worker)
{
    const norm_job *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t n = t->y.cols;
    float *ds = cs_cpu_local_of(t->cpu, worker), *scratch = ds + n;
    float *sums = t->partial + item * 2 * t->gains;
    memset(sums, 0, (size_t)(2 * t->gains) * sizeof *sums);
    for (int64_t r = item * CS_CPU_CHUNK; r < cs_cpu_chunk_end(item, t->y.rows); ++r) {
        for (int64_t g = 0; g < t->groups; ++g) {
            const int64_t first = g * t->part;
            cs_cpu_norm_back_row row = {.n = t->part,
                                        .s = t->s.x + r * t->s.ld + first,
                                        .gain = t->gain.x + g * t->next,
                                        .dy = t->y.grad + r * t->y.ld + first,
                                        .held = t->s_used ? t->s.grad + r * t->s.ld + first : NULL,
                                        .mean = t->mean.x[r * t->mean.ld + g],
                                        .rstd = t->rstd.x[r * t->rstd.ld + g],
                                        .rms = t->rms,
                                        .ds = t->x.grad || t->r.grad ? ds + first : NULL,
                                        .dgain = t->gain.grad ? sums + g * t->next : NULL,
                                        .dbias =
                                            t->bias.grad ? sums + t->gains + g * t->next : NULL};
            kernels->norm_back(&row);
        }
        if (t->x.grad) {
            cs_cpu_put(kernels, n, ds, t->x.grad + r * t->x.ld, t->x.add);
        }
        if (t->r.grad) {
            apply_drop(t, r, ds, scratch);
            cs_cpu_put(kernels, n, ds, t->r.grad + r * t->r.ld, t->r.add);
        }
    }
    return CS_OK;
}

cs_status cs_cpu_layer_norm_back(const cs_run *run, const cs_op *op)
{
    norm_job t = norm_of(run, op);
    const int64_t n = t.gains, chunks = cs_cpu_chunks(t.y.rows);
    cs_status status = cs_cpu_local(t.cpu, 2 * t.y.cols);
    if (status == CS_OK) status = cs_cpu_partial(t.cpu, chunks * 2 * n);
    if (status != CS_OK) return status;
    t.partial = t.cpu->partial;
    status = cs_parallel_workers(chunks, t.cpu->threads, norm_back_chunk, &t);
    if (status == CS_OK) status = cs_cpu_reduce(t.cpu, chunks, n, 2 * n, t.partial, t.gain.grad);
    return status == CS_OK ? cs_cpu_reduce(t.cpu, chunks, n, 2 * n, t.partial + n, t.bias.grad)
                           : status;
}
