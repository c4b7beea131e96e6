/* Linear attention pooled over rows, in time linear in the keys.
 *
 * Keys sorted by rank, every row sees a prefix (cpu_ranks.c). With M = sum of k v^T and Q = sum of
 * q over the prefix, kept up while walking the keys, y = f Q^T M,   Q' = f M y',   f = n^-power,
 * and walking back with G = sum of f Q y'^T over the rows that see a key,
 *   k' = G v,   v' = G^T k,   q' = sum of Q' over those rows.
 * One item of work per sequence and head: width^2 a key and a row.
 */
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "tensor/cpu_private.h"

typedef struct {
    const cs_run *run;
    const cs_op_attention *o;
    cs_cpu *cpu;
    cs_cpu_matrix q, k, v, sum, y;
    int64_t width;
} pooled;

static cs_status open_pooled(const cs_run *run, const cs_op_attention *o, pooled *t)
{
    *t = (pooled){.run = run,
                  .o = o,
                  .cpu = cs_cpu_of(run),
                  .q = cs_cpu_operand(run, o->q),
                  .k = cs_cpu_operand(run, o->k),
                  .v = cs_cpu_operand(run, o->v),
                  .sum = cs_cpu_tensor(run, o->sum),
                  .y = cs_cpu_tensor(run, o->y)};
    t->width = t->q.cols / o->heads;
    /* M or G, Q, a row of a gradient; Q' of all rows */
    cs_status status =
        cs_cpu_local(t->cpu, t->width * (t->width + 3) + t->y.length * t->width + 64);
    return status == CS_OK ? cs_cpu_rank(run, o->vis, o->lim) : status;
}

static float factor_of(const pooled *t, int64_t seen)
{
    return seen > 0 ? (float)pow((double)seen, -t->o->power) : 0.0F;
}

/* m += a b^T */
static void outer(const pooled *t, const float *a, const float *b, float *m)
{
    for (int64_t i = 0; i < t->width; ++i) {
        t->cpu->kernels->axpy(t->width, a[i], b, m + i * t->width);
    }
}

/* out = m^T a */
static void across(const pooled *t, const float *m, const float *a, float *out)
{
    memset(out, 0, (size_t)t->width * sizeof *out);
    for (int64_t i = 0; i < t->width; ++i) {
        t->cpu->kernels->axpy(t->width, a[i], m + i * t->width, out);
    }
}

/* out = m a */
static void along(const pooled *t, const float *m, const float *a, float *out)
{
    for (int64_t i = 0; i < t->width; ++i) {
        out[i] = t->cpu->kernels->dot(t->width, m + i * t->width, a);
    }
}

static cs_status pool(void *ctx, int64_t item, int worker)
{
    const pooled *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t b = item / t->o->heads, w = t->width, col = item % t->o->heads * w;
    cs_cpu_ranks ranks = cs_cpu_ranks_of(t->run, t->o->vis, t->o->lim, b);
    float *m = cs_cpu_local_of(t->cpu, worker), *sum = m + w * w;
    memset(m, 0, (size_t)(w * w + w) * sizeof *m);
    for (int64_t i = 0, j = 0; i < t->y.length; ++i) {
        for (; j < ranks.seen[i]; ++j) {
            int64_t row = b * t->k.length + ranks.key[j];
            kernels->add(w, t->q.x + row * t->q.ld + col, sum);
            outer(t, t->k.x + row * t->k.ld + col, t->v.x + row * t->v.ld + col, m);
        }
        int64_t row = b * t->y.length + ranks.query[i];
        float *y = t->y.x + row * t->y.ld + col;
        kernels->copy(w, sum, t->sum.x + row * t->sum.ld + col);
        across(t, m, sum, y);
        kernels->scale(w, factor_of(t, ranks.seen[i]), y, y);
    }
    return CS_OK;
}

cs_status cs_cpu_linear_attention(const cs_run *run, const cs_op *op)
{
    pooled t;
    cs_status status = open_pooled(run, &op->attention, &t);
    return status == CS_OK ? cs_parallel_workers(t.k.batch * t.o->heads, t.cpu->threads, pool, &t)
                           : status;
}

static void put_row(const pooled *t, const cs_cpu_matrix *to, int64_t row, int64_t col,
                    const float *from)
{
    cs_cpu_put(t->cpu->kernels, t->width, from, to->grad + row * to->ld + col, to->add);
}

/* Q' of every row, in sorted order. */
static void sum_gradients(const pooled *t, const cs_cpu_ranks *ranks, int64_t b, int64_t col,
                          float *m, float *dsum)
{
    const int64_t w = t->width;
    memset(m, 0, (size_t)(w * w) * sizeof *m);
    for (int64_t i = 0, j = 0; i < t->y.length; ++i) {
        for (; j < ranks->seen[i]; ++j) {
            int64_t row = b * t->k.length + ranks->key[j];
            outer(t, t->k.x + row * t->k.ld + col, t->v.x + row * t->v.ld + col, m);
        }
        const float *dy = t->y.grad + (b * t->y.length + ranks->query[i]) * t->y.ld + col;
        along(t, m, dy, dsum + i * w);
        t->cpu->kernels->scale(w, factor_of(t, ranks->seen[i]), dsum + i * w, dsum + i * w);
    }
}

static cs_status pool_back(void *ctx, int64_t item, int worker)
{
    const pooled *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t b = item / t->o->heads, w = t->width, col = item % t->o->heads * w;
    cs_cpu_ranks ranks = cs_cpu_ranks_of(t->run, t->o->vis, t->o->lim, b);
    float *g = cs_cpu_local_of(t->cpu, worker), *dq = g + w * w, *row_out = dq + w;
    float *scaled = row_out + w, *dsum = scaled + w;
    sum_gradients(t, &ranks, b, col, g, dsum);
    memset(g, 0, (size_t)(w * w + w) * sizeof *g);
    for (int64_t j = t->k.length - 1, i = t->y.length - 1; j >= 0; --j) {
        for (; i >= 0 && ranks.seen[i] > j; --i) {
            int64_t row = b * t->y.length + ranks.query[i];
            kernels->scale(w, factor_of(t, ranks.seen[i]), t->sum.x + row * t->sum.ld + col,
                           scaled);
            outer(t, scaled, t->y.grad + row * t->y.ld + col, g);
            kernels->add(w, dsum + i * w, dq);
        }
        int64_t row = b * t->k.length + ranks.key[j];
        if (t->q.grad) {
            put_row(t, &t->q, row, col, dq);
        }
        if (t->k.grad) {
            along(t, g, t->v.x + row * t->v.ld + col, row_out);
            put_row(t, &t->k, row, col, row_out);
        }
        if (t->v.grad) {
            across(t, g, t->k.x + row * t->k.ld + col, row_out);
            put_row(t, &t->v, row, col, row_out);
        }
    }
    return CS_OK;
}

cs_status cs_cpu_linear_attention_back(const cs_run *run, const cs_op *op)
{
    pooled t;
    cs_status status = open_pooled(run, &op->attention, &t);
    return status ? status
                  : cs_parallel_workers(t.k.batch * t.o->heads, t.cpu->threads, pool_back, &t);
}
