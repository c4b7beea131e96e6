/* Resources of a build, its units, the blocks that its sequences are cut into, and the workers that
 * collect the contributions of blocks (builder.c). */
#include "cooc/build_blocks_private.h"

#include <math.h>

#include "base/clock.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/by_document.h"

enum { BLOCK = 1 << 15, MIB = 1 << 20 };

cs_status cs_build_resources_of(const cs_cooc_options *options, cs_build_resources *out)
{
    const int asked = options->threads > 0 ? options->threads : cs_threads();
    int64_t budget = options->memory_budget;
    if (budget == 0) {
        budget = cs_mem_available() / 4;
        budget = budget > MIB ? budget : MIB;
    }
    if (budget < MIB) {
        return cs_fail(CS_ERR_USAGE, "memory budget of %lld bytes: at least 1 MiB is needed",
                       (long long)options->memory_budget);
    }
    *out = (cs_build_resources){.workers = asked < CS_BUILD_WORKERS ? asked : CS_BUILD_WORKERS,
                                .budget = budget,
                                .limit = (options->memory_budget > 0 ? 1 : 2) * (double)budget};
    return CS_OK;
}

static double build_weight(const cs_cooc_prepared *p, int64_t i)
{
    const double own =
        p->options.weight_by_document ? 1 : cs_context_predicted(p->plan, p->sequences.length[i]);
    return p->corpus->weight ? own * p->corpus->weight[p->sequences.document[i]] : own;
}

/* The mass of sequence i before anything is dropped. */
static double build_mass(const cs_cooc_prepared *p, int64_t i)
{
    return build_weight(p, i) * (double)cs_context_windows(p->plan, p->sequences.length[i]);
}

/* Of the sequences of this rank, or of all. */
typedef struct {
    double most; /* mass of one */
    int64_t sequences, denominator;
    cs_exact_sum total;
} masses;

/* A denominator of 0 means none, -1 that there are no sequences. */
static void join_masses(void *mine, const void *other, int64_t size)
{
    masses *m = mine;
    const masses *more = other;
    (void)size;
    m->most = fmax(m->most, more->most);
    m->sequences += more->sequences;
    cs_exact_join(&m->total, &more->total);
    m->denominator = cs_context_denominators(m->denominator, more->denominator);
}

cs_build_units cs_build_units_of(const cs_cooc_prepared *p)
{
    cs_comm *c = cs_cooc_parted(p) ? p->options.comm : NULL;
    const int64_t count = p->sequences.count;
    masses m = {.sequences = count,
                .denominator = count > 0
                                   ? cs_context_denominator(p->plan, p->options.weight_by_document)
                                   : -1};
    for (int64_t i = 0; i < count; ++i) {
        m.most = fmax(m.most, build_mass(p, i));
    }
    if (c) cs_comm_fold(c, &m, sizeof m, join_masses);
    const int64_t d = m.denominator;
    const int exponent = m.most > 0 ? cs_exact_exponent(m.most, (double)m.sequences) : 0;
    for (int64_t i = 0; i < count; ++i) {
        cs_exact_add(&m.total, build_mass(p, i), exponent);
    }
    if (c) cs_comm_fold(c, &m, sizeof m, join_masses);
    const double total = cs_exact_value(&m.total, exponent);
    /* A sample may be heavier than its expectation: never by more than 2^3 in all but degenerate
     * plan files, where the overflow of the total is caught. */
    double headroom = p->options.draws > 0 ? 8 : 1;
    headroom *= cs_context_event_mass(&p->options.context);
    const bool exact = d > 0 && !p->corpus->weight && p->options.subsample == 0 &&
                       total * (double)d * headroom < 0x1p53;
    return (cs_build_units){.scale = exact ? (double)d : exp2(floor(61 - log2(total * headroom))),
                            .exact = exact,
                            .exponent = total > 0 ? cs_exact_exponent(total * headroom, 1) : 0};
}

/* Removing tokens before the windows are cut would move other pairs together; here they only leave
 * gaps, so that the expected count of a pair is its count times both probabilities. */
cs_status cs_build_subsample(cs_build *b)
{
    const cs_corpus *c = b->of->corpus;
    const double threshold = b->of->options.subsample;
    if (threshold == 0) {
        return CS_OK;
    }
    b->keep = cs_calloc(c->vocab, sizeof *b->keep);
    if (!b->keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents; ++d) {
        const bool in = cs_cooc_in_split(c, b->of->options.split, d);
        for (int64_t i = c->doc_ptr[d]; in && i < c->doc_ptr[d + 1]; ++i) {
            ++b->keep[c->token[i]];
        }
    }
    if (cs_cooc_parted(b->of)) cs_comm_sum(b->of->options.comm, c->vocab, b->keep);
    for (int64_t v = 0; v < c->vocab; ++v) {
        const double most = threshold * (double)b->of->tokens;
        b->keep[v] = b->keep[v] > most ? sqrt(most / b->keep[v]) : 1;
    }
    return CS_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static cs_status add_block(cs_build *b, int64_t first, int64_t last, int64_t from, int64_t to)
{
    cs_status status = cs_reserve(&b->block, &b->capacity, b->blocks + 1, sizeof *b->block);
    if (status != CS_OK) return status;
    b->block[b->blocks++] = (cs_block){.first = first, .last = last, .from = from, .to = to};
    return CS_OK;
}

cs_status cs_build_cut_blocks(cs_build *b)
{
    cs_status status = CS_OK;
    int64_t first = 0;
    double held = 0;
    for (int64_t i = 0; i < b->of->sequences.count && status == CS_OK; ++i) {
        const int64_t outer = cs_context_outer(b->of->plan, b->of->sequences.length[i]);
        const double contributions =
            b->language.population
                ? 2.0 * BLOCK * (double)outer /* a block each */
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

void cs_build_deal_blocks(cs_build *b)
{
    const cs_comm *c = b->of->options.comm;
    for (int64_t i = 0; c && !cs_cooc_parted(b->of) && i < b->blocks; ++i) {
        b->block[i].done = i % c->ranks != c->rank;
        b->done += b->block[i].done;
    }
    b->elsewhere = b->done;
}

/* --- collecting ------------------------------------------------------------------------------- */

static cs_status emit(void *ctx, const cs_contribution *c)
{
    cs_build_emitter *e = ctx;
    double weight = c->weight;
    if (e->keep) {
        weight *= e->keep[c->token] * e->keep[c->content[0]];
    }
    if (weight != e->weight) {
        e->weight = weight;
        e->exact = weight * e->scale;
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
    cs_build_emitter *e = ctx;
    e->sequence = code * e->sequences + e->of;
    return emit(ctx, c);
}

static cs_status walk(cs_build *b, cs_build_worker *w, int64_t sequence, int64_t from, int64_t to,
                      cs_exact_sum *dropped)
{
    const cs_sequences *s = &b->of->sequences;
    int64_t length = s->length[sequence], document = s->document[sequence];
    double weight = build_weight(b->of, sequence);
    cs_build_emitter *e = &w->emitter;
    e->sequence = e->of = s->first + sequence;
    e->sequences = s->count;
    w->spreader.document = document;
    e->document = b->of->options.by_document ? b->of->corpus->first_document + document : -1;
    e->scale = weight * b->scale;
    e->weight = e->exact = 0;
    e->weighed = 0;
    e->lost = 0;
    e->label = b->of->corpus->labels > 0 ? b->of->corpus->label[document] : -1;
    w->walker.dropped = 0;
    cs_status status = cs_context_walk(&w->walker, s->first + sequence, s->start[sequence], length,
                                       document, from, to);
    cs_exact_add(dropped, w->walker.dropped * weight + e->lost / b->scale, b->exponent);
    return status;
}

void cs_build_expect_runs(cs_build *b)
{
    cs_runs_expect(&b->runs, b->blocks - b->elsewhere, b->done - b->elsewhere + b->may_use.workers,
                   b->may_use.budget);
}

cs_status cs_build_run_block(void *ctx, int64_t item, int number)
{
    cs_build *b = ctx;
    cs_block *k = &b->block[item];
    cs_build_worker *w = &b->worker[number];
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
        cs_build_expect_runs(b);
    }
    (void)pthread_mutex_unlock(&b->lock);
    return status;
}

cs_status cs_build_start_workers(cs_build *b)
{
    CS_POOL_FIELDS(&b->pool, b->may_use.workers, b, worker, cut);
    cs_status status = b->pool.status;
    /* One worker may meet them all; draws, twice as many as expected. */
    double share = (double)b->may_use.budget / b->may_use.workers;
    double most = (2 * b->expected + BLOCK) * sizeof(cs_record) * 1.25;
    int64_t bytes = (int64_t)(most < share ? most : share);
    for (int i = 0; i < b->may_use.workers && status == CS_OK; ++i) {
        cs_build_worker *w = &b->worker[i];
        status = b->language.population ? cs_synthetic_spreader_init(&b->language, emit_words,
                                                                     &w->emitter, &w->spreader)
                                        : CS_OK;
        if (status == CS_OK)
            status = b->language.population
                         ? cs_context_walker_init(&w->walker, b->of->plan, b->of->corpus,
                                                  cs_synthetic_spread_visit, &w->spreader)
                         : cs_context_walker_init(&w->walker, b->of->plan, b->of->corpus, emit,
                                                  &w->emitter);
        if (status == CS_OK) status = cs_collector_init(&w->collector, &b->runs, bytes);
        w->collector.patient = b->of->options.checkpoint != NULL;
        w->emitter.collector = &w->collector;
        w->emitter.keep = b->keep;
    }
    return status;
}

void cs_build_stop_workers(cs_build *b)
{
    for (int i = 0; b->worker && i < b->may_use.workers; ++i) {
        cs_context_walker_free(&b->worker[i].walker);
        cs_synthetic_spreader_free(&b->worker[i].spreader);
        cs_collector_free(&b->worker[i].collector);
    }
    cs_pool_free(&b->pool);
}
