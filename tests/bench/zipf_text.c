/* Zipf-Mandelbrot text with topics: inversion of the distribution through a table of its quantiles.
 */
#include "zipf_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { SHORTEST = 200, LENGTHS = 600, TOPICS = 200, TOPICAL = 300, BINS = 1 << 20 };

/* The distribution of ranks: cumulative, and for each of BINS quantiles the first rank to look at.
 */
typedef struct {
    int64_t vocab;
    double *below; /* vocab: sum of the weights up to the rank, the last one 1 */
    int32_t *first;
} ranks;

static void ranks_free(ranks *r)
{
    CS_FREE_FIELDS(r, below, first);
}

static cs_status ranks_init(int64_t vocab, ranks *r)
{
    *r = (ranks){.vocab = vocab};
    r->below = cs_alloc(vocab, sizeof *r->below);
    r->first = cs_alloc(BINS, sizeof *r->first);
    if (!r->below || !r->first) {
        return CS_ERR_MEMORY;
    }
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        sum += pow((double)v + 2.7, -1.05);
        r->below[v] = sum;
    }
    for (int64_t v = 0; v < vocab; ++v) {
        r->below[v] /= sum;
    }
    int32_t rank = 0;
    for (int64_t b = 0; b < BINS; ++b) {
        while (rank < vocab - 1 && r->below[rank] < (double)b / BINS) {
            ++rank;
        }
        r->first[b] = rank;
    }
    return CS_OK;
}

static int64_t draw(const ranks *r, cs_rng *rng, int64_t topic)
{
    double u = cs_rng_uniform(rng);
    int64_t rank = r->first[(int64_t)(u * BINS)];
    while (rank < r->vocab - 1 && r->below[rank] < u) {
        ++rank;
    }
    if (rank > TOPICAL && cs_rng_below(rng, 2) == 1) {
        rank = rank - rank % TOPICS + topic;
        rank = rank < r->vocab ? rank : r->vocab - 1;
    }
    return rank;
}

typedef struct {
    int64_t count;
    int32_t rank;
} counted;

static int by_count(const void *x, const void *y)
{
    const counted *a = x, *b = y;
    return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
                                : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Ranks become ids by falling frequency. */
static cs_status renumber(cs_corpus *c, int64_t vocab)
{
    counted *k = cs_calloc(vocab, sizeof *k);
    int32_t *id = cs_alloc(vocab, sizeof *id);
    if (!k || !id) {
        cs_free(k);
        cs_free(id);
        return CS_ERR_MEMORY;
    }
    for (int64_t v = 0; v < vocab; ++v) {
        k[v].rank = (int32_t)v;
    }
    for (int64_t i = 0; i < c->tokens; ++i) {
        ++k[c->token[i]].count;
    }
    qsort(k, (size_t)vocab, sizeof *k, by_count);
    for (int64_t v = 0; v < vocab; ++v) {
        id[k[v].rank] = (int32_t)v;
        c->vocab += k[v].count > 0;
    }
    for (int64_t i = 0; i < c->tokens; ++i) {
        c->token[i] = id[c->token[i]];
    }
    cs_free(k);
    cs_free(id);
    return CS_OK;
}

cs_status zipf_text(int64_t tokens, int64_t vocab, uint64_t seed, cs_corpus *out)
{
    cs_corpus c = {.unknown = -1};
    ranks r;
    int64_t most = tokens / SHORTEST + 1; /* documents */
    cs_status status = ranks_init(vocab, &r);
    c.doc_ptr = cs_calloc(most + 1, sizeof *c.doc_ptr);
    c.token = cs_alloc(tokens + SHORTEST + LENGTHS, sizeof *c.token);
    if (!c.doc_ptr || !c.token) {
        status = CS_ERR_MEMORY;
    }
    while (status == CS_OK && c.tokens < tokens) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, (uint64_t)c.documents);
        int64_t length = SHORTEST + cs_rng_below(&rng, LENGTHS);
        int64_t topic = cs_rng_below(&rng, TOPICS);
        for (int64_t i = 0; i < length; ++i) {
            c.token[c.tokens++] = (int32_t)draw(&r, &rng, topic);
        }
        c.doc_ptr[++c.documents] = c.tokens;
    }
    status = status == CS_OK ? renumber(&c, vocab) : status;
    ranks_free(&r);
    if (status != CS_OK) {
        cs_corpus_free(&c);
        return status;
    }
    *out = c;
    return CS_OK;
}
