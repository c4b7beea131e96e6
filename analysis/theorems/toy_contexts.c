/* Contexts of the toy model by plain enumeration over (S, class, contents): the events of the
 * objective as explicit sets, contents of one set sorted by their tokens, equal ones merged.
 *
 * toy/matrix.c builds the same matrix without the tokens and for any size; tests hold the two
 * against each other. This one is for toys small enough to train on.
 */
#include "analysis/theorems/toy_contexts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector_ops.h"
#include "plan/pairs.h"

typedef struct {
    const cs_toy *toy;
    cs_pool pool;
    cs_pairs pairs; /* explicit sets */
    cs_toy_contexts out;
    int64_t rows, nnz;
    int64_t *row, *col; /* triplets */
    double *val;
    int32_t *content; /* contents of the current set: class, then m tokens each */
    double *chance;   /* r T: conditional distribution of one target position */
} builder;

void cs_toy_contexts_free(cs_toy_contexts *c)
{
    cs_csr_free(&c->a);
    CS_FREE_FIELDS(c, ptr, token, target);
    *c = (cs_toy_contexts){0};
}

/* --- tokens ------------------------------------------------------------------------------------*/

static int32_t token_of(const cs_toy *toy, int64_t position, int64_t class, int64_t digit)
{
    return (int32_t)(position * toy->classes * toy->tokens + cs_toy_offset(toy, class, digit));
}

double cs_toy_sequences(const cs_toy *toy)
{
    return (double)toy->classes * pow((double)toy->tokens, (double)toy->length);
}

void cs_toy_sequence(const cs_toy *toy, int64_t number, int32_t *token)
{
    int64_t class = number / cs_toy_power(toy->tokens, toy->length);
    for (int64_t k = 0; k < toy->length; ++k, number /= toy->tokens) {
        token[k] = token_of(toy, k, class, number % toy->tokens);
    }
}

void cs_toy_sequence_draw(const cs_toy *toy, cs_rng *rng, int32_t *token)
{
    int64_t class = cs_rng_below(rng, toy->classes);
    for (int64_t k = 0; k < toy->length; ++k) {
        token[k] = token_of(toy, k, class, cs_rng_below(rng, toy->tokens));
    }
}

/* --- contents of one set -----------------------------------------------------------------------*/

/* By tokens, then by class. *size: items of a content. */
static int compare(const void *x, const void *y, void *size)
{
    const int32_t *a = x, *b = y;
    int64_t items = *(const int64_t *)size;
    for (int64_t i = 1; i < items; ++i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return (a[0] > b[0]) - (a[0] < b[0]);
}

static int64_t fill_contents(builder *b, const int32_t *position, int64_t m)
{
    int64_t tuples = cs_toy_power(b->toy->tokens, m), size = m + 1, count = 0;
    for (int64_t y = 0; y < b->toy->classes; ++y) {
        for (int64_t tuple = 0; tuple < tuples; ++tuple, ++count) {
            int32_t *content = b->content + count * size;
            content[0] = (int32_t)y;
            for (int64_t i = 0, rest = tuple; i < m; ++i, rest /= b->toy->tokens) {
                content[1 + i] = token_of(b->toy, position[i], y, rest % b->toy->tokens);
            }
        }
    }
    qsort_r(b->content, (size_t)count, (size_t)size * sizeof *b->content, compare, &size);
    return count;
}

/* Entries of one row at one target position, from `classes` equal contents of probability `share`
 * each, and what the event adds to the optimal cross-entropy. */
static void add_event(builder *b, const int32_t *run, int64_t classes, int64_t size, int64_t target,
                      double mass)
{
    const cs_toy *toy = b->toy;
    int64_t width = toy->classes * toy->tokens;
    cs_fill(width, 0.0, b->chance);
    for (int64_t c = 0; c < classes; ++c) {
        for (int64_t d = 0; d < toy->tokens; ++d) {
            b->chance[cs_toy_offset(toy, run[c * size], d)] +=
                1.0 / ((double)classes * (double)toy->tokens);
        }
    }
    for (int64_t o = 0; o < width; ++o) {
        if (b->chance[o] > 0.0) {
            b->row[b->nnz] = b->rows;
            b->col[b->nnz] = target * width + o;
            b->val[b->nnz++] = mass * b->chance[o];
            b->out.cross_entropy -= mass * b->chance[o] * log(b->chance[o]);
        }
    }
}

/* All rows of the set of events first..last-1. */
static void add_set(builder *b, int64_t first, int64_t last)
{
    const cs_toy *toy = b->toy;
    const cs_pairs_set set = cs_pairs_set_of(&b->pairs, first);
    int64_t m = set.size, size = m + 1;
    int64_t count = fill_contents(b, cs_pairs_positions(&b->pairs, set), m);
    double share = 1.0 / ((double)toy->classes * (double)cs_toy_power(toy->tokens, m));
    for (int64_t i = 0, next; i < count; i = next) {
        const int32_t *run = b->content + i * size;
        next = i + 1;
        while (next < count &&
               memcmp(run + 1, b->content + next * size + 1, (size_t)m * sizeof *run) == 0) {
            ++next;
        }
        for (int64_t e = first; e < last; ++e) {
            add_event(b, run, next - i, size, b->pairs.target[e],
                      b->pairs.weight[e] * share * (double)(next - i));
        }
        memcpy(b->out.token + b->out.ptr[b->rows], run + 1, (size_t)m * sizeof *run);
        b->out.ptr[b->rows + 1] = b->out.ptr[b->rows] + m;
        b->out.longest = m > b->out.longest ? m : b->out.longest;
        ++b->rows;
    }
}

/* --- the whole ---------------------------------------------------------------------------------*/

static cs_status make_space(builder *b, double nnz)
{
    const cs_toy *toy = b->toy;
    int64_t rows = 0, tokens = 0, most = 0, entries = (int64_t)nnz;
    for (int64_t e = 0; e < b->pairs.events; ++e) {
        int64_t m = cs_pairs_set_of(&b->pairs, e).size;
        int64_t count = toy->classes * cs_toy_power(toy->tokens, m);
        if (e == 0 || b->pairs.set[e] != b->pairs.set[e - 1]) {
            rows += count;
            tokens += count * m;
            most = count * (m + 1) > most ? count * (m + 1) : most;
        }
    }
    b->out.ptr = cs_calloc(rows + 1, sizeof *b->out.ptr);
    b->out.token = cs_alloc(tokens, sizeof *b->out.token);
    b->content = cs_pool_take(&b->pool, most, sizeof *b->content);
    b->chance = cs_pool_take(&b->pool, toy->classes * toy->tokens, sizeof *b->chance);
    CS_POOL_FIELDS(&b->pool, entries, b, row, col, val);
    return b->out.ptr && b->out.token ? b->pool.status : CS_ERR_MEMORY;
}

/* The columns are the tokens that are predicted at all. */
static cs_status finish(builder *b)
{
    int64_t vocab = b->out.vocab, cols = 0;
    int64_t *number = cs_pool_take(&b->pool, vocab, sizeof *number);
    b->out.target = cs_alloc(vocab, sizeof *b->out.target);
    if (!number || !b->out.target) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < b->nnz; ++i) {
        number[b->col[i]] = 1;
    }
    for (int64_t v = 0; v < vocab; ++v) {
        if (number[v]) {
            b->out.target[cols] = (int32_t)v;
            number[v] = cols++;
        }
    }
    for (int64_t i = 0; i < b->nnz; ++i) {
        b->col[i] = number[b->col[i]];
    }
    return cs_csr_from_triplets(b->rows, cols, b->nnz, b->row, b->col, b->val, &b->out.a);
}

static cs_status check_toy(const cs_toy *toy, int64_t limit, double *nnz)
{
    double rows, cols;
    cs_status status = cs_toy_size(toy, &rows, &cols, nnz);
    if (status == CS_OK && (toy->given || toy->position_known > 0))
        status = cs_fail(CS_ERR_USAGE, "contexts with their tokens need a blind target position");
    if (status == CS_OK && toy->objective.empty_prefix == CS_PREFIX_CLASS)
        status = cs_fail(CS_ERR_USAGE, "no text distinguishes the classes of empty prefixes");
    if (status == CS_OK && !(*nnz <= (double)limit))
        status =
            cs_fail(CS_ERR_MEMORY,
                    "the toy model has %.15g contexts with %.15g nonzeros; the limit is %" PRId64,
                    rows, *nnz, limit);
    return status;
}

cs_status cs_toy_contexts_of(const cs_toy *toy, int64_t limit, cs_toy_contexts *out)
{
    double nnz = 0.0;
    builder b = {.toy = toy, .out.vocab = toy->length * toy->classes * toy->tokens};
    cs_status status = check_toy(toy, limit, &nnz);
    if (status == CS_OK) status = cs_pairs_of(&toy->objective, toy->length, &b.pairs);
    if (status == CS_OK && (status = cs_pairs_expand(&b.pairs, limit)) == CS_OK &&
        (status = make_space(&b, nnz)) == CS_OK) {
        for (int64_t e = 0, next; e < b.pairs.events; e = next) {
            next = e + 1;
            while (next < b.pairs.events && b.pairs.set[next] == b.pairs.set[e]) {
                ++next;
            }
            add_set(&b, e, next);
        }
        status = finish(&b);
    }
    cs_pairs_free(&b.pairs);
    cs_pool_free(&b.pool);
    return CS_DELIVER(status, out, b.out, cs_toy_contexts_free);
}
