/* Rows moved and added: embeddings, gathers, residual sums. */
#include <string.h>

#include "base/threads.h"
#include "tensor/cpu_private.h"

typedef struct {
    cs_cpu *cpu;
    cs_cpu_matrix x, y;
    int tables;
    cs_cpu_matrix table[CS_EMBED_TABLES];
    const int32_t *index[CS_EMBED_TABLES], *order[CS_EMBED_TABLES];
    int at; /* the table whose gradient is computed */
} rows_job;

/* --- scatter: to[index[r]] += from[r] --------------------------------------------------------- */

/* Rows of one stretch of the sorted list. An index belongs to the stretch of its first row, so that
 * its rows are added by one worker in rising order. */
static void scatter_chunk(const cs_cpu *cpu, int64_t chunk, const int32_t *index,
                          const int32_t *order, const cs_cpu_matrix *from, float *to, int64_t ld)
{
    const int64_t rows = from->rows, end = cs_cpu_chunk_end(chunk, rows);
    int64_t i = chunk * CS_CPU_CHUNK;
    while (i > 0 && i < end && index[order[i]] == index[order[i - 1]]) {
        ++i;
    }
    if (i == end) {
        return;
    }
    for (; i < rows && index[order[i]] >= 0; ++i) {
        if (i >= end && index[order[i]] != index[order[i - 1]]) {
            break;
        }
        cpu->kernels->add(from->cols, from->grad + order[i] * from->ld, to + index[order[i]] * ld);
    }
}

static cs_status scatter_table(void *ctx, int64_t item)
{
    const rows_job *t = ctx;
    const cs_cpu_matrix *table = &t->table[t->at];
    scatter_chunk(t->cpu, item, t->index[t->at], t->order[t->at], &t->y, table->grad, table->ld);
    return CS_OK;
}

/* --- embed ------------------------------------------------------------------------------------ */

static rows_job embed_of(const cs_run *run, const cs_op_embed *o)
{
    rows_job t = {
        .cpu = cs_cpu_of(run), .x = cs_cpu_operand(run, o->x), .y = cs_cpu_tensor(run, o->y)};
    for (; t.tables < CS_EMBED_TABLES && o->table[t.tables].tensor != CS_NONE; ++t.tables) {
        t.table[t.tables] = cs_cpu_operand(run, o->table[t.tables]);
        t.index[t.tables] = cs_run_ints(run, o->index[t.tables]);
        t.order[t.tables] = cs_run_order(run, o->index[t.tables]);
    }
    return t;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void embed_row(const void *ctx, int64_t r, float *scratch)
{
    (void)scratch;
    const rows_job *t = ctx;
    const int64_t n = t->y.cols;
    float *y = t->y.x + r * t->y.ld;
    cs_cpu_put(t->cpu->kernels, n, t->x.x ? t->x.x + r * t->x.ld : NULL, y, false);
    for (int i = 0; i < t->tables; ++i) {
        if (t->index[i][r] >= 0) {
            t->cpu->kernels->add(n, t->table[i].x + t->index[i][r] * t->table[i].ld, y);
        }
    }
}

cs_status cs_cpu_embed(const cs_run *run, const cs_op *op)
{
    rows_job t = embed_of(run, &op->embed);
    return cs_cpu_rows(t.cpu, t.y.rows, 0, embed_row, &t);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void embed_back_row(const void *ctx, int64_t r, float *scratch)
{
    (void)scratch;
    const rows_job *t = ctx;
    cs_cpu_put(t->cpu->kernels, t->y.cols, t->y.grad + r * t->y.ld, t->x.grad + r * t->x.ld,
               t->x.add);
}

cs_status cs_cpu_embed_back(const cs_run *run, const cs_op *op)
{
    rows_job t = embed_of(run, &op->embed);
    const int64_t chunks = cs_cpu_chunks(t.y.rows);
    cs_status status = t.x.grad ? cs_cpu_rows(t.cpu, t.y.rows, 0, embed_back_row, &t) : CS_OK;
    for (t.at = 0; t.at < t.tables && status == CS_OK; ++t.at) {
        if (t.table[t.at].grad) {
            status = cs_parallel(chunks, t.cpu->threads, scatter_table, &t);
        }
    }
    return status;
}

/* --- gather ----------------------------------------------------------------------------------- */

static rows_job gather_of(const cs_run *run, const cs_op_gather *o)
{
    return (rows_job){.cpu = cs_cpu_of(run),
                      .x = cs_cpu_operand(run, o->x),
                      .y = cs_cpu_tensor(run, o->y),
                      .tables = 1,
                      .table = {cs_cpu_operand(run, o->x)},
                      .index = {cs_run_ints(run, o->index)},
                      .order = {cs_run_order(run, o->index)}};
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void gather_row(const void *ctx, int64_t r, float *scratch)
{
    (void)scratch;
    const rows_job *t = ctx;
    int64_t from = t->index[0][r];
    cs_cpu_put(t->cpu->kernels, t->y.cols, from >= 0 ? t->x.x + from * t->x.ld : NULL,
               t->y.x + r * t->y.ld, false);
}

cs_status cs_cpu_gather(const cs_run *run, const cs_op *op)
{
    rows_job t = gather_of(run, &op->gather);
    return cs_cpu_rows(t.cpu, t.y.rows, 0, gather_row, &t);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void clear_row(const void *ctx, int64_t r, float *scratch)
{
    (void)scratch;
    const rows_job *t = ctx;
    memset(t->x.grad + r * t->x.ld, 0, (size_t)t->x.cols * sizeof *t->x.grad);
}

cs_status cs_cpu_gather_back(const cs_run *run, const cs_op *op)
{
    rows_job t = gather_of(run, &op->gather);
    cs_status status = t.x.add ? CS_OK : cs_cpu_rows(t.cpu, t.x.rows, 0, clear_row, &t);
    return status == CS_OK ? cs_parallel(cs_cpu_chunks(t.y.rows), t.cpu->threads, scatter_table, &t)
                           : status;
}

/* --- add -------------------------------------------------------------------------------------- */

typedef struct {
    const cs_cpu_kernels *kernels;
    cs_cpu_matrix a, b, y;
    cs_cpu_drop drop;
} adding;

static cs_status by_rows(const cs_run *run, const cs_op *op, cs_cpu_row row)
{
    adding t = {.kernels = cs_cpu_of(run)->kernels,
                .a = cs_cpu_operand(run, op->add.a),
                .b = cs_cpu_operand(run, op->add.b),
                .y = cs_cpu_tensor(run, op->add.y),
                .drop = cs_cpu_drop_of(run, op, 0, op->add.p)};
    return cs_cpu_rows(cs_cpu_of(run), t.y.rows, t.y.cols, row, &t);
}

/* Row r through dropout into `scratch`; or `x` itself where nothing is dropped. */
static const float *dropped(const adding *t, int64_t r, const float *x, float *scratch)
{
    if (!t->drop.drops) {
        return x;
    }
    cs_cpu_drop row = t->drop;
    row.row = (uint32_t)r;
    t->kernels->drop(&row, t->y.cols, scratch);
    t->kernels->multiply(t->y.cols, x, scratch);
    return scratch;
}

static void add_row(const void *ctx, int64_t r, float *scratch)
{
    const adding *t = ctx;
    float *y = t->y.x + r * t->y.ld;
    const float *b = dropped(t, r, t->b.x + r * t->b.ld, scratch);
    if (t->a.x) {
        t->kernels->copy(t->y.cols, t->a.x + r * t->a.ld, y);
    }
    cs_cpu_put(t->kernels, t->y.cols, b, y, t->a.x != NULL);
}

static void add_back_row(const void *ctx, int64_t r, float *scratch)
{
    const adding *t = ctx;
    const float *dy = t->y.grad + r * t->y.ld;
    if (t->a.grad) {
        cs_cpu_put(t->kernels, t->y.cols, dy, t->a.grad + r * t->a.ld, t->a.add);
    }
    if (t->b.grad) {
        cs_cpu_put(t->kernels, t->y.cols, dropped(t, r, dy, scratch), t->b.grad + r * t->b.ld,
                   t->b.add);
    }
}

CS_CPU_BOTH(add, by_rows, add_row, add_back_row)
