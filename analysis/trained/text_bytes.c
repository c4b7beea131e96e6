#include "analysis/trained/text_bytes.h"

#include <string.h>

#include "base/mem.h"

cs_status cs_token_bytes(const cs_tokenizer *tokenizer, int64_t least, int32_t **out)
{
    const int64_t vocab = cs_tokenizer_vocab(tokenizer);
    int32_t *bytes = cs_calloc(least > vocab ? least : vocab, sizeof *bytes);
    if (!bytes) return CS_ERR_MEMORY;
    for (int64_t v = 0; v < vocab; ++v) {
        for (const char *c = cs_tokenizer_token(tokenizer, (int32_t)v); *c; ++c) {
            bytes[v] += ((unsigned char)*c & 0xc0) != 0x80;
        }
    }
    *out = bytes;
    return CS_OK;
}

typedef struct {
    const char *split;
    int64_t bytes;
} byte_count;

static bool is_in(const char *split, bool held_out)
{
    return strcmp(split, "all") == 0 || (strcmp(split, "test") == 0) == held_out;
}

static cs_status add_bytes(void *to, const cs_document *document, bool held_out, bool *enough)
{
    byte_count *c = to;
    (void)enough;
    c->bytes += is_in(c->split, held_out) ? document->size : 0;
    return CS_OK;
}

cs_status cs_bytes_a_token(const cs_corpus *corpus, const char *source,
                           const cs_corpus_options *options, const char *split, double *out)
{
    byte_count count = {.split = split};
    int64_t tokens = 0;
    cs_status status = cs_corpus_visit(source, options, add_bytes, &count, NULL);
    for (int64_t d = 0; d < corpus->documents; ++d) {
        bool in = is_in(split, corpus->held_out[d] != 0);
        tokens += in ? corpus->doc_ptr[d + 1] - corpus->doc_ptr[d] : 0;
    }
    if (status == CS_OK && tokens > 0) *out = (double)count.bytes / (double)tokens;
    return status;
}
