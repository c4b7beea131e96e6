/* Labelled texts as token ids, one sequence for each text or pair, as input of a classifier.
 *
 *   options                  text              pair
 *   special (1)              [CLS] a [SEP]     [CLS] a [SEP] b [SEP]
 *   else, with `begin`       <s> a             <s> a </s> b
 *   else                     a                 a </s> b
 *   with `cloze`             its template in place of a, and in place of a pair
 *
 * (1) if the tokenizer has a post-processor that adds tokens; BERT's are shown.
 *
 * A sequence of more than max_length tokens is truncated at the ends of its texts, the longer one
 * first until both are equal (the `tokenizers` package's longest_first), and counted. If the model
 * has two token types, those of a pair are the post-processor's, else 0 up to the end token and 1
 * after it. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/labelled_text.h"
#include "text/tokenizer.h"
#include "train/cloze.h"

typedef struct {
    int64_t max_length;
    bool special, begin;
    int64_t token_types;   /* of the model */
    const cs_cloze *cloze; /* NULL: none */
} cs_texts_options;

typedef struct {
    int64_t count, longest, truncated;
    int64_t *start; /* count + 1 */
    int32_t *token;
    int32_t *type;  /* as token */
    int32_t *place; /* with cloze: count, the row that is read; else NULL */
    /* of spans (train/spans.h): 2 for each text, their first and last row; else NULL
     */
    int32_t *span;
    double *value;   /* count: class, or the number */
    int64_t classes; /* 0: regression */
    /* of images (cs_texts_of_rows), borrowed: the vectors of all tokens except the first of each
     * text */
    const float *real;
    const cs_corpus *corpus; /* read in place of `real` (text/vectors.h); NULL: `real` */
    int64_t real_width;
    /* count x extra_width, borrowed: read by the token before each; NULL: none. */
    const float *extra;
    int64_t extra_width;
} cs_texts;

/* The form of a text or pair, of a post-processor (`special`) or by the table above. CS_ERR_USAGE
 * as below; CS_ERR_INPUT as cs_tokenizer_form. */
cs_status cs_texts_form(const cs_tokenizer *tokenizer, bool special, bool begin, bool pair,
                        cs_text_form *out) CS_MUST_CHECK;

/* O(bytes) time. CS_ERR_USAGE: max_length leaves no token of a text; pairs for a tokenizer without
 * an end token; `begin` without a begin token. CS_ERR_INPUT names a text (from 1) without tokens,
 * or that is not UTF-8; a form as cs_tokenizer_form. */
cs_status cs_texts_encode(const cs_labelled_text *text, const cs_tokenizer *tokenizer,
                          const cs_texts_options *options, cs_texts *out) CS_MUST_CHECK;
/* Documents of real rows, each after the token `before`, with the values of `labels`. Borrows the
 * vectors. CS_ERR_MEMORY. */
cs_status cs_texts_of_rows(const cs_corpus *corpus, const cs_labelled_text *labels, int32_t before,
                           cs_texts *out) CS_MUST_CHECK;
void cs_texts_free(cs_texts *texts);
