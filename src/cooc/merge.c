/* The merge of sorted runs into the result, several ranges of keys at once.
 *
 * Whoever takes a range merges it into a separate part, waits until the ranges before it have got
 * their places, and copies its rows to theirs while others do the same. The result grows while
 * nobody copies. Rows, entries and sums are the same for any number of threads: a range holds whole
 * rows, and sums are of integers.
 *
 * Ranges are handed out in order to threads that live, so waiting always ends: a thread waits only
 * for ranges before its own, and a failed one wakes all. Memory: a part for each thread, about a
 * CS_RANGES-th of the result, and its class masses of columns (vocabulary x classes integers).
 *
 * Records between the ranks of a build.
 *
 * Method: a rank's sums come sorted by key, so the parts of all owners follow each other in one
 * scratch file. Parts are exchanged pair by pair in pieces, and what arrives is a sorted run like
 * any other. All owners merge their runs into rows of the matrix at the same time, as one process
 * does; rank 0 then has its own rows where they belong and receives those of the others, whose
 * sizes it knows, in their places. Only the pointers to rows have to be moved. */
#include <pthread.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/merge_private.h"

typedef struct {
    const cs_sorted *sorted;
    cs_assembler *whole;
    int workers;
    cs_assembler **part;  /* workers */
    int64_t budget;       /* of one worker's buffers */
    pthread_mutex_t lock; /* guards what follows, and the sizes of the result */
    pthread_cond_t changed;
    int64_t placed; /* ranges that have their places */
    int copying;
    bool failed;
} merger;

static cs_status merge_cuts(const cs_sorted *sorted, int64_t range, cs_assembler *part)
{
    CS_AUTO_FREE cs_span *piece = cs_alloc(sorted->cuts, sizeof *piece);
    cs_status status = piece ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < sorted->cuts && status == CS_OK; ++i) {
        const cs_cut *c = &sorted->cut[i];
        const int64_t first = c->begin[range], count = c->begin[range + 1] - first;
        piece[i] = (cs_span){c->record + first, count};
        status = cs_records_sort(c->record + first, count, false);
    }
    return status == CS_OK ? cs_spans_merge(piece, sorted->cuts, cs_assembler_take, part) : status;
}

/* Waits for the ranges before this one; false when one of them failed. Holds the lock. */
static bool wait_for_turn(merger *m, int64_t range)
{
    while (!m->failed && m->placed < range) {
        (void)pthread_cond_wait(&m->changed, &m->lock);
    }
    return !m->failed;
}

/* Gives the part its place, in turn; copies of several parts run at the same time. */
static cs_status place(merger *m, int64_t range, cs_assembler *part, cs_status status)
{
    const cs_assembler_size size = cs_assembler_size_of(part);
    cs_assembler_size at = {0};
    (void)pthread_mutex_lock(&m->lock);
    bool mine = status == CS_OK && wait_for_turn(m, range);
    if (mine && !cs_assembler_fits(m->whole, &size)) {
        while (m->copying > 0) {
            (void)pthread_cond_wait(&m->changed, &m->lock);
        }
        status = cs_assembler_reserve(m->whole, &size, (double)(range + 1) / CS_RANGES);
        mine = status == CS_OK;
    }
    if (mine) {
        at = cs_assembler_give(m->whole, &size);
        ++m->placed;
        ++m->copying;
    }
    m->failed = m->failed || status != CS_OK;
    (void)pthread_cond_broadcast(&m->changed);
    (void)pthread_mutex_unlock(&m->lock);
    if (!mine) {
        return status;
    }
    cs_assembler_copy(m->whole, &at, part);
    (void)pthread_mutex_lock(&m->lock);
    --m->copying;
    (void)pthread_cond_broadcast(&m->changed);
    (void)pthread_mutex_unlock(&m->lock);
    return CS_OK;
}

static cs_status merge_range(void *ctx, int64_t range, int worker)
{
    merger *m = ctx;
    cs_assembler *part = m->part[worker];
    cs_assembler_clear(part);
    cs_status status = m->sorted->runs ? cs_runs_merge_ranges(m->sorted->runs, range, range + 1,
                                                              m->budget, cs_assembler_take, part)
                                       : merge_cuts(m->sorted, range, part);
    if (status == CS_OK) status = cs_assembler_close(part);
    return place(m, range, part, status);
}

/* As many as there are, or as the budget has buffers for; from the second on each takes class
 * masses of columns, for which there is half of it. */
static int count_workers(const cs_sorted *sorted, const cs_assembler *whole)
{
    int64_t least = sorted->runs ? cs_runs_least(sorted->runs) : 0;
    int64_t sums = whole->labels * whole->cols * (int64_t)sizeof *whole->in_col;
    int workers = 1;
    while (workers < sorted->workers && workers < CS_RANGES &&
           (workers + 1) * least <= sorted->budget && workers * sums <= sorted->budget / 2) {
        ++workers;
    }
    return workers;
}

cs_status cs_merge(const cs_sorted *sorted, cs_assembler *whole)
{
    merger m = {.sorted = sorted,
                .whole = whole,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER};
    cs_status status = sorted->runs ? cs_runs_shorten(sorted->runs, sorted->budget) : CS_OK;
    m.workers = count_workers(sorted, whole);
    m.budget = sorted->budget / m.workers;
    m.part = cs_calloc(m.workers, sizeof(cs_assembler *));
    status = status == CS_OK && !m.part ? CS_ERR_MEMORY : status;
    for (int i = 0; i < m.workers && status == CS_OK; ++i) {
        status = cs_assembler_part(whole, i == 0, &m.part[i]);
    }
    if (status == CS_OK) { /* an interrupt is seen by the merges, which wake who waits for them */
        status = cs_parallel_through(CS_RANGES, m.workers, merge_range, &m);
    }
    for (int i = 0; m.part && i < m.workers && status == CS_OK; ++i) {
        cs_assembler_add_sums(whole, m.part[i]);
    }
    for (int i = 0; m.part && i < m.workers; ++i) {
        cs_assembler_free(&m.part[i]);
    }
    cs_free(m.part);
    (void)pthread_cond_destroy(&m.changed);
    (void)pthread_mutex_destroy(&m.lock);
    return status;
}

enum { PIECE = 1 << 14 }; /* records of a message */

struct cs_exchange {
    cs_comm *comm;
    int64_t budget;
    cs_runs own, received;
    cs_record *out, *in; /* PIECE each */
    int64_t held;        /* in `out`, not yet written */
    int64_t *count;      /* ranks: records of `own` for each */
    int64_t *all;        /* ranks x ranks: those of every rank */
    cs_pool pool;
};

cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget, cs_exchange **out)
{
    cs_exchange *x = cs_calloc(1, sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    x->comm = comm;
    x->budget = budget;
    cs_runs_init(&x->own, scratch);
    cs_runs_init(&x->received, scratch);
    CS_POOL_FIELDS(&x->pool, PIECE, x, out, in);
    x->count = cs_pool_take(&x->pool, comm->ranks, sizeof *x->count);
    x->all = cs_pool_take(&x->pool, (int64_t)comm->ranks * comm->ranks, sizeof *x->all);
    cs_status status = x->pool.status ? x->pool.status : cs_runs_begin(&x->own);
    return CS_DELIVER(status, out, x, cs_exchange_free);
}

void cs_exchange_free(cs_exchange **exchange)
{
    cs_exchange *x = *exchange;
    if (x) {
        cs_runs_free(&x->own);
        cs_runs_free(&x->received);
        cs_pool_free(&x->pool);
        cs_free(x);
    }
    *exchange = NULL;
}

static int owner(const cs_exchange *x, const cs_record *r)
{
    __extension__ typedef unsigned __int128 wide;
    return (int)((wide)r->key.high * (unsigned)x->comm->ranks >> 64);
}

static cs_status write_held(cs_exchange *x)
{
    cs_status status = x->held > 0 ? cs_runs_extend(&x->own, x->out, x->held) : CS_OK;
    x->held = 0;
    return status;
}

cs_status cs_exchange_take(void *exchange, const cs_record *record)
{
    cs_exchange *x = exchange;
    ++x->count[owner(x, record)];
    x->out[x->held++] = *record;
    return x->held == PIECE ? write_held(x) : CS_OK;
}

static int64_t bytes_of(int64_t records)
{
    return records * (int64_t)sizeof(cs_record);
}

/* `out_count` records of `own` from `at` on go to one rank, while in_count arrive from another as a
 * run; a rank's own part is copied. */
static cs_status move_part(cs_exchange *x, int to, int64_t at, int64_t out_count, int from,
                           int64_t in_count)
{
    cs_status status = cs_runs_begin(&x->received);
    while (status == CS_OK && (out_count > 0 || in_count > 0)) {
        int64_t sends = cs_least(out_count, PIECE);
        int64_t takes = cs_least(in_count, PIECE);
        status = cs_runs_read(&x->own, at, sends, x->out);
        if (status != CS_OK) break;
        if (to == x->comm->rank) {
            memcpy(x->in, x->out, (size_t)bytes_of(takes));
        } else {
            x->comm->swap(x->comm, to, x->out, bytes_of(sends), from, x->in, bytes_of(takes));
        }
        status = cs_runs_extend(&x->received, x->in, takes);
        at += sends;
        out_count -= sends;
        in_count -= takes;
    }
    return status;
}

static cs_status exchange_parts(cs_exchange *x)
{
    const int ranks = x->comm->ranks, rank = x->comm->rank;
    cs_status status = write_held(x);
    cs_comm_gather_each(x->comm, (size_t)ranks * sizeof *x->count, x->count, x->all);
    for (int t = 0; t < ranks && status == CS_OK; ++t) {
        int to = (rank + t) % ranks, from = (rank - t + ranks) % ranks;
        int64_t at = 0;
        for (int r = 0; r < to; ++r) {
            at += x->count[r];
        }
        status = move_part(x, to, at, x->count[to], from, x->all[(int64_t)from * ranks + rank]);
    }
    return status;
}

/* --- rows to rank 0 --------------------------------------------------------------------------- */

typedef struct {
    cs_assembler_size size;
    int64_t total;
} part_sums;

/* The arrays of a part, this rank's or from `at` on in the whole, and the class masses of columns,
 * go to rank 0, or come from a rank. */
static void move_arrays(cs_comm *c, int to, int from, cs_assembler *a, const cs_assembler_size *at,
                        const cs_assembler_size *n, int64_t *in_col)
{
    enum { ARRAYS = CS_COOC_ARRAYS + 1 };
    cs_assembler_array all[ARRAYS];
    cs_assembler_list(a, at, n, all);
    all[CS_COOC_ARRAYS] = (cs_assembler_array){&in_col, sizeof *in_col, 0, a->cols * a->labels};
    for (int i = 0; i < ARRAYS; ++i) {
        const int64_t size = (int64_t)all[i].size, bytes = all[i].count * size;
        char *data = *(char **)all[i].at;
        data = data && bytes > 0 ? data + all[i].first * size : NULL;
        c->swap(c, to, data, bytes, from, data, bytes);
    }
}

/* Appends the part that a rank has sent. */
static void take_part(cs_exchange *x, int rank, const part_sums *n, int64_t *in_col,
                      cs_assembler *whole)
{
    const cs_assembler_size at = cs_assembler_give(whole, &n->size);
    move_arrays(x->comm, -1, rank, whole, &at, &n->size, in_col);
    for (int64_t i = at.rows + 1; i <= at.rows + n->size.rows; ++i) {
        whole->matrix.ptr[i] += at.entries;
        whole->row_label.ptr[i] += at.labels;
    }
    whole->total += n->total;
    for (int64_t i = 0; i < whole->cols * whole->labels; ++i) {
        whole->in_col[i] += in_col[i];
    }
    cs_assembler_let_go(whole, &at, &n->size);
}

static cs_status take_parts(cs_exchange *x, const part_sums *part, cs_assembler *whole)
{
    cs_assembler_size others = {0};
    for (int r = 1; r < x->comm->ranks; ++r) {
        others.rows += part[r].size.rows;
        others.entries += part[r].size.entries;
        others.labels += part[r].size.labels;
    }
    CS_AUTO_FREE int64_t *in_col = cs_alloc(whole->cols * whole->labels, sizeof *in_col);
    cs_status status = in_col ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !cs_assembler_fits(whole, &others))
        status = cs_assembler_reserve(whole, &others, 1);
    for (int r = 1; r < x->comm->ranks && status == CS_OK; ++r) {
        take_part(x, r, &part[r], in_col, whole);
    }
    return status;
}

cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *whole)
{
    const bool first = x->comm->rank == 0;
    const cs_sorted sorted = {.runs = &x->received, .budget = x->budget, .workers = workers};
    CS_AUTO(cs_assembler) *part = NULL;
    part_sums *sums = cs_pool_take(&x->pool, x->comm->ranks, sizeof *sums);
    cs_status status = sums ? exchange_parts(x) : CS_ERR_MEMORY;
    if (status == CS_OK && !first) status = cs_assembler_part(whole, false, &part);
    cs_assembler *mine = first ? whole : part;
    if (part) {
        part->limit = whole->limit;
        part->scratch = whole->scratch;
    }
    if (status == CS_OK) status = cs_merge(&sorted, mine);
    if (status == CS_OK) {
        const part_sums n = {cs_assembler_size_of(mine), mine->total};
        const cs_assembler_size begin = {0};
        cs_comm_gather_each(x->comm, sizeof n, &n, sums);
        if (first) {
            status = take_parts(x, sums, whole);
        } else {
            move_arrays(x->comm, 0, -1, mine, &begin, &n.size, mine->in_col);
        }
    }
    return status;
}
