/* How many rows and entries `nearest` makes under an invariant law, without making them.
 *
 * Rows of different offsets are different rows, so the contributions fall into classes by their
 * offsets, N_c of them with D_c different rows, and rows / contributions = sum_c D_c / N is the mean
 * of D_c / N_c over contributions drawn at random. A class costs one pass over the tokens, whatever
 * the number of classes. Unbiased but for the sketches; the spread of the draws gives its error.
 */
#include <math.h>
#include <stdlib.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/sketch_private.h"

enum { LEAST_DRAWS = 24, MOST_DRAWS = 96 };

static const double MOST_WORK = 0x1p28; /* draws x tokens: seconds */

/* The offsets of one class, cs_by_size. */
typedef struct {
    int64_t count;
    int64_t *offset;
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
static int64_t near_rank(int64_t k, int64_t s, int64_t offset)
{
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

/* d->offset has room for n. */
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
    int64_t s = q->length[i], k = cs_rng_below(rng, s);
    d->count = j->plan->context.n;
    draw_ranks(rng, cs_context_table_of(j->plan, s), &d->count, d->offset);
    for (int64_t l = 0; l < d->count; ++l) {
        d->offset[l] = cs_near_position(k, s, d->offset[l]) - k;
    }
    qsort(d->offset, (size_t)d->count, sizeof *d->offset, cs_by_size);
}

/* What the pattern of target k weighs, whose positions are all there; 0: it has none. */
static double weight_of(const cs_context_table *t, int64_t n, int64_t k, const drawn *d)
{
    if (d->count < n) {
        return t->padded[d->count];
    }
    int64_t s = t->pairs.length, first = near_rank(k, s, d->offset[0]);
    int64_t last = near_rank(k, s, d->offset[n - 1]), top = first > last ? first : last;
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
            double weight = weight_of(t, j->plan->context.n, k, d);
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
    cs_pool pool = {0};
    int64_t *offset = cs_pool_take(&pool, draws * plan->context.n, sizeof *offset);
    j.draw = cs_pool_take(&pool, draws, sizeof *j.draw);
    cs_status status = pool.status;
    for (int64_t i = 0; i < draws && status == CS_OK; ++i) {
        cs_rng rng = cs_rng_at(plan->seed, CS_STREAM_PLAN, (uint64_t)i);
        j.draw[i].offset = offset + i * plan->context.n;
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
    cs_pool_free(&pool);
    out->rows = out->contributions * (rows + 2 * sqrt(fmax(0, rows2 - rows * rows) / n));
    out->entries =
        out->contributions * (entries + 2 * sqrt(fmax(0, entries2 - entries * entries) / n));
    return status;
}
