/* The merge of sorted runs into the result, several ranges of keys at once.
 *
 * Whoever takes a range merges it into a separate part, waits until the ranges before it have got
 * their places, and copies its rows to theirs while others do the same. The result grows while
 * nobody copies. Rows, entries and sums are the same for any number of threads: a range holds whole
 * rows, and sums are of integers.
 *
 * Ranges are handed out in order to threads that live, so waiting always ends: a thread waits only
 * for ranges before its own, and a failed one wakes all. Memory: a part for each thread, about a
 * CS_RANGES-th of the result, and its class masses of columns (vocabulary x classes integers). */
#include <pthread.h>

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
    cs_span *piece = cs_alloc(sorted->cuts, sizeof *piece);
    cs_status status = piece ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < sorted->cuts && status == CS_OK; ++i) {
        const cs_cut *c = &sorted->cut[i];
        const int64_t first = c->begin[range], count = c->begin[range + 1] - first;
        piece[i] = (cs_span){c->record + first, count};
        status = cs_records_sort(c->record + first, count, false);
    }
    if (status == CS_OK) status = cs_spans_merge(piece, sorted->cuts, cs_assembler_take, part);
    cs_free(piece);
    return status;
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
