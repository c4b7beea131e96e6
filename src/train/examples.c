/* Sequences of the current split, their order by Fisher and Yates, and the exact distribution of
 * their targets (spectra.md: a column's mass). */
#include "train/examples.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vector_ops.h"
#include "plan/pairs.h"
#include "text/sequences.h"

void cs_examples_free(cs_examples *examples)
{
    cs_pool_free(&examples->pool);
    *examples = (cs_examples){0};
}

/* Whether the objectives predict anything at a length: remembered, as lengths repeat. */
typedef struct {
    const cs_examples_options *options;
    cs_status status;
    uint8_t *known; /* a length each; 0: not asked yet, 1: no, 2: yes */
} lengths;

static bool fits(lengths *l, int64_t s)
{
    if (l->known[s] == 0 && l->status == CS_OK) {
        bool exists = true;
        const int64_t count = cs_most(l->options->objectives, 1);
        for (int64_t i = 0; i < count && exists && l->status == CS_OK; ++i) {
            l->status = cs_objective_exists(&l->options->objective[i], s, &exists);
        }
        l->known[s] = exists ? 2 : 1;
    }
    return l->known[s] == 2;
}

static cs_status allocate(cs_examples *e, int64_t most)
{
    CS_POOL_FIELDS(&e->pool, most, e, start, length);
    return e->pool.status;
}

static void add_example(cs_examples *e, lengths *l, int64_t start, int64_t length)
{
    if (!fits(l, length)) {
        ++e->too_short;
        return;
    }
    e->start[e->count] = start;
    e->length[e->count++] = (int32_t)length;
    e->longest = cs_most(e->longest, length);
}

/* Pieces of single documents. */
static cs_status cut(const cs_corpus *corpus, const cs_examples_options *options, lengths *l,
                     cs_examples *e)
{
    CS_AUTO(cs_sequences) all = {0};
    cs_status status = cs_sequences_of(corpus, options->length, 0, &all);
    if (status == CS_OK) status = allocate(e, all.count);
    if (status == CS_OK && corpus->extra) {
        e->document = cs_pool_take(&e->pool, all.count, sizeof *e->document);
        status = e->pool.status;
    }
    for (int64_t i = 0; i < all.count && status == CS_OK; ++i) {
        if ((corpus->held_out[all.document[i]] != 0) == options->held_out) {
            if (e->document) {
                e->document[e->count] = all.document[i]; /* of the next that is added */
            }
            add_example(e, l, all.start[i], all.length[i]);
        }
    }
    e->token = corpus->token;
    e->real = corpus->real;
    e->real_width = corpus->real_width;
    e->extra = corpus->extra;
    e->extra_width = corpus->extra_width;
    return status;
}

/* Blocks of joined documents; what is left at the end is a shorter one. */
static cs_status join(const cs_corpus *corpus, const cs_examples_options *options, lengths *l,
                      cs_examples *e)
{
    if (options->end_token < 0) {
        return cs_fail(CS_ERR_USAGE,
                       "packing needs a tokenizer with an end token; --eos-token names it");
    }
    if (corpus->real_width > 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "real rows cannot be packed, because packing puts an end token between texts");
    }
    int64_t tokens = 0;
    e->joined = cs_pool_take(&e->pool, corpus->tokens + corpus->documents, sizeof *e->joined);
    if (!e->joined) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        if ((corpus->held_out[d] != 0) != options->held_out) {
            continue;
        }
        for (int64_t i = corpus->doc_ptr[d]; i < corpus->doc_ptr[d + 1]; ++i) {
            e->joined[tokens++] = corpus->token[i];
        }
        e->joined[tokens++] = options->end_token;
    }
    cs_status status = allocate(e, tokens / options->length + 1);
    for (int64_t at = 0; at < tokens && status == CS_OK; at += options->length) {
        add_example(e, l, at, cs_least(tokens - at, options->length));
    }
    e->token = e->joined;
    return status;
}

cs_status cs_examples_of(const cs_corpus *corpus, const cs_examples_options *options,
                         cs_examples *out)
{
    if (options->length < 1) {
        return cs_fail(CS_ERR_USAGE, "sequences cannot have %lld tokens",
                       (long long)options->length);
    }
    cs_examples e = {.seed = options->seed, .group = options->group, .epoch = -1};
    lengths l = {.options = options, .known = cs_calloc(options->length + 1, 1)};
    cs_status status = l.known ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = options->pack ? join(corpus, options, &l, &e) : cut(corpus, options, &l, &e);
    if (status == CS_OK) status = l.status;
    if (status == CS_OK && e.count > INT32_MAX)
        status = cs_fail(CS_ERR_INPUT, "%lld sequences are more than 2^31 - 1", (long long)e.count);
    if (status == CS_OK) e.order = cs_pool_take(&e.pool, e.count, sizeof *e.order);
    if (status == CS_OK && e.group > 0) e.place = cs_pool_take(&e.pool, e.count, sizeof *e.place);
    if (status == CS_OK) status = e.pool.status;
    cs_free(l.known);
    return CS_DELIVER(status, out, e, cs_examples_free);
}

CS_RISING(by_length, cs_by_length, length, place)

void cs_sort_by_length(int64_t count, cs_by_length *item)
{
    qsort(item, (size_t)count, sizeof *item, by_length);
}

/* Sorts places first .. first + count - 1 by length and shuffles the whole groups among them. The
 * order of equal lengths is that of the permutation. */
static cs_status sort_window(cs_examples *e, int64_t first, int64_t count, cs_rng *rng)
{
    int64_t groups = count / e->group;
    CS_AUTO_FREE cs_by_length *item = cs_alloc(count, sizeof *item);
    if (!item) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        int32_t example = e->order[first + i];
        item[i] = (cs_by_length){e->length[example], i, example};
    }
    cs_sort_by_length(count, item);
    cs_rng_permutation(rng, groups, e->place);
    for (int64_t i = 0; i < count; ++i) {
        int64_t group = i / e->group;
        int64_t from = group < groups ? e->place[group] * e->group + i % e->group : i;
        e->order[first + i] = (int32_t)item[from].number;
    }
    return CS_OK;
}

/* Groups begin where batches do: an epoch may begin in the middle of one. */
static cs_status sort_windows(cs_examples *e, int64_t epoch, cs_rng *rng)
{
    enum { WINDOW = 64 };
    cs_status status = CS_OK;
    int64_t first = (e->group - epoch * e->count % e->group) % e->group;
    for (int64_t at = first; at < e->count && status == CS_OK; at += WINDOW * e->group) {
        status = sort_window(e, at, cs_least(e->count - at, WINDOW * e->group), rng);
    }
    return status;
}

cs_status cs_examples_at(cs_examples *examples, int64_t n, int64_t *out)
{
    int64_t epoch = n / examples->count;
    if (epoch != examples->epoch) {
        cs_rng rng = cs_rng_at(examples->seed, CS_STREAM_ORDER, (uint64_t)epoch);
        cs_rng_permutation(&rng, examples->count, examples->order);
        cs_status status = examples->group > 0 ? sort_windows(examples, epoch, &rng) : CS_OK;
        if (status != CS_OK) return status;
        examples->epoch = epoch;
    }
    *out = examples->order[n % examples->count];
    return CS_OK;
}

/* share[k]: expected weight of the target at position k in a sequence of s tokens, summing to the
 * expected number of predicted tokens. */
static cs_status target_share(const cs_objective *objective, int64_t s, double *share)
{
    cs_objective plain = *objective;
    CS_AUTO(cs_pairs) pairs = {0};
    CS_AUTO_FREE double *factor = NULL;
    plain.target_weight = CS_TARGETS_PLAN;
    cs_status status = cs_pairs_of(&plain, s, &pairs);
    if (status == CS_OK) status = cs_target_factors(objective, s, &factor);
    if (status == CS_OK)
        cs_pairs_targets(&pairs, objective->event_weight == CS_EVENT_MASK ? 1.0 : pairs.predicted,
                         share);
    for (int64_t k = 0; factor && k < s; ++k) {
        share[k] *= factor[k];
    }
    return status;
}

cs_status cs_examples_mass(const cs_examples *examples, const cs_objective *objective,
                           int64_t vocab, double *mass)
{
    cs_status status = CS_OK;
    double total = 0.0;
    CS_AUTO_FREE double **share = cs_calloc(examples->longest + 1, sizeof *share);
    if (!share) return CS_ERR_MEMORY;
    cs_fill(vocab, 0.0, mass);
    for (int64_t i = 0; i < examples->count && status == CS_OK; ++i) {
        int64_t s = examples->length[i];
        const int32_t *token = examples->token + examples->start[i];
        if (!share[s]) {
            share[s] = cs_alloc(s, sizeof **share);
            status = share[s] ? target_share(objective, s, share[s]) : CS_ERR_MEMORY;
        }
        for (int64_t k = 0; k < s && status == CS_OK; ++k) {
            if (token[k] < 0 || token[k] >= vocab) {
                status = cs_fail(CS_ERR_INPUT, "token %d is not in 0..%lld", token[k],
                                 (long long)vocab - 1);
            } else {
                mass[token[k]] += share[s][k];
                total += share[s][k];
            }
        }
    }
    if (total > 0.0) cs_divide(vocab, total, mass);
    for (int64_t s = 0; s <= examples->longest; ++s) {
        cs_free(share[s]);
    }
    return status;
}
