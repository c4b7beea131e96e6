/* Documents cut into pieces or windows (docs/glossary.md, Window). Two passes: count, then fill,
 * so that the three arrays have their exact size. */
#include "text/sequences.h"

#include <string.h>

#include "base/mem.h"

typedef struct {
    int64_t max_length, stride;
} cut;

/* Pieces of a document of n tokens; piece i starts at i * step. */
static int64_t pieces_of(const cut *c, int64_t n)
{
    if (n == 0) {
        return 0;
    }
    if (c->max_length == 0 || n <= c->max_length) {
        return 1;
    }
    if (c->stride > 0) {
        return (n - c->max_length) / c->stride + 1;
    }
    return n / c->max_length + (n % c->max_length != 0);
}

/* Start and length of piece i. */
static int64_t piece_at(const cut *c, int64_t n, int64_t i, int64_t *start)
{
    int64_t step = c->stride > 0 ? c->stride : c->max_length;
    *start = i * step;
    int64_t left = n - *start;
    return c->max_length > 0 && left > c->max_length ? c->max_length : left;
}

static cs_status fill_sequences(const cs_corpus *corpus, const cut *c, cs_sequences *out)
{
    int64_t at = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        int64_t first = corpus->doc_ptr[d];
        int64_t n = corpus->doc_ptr[d + 1] - first;
        int64_t pieces = pieces_of(c, n);
        for (int64_t i = 0; i < pieces; ++i, ++at) {
            int64_t start;
            int64_t length = piece_at(c, n, i, &start);
            if (length > INT32_MAX) {
                return cs_fail(CS_ERR_INPUT,
                               "document %lld has %lld tokens, too many for one sequence: give a "
                               "maximum length",
                               (long long)d, (long long)length);
            }
            out->start[at] = first + start;
            out->length[at] = (int32_t)length;
            out->document[at] = d;
        }
    }
    return CS_OK;
}

cs_status cs_sequences_of(const cs_corpus *corpus, int64_t max_length, int64_t stride,
                          cs_sequences *out)
{
    if (max_length < 0 || stride < 0) {
        return cs_fail(CS_ERR_USAGE, "maximum length %lld and stride %lld must not be negative",
                       (long long)max_length, (long long)stride);
    }
    if (stride > 0 && max_length == 0) {
        return cs_fail(CS_ERR_USAGE, "stride %lld needs a maximum length above 0",
                       (long long)stride);
    }
    const cut c = {.max_length = max_length, .stride = stride};
    cs_sequences made = {0};
    for (int64_t d = 0; d < corpus->documents; ++d) {
        made.count += pieces_of(&c, corpus->doc_ptr[d + 1] - corpus->doc_ptr[d]);
    }
    made.start = cs_alloc(made.count, sizeof *made.start);
    made.length = cs_alloc(made.count, sizeof *made.length);
    made.document = cs_alloc(made.count, sizeof *made.document);
    const bool allocated = made.start && made.length && made.document;
    cs_status status = allocated ? fill_sequences(corpus, &c, &made) : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, made, cs_sequences_free);
}

int64_t cs_sequences_covered(const cs_sequences *sequences)
{
    int64_t covered = 0, end = 0; /* of the sequences so far */
    for (int64_t i = 0; i < sequences->count; ++i) {
        int64_t first = sequences->start[i], past = first + sequences->length[i];
        first = first > end ? first : end;
        covered += past > first ? past - first : 0;
        end = past > end ? past : end;
    }
    return covered;
}

void cs_sequences_free(cs_sequences *sequences)
{
    CS_FREE_FIELDS(sequences, start, length, document);
    memset(sequences, 0, sizeof *sequences);
}
