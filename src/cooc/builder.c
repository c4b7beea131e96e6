/* The build: sequences are cut into blocks of about BLOCK contributions, blocks are handed to
 * workers, each worker adds up its contributions in a collector, and what the collectors hold (or
 * have spilled) is merged into the matrix. `each:w` has a faster way (windows_count.c) where its stream
 * fits in the budget, and `unique` (windows_unique.c) but where rows take all of it.
 *
 * Why the result does not depend on threads or budget: each contribution is rounded to integer
 * units by itself; integer sums, and minima of witnesses, commute; what is dropped is a fixed-point
 * sum (exact_sum_private.h) over sequences, or parts of long ones. So a checkpoint
 * (build_checkpoint.c) is the sums over the blocks that are finished: on an interrupt every worker
 * finishes its block, and none is half in the sums.
 *
 * Units: weight x D is an integer where a common denominator D below 2^40 exists and the whole
 * matrix holds fewer than 2^53 units, so that every sum is exact also as a double. Otherwise a unit
 * is 2^-e, as small as keeps the total below 2^61.
 */
#include "cooc/builder.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_blocks_private.h"
#include "cooc/build_checkpoint_private.h"
#include "cooc/build_ranks_private.h"
#include "cooc/by_document.h"
#include "cooc/context_private.h"
#include "cooc/merge_private.h"
#include "cooc/synthetic_spread_private.h"
#include "cooc/windows_private.h"

/* --- merging ---------------------------------------------------------------------------------- */

/* Some records are lost, or may count twice: no checkpoint can be made of what is there. */
static void lose(cs_build *b)
{
    (void)pthread_mutex_lock(&b->lock);
    b->whole = false;
    (void)pthread_mutex_unlock(&b->lock);
}

static cs_status spill_collector(void *ctx, int64_t item)
{
    cs_build *b = ctx;
    cs_collector *c = &b->worker[item].collector;
    cs_status status = cs_collector_finish(c);
    if (status == CS_OK && c->used > 0) status = cs_runs_append(&b->runs, c->slot, c->used);
    if (status == CS_OK) {
        cs_collector_free(c);
    } else if (status != CS_ERR_INTERRUPT) {
        lose(b);
    }
    return status;
}

static cs_status cut_collector(void *ctx, int64_t item)
{
    cs_build *b = ctx;
    cs_status status = cs_collector_gather(&b->worker[item].collector);
    if (status == CS_OK) {
        cs_collector_cut(&b->worker[item].collector, &b->cut[item]);
    } else if (status != CS_ERR_INTERRUPT) {
        lose(b);
    }
    return status;
}

/* From memory when nothing was spilled; otherwise the rest is spilled too, which frees the budget
 * for the merge. */
static cs_status merge_all(cs_build *b, cs_assembler *assembler, int64_t *runs)
{
    cs_status status = cs_parallel(b->may_use.workers, b->may_use.workers, cut_collector, b);
    cs_sorted sorted = {.cut = b->cut,
                        .cuts = b->may_use.workers,
                        .budget = b->may_use.budget,
                        .workers = b->may_use.workers};
    if (status == CS_OK && b->runs.count > 0) {
        status = cs_parallel(b->may_use.workers, b->may_use.workers, spill_collector, b);
        *runs = b->runs.count;
        sorted.runs = &b->runs;
    }
    return status ? status : cs_merge(&sorted, assembler);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static cs_checkpoint_state state_of(cs_build *b, cs_collector **collector)
{
    cs_checkpoint_state s = {.blocks = b->blocks,
                             .block = b->block,
                             .runs = &b->runs,
                             .collectors = b->may_use.workers,
                             .collector = collector,
                             .vocab = b->of->corpus->vocab,
                             .labels = b->of->corpus->labels,
                             .first = b->of->sequences.first,
                             .sequences = b->of->sequences.count};
    for (int i = 0; i < b->may_use.workers; ++i) {
        const cs_build_emitter *e = &b->worker[i].emitter;
        collector[i] = &b->worker[i].collector;
        s.contributions += e->contributions;
        s.overflow |= e->overflow || __builtin_add_overflow(s.units, e->units, &s.units);
    }
    return s;
}

/* Gives the contributions of the interrupted builds to the first worker. */
static cs_status take_up(cs_build *b)
{
    cs_collector *collector[CS_BUILD_WORKERS];
    cs_checkpoint_state s = state_of(b, collector);
    cs_status status = cs_checkpoint_load(b->checkpoint, &s);
    if (status == CS_OK) {
        cs_build_emitter *e = &b->worker[0].emitter;
        e->contributions = s.contributions;
        e->units = s.units;
        e->overflow = s.overflow;
        b->resumed = s.contributions;
    }
    b->done = 0; /* with the blocks of other ranks, which the checkpoint has as well */
    for (int64_t i = 0; i < b->blocks; ++i) {
        b->done += b->block[i].done;
    }
    b->kept = b->done;
    return status;
}

static cs_status finish_collector(void *ctx, int64_t item, int number)
{
    (void)number;
    cs_build *b = ctx;
    return cs_collector_finish(&b->worker[item].collector); /* may spill a run */
}

static cs_status finish_collectors(cs_build *b)
{
    return cs_parallel_through(b->may_use.workers, b->may_use.workers, finish_collector, b);
}

static cs_status write_checkpoint(cs_build *b)
{
    cs_collector *collector[CS_BUILD_WORKERS];
    const cs_checkpoint_state s = state_of(b, collector);
    cs_status status = cs_checkpoint_write(b->of->options.checkpoint, b->identity, &s);
    if (status == CS_OK) b->kept = b->done;
    return status;
}

/* Between blocks, for the interrupt that leaves no time to write all of it. A full disk does not
 * end the build. */
static cs_status save_meanwhile(cs_build *b)
{
    enum { SHARE = 20 };
    const double start = cs_seconds(), every = b->of->options.checkpoint_every;
    cs_status status = finish_collectors(b);
    if (status != CS_OK) return status;
    const bool written = write_checkpoint(b) == CS_OK;
    const double end = cs_seconds();
    b->due = written ? end + fmax(every > 0 ? every : CS_CHECKPOINT_EVERY, SHARE * (end - start))
                     : INFINITY;
    if (!written) cs_reason_clear();
    for (int i = 0; i < b->may_use.workers; ++i) {
        cs_collector_resume(&b->worker[i].collector);
    }
    return CS_OK;
}

/* After an interrupt: returns it with what the checkpoint has, or the failure to write one. */
static cs_status save(cs_build *b)
{
    const long long blocks = b->blocks;
    cs_reason_clear();
    cs_status status = b->whole ? cs_interrupt_late() : CS_ERR_INTERRUPT;
    if (status == CS_OK) status = finish_collectors(b);
    if (status == CS_OK) status = write_checkpoint(b);
    if (status != CS_OK && status != CS_ERR_INTERRUPT)
        return cs_blame(status, "interrupted, and no checkpoint could be written");
    cs_reason_clear();
    return status == CS_OK
               ? cs_fail(CS_ERR_INTERRUPT,
                         "interrupted after %lld of %lld blocks of sequences, kept in %s",
                         (long long)b->done, blocks, b->of->options.checkpoint)
           : b->kept > 0
               ? cs_fail(CS_ERR_INTERRUPT,
                         "interrupted after %lld of %lld blocks of sequences; %lld are kept in %s, "
                         "and there was no time to write the others",
                         (long long)b->done, blocks, (long long)b->kept, b->of->options.checkpoint)
               : cs_fail(CS_ERR_INTERRUPT,
                         "interrupted after %lld of %lld blocks of sequences; there was no time to "
                         "write them, and nothing is kept",
                         (long long)b->done, blocks);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Sums and class masses of the columns, which are there whether a token occurs or not. */
static cs_status check_columns(const cs_corpus *corpus)
{
    return cs_mem_check(((double)corpus->labels + 2) * (double)corpus->vocab * sizeof(int64_t),
                        corpus->word ? NULL
                                     : "renumber the ids, in NumPy by numpy.unique(ids, "
                                       "return_inverse=True)",
                        "%s: a matrix of %lld columns takes",
                        corpus->name ? corpus->name : "corpus", (long long)corpus->vocab);
}

/* The part that needs no other rank. */
static cs_status begin(cs_cooc_prepared *p, cs_build *b)
{
    const cs_cooc_options *options = &p->options;
    memset(b, 0, sizeof *b);
    b->of = p;
    cs_runs_init(&b->runs, options->scratch);
    (void)pthread_mutex_init(&b->lock, NULL);
    cs_status status = cs_build_resources_of(options, &b->may_use);
    if (status == CS_OK) status = check_columns(p->corpus);
    if (status == CS_OK) status = cs_cooc_plan(p);
    return status == CS_OK
               ? cs_synthetic_spread_init(p->plan, p->corpus, &p->sequences, &b->language)
               : status;
}

/* All that is known before anything is counted; collective. */
static cs_status set_up(cs_cooc_prepared *p, cs_build *b)
{
    cs_status status = begin(p, b);
    if (p->options.comm) {
        status = cs_comm_agree(p->options.comm, status);
    }
    if (status == CS_OK) status = cs_build_subsample(b);
    if (status != CS_OK) return status;
    const cs_build_units units = cs_build_units_of(p);
    b->scale = units.scale;
    b->exact = units.exact;
    b->exponent = units.exponent;
    status = cs_build_cut_blocks(b);
    b->expected = b->language.population ? b->language.contributions : b->expected;
    cs_build_deal_blocks(b);
    return p->options.comm ? cs_comm_agree(p->options.comm, status) : status;
}

static void release(cs_build *b)
{
    cs_build_stop_workers(b);
    cs_runs_free(&b->runs);
    cs_synthetic_spread_free(&b->language);
    cs_checkpoint_close(&b->checkpoint);
    json_decref(b->identity);
    CS_FREE_FIELDS(b, block, keep);
    (void)pthread_mutex_destroy(&b->lock);
}

/* Contributions and units of a build. */
typedef struct {
    int64_t contributions, units;
    bool overflow;
} count_sums;

static count_sums sums_of_workers(const cs_build *b)
{
    count_sums s = {0};
    for (int i = 0; b->worker && i < b->may_use.workers; ++i) {
        const cs_build_emitter *e = &b->worker[i].emitter;
        s.contributions += e->contributions;
        s.overflow |= e->overflow || __builtin_add_overflow(s.units, e->units, &s.units);
    }
    return s;
}

static cs_status check_sums(const cs_build *b, const count_sums *s)
{
    return s->overflow || (b->exact && s->units > INT64_C(1) << 53)
               ? cs_fail(CS_ERR_INPUT,
                         "the sampled plans have far more mass than expected: it exceeds %g",
                         (b->exact ? 0x1p53 : 0x1p63) / b->scale)
               : CS_OK;
}

/* Every record reaches a row, whatever memory, disk and ranks it passed. */
static cs_status check_total(const cs_assembler *rows, const count_sums *counted)
{
    return rows->total == counted->units
               ? CS_OK
               : cs_fail(CS_ERR_IO,
                         "%lld units were counted, but the rows have %lld: records were lost on "
                         "the way; please report this fault",
                         (long long)counted->units, (long long)rows->total);
}

static cs_status collect(cs_build *b)
{
    const double every = b->of->options.checkpoint_every;
    cs_status status = CS_OK;
    b->whole = b->collects = true;
    cs_build_expect_runs(b);
    b->due = !b->of->options.checkpoint ? INFINITY
                                        : cs_seconds() + (every > 0 ? every : CS_CHECKPOINT_EVERY);
    while (b->done < b->blocks && status == CS_OK) {
        status = cs_parallel_workers(b->blocks, b->may_use.workers, cs_build_run_block, b);
        if (b->done < b->blocks && status == CS_OK) status = save_meanwhile(b);
    }
    return status;
}

/* The general way: records. */
static cs_status collect_all(cs_build *b)
{
    cs_status status = cs_build_start_workers(b);
    if (status == CS_OK && b->checkpoint) status = take_up(b);
    return status == CS_OK ? collect(b) : status;
}

static cs_status collect_and_merge(cs_build *b, cs_assembler *assembler, cs_cooc *result)
{
    cs_status status = collect_all(b);
    const count_sums sums = sums_of_workers(b);
    if (status == CS_OK) status = check_sums(b, &sums);
    result->contributions = sums.contributions;
    if (status == CS_OK) {
        cs_progress_report(b->of->options.progress, "merge", 0, 0);
        status = merge_all(b, assembler, &result->runs);
    }
    return status == CS_OK ? check_total(assembler, &sums) : status;
}

/* --- over ranks ------------------------------------------------------------------------------- */

/* Finished records that are all in memory: those of one worker from where they are, until the build
 * is over; of several, merged. */
static cs_status held_to_owners(cs_build *b, cs_exchange *exchange)
{
    cs_span span[CS_BUILD_WORKERS];
    int64_t left = b->may_use.budget / (int64_t)sizeof(cs_record);
    for (int i = 0; i < b->may_use.workers; ++i) {
        left -= b->worker[i].collector.used;
        span[i] = (cs_span){b->worker[i].collector.slot, b->worker[i].collector.used};
    }
    if (b->may_use.workers == 1 && cs_exchange_borrow(exchange, span[0].record, span[0].count)) {
        return CS_OK;
    }
    cs_exchange_hold(exchange, cs_most(left, 0));
    cs_status status = cs_spans_merge(span, b->may_use.workers, cs_exchange_take, exchange);
    for (int i = 0; i < b->may_use.workers; ++i) {
        cs_collector_free(&b->worker[i].collector);
    }
    return status;
}

/* Records on disk: what is held goes there too, since the merge needs the memory. */
static cs_status spilled_to_owners(cs_build *b, cs_exchange *exchange)
{
    cs_status status = cs_parallel(b->may_use.workers, b->may_use.workers, spill_collector, b);
    if (status == CS_OK)
        status = cs_runs_merge(&b->runs, b->may_use.budget, cs_exchange_take, exchange);
    return status;
}

/* Records for the owners of their rows. */
static cs_status records_to_owners(cs_build *b, cs_exchange *exchange, count_sums *sums,
                                   int64_t *runs)
{
    cs_status status = collect_all(b);
    *sums = sums_of_workers(b);
    if (status == CS_OK) status = finish_collectors(b); /* which may spill the first run */
    if (status == CS_OK)
        status = b->runs.count == 0 ? held_to_owners(b, exchange) : spilled_to_owners(b, exchange);
    *runs = b->runs.count;
    cs_runs_free(&b->runs);
    return status;
}

/* Rows that this rank has counted whole, for their owners to add to those of other ranks. */
static cs_status rows_to_owners(cs_build *b, cs_windows_job *job, cs_exchange *exchange,
                                count_sums *sums)
{
    CS_AUTO(cs_assembler) *rows = NULL;
    cs_status status =
        cs_assembler_new(b->of->corpus, b->exact, 1 / b->scale, 0, b->of->options.scratch, &rows);
    if (status != CS_OK) return status;
    rows->raw = true;
    job->take = cs_exchange_take;
    job->to = exchange;
    status = cs_windows_count(job, rows, &sums->contributions);
    sums->units = rows->total;
    cs_exchange_add_classes(exchange, rows->in_col);
    return status;
}

/* Each rank counts its part of the corpus in its way, and makes the rows that it owns. */
static cs_status count_over_ranks(cs_build *b, cs_windows_job *job, cs_assembler *assembler,
                                  cs_cooc *result)
{
    cs_comm *comm = b->of->options.comm;
    const cs_exchange_options options = {.comm = comm,
                                         .scratch = b->of->options.scratch,
                                         .budget = b->may_use.budget,
                                         .cols = assembler->cols,
                                         .labels = assembler->labels,
                                         .stored = b->of->options.stored != NULL};
    CS_AUTO(cs_exchange) *exchange = NULL;
    count_sums sums = {0};
    double lacking = 0;
    const bool by_row = cs_cooc_parted(b->of) && !b->checkpoint && b->of->sequences.count > 0 &&
                        cs_windows_apply(job, &lacking);
    cs_status status = cs_exchange_open(&options, &exchange);
    if (status == CS_OK)
        status = by_row ? rows_to_owners(b, job, exchange, &sums)
                        : records_to_owners(b, exchange, &sums, &result->runs);
    if (status != CS_OK) return status; /* which ends all ranks at once */
    cs_ranks_add_units(comm, &sums.contributions, &sums.units, &sums.overflow);
    if ((status = check_sums(b, &sums)) != CS_OK) comm->agreed = true; /* all come to this */
    result->contributions = sums.contributions;
    cs_progress_report(b->of->options.progress, "merge", 0, 0);
    if (status == CS_OK) status = cs_exchange_finish(exchange, b->may_use.workers, assembler);
    if (status != CS_OK) return status;
    result->exchanged = cs_exchange_sent(exchange);
    cs_comm_add(comm, 1, &result->exchanged);
    cs_ranks_add_sums(comm, assembler);
    if ((status = check_total(assembler, &sums)) != CS_OK) comm->agreed = true;
    return status;
}

static cs_windows_job windows_job(const cs_build *b)
{
    return (cs_windows_job){.corpus = b->of->corpus,
                            .sequences = &b->of->sequences,
                            .plan = b->of->plan,
                            .options = &b->of->options,
                            .keep = b->keep,
                            .scale = b->scale,
                            .exponent = b->exponent,
                            .blocks = b->blocks,
                            .block = b->block,
                            .workers = b->may_use.workers,
                            .budget = b->may_use.budget};
}

static cs_status count(cs_build *b, cs_assembler *assembler, cs_cooc *result)
{
    cs_windows_job job = windows_job(b);
    double lacking = 0;
    const bool by_row = !b->of->options.comm && !b->checkpoint && cs_windows_apply(&job, &lacking);
    assembler->packs = by_row && b->of->options.compact && assembler->labels == 0 &&
                       !cs_context_gram(&b->of->options.context);
    cs_status status = b->of->options.comm ? count_over_ranks(b, &job, assembler, result)
                       : by_row ? cs_windows_count(&job, assembler, &result->contributions)
                                : collect_and_merge(b, assembler, result);
    cs_exact_sum dropped = {0};
    for (int64_t i = 0; i < b->blocks && status == CS_OK; ++i) {
        cs_exact_join(&dropped, &b->block[i].dropped);
    }
    if (status == CS_OK && b->of->options.comm) cs_ranks_add_exact(b->of->options.comm, &dropped);
    result->dropped_mass = cs_exact_value(&dropped, b->exponent);
    return status;
}

cs_status cs_cooc_check(const cs_corpus *corpus, const cs_cooc_options *options)
{
    cs_build b;
    CS_AUTO(cs_cooc_prepared) p = {0};
    cs_status status = cs_cooc_prepare(corpus, options, &p);
    if (status == CS_OK) {
        status = begin(&p, &b);
        release(&b);
    }
    return status;
}

cs_status cs_cooc_lacking(cs_cooc_prepared *p, double *bytes)
{
    cs_build b;
    cs_status status = set_up(p, &b);
    *bytes = 0;
    if (status == CS_OK && (!p->options.comm || cs_cooc_parted(p))) {
        const cs_windows_job job = windows_job(&b);
        (void)cs_windows_apply(&job, bytes);
    }
    release(&b);
    return status;
}

cs_status cs_cooc_build(const cs_corpus *corpus, const cs_cooc_options *options, cs_cooc *out)
{
    CS_AUTO(cs_cooc_prepared) p = {0};
    cs_status status = cs_cooc_prepare(corpus, options, &p);
    if (options->comm) status = cs_comm_agree(options->comm, status);
    return status == CS_OK ? cs_cooc_build_prepared(&p, out) : status;
}

/* Frees what the last build was counted from. */
static void forget(cs_cooc_prepared *p)
{
    if (p->counts) release(p->counts);
    cs_free(p->counts);
    p->counts = NULL;
}

cs_status cs_cooc_built(cs_cooc_prepared *p, cs_status status)
{
    /* Of several ranks the first that has seen the interrupt ends the others. */
    const bool kept = p->counts && p->counts->collects && p->options.checkpoint && !p->options.comm;
    if (status == CS_ERR_INTERRUPT && kept) status = save(p->counts);
    forget(p);
    return status;
}

void cs_cooc_prepared_free(cs_cooc_prepared *p)
{
    forget(p);
    cs_context_plan_free(&p->plan);
    cs_sequences_free(&p->sequences);
}

/* From the sums to the result, with its place among those of other ranks. */
static cs_status finish(cs_build *b, cs_assembler *assembler, cs_cooc *result)
{
    const cs_cooc_options *options = &b->of->options;
    cs_comm *comm = options->comm;
    result->sequences = cs_cooc_windows(options, &b->of->sequences);
    result->resumed = b->resumed;
    result->skipped_sequences = b->of->skipped;
    cs_status status = cs_assembler_finish(assembler, result);
    if (status != CS_OK) return status;
    result->matrix.a.gram = cs_context_gram(&options->context);
    if (cs_cooc_parted(b->of)) cs_comm_add(comm, 1, &result->sequences);
    if (comm) cs_comm_add(comm, 1, &result->resumed);
    cs_cooc_place_rows(comm, options->stored, result);
    if (status == CS_OK && b->language.population && result->all_rows > 0) {
        status = cs_synthetic_witnesses(&b->language, &b->of->sequences, result);
        if (status == CS_OK && comm) cs_ranks_place_texts(comm, result);
        result->sequences = result->all_rows;
    }
    return status;
}

cs_status cs_cooc_build_prepared(cs_cooc_prepared *p, cs_cooc *out)
{
    const cs_corpus *corpus = p->corpus;
    const cs_cooc_options *options = &p->options;
    cs_build *b = cs_alloc(1, sizeof *b);
    cs_cooc result = {0};
    CS_AUTO(cs_assembler) *assembler = NULL;
    if (!b) return CS_ERR_MEMORY;
    forget(p);
    p->counts = b;
    cs_status status = set_up(p, b);
    if (status == CS_OK && options->checkpoint)
        status = cs_checkpoint_identity(corpus, options, b->scale, b->blocks, &b->identity);
    if (status == CS_OK && options->checkpoint && options->resume)
        status = cs_checkpoint_open(options->checkpoint, b->identity, &b->checkpoint);
    if (options->comm) status = cs_comm_agree(options->comm, status);
    if (status == CS_OK)
        status = cs_assembler_new(corpus, b->exact, 1 / b->scale, b->may_use.limit,
                                  options->scratch, &assembler);
    if (status == CS_OK) status = count(b, assembler, &result);
    if (status == CS_OK) status = finish(b, assembler, &result);
    if (status == CS_OK) {
        *out = result;
    } else {
        cs_cooc_free(&result);
    }
    return status == CS_OK && options->checkpoint ? status : cs_cooc_built(p, status);
}
