/* Vectors of a corpus that are read when they are needed, such as those of images, which are decoded
 * then. A corpus has them in place of `real` (text/corpus.h). */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct cs_vectors {
    /* The vectors of tokens first .. first + count - 1, a document, for row `row` of step `step`
     * (0: none). Several threads may call it. */
    cs_status (*take)(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                      float *to);
    void (*free)(void *ctx);
    void *ctx;
    int64_t owners; /* in addition to the first */
    /* A selection of others: document d is the one of those that begins with token first[d]. */
    struct cs_vectors *of;
    int64_t *first;
} cs_vectors;

void cs_vectors_free(cs_vectors **vectors);

/* Those of the documents of a corpus with keep[d] != 0. CS_ERR_MEMORY. */
cs_status cs_vectors_select(const cs_corpus *corpus, const uint8_t *keep,
                            cs_vectors **out) CS_MUST_CHECK;

/* The vectors of tokens first .. first + count - 1 of a corpus (ctx), which are in one document;
 * others only from `vectors`. CS_ERR_MEMORY; errors of `take`. */
cs_status cs_vectors_take(void *corpus, int64_t first, int64_t count, int64_t step, int64_t row,
                          float *to) CS_MUST_CHECK;
