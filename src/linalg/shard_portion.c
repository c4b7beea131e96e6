/* Portions of a matrix in shards, and the exchange of entries by their columns.
 *
 * A message has at most the entries of a rank's portion. In step s every rank sends to the rank s
 * places further on, so that each sends and receives one message at a time. */
#include "linalg/shard_portion_private.h"

#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "linalg/matrix_shards_private.h"
#include "linalg/matrix_stream_private.h"

/* --- portions --------------------------------------------------------------------------------- */

/* The rank in whose share of the nonzeros the middle of shard `number` is. */
static int rank_of(const cs_matrix_index *x, int64_t number, int64_t before, int ranks)
{
    __extension__ typedef unsigned __int128 wide;
    const wide middle = 2 * (wide)before + (wide)x->shard[number].nonzeros;
    const wide rank = x->nonzeros > 0 ? middle * (unsigned)ranks / (2 * (wide)x->nonzeros) : 0;
    return rank < (unsigned)ranks ? (int)rank : ranks - 1;
}

cs_portion cs_portion_of(const cs_matrix_index *x, int rank, int ranks)
{
    cs_portion p = {0};
    if (x->shards < ranks) {
        const int64_t shard = rank * x->shards / ranks;
        const int64_t first = cs_ceiling(shard * ranks, x->shards),
                      end = cs_ceiling((shard + 1) * ranks, x->shards);
        const cs_shard_record *s = &x->shard[shard];
        const int64_t group = end - first, each = s->rows / group, rest = s->rows % group,
                      i = rank - first;
        p = (cs_portion){.from = shard, .to = shard + 1};
        p.low = s->first_row + i * each + cs_least(i, rest);
        p.high = p.low + each + (i < rest);
        return p;
    }
    int64_t before = 0;
    p.from = x->shards;
    for (int64_t i = 0; i < x->shards; ++i) {
        if (rank_of(x, i, before, ranks) == rank) {
            p.from = cs_least(p.from, i);
            p.to = i + 1;
        }
        before += x->shard[i].nonzeros;
    }
    if (p.from < p.to) {
        p.low = x->shard[p.from].first_row;
        p.high = x->shard[p.to - 1].first_row + x->shard[p.to - 1].rows;
    }
    return p;
}

typedef struct {
    const char *dir;
    const cs_matrix_index *index;
    cs_portion part;
    const cs_row_visitor *to;
} visit;

static cs_status begin_shard(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    (void)ctx;
    (void)rows;
    (void)cols;
    (void)entries;
    return CS_OK;
}

static cs_status visit_row(void *ctx, int64_t row, int64_t n, const int32_t *col, const double *val)
{
    const visit *v = ctx;
    return row >= v->part.low && row < v->part.high ? v->to->row(v->to->ctx, row, n, col, val)
                                                    : CS_OK;
}

static cs_status visit_portion(void *ctx, const cs_row_visitor *visitor)
{
    visit *v = ctx;
    const cs_matrix_index *x = v->index;
    const cs_row_visitor within = {v, begin_shard, visit_row};
    int64_t entries = 0;
    v->to = visitor;
    for (int64_t i = v->part.from; i < v->part.to; ++i) {
        entries += x->shard[i].nonzeros;
    }
    cs_status status = visitor->begin(visitor->ctx, x->rows, x->cols, entries);
    for (int64_t i = v->part.from; i < v->part.to && status == CS_OK; ++i) {
        status = cs_shard_stream(v->dir, x, CS_SHARD_MATRIX, i, &within);
    }
    return status;
}

cs_status cs_portion_read(const char *dir, const cs_matrix_index *x, int rank, int ranks,
                          cs_nonempty_rows *rows, cs_csr *out)
{
    visit v = {.dir = dir, .index = x, .part = cs_portion_of(x, rank, ranks)};
    return cs_rows_collect(dir, visit_portion, &v, rows, out);
}

/* --- exchange --------------------------------------------------------------------------------- */

void cs_column_swap_free(cs_column_swap *x)
{
    CS_FREE_FIELDS(x, row, first_row, first_entry, own, count);
    CS_FREE_FIELDS(&x->out, count, col, val);
    cs_csr_free(&x->all);
    *x = (cs_column_swap){0};
}

static void next_to(const cs_comm *c, int step, int *to, int *from)
{
    *to = (c->rank + step) % c->ranks;
    *from = (c->rank - step + c->ranks) % c->ranks;
}

/* Arrays as long as there are ranks, or as long as the own rows. */
static cs_status make_lists(cs_comm *c, const cs_nonempty_rows *rows, cs_column_swap *x)
{
    x->first_row = cs_calloc(c->ranks + 1, sizeof *x->first_row);
    x->first_entry = cs_calloc(c->ranks + 1, sizeof *x->first_entry);
    x->own = cs_alloc(rows->count, sizeof *x->own);
    x->out.count = cs_alloc(rows->count, sizeof *x->out.count);
    x->own_rows = rows->count;
    for (int64_t i = 0; x->own && i < rows->count; ++i) {
        x->own[i] = cs_nonempty_rows_at(rows, i);
    }
    return x->first_row && x->first_entry && x->own && x->out.count ? CS_OK : CS_ERR_MEMORY;
}

/* Arrays for messages and for what they bring. */
static cs_status make_arrays(const cs_comm *c, const int64_t *to, cs_column_swap *x)
{
    int64_t most = 0, rows = 0;
    for (int r = 0; r < c->ranks; ++r) {
        most = cs_most(most, to[r]);
        rows = cs_most(rows, x->first_row[r + 1] - x->first_row[r]);
    }
    x->out.col = cs_alloc(most, sizeof *x->out.col);
    x->out.val = cs_alloc(most, sizeof *x->out.val);
    x->count = cs_alloc(rows, sizeof *x->count);
    x->row = cs_alloc(x->first_row[c->ranks], sizeof *x->row);
    return x->out.col && x->out.val && x->count && x->row
               ? cs_csr_init(&x->all, x->first_row[c->ranks], INT32_MAX, x->first_entry[c->ranks])
               : CS_ERR_MEMORY;
}

cs_status cs_column_swap_open(cs_comm *c, cs_status status, const cs_nonempty_rows *rows,
                              const int64_t *to, cs_column_swap *out)
{
    cs_column_swap x = {0};
    status = cs_comm_agree(c, status ? status : make_lists(c, rows, &x));
    if (status == CS_OK) {
        cs_comm_gather_each(c, sizeof rows->count, &rows->count, x.first_row + 1);
        for (int step = 0; step < c->ranks; ++step) {
            int target = 0, from = 0;
            next_to(c, step, &target, &from);
            if (step == 0) {
                x.first_entry[from + 1] = to[target];
            } else {
                c->swap(c, target, &to[target], sizeof *to, from, &x.first_entry[from + 1],
                        sizeof *to);
            }
        }
        cs_starts(c->ranks, x.first_row);
        cs_starts(c->ranks, x.first_entry);
        status = cs_comm_agree(c, make_arrays(c, to, &x));
    }
    return CS_DELIVER(status, out, x, cs_column_swap_free);
}

static void copy(void *to, const void *from, int64_t count, size_t size)
{
    if (count > 0) memcpy(to, from, (size_t)count * size);
}

void cs_column_swap_step(cs_comm *c, int step, int64_t n, cs_column_swap *x)
{
    int to = 0, from = 0;
    next_to(c, step, &to, &from);
    const int64_t row = x->first_row[from], rows = x->first_row[from + 1] - row,
                  entry = x->first_entry[from], entries = x->first_entry[from + 1] - entry;
    const struct {
        const void *out;
        void *in;
        int64_t sent, taken;
        size_t size;
    } part[] = {
        {x->own, x->row + row, x->own_rows, rows, sizeof *x->own},
        {x->out.count, x->count, x->own_rows, rows, sizeof *x->count},
        {x->out.col, x->all.col + entry, n, entries, sizeof *x->all.col},
        {x->out.val, x->all.val + entry, n, entries, sizeof *x->all.val},
    };
    for (size_t i = 0; i < sizeof part / sizeof *part; ++i) {
        if (step == 0) {
            copy(part[i].in, part[i].out, part[i].sent, part[i].size);
        } else {
            c->swap(c, to, part[i].out, part[i].sent * (int64_t)part[i].size, from, part[i].in,
                    part[i].taken * (int64_t)part[i].size);
        }
    }
    for (int64_t i = 0; i < rows; ++i) {
        x->all.ptr[row + i + 1] = x->count[i];
    }
    if (step == c->ranks - 1) cs_starts(x->all.rows, x->all.ptr);
}
