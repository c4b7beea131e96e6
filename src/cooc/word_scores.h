/* Scores of the word vectors of a spectrum on files of word similarities and of analogies, as
 * hyperwords computes them (Levy, Goldberg and Dagan, TACL 3, 2015).
 *
 * Vector of token i: sigma_j^p v_j[i], or of u_j for contexts, over vectors first <= j < end, divided
 * by its length. A mass of the token that divides a form drops out.
 *
 * - similarity: Spearman's correlation of the scores of a file with cosines; interval by Fisher's z
 *   with the variance of Bonett and Wright, (1 + rho^2 / 2) / (n - 3) (Psychometrika 65, 2000).
 * - analogies "a b c d": the share of lines whose d is the argmax over all other words x. 3CosAdd:
 *   cos(x, b) - cos(x, a) + cos(x, c). 3CosMul: s(x, b) s(x, c) / (s(x, a) + .001) with
 *   s = (1 + cos) / 2 (Levy and Goldberg, CoNLL 2014). Interval: Wilson's score interval.
 *
 * A word in a file is a token if it, or its lower case, has a vector. */
#pragma once

#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "io/result.h"
#include "text/vocab.h"

/* Word vectors. Free them with cs_word_vectors_free. */
typedef struct {
    const cs_corpus *corpus; /* borrowed */
    cs_word_table words;     /* numbered as the tokens */
    cs_dense vector;         /* dimensions x tokens; unit vectors, or 0 */
} cs_word_vectors;

typedef struct {
    int64_t first, end; /* vectors, from 0 */
    double power;       /* p */
    bool contexts;      /* of the rows, which must be tokens */
    const char *dir;    /* of the store */
} cs_word_vectors_options;

/* The vectors of all tokens. CS_ERR_INPUT: a corpus without words, or rows that are not tokens. */
cs_status cs_word_vectors_of(const cs_cooc_store *store, const cs_spectrum *s,
                             const cs_word_vectors_options *options,
                             cs_word_vectors *out) CS_MUST_CHECK;
void cs_word_vectors_free(cs_word_vectors *w);

/* Both append rows {"file", "section", "score", "value", "low", "high", "items", "missing"} to
 * `scores`; items have vectors for all of their words, the others are missing. CS_ERR_INPUT: a line
 * that is not of the format, with its number, or no item with vectors. */

/* Lines of two words and a score, separated by tabs, commas or blanks. The score is the first number
 * behind the words. A first line without one is a header. */
cs_status cs_word_similarity(const cs_word_vectors *w, const char *file,
                             cs_item *scores) CS_MUST_CHECK;

/* Lines of four words, and lines ": section". Rows for each section with items, then "total". */
cs_status cs_word_analogies(const cs_word_vectors *w, const char *file,
                            cs_item *scores) CS_MUST_CHECK;
