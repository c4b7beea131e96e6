/* The build: sequences are cut into blocks of about BLOCK contributions, blocks are handed to
 * workers, each worker adds up its contributions in a collector, and what the collectors hold (or
 * have spilled) is merged into the matrix. `each:w` has a faster way (windows.c) where its stream
 * fits in the budget, and `unique` (windows_unique.c) but where rows take all of it.
 *
 * Why the result does not depend on threads or budget: each contribution is rounded to integer
 * units by itself; integer sums, and minima of witnesses, commute; what is dropped is a double
 * summed within a block, then over blocks in order, and blocks depend on the corpus alone. That is
 * also why a checkpoint (checkpoint.c) is the sums over the blocks that are finished: on an
 * interrupt every worker finishes its block, and none is half in the sums.
 *
 * Units: weight x D is an integer where a common denominator D below 2^40 exists and the whole
 * matrix holds fewer than 2^53 units, so that every sum is exact also as a double. Otherwise a unit
 * is 2^-e, as small as keeps the total below 2^61.
 */
#include "cooc/builder.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_checkpoint_private.h"
#include "cooc/build_private.h"
#include "cooc/build_sequences.h"
#include "cooc/by_document.h"
#include "cooc/context_private.h"
#include "cooc/exchange_private.h"
#include "cooc/law_spread_private.h"
#include "cooc/merge_private.h"
#include "cooc/windows_private.h"

enum { BLOCK = 1 << 15 };

typedef struct {
    int64_t sequence, document; /* -1: not part of the row */
    int64_t of, sequences;      /* population: the current sequence, and their number */
    double scale;               /* units per unit of weight */
    double weight, exact;       /* the last weight, */
    int64_t weighed;            /* and its units: most contributions weigh as the one before */
    double lost;                /* units that rounded to nothing */
    int64_t contributions, units;
    bool overflow;
    int32_t label;
    cs_collector *collector;
} emitter;

typedef struct {
    cs_context_walker walker;
    cs_law_spreader spreader;
    cs_collector collector;
    emitter emitter;
} worker;

typedef struct cs_build {
    const cs_cooc_prepared *of;
    cs_law_spread law; /* of a population */
    bool exact;
    double scale; /* units per predicted token (or document) */
    int64_t blocks, capacity;
    cs_block *block;
    double expected; /* contributions: an upper bound, except for draws */
    worker *worker;
    cs_cut *cut;  /* workers: what their collectors hold at the merge */
    cs_pool pool; /* of these two */
    cs_runs runs;
    cs_build_resources may_use;
    pthread_mutex_t lock; /* guards `done`, `whole` and the listener */
    int64_t done;
    int64_t elsewhere; /* blocks that other ranks count, which are among those done */
    bool whole;        /* every block is wholly in the sums, or not at all */
    double due;   /* cs_seconds of the next checkpoint, for which blocks that have not begun wait */
    int64_t kept; /* blocks of the last one */
    bool collects; /* the general method with collectors, the only one that writes checkpoints */
    json_t *identity;
    cs_checkpoint *checkpoint; /* to go on from */
} build;

/* --- blocks ----------------------------------------------------------------------------------- */

static cs_status add_block(build *b, int64_t first, int64_t last, int64_t from, int64_t to)
{
    cs_status status = cs_reserve(&b->block, &b->capacity, b->blocks + 1, sizeof *b->block);
    if (status != CS_OK) return status;
    b->block[b->blocks++] = (cs_block){.first = first, .last = last, .from = from, .to = to};
    return CS_OK;
}

/* Sequences of few contributions share a block, one of many is cut by its outer items. */
static cs_status cut_blocks(build *b)
{
    cs_status status = CS_OK;
    int64_t first = 0;
    double held = 0;
    for (int64_t i = 0; i < b->of->sequences.count && status == CS_OK; ++i) {
        const int64_t outer = cs_context_outer(b->of->plan, b->of->sequences.length[i]);
        const double contributions =
            b->law.population ? 2.0 * BLOCK * (double)outer /* a block each */
                              : cs_context_contributions(b->of->plan, b->of->sequences.length[i]);
        b->expected += contributions;
        if (contributions < 2 * BLOCK) {
            held += contributions + 1;
            if (held >= BLOCK) {
                status = add_block(b, first, i + 1, 0, 0);
                first = i + 1;
                held = 0;
            }
            continue;
        }
        if (first < i) {
            status = add_block(b, first, i, 0, 0);
        }
        int64_t step = (int64_t)((double)outer * BLOCK / contributions);
        step = step > 0 ? step : 1;
        for (int64_t from = 0; from < outer && status == CS_OK; from += step) {
            int64_t to = cs_least(from + step, outer);
            status = add_block(b, i, i + 1, from, to);
        }
        first = i + 1;
        held = 0;
    }
    if (status == CS_OK && first < b->of->sequences.count)
        status = add_block(b, first, b->of->sequences.count, 0, 0);
    return status;
}

/* The blocks that other ranks count are done for this one. */
static void deal_blocks(build *b)
{
    const cs_comm *c = b->of->options.comm;
    for (int64_t i = 0; c && i < b->blocks; ++i) {
        b->block[i].done = i % c->ranks != c->rank;
        b->done += b->block[i].done;
    }
    b->elsewhere = b->done;
}

/* --- collecting ------------------------------------------------------------------------------- */

static cs_status emit(void *ctx, const cs_contribution *c)
{
    emitter *e = ctx;
    if (c->weight != e->weight) {
        e->weight = c->weight;
        e->exact = c->weight * e->scale;
        e->overflow |= !(e->exact < 0x1p63); /* beyond llrint, whose value is then none */
        e->weighed = e->exact < 0x1p63 ? llrint(e->exact) : 0;
    }
    const int64_t units = e->weighed;
    ++e->contributions;
    if (units <= 0) {
        e->lost += e->exact;
        return CS_OK;
    }
    e->overflow |= __builtin_add_overflow(e->units, units, &e->units);
    cs_record record = {.key = e->document < 0 ? c->key : cs_key_by_document(c->key, e->document),
                        .col = c->token,
                        .label = e->label,
                        .units = units,
                        .sequence = e->sequence,
                        .ordinal = c->ordinal};
    return cs_collector_add(e->collector, &record);
}

/* Of the words that are coded: with the sequence they are the witness. */
static cs_status emit_words(void *ctx, const cs_contribution *c, int64_t code)
{
    emitter *e = ctx;
    e->sequence = code * e->sequences + e->of;
    return emit(ctx, c);
}

static cs_status walk(build *b, worker *w, int64_t sequence, int64_t from, int64_t to,
                      double *dropped)
{
    const cs_sequences *s = &b->of->sequences;
    int64_t length = s->length[sequence], document = s->document[sequence];
    double weight = cs_build_weight(b->of, sequence);
    emitter *e = &w->emitter;
    e->sequence = e->of = sequence;
    e->sequences = s->count;
    w->spreader.document = document;
    e->document = b->of->options.by_document ? document : -1;
    e->scale = weight * b->scale;
    e->weight = e->exact = 0;
    e->weighed = 0;
    e->lost = 0;
    e->label = b->of->corpus->labels > 0 ? b->of->corpus->label[document] : -1;
    w->walker.dropped = 0;
    cs_status status =
        cs_context_walk(&w->walker, sequence, s->start[sequence], length, document, from, to);
    *dropped += w->walker.dropped * weight + e->lost / b->scale;
    return status;
}

/* Every worker may have begun a block that is not done. Called with the lock held. */
static void expect_runs(build *b)
{
    cs_runs_expect(&b->runs, b->blocks - b->elsewhere, b->done - b->elsewhere + b->may_use.workers,
                   b->may_use.budget);
}

static cs_status run_block(void *ctx, int64_t item, int number)
{
    build *b = ctx;
    cs_block *k = &b->block[item];
    worker *w = &b->worker[number];
    cs_status status = CS_OK;
    if (k->done || cs_seconds() > b->due) { /* before the interrupt; after the checkpoint */
        return CS_OK;
    }
    if (k->to > 0) {
        status = walk(b, w, k->first, k->from, k->to, &k->dropped);
    }
    for (int64_t i = k->first; k->to == 0 && i < k->last && status == CS_OK; ++i) {
        int64_t outer = cs_context_outer(b->of->plan, b->of->sequences.length[i]);
        status = walk(b, w, i, 0, outer, &k->dropped);
    }
    (void)pthread_mutex_lock(&b->lock);
    k->done = status == CS_OK;
    b->whole = b->whole && k->done;
    if (k->done) {
        cs_progress_report(b->of->options.progress, "blocks of sequences", ++b->done, b->blocks);
        expect_runs(b);
    }
    (void)pthread_mutex_unlock(&b->lock);
    return status;
}

static cs_status start_workers(build *b)
{
    CS_POOL_FIELDS(&b->pool, b->may_use.workers, b, worker, cut);
    cs_status status = b->pool.status;
    /* One worker may meet them all; draws, twice as many as expected. */
    double share = (double)b->may_use.budget / b->may_use.workers;
    double most = (2 * b->expected + BLOCK) * sizeof(cs_record) * 1.25;
    int64_t bytes = (int64_t)(most < share ? most : share);
    for (int i = 0; i < b->may_use.workers && status == CS_OK; ++i) {
        worker *w = &b->worker[i];
        status = b->law.population
                     ? cs_law_spreader_init(&b->law, emit_words, &w->emitter, &w->spreader)
                     : CS_OK;
        if (status == CS_OK)
            status = b->law.population
                         ? cs_context_walker_init(&w->walker, b->of->plan, b->of->corpus,
                                                  cs_law_spread_visit, &w->spreader)
                         : cs_context_walker_init(&w->walker, b->of->plan, b->of->corpus, emit,
                                                  &w->emitter);
        if (status == CS_OK) status = cs_collector_init(&w->collector, &b->runs, bytes);
        w->collector.patient = b->of->options.checkpoint != NULL;
        w->emitter.collector = &w->collector;
    }
    return status;
}

static void stop_workers(build *b)
{
    for (int i = 0; b->worker && i < b->may_use.workers; ++i) {
        cs_context_walker_free(&b->worker[i].walker);
        cs_law_spreader_free(&b->worker[i].spreader);
        cs_collector_free(&b->worker[i].collector);
    }
    cs_pool_free(&b->pool);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* Some records are lost, or may count twice: no checkpoint can be made of what is there. */
static void lose(build *b)
{
    (void)pthread_mutex_lock(&b->lock);
    b->whole = false;
    (void)pthread_mutex_unlock(&b->lock);
}

static cs_status spill_collector(void *ctx, int64_t item)
{
    build *b = ctx;
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
    build *b = ctx;
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
static cs_status merge_all(build *b, cs_assembler *assembler, int64_t *runs)
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

/* By way of the ranks that own the rows: what is held goes to the disk as if it were spilled, since
 * the exchange needs the memory. */
static cs_status merge_over_ranks(build *b, cs_assembler *assembler, int64_t *runs)
{
    cs_exchange *exchange = NULL;
    cs_status status =
        cs_exchange_open(b->of->options.comm, b->of->options.scratch, b->may_use.budget, &exchange);
    if (status == CS_OK)
        status = cs_parallel(b->may_use.workers, b->may_use.workers, spill_collector, b);
    *runs = b->runs.count;
    if (status == CS_OK)
        status = cs_runs_merge(&b->runs, b->may_use.budget, cs_exchange_take, exchange);
    cs_runs_free(&b->runs);
    if (status == CS_OK) status = cs_exchange_finish(exchange, b->may_use.workers, assembler);
    cs_exchange_free(&exchange);
    return status;
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static cs_checkpoint_state state_of(build *b, cs_collector **collector)
{
    cs_checkpoint_state s = {.blocks = b->blocks,
                             .block = b->block,
                             .runs = &b->runs,
                             .collectors = b->may_use.workers,
                             .collector = collector,
                             .vocab = b->of->corpus->vocab,
                             .labels = b->of->corpus->labels,
                             .sequences = b->of->sequences.count};
    for (int i = 0; i < b->may_use.workers; ++i) {
        const emitter *e = &b->worker[i].emitter;
        collector[i] = &b->worker[i].collector;
        s.contributions += e->contributions;
        s.overflow |= e->overflow || __builtin_add_overflow(s.units, e->units, &s.units);
    }
    return s;
}

/* Gives the contributions of the interrupted builds to the first worker. */
static cs_status take_up(build *b)
{
    cs_collector *collector[CS_BUILD_WORKERS];
    cs_checkpoint_state s = state_of(b, collector);
    cs_status status = cs_checkpoint_load(b->checkpoint, &s);
    if (status == CS_OK) {
        emitter *e = &b->worker[0].emitter;
        e->contributions = s.contributions;
        e->units = s.units;
        e->overflow = s.overflow;
    }
    for (int64_t i = 0; i < b->blocks; ++i) {
        b->done += b->block[i].done;
    }
    b->kept = b->done;
    return status;
}

static cs_status finish_collector(void *ctx, int64_t item, int number)
{
    (void)number;
    build *b = ctx;
    return cs_collector_finish(&b->worker[item].collector); /* may spill a run */
}

static cs_status finish_collectors(build *b)
{
    return cs_parallel_through(b->may_use.workers, b->may_use.workers, finish_collector, b);
}

static cs_status write_checkpoint(build *b)
{
    cs_collector *collector[CS_BUILD_WORKERS];
    const cs_checkpoint_state s = state_of(b, collector);
    cs_status status = cs_checkpoint_write(b->of->options.checkpoint, b->identity, &s);
    if (status == CS_OK) b->kept = b->done;
    return status;
}

/* Between blocks, for the interrupt that leaves no time to write all of it. A full disk does not
 * end the build. */
static cs_status save_meanwhile(build *b)
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
static cs_status save(build *b)
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

static cs_status begin(cs_cooc_prepared *p, build *b)
{
    const cs_cooc_options *options = &p->options;
    memset(b, 0, sizeof *b);
    b->of = p;
    cs_runs_init(&b->runs, options->scratch);
    (void)pthread_mutex_init(&b->lock, NULL);
    cs_status status = cs_build_resources_of(options, &b->may_use);
    if (status == CS_OK) status = check_columns(p->corpus);
    if (status == CS_OK) status = cs_cooc_plan(p);
    return status == CS_OK ? cs_law_spread_init(p->plan, p->corpus, &p->sequences, &b->law)
                           : status;
}

static void release(build *b)
{
    stop_workers(b);
    cs_runs_free(&b->runs);
    cs_law_spread_free(&b->law);
    cs_checkpoint_close(&b->checkpoint);
    json_decref(b->identity);
    cs_free(b->block);
    (void)pthread_mutex_destroy(&b->lock);
}

/* Contributions and units of all ranks; `overflow` of any. */
static cs_status add_ranks(cs_comm *c, int64_t *contributions, int64_t *units, bool *overflow)
{
    int64_t mine[] = {*contributions, *units, *overflow}, *all = cs_alloc(c->ranks, sizeof mine);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof mine, mine, all);
    *contributions = *units = 0;
    for (int r = 0; r < c->ranks; ++r) {
        const int64_t *theirs = all + (ptrdiff_t)3 * r;
        *contributions += theirs[0];
        *overflow |= theirs[2] != 0 || __builtin_add_overflow(*units, theirs[1], units);
    }
    cs_free(all);
    return CS_OK;
}

/* The weight that the blocks of all ranks have dropped: each block's from the rank that counted
 * it. */
static cs_status share_dropped(build *b)
{
    double *dropped = cs_alloc(b->blocks, sizeof *dropped);
    cs_status status = dropped ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < b->blocks; ++i) {
        dropped[i] = b->block[i].dropped; /* 0 elsewhere: sums are exact */
    }
    if (status == CS_OK) status = cs_comm_sum(b->of->options.comm, b->blocks, dropped);
    for (int64_t i = 0; status == CS_OK && i < b->blocks; ++i) {
        b->block[i].dropped = dropped[i];
    }
    cs_free(dropped);
    return status;
}

/* Sums over workers. */
static cs_status add_up(const build *b, cs_cooc *out)
{
    bool overflow = false;
    int64_t units = 0;
    for (int i = 0; i < b->may_use.workers; ++i) {
        const emitter *e = &b->worker[i].emitter;
        out->contributions += e->contributions;
        overflow |= e->overflow || __builtin_add_overflow(units, e->units, &units);
    }
    if (b->of->options.comm &&
        add_ranks(b->of->options.comm, &out->contributions, &units, &overflow) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    if (overflow || (b->exact && units > INT64_C(1) << 53)) {
        if (b->of->options.comm) {
            b->of->options.comm->agreed = true; /* all ranks come to this */
        }
        return cs_fail(CS_ERR_INPUT,
                       "the sampled plans have far more mass than expected: it exceeds %g",
                       (b->exact ? 0x1p53 : 0x1p63) / b->scale);
    }
    return CS_OK;
}

static cs_status collect(build *b)
{
    const double every = b->of->options.checkpoint_every;
    cs_status status = CS_OK;
    b->whole = b->collects = true;
    expect_runs(b);
    b->due = !b->of->options.checkpoint ? INFINITY
                                        : cs_seconds() + (every > 0 ? every : CS_CHECKPOINT_EVERY);
    while (b->done < b->blocks && status == CS_OK) {
        status = cs_parallel_workers(b->blocks, b->may_use.workers, run_block, b);
        if (b->done < b->blocks && status == CS_OK) status = save_meanwhile(b);
    }
    return status;
}

/* The general way: records. */
static cs_status collect_and_merge(build *b, cs_assembler *assembler, cs_cooc *result)
{
    cs_status status = start_workers(b);
    if (status == CS_OK && b->checkpoint) status = take_up(b);
    if (status == CS_OK) status = collect(b);
    if (status == CS_OK) status = add_up(b, result);
    if (status == CS_OK) {
        cs_progress_report(b->of->options.progress, "merge", 0, 0);
        status = b->of->options.comm ? merge_over_ranks(b, assembler, &result->runs)
                                     : merge_all(b, assembler, &result->runs);
    }
    return status;
}

static cs_windows_job windows_job(const build *b)
{
    return (cs_windows_job){.corpus = b->of->corpus,
                            .sequences = &b->of->sequences,
                            .plan = b->of->plan,
                            .options = &b->of->options,
                            .scale = b->scale,
                            .blocks = b->blocks,
                            .block = b->block,
                            .workers = b->may_use.workers,
                            .budget = b->may_use.budget};
}

static cs_status count(build *b, cs_assembler *assembler, cs_cooc *result)
{
    const cs_windows_job job = windows_job(b);
    double lacking = 0;
    cs_status status = !b->checkpoint && !b->of->options.comm && cs_windows_apply(&job, &lacking)
                           ? cs_windows_count(&job, assembler, &result->contributions)
                           : collect_and_merge(b, assembler, result);
    status = status || !b->of->options.comm ? status : share_dropped(b);
    for (int64_t i = 0; i < b->blocks && status == CS_OK; ++i) {
        result->dropped_mass += b->block[i].dropped;
    }
    return status;
}

cs_status cs_cooc_check(const cs_corpus *corpus, const cs_cooc_options *options)
{
    build b;
    cs_cooc_prepared p = {0};
    cs_status status = cs_cooc_prepare(corpus, options, &p);
    if (status == CS_OK) {
        status = begin(&p, &b);
        release(&b);
    }
    cs_cooc_prepared_free(&p);
    return status;
}

cs_status cs_cooc_lacking(cs_cooc_prepared *p, double *bytes)
{
    build b;
    cs_status status = begin(p, &b);
    *bytes = 0;
    if (status == CS_OK && !p->options.comm) {
        const cs_windows_job job = windows_job(&b);
        (void)cs_windows_apply(&job, bytes);
    }
    release(&b);
    return status;
}

cs_status cs_cooc_build(const cs_corpus *corpus, const cs_cooc_options *options, cs_cooc *out)
{
    cs_cooc_prepared p = {0};
    cs_status status = cs_cooc_prepare(corpus, options, &p);
    if (options->comm) status = cs_comm_agree(options->comm, status);
    if (status == CS_OK) status = cs_cooc_build_prepared(&p, out);
    cs_cooc_prepared_free(&p);
    return status;
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
    const bool kept = p->counts && p->counts->collects && p->options.checkpoint;
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

cs_status cs_cooc_build_prepared(cs_cooc_prepared *p, cs_cooc *out)
{
    const cs_corpus *corpus = p->corpus;
    const cs_cooc_options *options = &p->options;
    build *b = cs_alloc(1, sizeof *b);
    cs_cooc result = {0};
    cs_assembler *assembler = NULL;
    if (!b) return CS_ERR_MEMORY;
    forget(p);
    p->counts = b;
    cs_status status = begin(p, b);
    if (status == CS_OK) {
        b->scale = cs_build_scale(p, &b->exact);
        status = cut_blocks(b);
        b->expected = b->law.population ? b->law.contributions : b->expected;
        deal_blocks(b);
    }
    if (options->comm) {
        status = cs_comm_agree(options->comm, status);
    }
    if (status == CS_OK && options->checkpoint)
        status = cs_checkpoint_identity(corpus, options, b->scale, b->blocks, &b->identity);
    if (status == CS_OK && options->checkpoint && options->resume)
        status = cs_checkpoint_open(options->checkpoint, b->identity, &b->checkpoint);
    if (status == CS_OK)
        status = cs_assembler_new(corpus, b->exact, 1 / b->scale, b->may_use.limit,
                                  options->scratch, &assembler);
    if (status == CS_OK) status = count(b, assembler, &result);
    if (status == CS_OK) {
        result.sequences = cs_cooc_windows(options, &b->of->sequences);
        result.skipped_sequences = p->skipped;
        status = cs_assembler_finish(assembler, &result);
        result.matrix.a.gram = cs_context_gram(&options->context);
    }
    if (status == CS_OK && b->law.population && result.matrix.a.rows > 0) {
        status = cs_law_witnesses(&b->law, &b->of->sequences, &result);
        result.sequences = result.matrix.a.rows;
    }
    if (status == CS_OK) {
        *out = result;
    } else {
        cs_cooc_free(&result);
    }
    cs_assembler_free(&assembler);
    return status == CS_OK && options->checkpoint ? status : cs_cooc_built(p, status);
}
