/* Contexts and questions as input of a model for extractive question answering (Devlin et al. 2019,
 * sections 4.2 and 4.3).
 *
 *   [CLS] question [SEP] context [SEP]      as pairs are (train/texts.h); a causal model reads an end
 *                                           token after the context
 *
 * A long context is read in windows, which start `stride` tokens apart; questions are truncated to
 * max_question tokens. For every row z = W h, two numbers; with n the rows of a window,
 *
 *   p(from = i) = exp z_i0 / sum_{j < n} exp z_j0,   p(to = i) likewise of z_i1
 *   loss of a window = -(log p(from = first row) + log p(to = last row)) / 2
 *
 * for the first answer of the question; for a window that does not contain all of it, both are the
 * row that represents unanswerable, the first one (causal models: the last). Padding is not part of
 * the sums.
 *
 * The predicted answer is the span i <= j < i + longest of the context with the largest z_i0 +
 * z_j1, over all windows; if unanswerable questions are allowed it is none if the least score of
 * the row of no answer over the windows, minus that of the answer, is above a threshold (SQuAD
 * 2.0's usual rule).
 *
 * Bytes of a token: for byte-level BPE its own; else those of its word, with words separated at
 * white space, and at punctuation marks if that leaves the ids unchanged. So an answer that is part
 * of a word is returned as the word. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"
#include "text/squad.h"
#include "text/tokenizer.h"
#include "train/texts.h"

typedef struct {
    int64_t max_length, stride, max_question;
    bool special;        /* the tokens of the tokenizer around a pair */
    bool causal;         /* rows attend to earlier rows only */
    int64_t token_types; /* of the model */
} cs_spans_options;

/* Rows first .. first + tokens - 1 are tokens token .. of the list of all contexts. */
typedef struct {
    int64_t question, first, tokens, token;
} cs_span_window;

typedef struct {
    cs_texts texts; /* a text for each window, with its span */
    cs_span_window *window;
    bool causal;
    int64_t *start;   /* contexts + 1: of the tokens of each among all */
    cs_span *place;   /* bytes of each in its context */
    int64_t unplaced; /* numbers of texts whose answer is not at tokens: trained as unanswerable */
} cs_spans;

/* CS_ERR_USAGE: a length that leaves no space for a context; a tokenizer without the tokens of a
 * pair. CS_ERR_INPUT names a context without a token. */
cs_status cs_spans_encode(const cs_squad *squad, const cs_tokenizer *tokenizer,
                          const cs_spans_options *options, cs_spans *out) CS_MUST_CHECK;
void cs_spans_free(cs_spans *spans); /* accepts a zeroed object */

/* Bytes from .. to - 1 of the question's context; to 0: none. `null`: the score of no answer minus
 * that of the best span. */
typedef struct {
    int64_t from, to;
    double null;
} cs_span_answer;

/* logits: 2 numbers for each row of all windows, window after window. allow_none, threshold: as
 * above. O(rows x longest). */
void cs_spans_answer(const cs_squad *squad, const cs_spans *spans, const float *logits,
                     int64_t longest, bool allow_none, double threshold, cs_span_answer *out);
