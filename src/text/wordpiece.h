/* WordPiece of one word: the longest match first. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/vocab.h"

typedef struct {
    char *prefix; /* of a token that continues a word: "##" */
    int64_t max_chars;
    int32_t unknown; /* for a word that is longer, or that the vocabulary cannot spell */
} cs_wordpiece;

/* Memory of cs_wordpiece_apply, kept between calls. Zero-initialise. */
typedef struct {
    int32_t *token; /* the result, `count` long */
    int64_t count, capacity;
    char *word; /* prefix and rest of the word */
    int64_t word_capacity;
} cs_wordpiece_scratch;

/* Tokens of a word of valid UTF-8, as numbers of `vocabulary`; only its words of positive count are
 * used. Cost: at most max_chars^2 table lookups. CS_ERR_MEMORY only. */
cs_status cs_wordpiece_apply(const cs_wordpiece *model, const cs_word_table *vocabulary,
                             const char *word, int64_t size,
                             cs_wordpiece_scratch *scratch) CS_MUST_CHECK;
void cs_wordpiece_scratch_free(cs_wordpiece_scratch *scratch);

/* Writes a token of decoded text in the manner of BERT's decoder (prefix off, else a space before
 * it; with `cleanup` no space before marks and contractions). `first`: it begins the text. `out`
 * has a capacity of the token and two more bytes; returns the bytes written. */
int64_t cs_wordpiece_decode(const char *prefix, bool cleanup, bool first, const char *token,
                            int64_t size, char *out);
