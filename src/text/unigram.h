/* Unigram language model of one piece of text: the tokens of largest total log probability. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/trie.h"
#include "text/vocab.h"

typedef struct {
    cs_trie trie;    /* the tokens */
    double *score;   /* log probabilities, by id */
    double lowest;   /* of all */
    int32_t unknown; /* for characters that no token begins with */
    /* unknown characters become the tokens <0x00> .. of their bytes, if all exist */
    bool byte_fallback;
    int32_t byte[256]; /* these; -1: none */
} cs_unigram;

/* Builds the tree of the words of the vocabulary with positive count, whose scores, `unknown` and
 * `byte_fallback` are already set. Free it in every case. */
cs_status cs_unigram_init(cs_unigram *model, const cs_word_table *vocabulary) CS_MUST_CHECK;
void cs_unigram_free(cs_unigram *model);

/* Memory of cs_unigram_apply, kept between calls. Zero-initialise. */
typedef struct {
    int32_t *token; /* the result, `count` long */
    int64_t count, capacity;
    struct cs_unigram_best *best; /* by end */
    int64_t best_capacity;
} cs_unigram_scratch;

/* Tokens of valid UTF-8. Consecutive unknown characters are one token. Cost: at most the bytes
 * times the bytes of the longest token. CS_ERR_MEMORY only. */
cs_status cs_unigram_apply(const cs_unigram *model, const cs_word_table *vocabulary,
                           const char *text, int64_t size,
                           cs_unigram_scratch *scratch) CS_MUST_CHECK;
void cs_unigram_scratch_free(cs_unigram_scratch *scratch);
