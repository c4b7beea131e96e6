/* Contexts and their questions as a model reads them that points at an answer (Devlin et al. 2019,
 * sections 4.2 and 4.3).
 *
 *   [CLS] question [SEP] context [SEP]      as pairs are (train/texts.h); a causal model reads an end
 *                                           token behind the context
 *
 * A context that is too long is read in windows, each `stride` tokens behind the one before, questions
 * are cut to max_question tokens. Of every row z = W h, two numbers; with n the rows of a window,
 *
 *   p(from = i) = exp z_i0 / sum_{j < n} exp z_j0,   p(to = i) likewise of z_i1
 *   loss of a window = -(log p(from = first row) + log p(to = last row)) / 2
 *
 * of the question's first answer; of a window that does not hold all of it, both are the row that stands
 * for no answer, the first one (causal models: the last). Padding is no part of the sums.
 *
 * The answer of a question is the span i <= j < i + longest of its context with the largest z_i0 + z_j1,
 * over all windows; where no answer is allowed it is none if the least score of the row of no answer over
 * the windows, less that of the answer, is above a threshold (SQuAD 2.0's usual rule).
 *
 * Bytes of a token: of byte-level BPE its own; else those of the word that it is of, words parted at
 * white space, and at marks of punctuation where that leaves the ids as they are. So an answer that is
 * part of a word comes out as the word.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"
#include "text/squad.h"
#include "text/tokenizer.h"
#include "train/texts.h"

typedef struct {
    int64_t max_length, stride, max_question;
    bool special;        /* the tokenizer's tokens around a pair */
    bool causal;         /* rows see what is before them */
    int64_t token_types; /* of the model */
} cs_spans_options;

/* Rows first .. first + tokens - 1 are tokens token .. of the list of all contexts. */
typedef struct {
    int64_t question, first, tokens, token;
} cs_span_window;

typedef struct {
    cs_texts texts; /* a text a window, with its span */
    cs_span_window *window;
    bool causal;
    int64_t *start;   /* contexts + 1: of the tokens of each among all */
    cs_span *place;   /* bytes of each in its context */
    int64_t unplaced; /* first answers that are no token's: trained as no answer */
} cs_spans;

/* CS_ERR_USAGE: a length that leaves no room for a context; a tokenizer without the tokens of a pair.
 * CS_ERR_INPUT names a context without a token. */
cs_status cs_spans_encode(const cs_squad *squad, const cs_tokenizer *tokenizer,
                          const cs_spans_options *options, cs_spans *out) CS_MUST_CHECK;
void cs_spans_free(cs_spans *spans); /* accepts a zeroed object */

/* Bytes from .. to - 1 of the question's context; to 0: none. `null`: the score of no answer less that of
 * the best span. */
typedef struct {
    int64_t from, to;
    double null;
} cs_span_answer;

/* logits: 2 numbers a row of all windows, one window behind the other. allow_none, threshold: as above.
 * O(rows x longest). */
void cs_spans_answer(const cs_squad *squad, const cs_spans *spans, const float *logits,
                     int64_t longest, bool allow_none, double threshold, cs_span_answer *out);
