/* `each:w` without offsets, counted row by row: inverted positions and one dense accumulator.
 *
 * A row is a context token, and what a target k gives to each place of its window is one number,
 * the same for all places. So the sequences are laid out as one stream with w empty cells between
 * them (windows_stream.c); for each token the stream is visited at its occurrences only, and the
 * units of the w cells to the right (and to the left, unless S is a prefix) are added into one
 * dense row that stays in the cache (windows_rows.c), from which its columns come in order
 * (windows_rows.c). No record is ever written, hashed or sorted. Rows are handed to workers in
 * groups of about equal mass, whose buffers stay in the cache as well; each group's rows come out
 * in order of their keys, and are placed behind those of the groups before (windows_rows.c).
 *
 * Memory: 12 bytes a cell and 32 a sequence for the stream, and 8 a position of each length, which
 * must fit in the budget; the result; and a group's rows a worker, with those
 * of groups that wait while another counts a token of many occurrences.
 */
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

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
    for (int64_t g = 0; c->part && g < CS_WINDOW_GROUPS; ++g) {
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
        status = cs_parallel_workers(CS_WINDOW_GROUPS, c->job->workers, cs_window_group, c);
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
