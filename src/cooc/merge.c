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
 * Method: a rank's sums come sorted by key, so the parts of all owners follow each other, in memory or
 * in one scratch file. Parts are exchanged pair by pair in pieces, and what arrives is a sorted run
 * like any other. All owners merge their runs into rows of the matrix at the same time, as one process
 * does, and keep them. */
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
    int64_t budget, cols, labels;
    bool *stored;           /* ranks */
    int64_t total, *in_col; /* of the records taken; cols x labels */
    cs_runs own, received;
    cs_record *out, *in;     /* PIECE each */
    int64_t held;            /* in `out`, not yet written */
    const cs_record *sorted; /* those of `own` that are borrowed */
    int64_t *count;          /* ranks: records of `own` for each */
    cs_pool pool;
};

cs_status cs_exchange_open(const cs_exchange_options *o, cs_exchange **out)
{
    cs_exchange *x = cs_calloc(1, sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    x->comm = o->comm;
    x->budget = o->budget;
    x->cols = o->cols;
    x->labels = o->labels;
    cs_runs_init(&x->own, o->scratch);
    cs_runs_init(&x->received, o->scratch);
    CS_POOL_FIELDS(&x->pool, PIECE, x, out, in);
    CS_POOL_FIELDS(&x->pool, o->comm->ranks, x, count, stored);
    x->in_col = cs_pool_take(&x->pool, o->cols * o->labels, sizeof *x->in_col);
    cs_status status = x->pool.status ? x->pool.status : cs_runs_begin(&x->own);
    status = cs_comm_agree(o->comm, status);
    if (status == CS_OK) cs_comm_gather_each(o->comm, sizeof o->stored, &o->stored, x->stored);
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

void cs_exchange_hold(cs_exchange *x, int64_t records)
{
    cs_runs_hold(&x->own, records);
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

/* Adds a record to the sums; returns its owner. */
static int sum_up(cs_exchange *x, const cs_record *record)
{
    x->total += record->col == CS_CLASS_COL ? 0 : record->units;
    if (record->col != CS_CLASS_COL && record->label >= 0 && record->label < x->labels) {
        x->in_col[record->col * x->labels + record->label] += record->units;
    }
    return owner(x, record);
}

bool cs_exchange_borrow(cs_exchange *x, const cs_record *sorted, int64_t count)
{
    for (int r = 0; r < x->comm->ranks; ++r) {
        if (x->stored[r]) {
            return false;
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        ++x->count[sum_up(x, sorted + i)];
    }
    x->sorted = sorted;
    x->own.end = count;
    return true;
}

cs_status cs_exchange_take(void *exchange, const cs_record *record)
{
    cs_exchange *x = exchange;
    const int to = sum_up(x, record);
    if (x->stored[to]) {
        return CS_OK;
    }
    ++x->count[to];
    x->out[x->held++] = *record;
    return x->held == PIECE ? write_held(x) : CS_OK;
}

static int64_t bytes_of(int64_t records)
{
    return records * (int64_t)sizeof(cs_record);
}

/* Where the records of `own` from `at` on are, the next `count` of them. */
static cs_status find_own(cs_exchange *x, int64_t at, int64_t count, const cs_record **out)
{
    const cs_record *all = x->sorted ? x->sorted : x->own.memory;
    *out = all ? all + at : x->out;
    return all ? CS_OK : cs_runs_read(&x->own, at, count, x->out);
}

/* `out_count` records of `own` from `at` on go to one rank, while in_count arrive from another as a
 * run; a rank's own part is copied from the file. */
static cs_status move_part(cs_exchange *x, int to, int64_t at, int64_t out_count, int from,
                           int64_t in_count)
{
    const cs_record *out = NULL, *all = x->sorted ? x->sorted : x->own.memory;
    if (to == x->comm->rank && all) {
        return cs_runs_borrow(&x->received, all + at, out_count);
    }
    cs_status status = cs_runs_begin(&x->received);
    while (status == CS_OK && (out_count > 0 || in_count > 0)) {
        int64_t sends = cs_least(out_count, PIECE);
        int64_t takes = cs_least(in_count, PIECE);
        status = find_own(x, at, sends, &out);
        if (status != CS_OK) break;
        if (to == x->comm->rank) {
            memcpy(x->in, out, (size_t)bytes_of(takes));
        } else {
            x->comm->swap(x->comm, to, out, bytes_of(sends), from, x->in, bytes_of(takes));
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
    const int64_t size = sizeof(cs_record);
    cs_status status = write_held(x);
    if (x->sorted || x->own.memory) { /* what they leave of the budget */
        cs_runs_hold(&x->received, cs_most(x->budget / size - x->own.end, 0));
    }
    int64_t at = 0; /* the first record for rank `to` */
    for (int r = 0; r < rank; ++r) {
        at += x->count[r];
    }
    for (int t = 0; t < ranks && status == CS_OK; ++t) {
        const int to = (rank + t) % ranks, from = (rank - t + ranks) % ranks;
        const int64_t sends = x->count[to];
        int64_t takes = sends;
        at = to == 0 ? 0 : at;
        if (to != rank) {
            x->comm->swap(x->comm, to, &sends, sizeof sends, from, &takes, sizeof takes);
        }
        status = move_part(x, to, at, sends, from, takes);
        at += sends;
    }
    return status;
}

cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *rows)
{
    const cs_sorted sorted = {.runs = &x->received, .budget = x->budget, .workers = workers};
    cs_status status = exchange_parts(x);
    if (status == CS_OK) status = cs_merge(&sorted, rows);
    rows->total = x->total;
    for (int64_t i = 0; i < x->cols * x->labels; ++i) {
        rows->in_col[i] = x->in_col[i];
    }
    return status;
}

void cs_exchange_add_classes(cs_exchange *x, const int64_t *in_col)
{
    for (int64_t i = 0; i < x->cols * x->labels; ++i) {
        x->in_col[i] += in_col[i];
    }
}

int64_t cs_exchange_sent(const cs_exchange *x)
{
    int64_t sent = 0;
    for (int r = 0; r < x->comm->ranks; ++r) {
        sent += r != x->comm->rank ? x->count[r] : 0;
    }
    return sent;
}
