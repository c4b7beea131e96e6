/* Cloze prompts with verbalisers (Schick and Schuetze 2021; Gao, Fisch and Chen 2021; MAE-LM, Table
 * 7): a text becomes a template with a gap, and a class is the word that a language model predicts
 * there.
 *
 *   template      "{1} It was {mask}."    {1}, {2}: the texts of an example
 *   verbalisers   "yes=great,no=terrible"  one token of the model for each class
 *   p(class | text) = softmax over the verbalisers v of (u_v . g(h) + b_v)
 *
 * h is the state at the gap; g, u and b are the head of the language model. In a causal model the
 * gap ends the template, and h is the state of the token before it; the same holds, with the gap
 * anywhere, if rows predict the next token from masked ones (mntp). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "text/labelled_text.h"
#include "text/tokenizer.h"

typedef struct {
    /* the tokens of the template, including the gap, and the places of texts */
    cs_text_piece *piece;
    int64_t pieces;
    int64_t gap;    /* the piece that is the mask token; -1: after the last */
    bool shifts;    /* the row before the gap predicts it (mntp); set by the caller */
    int32_t *token; /* of each class */
    int64_t classes;
} cs_cloze;

/* pattern: a template. Its parts between texts and gap are encoded separately, spaces included, and
 * so are the words. mask: the mask token of a masked model, -1 for a causal one. CS_ERR_USAGE: a
 * template without {1} or {mask}, with one of them twice, with {2} for single texts or without it
 * for pairs, or that continues after the gap of a causal model; a class without a word, a word
 * without a class, of several tokens or unknown; two classes with one word; no classes. */
cs_status cs_cloze_read(const char *pattern, const char *verbalisers, const cs_tokenizer *tokenizer,
                        const cs_labelled_text *text, int32_t mask, cs_cloze *out) CS_MUST_CHECK;
void cs_cloze_free(cs_cloze *cloze); /* accepts a zeroed object */
