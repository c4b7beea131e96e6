/* Small corpora made by hand for tests of src/cooc. */
#include <stdlib.h>

#include "base/auto.h"
#include "small_corpus.h"

#include "base/mem.h"
#include "base/rng.h"

static void *sure(void *p)
{
    if (!p) {
        abort();
    }
    return p;
}

cs_corpus small_corpus(int64_t documents, const int64_t *length, int64_t vocab, int64_t labels,
                       uint64_t seed)
{
    cs_corpus c = {.documents = documents, .labels = labels, .vocab = vocab};
    c.name = sure(cs_strdup("small"));
    c.path = sure(cs_strdup("small.txt"));
    c.doc_ptr = sure(cs_calloc(documents + 1, sizeof *c.doc_ptr));
    for (int64_t d = 0; d < documents; ++d) {
        c.doc_ptr[d + 1] = c.doc_ptr[d] + length[d];
    }
    c.tokens = c.doc_ptr[documents];
    c.token = sure(cs_alloc(c.tokens, sizeof *c.token));
    c.label = sure(cs_alloc(documents, sizeof *c.label));
    c.held_out = sure(cs_calloc(documents, 1));
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < c.tokens; ++i) {
        c.token[i] = (int32_t)cs_rng_below(&rng, vocab);
    }
    for (int64_t d = 0; d < documents; ++d) {
        c.label[d] = labels > 0 ? (int32_t)(d % labels) : -1;
        c.held_out[d] = d % 5 == 4;
    }
    c.label_name = sure(cs_calloc(labels, sizeof *c.label_name));
    for (int64_t i = 0; i < labels; ++i) {
        c.label_name[i] = sure(cs_format("class%d", (int)i));
    }
    c.word = sure(cs_calloc(vocab, sizeof *c.word));
    for (int64_t i = 0; i < vocab; ++i) {
        c.word[i] = sure(cs_format("w%d", (int)i));
    }
    return c;
}

cs_corpus random_corpus(int64_t documents, int64_t longest, int64_t vocab, int64_t labels)
{
    CS_AUTO_FREE int64_t *length = sure(cs_alloc(documents, sizeof *length));
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 1);
    for (int64_t d = 0; d < documents; ++d) {
        length[d] = 1 + cs_rng_below(&rng, longest);
    }
    cs_corpus c = small_corpus(documents, length, vocab, labels, 2);
    return c;
}

cs_sequences one_sequence(int64_t *start, int32_t *length, int64_t *document)
{
    return (cs_sequences){.count = 1, .start = start, .length = length, .document = document};
}
