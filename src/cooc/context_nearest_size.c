/* How many rows and entries `nearest` makes under a permutation-invariant objective, without making
 * them.
 *
 * Rows of different offsets are different rows, so the contributions fall into classes by their
 * offsets, N_c of them with D_c different rows, and rows / contributions = sum_c D_c / N is the
 * mean of D_c / N_c over contributions drawn at random. A class costs one pass over the tokens,
 * whatever the number of classes. Unbiased except for the sketches; the spread of the draws gives
 * its error. */
#include <math.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/sketch_private.h"

enum { LEAST_DRAWS = 24, MOST_DRAWS = 96 };

static const double MOST_WORK = 0x1p28; /* draws x tokens: seconds */

/* The offsets of one class, ascending. */
typedef struct {
    int64_t count;
    int64_t *offset;      /* of positions */
    int64_t *across;      /* in the plane: of columns */
    double rows, entries; /* different ones, of its contributions */
} drawn;

typedef struct {
    const cs_context_plan *plan;
    const cs_corpus *corpus;
    const cs_sequences *sequences;
    double scale;
    bool by_document;
    drawn *draw;
} job;

/* Nearness rank of an offset: the inverse of cs_near_position. */
static int64_t near_rank(const cs_context_table *t, int64_t k, int64_t offset)
{
    const int64_t s = t->pairs.length;
    if (t->near_rank) {
        return t->near_rank[k * s + k + offset];
    }
    int64_t right = s - 1 - k, side = k < right ? k : right;
    int64_t distance = offset < 0 ? -offset : offset;
    return distance > side ? side + distance : 2 * distance - (offset < 0);
}

/* Of the invariant part. */
static double contributions_of(const cs_context_table *t)
{
    return (double)t->patterns * (double)t->pairs.length;
}

/* A pattern of a target at random: as many of its ranks as *n says, all different. */
static void draw_ranks(cs_rng *rng, const cs_context_table *t, int64_t *n, int64_t *rank)
{
    int64_t s = t->pairs.length, most = *n, top = s - 1, last = 0;
    double left = cs_rng_uniform(rng) * (double)t->patterns, sets = 1;
    for (int64_t m = 0; m < most && left >= 0; ++m) { /* sets = C(s-1, m) */
        left -= t->padded[m] > 0 ? sets : 0;
        *n = m;
        sets *= (double)(s - 1 - m) / (double)(m + 1);
    }
    if (left >= 0) {
        *n = most;
        sets = 1;
        for (last = most; last < t->ranks && left >= sets; ++last) { /* sets = C(last-1, n-1) */
            left -= sets;
            sets *= (double)last / (double)(last - most + 1);
        }
        top = last - 1;
        rank[*n - 1] = last;
    }
    for (int64_t j = 0, free = *n - (last > 0); j < free;) {
        int64_t r = 1 + cs_rng_below(rng, top), i = 0;
        while (i < j && rank[i] != r) {
            ++i;
        }
        rank[j] = r;
        j += i == j;
    }
}

/* d->offset and d->across hold at least n items. */
static void draw_class(const job *j, cs_rng *rng, double total, drawn *d)
{
    const cs_sequences *q = j->sequences;
    double left = cs_rng_uniform(rng) * total;
    int64_t i = 0;
    for (; i + 1 < q->count; ++i) {
        left -= contributions_of(cs_context_table_of(j->plan, q->length[i]));
        if (left < 0) {
            break;
        }
    }
    const cs_context_table *t = cs_context_table_of(j->plan, q->length[i]);
    int64_t k = cs_rng_below(rng, t->pairs.length), down = 0;
    d->count = j->plan->context.n;
    draw_ranks(rng, t, &d->count, d->offset);
    for (int64_t l = 0; l < d->count; ++l) {
        d->offset[l] = cs_near_offset(&j->plan->context, k, cs_near_position(t, k, d->offset[l]));
    }
    qsort(d->offset, (size_t)d->count, sizeof *d->offset, cs_by_size);
    for (int64_t l = 0; t->near_rank && l < d->count; ++l) {
        cs_near_steps(&j->plan->context, d->offset[l], &down, &d->across[l]);
        d->offset[l] = down * j->plan->context.columns + d->across[l];
    }
}

/* Whether the class of target k, whose positions are all there, leaves the rows of no position. */
static bool in_rows(const cs_context_plan *plan, int64_t k, const drawn *d)
{
    const int64_t columns = plan->context.columns;
    bool inside = true;
    for (int64_t l = 0; columns > 1 && inside && l < d->count; ++l) {
        const int64_t x = k % columns + d->across[l];
        inside = x >= 0 && x < columns;
    }
    return inside;
}

/* The rank of the farthest: in the sequence, one of both ends. */
static int64_t top_rank(const cs_context_table *t, int64_t k, const drawn *d)
{
    const int64_t step = t->near_rank || d->count < 2 ? 1 : d->count - 1;
    int64_t top = 0;
    for (int64_t l = 0; l < d->count; l += step) {
        const int64_t rank = near_rank(t, k, d->offset[l]);
        top = rank > top ? rank : top;
    }
    return top;
}

/* The weight of the pattern at target k, all of whose positions exist; 0 if k has no such
 * pattern. */
static double weight_of(const cs_context_plan *plan, const cs_context_table *t, int64_t k,
                        const drawn *d)
{
    if (!in_rows(plan, k, d)) {
        return 0;
    }
    if (d->count < plan->context.n) {
        return t->padded[d->count];
    }
    const int64_t top = top_rank(t, k, d);
    return top <= t->ranks ? t->pattern[top] : 0;
}

static cs_status count_class(void *ctx, int64_t item)
{
    const job *j = ctx;
    drawn *d = &j->draw[item];
    cs_sketch *rows = cs_calloc(2, sizeof *rows), *entries = rows + 1;
    if (!rows) return CS_ERR_MEMORY;
    int64_t first = d->count > 0 && d->offset[0] < 0 ? -d->offset[0] : 0;
    int64_t after = d->count > 0 && d->offset[d->count - 1] > 0 ? d->offset[d->count - 1] : 0;
    double all = 0;
    for (int64_t i = 0; i < j->sequences->count; ++i) {
        const int64_t s = j->sequences->length[i];
        const int32_t *token = j->corpus->token + j->sequences->start[i];
        const cs_context_table *t = cs_context_table_of(j->plan, s);
        for (int64_t k = first; k + after < s; ++k) {
            double weight = weight_of(j->plan, t, k, d);
            all += weight > 0;
            if (llrint(weight * (j->by_document ? 1 : t->predicted) * j->scale) <= 0) {
                continue; /* it rounds to no unit */
            }
            cs_hash128 key = {0, 0};
            for (int64_t l = 0; l < d->count; ++l) {
                key = cs_hash_words(key.low, (uint64_t)token[k + d->offset[l]], 0);
            }
            cs_sketch_add(rows, key.low);
            cs_sketch_add(entries, cs_hash_words(key.low, (uint64_t)token[k], 1).low);
        }
    }
    d->rows = all > 0 ? fmin(1, cs_sketch_count(rows) / all) : 1;
    d->entries = all > 0 ? fmin(1, cs_sketch_count(entries) / all) : 1;
    cs_free(rows);
    return CS_OK;
}

cs_status cs_context_nearest_size(const cs_context_plan *plan, const cs_corpus *corpus,
                                  const cs_sequences *sequences, int threads, cs_context_size *out)
{
    job j = {plan, corpus, sequences, out->scale, out->by_document, NULL};
    double tokens = 0;
    out->contributions = 0;
    for (int64_t i = 0; i < sequences->count; ++i) {
        tokens += (double)sequences->length[i];
        out->contributions += contributions_of(cs_context_table_of(plan, sequences->length[i]));
    }
    double within = MOST_WORK / fmax(tokens, 1);
    int64_t draws = within > MOST_DRAWS    ? MOST_DRAWS
                    : within < LEAST_DRAWS ? LEAST_DRAWS
                                           : (int64_t)within;
    CS_AUTO(cs_pool) pool = {0};
    int64_t *offset = cs_pool_take(&pool, 2 * draws * plan->context.n, sizeof *offset);
    j.draw = cs_pool_take(&pool, draws, sizeof *j.draw);
    cs_status status = pool.status;
    for (int64_t i = 0; i < draws && status == CS_OK; ++i) {
        cs_rng rng = cs_rng_at(plan->seed, CS_STREAM_PLAN, (uint64_t)i);
        j.draw[i].offset = offset + 2 * i * plan->context.n;
        j.draw[i].across = j.draw[i].offset + plan->context.n;
        draw_class(&j, &rng, out->contributions, &j.draw[i]);
    }
    if (status == CS_OK) status = cs_parallel(draws, threads, count_class, &j);
    double rows = 0, entries = 0, rows2 = 0, entries2 = 0, n = (double)draws;
    for (int64_t i = 0; i < draws && j.draw; ++i) {
        rows += j.draw[i].rows / n;
        entries += j.draw[i].entries / n;
        rows2 += j.draw[i].rows * j.draw[i].rows / n;
        entries2 += j.draw[i].entries * j.draw[i].entries / n;
    }
    out->rows = out->contributions * (rows + 2 * sqrt(fmax(0, rows2 - rows * rows) / n));
    out->entries =
        out->contributions * (entries + 2 * sqrt(fmax(0, entries2 - entries * entries) / n));
    return status;
}
