/* The matrix of a synthetic language (text/synthetic.h) without its texts. Tokens of the documents of a
 * population are the numbers of their positions, so a contribution gives the positions of its row
 * and its target; it is spread over all words at these positions, with their probability
 *
 *     P(x_p1 .. x_pn) = start next^p1 E(x_p1) next^(p2 - p1) E(x_p2) ... 1,    E(x) = diag emit(., x),
 *
 * under the key of these words. V^n contributions for n positions, whatever the length. */
#pragma once

#include "cooc/builder.h"
#include "cooc/context_private.h"
#include "text/synthetic.h"

/* Tables of the language, shared by all workers. */
typedef struct {
    const struct cs_synthetic_population *population; /* NULL: the corpus is not a population */
    const cs_corpus *corpus;
    const cs_context_plan *plan;
    double *power; /* classes x reach x states x states: next, next^2, ... */
    int64_t reach; /* largest distance of two positions */
    int64_t *ptr,
        *state;   /* of class c and word v the states that emit it are state[ptr[c V + v]].. */
    double *emit; /* and how often they do */
    double contributions; /* of all sequences, after spreading */
    cs_pool pool;
} cs_synthetic_spread;

/* For a corpus that is not a population everything is left empty. CS_ERR_INPUT: more than 2^32
 * contributions; `document` rows; CS_ERR_MEMORY. The three are borrowed. */
cs_status cs_synthetic_spread_init(const cs_context_plan *plan, const cs_corpus *corpus,
                                   const cs_sequences *sequences,
                                   cs_synthetic_spread *out) CS_MUST_CHECK;
void cs_synthetic_spread_free(cs_synthetic_spread *spread);

/* Receives a contribution with words; `code` identifies them: their numbers at the positions of the
 * row, in order, as digits in base V. */
typedef cs_status (*cs_synthetic_take)(void *ctx, const cs_contribution *c, int64_t code);

/* State of one worker. */
typedef struct {
    const cs_synthetic_spread *spread;
    cs_synthetic_take take;
    void *ctx;
    int64_t document;       /* the current document */
    int32_t *place, *where; /* in order; the number of an item's hash */
    uint8_t *item;          /* whether the position is part of the row */
    int32_t *word;          /* below the one to be tried next */
    int64_t *code;          /* of the row's words before a place */
    cs_hash128 *key;
    double *before, *after; /* of the states, by position, and after a word */
    cs_pool pool;
} cs_synthetic_spreader;

cs_status cs_synthetic_spreader_init(const cs_synthetic_spread *spread, cs_synthetic_take take,
                                     void *ctx, cs_synthetic_spreader *out) CS_MUST_CHECK;
void cs_synthetic_spreader_free(cs_synthetic_spreader *spreader);

/* A cs_contribution_visit. */
cs_status cs_synthetic_spread_visit(void *spreader, const cs_contribution *c) CS_MUST_CHECK;

/* A text for each row, from witnesses whose sequence is code x sequences + sequence, into
 * cooc->texts; the witnesses then refer to these texts. */
cs_status cs_synthetic_witnesses(const cs_synthetic_spread *spread, const cs_sequences *sequences,
                                 cs_cooc *cooc) CS_MUST_CHECK;
