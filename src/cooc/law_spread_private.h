/* The matrix of a law of text (text/law.h) without its texts: documents of a population have the
 * numbers of their places for tokens, so that a contribution of a walk says which places make its row and
 * which is its target; it is spread over all words at these places, with their probability
 *
 *     P(x_p1 .. x_pn) = start next^p1 E(x_p1) next^(p2 - p1) E(x_p2) ... 1,    E(x) = diag emit(., x),
 *
 * under the key that these words would have. V^n contributions for n places, whatever the length. */
#pragma once

#include "cooc/builder.h"
#include "cooc/context_private.h"
#include "text/law.h"

/* What the law says, for all workers. */
typedef struct {
    const struct cs_law_population *population; /* NULL: the corpus is none */
    const cs_corpus *corpus;
    const cs_context_plan *plan;
    double *power; /* classes x reach x states x states: next, next^2, ... */
    int64_t reach; /* places between two at most */
    int64_t *ptr,
        *state;   /* of class c and word v the states that emit it are state[ptr[c V + v]].. */
    double *emit; /* and how often they do */
    double contributions; /* of all sequences, once spread */
    cs_pool pool;
} cs_law_spread;

/* Of a corpus that is no population all is left empty. CS_ERR_INPUT: more contributions than 2^32;
 * `document` rows; CS_ERR_MEMORY. The three are borrowed. */
cs_status cs_law_spread_init(const cs_context_plan *plan, const cs_corpus *corpus,
                             const cs_sequences *sequences, cs_law_spread *out) CS_MUST_CHECK;
void cs_law_spread_free(cs_law_spread *spread);

/* Takes a contribution of given words; `code` says which: their numbers at the places of the row, in
 * order, as digits to the base V. */
typedef cs_status (*cs_law_take)(void *ctx, const cs_contribution *c, int64_t code);

/* Of one worker. */
typedef struct {
    const cs_law_spread *spread;
    cs_law_take take;
    void *ctx;
    int64_t document;       /* at hand */
    int32_t *place, *where; /* in order; the number of an item's hash */
    uint8_t *item;          /* whether the place is of the row */
    int32_t *word;          /* below the one to be tried next */
    int64_t *code;          /* of the row's words before a place */
    cs_hash128 *key;
    double *before, *after; /* of the states, by place, and behind a word */
    cs_pool pool;
} cs_law_spreader;

cs_status cs_law_spreader_init(const cs_law_spread *spread, cs_law_take take, void *ctx,
                               cs_law_spreader *out) CS_MUST_CHECK;
void cs_law_spreader_free(cs_law_spreader *spreader);

/* A cs_contribution_visit. */
cs_status cs_law_spread_visit(void *spreader, const cs_contribution *c) CS_MUST_CHECK;

/* A text for each row, from witnesses whose sequence is code x sequences + sequence, into
 * cooc->texts; the witnesses become those of these texts. */
cs_status cs_law_witnesses(const cs_law_spread *spread, const cs_sequences *sequences,
                           cs_cooc *cooc) CS_MUST_CHECK;
