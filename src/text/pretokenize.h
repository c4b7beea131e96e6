/* Cutting text into the pieces that a model takes one at a time. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Bytes of the first piece of valid UTF-8 under the regular expression of GPT-2,
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * which cuts any text into pieces without a rest. at < end. */
int64_t cs_gpt2_piece(const uint8_t *at, const uint8_t *end);

/* BERT: the next word or punctuation mark from *at on; *at moves behind it and its bytes stand
 * before it. 0 at the end. */
int64_t cs_bert_piece(const uint8_t **at, const uint8_t *end);

/* Steps of BERT's normaliser, in their order: control characters out and white space to blanks,
 * blanks around CJK ideographs, decomposition without nonspacing marks, lower case. */
typedef struct {
    bool clean_text, chinese, strip_accents, lowercase;
} cs_bert_steps;

/* Memory of cs_bert_normalise. Zero-initialise. */
typedef struct {
    char *text; /* the result, `size` long */
    int64_t size, room;
    int32_t *point; /* of a decomposition */
    int64_t point_room;
} cs_bert_text;

/* Valid UTF-8 in, valid UTF-8 out. Cost: linear. CS_ERR_MEMORY only. */
cs_status cs_bert_normalise(const cs_bert_steps *steps, const char *text, int64_t size,
                            cs_bert_text *out) CS_MUST_CHECK;
void cs_bert_text_free(cs_bert_text *text);
