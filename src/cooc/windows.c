/* `each:w` without offsets, counted row by row: inverted positions and one dense accumulator.
 *
 * A row is a context token, and what a target k gives to each place of its window is one number,
 * the same for all places. So the sequences are laid out as one stream with w empty cells between
 * them (windows_stream.c); for each token the stream is visited at its occurrences only, and the
 * units of the w cells to the right (and to the left, unless S is a prefix) are added into one
 * dense row that stays in the cache (windows_rows.c), from which its columns come in order
 * (windows_take.c). No record is ever written, hashed or sorted. Rows are handed to workers in
 * groups of about equal mass, whose buffers stay in the cache as well; each group's rows come out
 * in order of their keys, and are placed behind those of the groups before (windows_place.c).
 *
 * Memory: 12 bytes a cell and 32 a sequence for the stream, and 8 a position of each length, which
 * must fit in the budget; the result; and a group's rows a worker, with those
 * of groups that wait while another counts a token of many occurrences.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

enum { GROUPS = 1024, BUCKETS = 256 };

double cs_window_row_bytes(const cs_windows_job *job)
{
    return (double)job->corpus->vocab * 40 * (job->workers + 1);
}

bool cs_windows_apply(const cs_windows_job *job, double *bytes)
{
    const cs_cooc_options *o = job->options;
    *bytes = 0;
    if (job->corpus->weight) {
        return false;
    }
    if (cs_context_gram(&o->context)) {
        return cs_window_unique_applies(job);
    }
    bool invariant = cs_objective_shape(&o->objective) == CS_PAIRS_INVARIANT;
    if (!cs_context_rows_are_tokens(&o->context) || o->draws > 0 || o->by_document ||
        (!invariant && o->objective.kind != CS_OBJ_AR)) {
        return false;
    }
    int64_t cells;
    const double need = cs_window_stream_bytes(job, &cells) + cs_window_row_bytes(job);
    const bool fits = need <= (double)job->budget;
    *bytes = fits || cells >= UINT32_MAX ? 0 : need;
    return cells < UINT32_MAX && fits;
}

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct {
    cs_hash128 key;
    int32_t token;
} keyed;

static int by_key(const void *x, const void *y)
{
    return cs_hash_compare(((const keyed *)x)->key, ((const keyed *)y)->key);
}

/* Tokens in buckets by the first byte of their keys. */
typedef struct {
    keyed *item;
    int64_t start[BUCKETS + 1];
} buckets;

static cs_status sort_bucket(void *ctx, int64_t item)
{
    buckets *b = ctx;
    qsort(b->item + b->start[item], (size_t)(b->start[item + 1] - b->start[item]), sizeof *b->item,
          by_key);
    return CS_OK;
}

cs_status cs_window_order_rows(cs_window_counter *c)
{
    const bool gram = c->job->plan->kind->gram;
    buckets b = {.item = cs_pool_take(&c->pool, c->vocab, sizeof *b.item)};
    int64_t next[BUCKETS] = {0};
    CS_POOL_FIELDS(&c->pool, c->vocab, c, by_key, key);
    if (c->pool.status != CS_OK) return c->pool.status;
    for (int64_t v = 0; v < c->vocab; ++v) {
        c->key[v] = gram ? cs_key_in_order(v, c->vocab) : cs_key_of(CS_KEY_ITEM, 0, v);
        ++next[c->key[v].high >> 56];
    }
    for (int k = 0; k < BUCKETS; ++k) {
        b.start[k + 1] = b.start[k] + next[k];
        next[k] = b.start[k];
    }
    for (int64_t v = 0; v < c->vocab; ++v) {
        b.item[next[c->key[v].high >> 56]++] = (keyed){c->key[v], (int32_t)v};
    }
    cs_status status = cs_parallel(BUCKETS, c->job->workers, sort_bucket, &b);
    for (int64_t r = 0; r < c->vocab; ++r) {
        c->by_key[r] = b.item[r].token;
    }
    return status;
}

cs_status cs_window_group_rows(cs_window_counter *c)
{
    c->group = cs_pool_take(&c->pool, GROUPS + 1, sizeof *c->group);
    CS_POOL_FIELDS(&c->pool, GROUPS, c, part, spare);
    if (c->pool.status != CS_OK) return c->pool.status;
    int64_t group = 0, held = 0, all = c->ptr[c->vocab];
    c->group[0] = 0;
    for (int64_t r = 0; r < c->vocab; ++r) {
        held += c->ptr[c->by_key[r] + 1] - c->ptr[c->by_key[r]];
        while (group + 1 < GROUPS && (double)held * GROUPS >= (double)all * (double)(group + 1)) {
            c->group[++group] = r + 1;
        }
    }
    while (group < GROUPS) {
        c->group[++group] = c->vocab;
    }
    c->groups = GROUPS;
    return CS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static cs_status start_tallies(cs_window_counter *c)
{
    int64_t words = CS_WINDOW_WORDS(c->vocab);
    c->tally = cs_pool_take(&c->pool, c->job->workers, sizeof *c->tally);
    for (int i = 0; c->tally && i < c->job->workers; ++i) {
        c->tally[i] = (cs_window_tally){
            .in_col = cs_pool_take(&c->pool, c->vocab * c->labels, sizeof(int64_t)),
            .row = cs_pool_take(&c->pool, 64 * words, sizeof(int64_t)),
            .touched = cs_pool_take(&c->pool, c->vocab + 1, sizeof(int32_t)),
            .bits = cs_pool_take(&c->pool, words, sizeof(uint64_t)),
            .used = cs_pool_take(&c->pool, words, sizeof(uint8_t)),
            .word = cs_pool_take(&c->pool, words + CS_WINDOW_SLACK, sizeof(int32_t))};
    }
    return c->pool.status;
}

static cs_status add_tallies(cs_window_counter *c, int64_t *contributions)
{
    bool overflow = false;
    for (int i = 0; i < c->job->workers; ++i) {
        const cs_window_tally *y = &c->tally[i];
        *contributions += y->contributions;
        overflow |= y->overflow ||
                    __builtin_add_overflow(c->assembler->total, y->units, &c->assembler->total);
        for (int64_t j = 0; j < c->vocab * c->labels; ++j) {
            c->assembler->in_col[j] += y->in_col[j];
        }
    }
    return overflow ? cs_fail(CS_ERR_INPUT, "the mass of the windows overflows") : CS_OK;
}

static void release(cs_window_counter *c)
{
    for (int64_t g = 0; c->part && g < GROUPS; ++g) {
        cs_assembler_free(&c->part[g].rows);
    }
    for (int64_t i = 0; i < c->spares; ++i) {
        cs_assembler_free(&c->spare[i]);
    }
    cs_pool_free(&c->pool);
    (void)pthread_mutex_destroy(&c->lock);
}

static cs_status count_windows(cs_window_counter *c)
{
    cs_status status = cs_window_stream_make(c);
    if (status == CS_OK) status = cs_window_order_rows(c);
    if (status == CS_OK) status = cs_window_group_rows(c);
    if (status == CS_OK) {
        cs_progress_report(c->job->options->progress, "rows", 0, 0);
        status = cs_parallel_workers(GROUPS, c->job->workers, cs_window_group, c);
    }
    return status;
}

cs_status cs_windows_count(const cs_windows_job *job, cs_assembler *assembler,
                           int64_t *contributions)
{
    cs_window_counter c = {.job = job,
                           .width = job->options->context.n,
                           .left = job->options->objective.kind != CS_OBJ_AR,
                           .vocab = job->corpus->vocab,
                           .labels = job->corpus->labels,
                           .assembler = assembler,
                           .lock = PTHREAD_MUTEX_INITIALIZER};
    cs_progress_report(job->options->progress, "stream", 0, 0);
    cs_status status = start_tallies(&c);
    if (status == CS_OK) status = job->plan->kind->gram ? cs_window_unique(&c) : count_windows(&c);
    if (status == CS_OK) status = add_tallies(&c, contributions);
    release(&c);
    return status;
}
