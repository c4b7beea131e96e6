#include "infer/document_pieces.h"

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"

enum { USUAL_BATCH = 16, USUAL_LENGTH = 512, MOST_BATCH = 1 << 16, MOST_LENGTH = 1 << 20 };

cs_status cs_pieces_limits(const cs_model_config *config, int64_t specials, int64_t *max_length,
                           int64_t *batch)
{
    const int64_t rows = cs_model_config_positions(config), most = rows > 0 ? rows : MOST_LENGTH;
    if (*max_length == 0) {
        /* A picture is read whole. */
        *max_length =
            config->picture.patch > 0 ? most : cs_model_config_length(config, USUAL_LENGTH);
    }
    *batch = *batch == 0 ? USUAL_BATCH : *batch;
    if (*batch < 1 || *batch > MOST_BATCH) {
        return cs_fail(CS_ERR_USAGE, "batch %lld is not in 1..%d", (long long)*batch, MOST_BATCH);
    }
    if (*max_length < 1 || *max_length > most || *max_length > MOST_LENGTH) {
        return cs_fail(CS_ERR_USAGE, "length %lld is not in 1..%lld, the positions of the model",
                       (long long)*max_length, (long long)most);
    }
    return specials < *max_length
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "%lld special tokens leave no space for text in a length of %lld",
                         (long long)specials, (long long)*max_length);
}

cs_status cs_pieces_of(const cs_corpus *corpus, const uint8_t *keep, bool split, int64_t length,
                       cs_sequences *out)
{
    cs_sequences s = {0};
    cs_status status = cs_sequences_of(corpus, length, 0, &s);
    int64_t kept = 0;
    for (int64_t i = 0; status == CS_OK && i < s.count; ++i) {
        int64_t d = s.document[i];
        bool later = s.start[i] > corpus->doc_ptr[d];
        if ((!keep || keep[d]) && (split || !later)) {
            s.start[kept] = s.start[i];
            s.length[kept] = s.length[i];
            s.document[kept++] = d;
        }
    }
    s.count = kept;
    *out = s;
    return status;
}

cs_status cs_pieces_check(const cs_corpus *corpus, const cs_sequences *pieces, int64_t i,
                          int64_t vocab)
{
    for (int64_t at = pieces->start[i]; at < pieces->start[i] + pieces->length[i]; ++at) {
        int32_t token = corpus->token[at];
        if (token < 0 || token >= vocab) {
            int64_t document = pieces->document[i];
            return cs_fail(CS_ERR_INPUT,
                           "document %lld: token %d at position %lld is not in 0..%lld, the "
                           "vocabulary of the model",
                           (long long)document, token, (long long)(at - corpus->doc_ptr[document]),
                           (long long)vocab - 1);
        }
    }
    return CS_OK;
}

int64_t cs_source_of(const cs_corpus *sources, int64_t document, const int32_t **token)
{
    const int64_t d = sources->documents == 1 ? 0 : document, *start = sources->doc_ptr + d;
    *token = sources->token + start[0];
    return start[1] - start[0];
}

cs_status cs_sources_check(const cs_corpus *sources, const cs_corpus *corpus, int64_t vocab,
                           int64_t specials, int64_t *longest)
{
    *longest = 0;
    if (sources && sources->documents != 1 &&
        (sources->documents != corpus->documents ||
         sources->dropped_documents + corpus->dropped_documents > 0)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %lld source texts for %lld documents (%lld and %lld dropped): expected "
                       "one for all, or one for each",
                       sources->name ? sources->name : "sources", (long long)sources->documents,
                       (long long)corpus->documents, (long long)sources->dropped_documents,
                       (long long)corpus->dropped_documents);
    }
    for (int64_t d = 0; sources && d < sources->documents; ++d) {
        const int64_t first = sources->doc_ptr[d], count = sources->doc_ptr[d + 1] - first;
        *longest = cs_most(*longest, count + specials);
        if (count + specials == 0) {
            return cs_fail(CS_ERR_INPUT, "source %lld has no tokens for the encoder to read",
                           (long long)d);
        }
        for (int64_t i = 0; i < count; ++i) {
            const int32_t token = sources->token[first + i];
            if (token < 0 || token >= vocab) {
                return cs_fail(CS_ERR_INPUT,
                               "source %lld: token %d at position %lld is not in 0..%lld, the "
                               "vocabulary of the model",
                               (long long)d, token, (long long)i, (long long)vocab - 1);
            }
        }
    }
    return CS_OK;
}

static int32_t number(const void *rows, size_t size, int64_t i)
{
    return *(const int32_t *)(const void *)((const char *)rows + (size_t)i * size);
}

cs_status cs_order_by_rows(const void *rows, size_t size, int64_t count, int64_t most,
                           int32_t *order)
{
    CS_AUTO_FREE int32_t *start = cs_calloc(most + 2, sizeof *start);
    if (!start) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        ++start[most - number(rows, size, i) + 1];
    }
    for (int64_t r = 0; r <= most; ++r) {
        start[r + 1] += start[r];
    }
    for (int64_t i = 0; i < count; ++i) {
        order[start[most - number(rows, size, i)]++] = (int32_t)i;
    }
    return CS_OK;
}
