/* Inner products of sums over pairs of tokens of one context, for all balanced splits of eight
 * folds of the documents at once, and for all pairings of their four quarters. */
#pragma once

#include "cooc/by_document.h"

enum { CS_FOLDS = 8, CS_ALL_FOLDS = (1 << CS_FOLDS) - 1, CS_PAIRINGS = 3 };

/* Half a of splits 1 .. 7 of the eight folds: fold f is in it if split & f has an even number of
 * bits, as in the columns of a Hadamard matrix: two folds are in the same half in three of seven
 * splits. */
static inline unsigned cs_half_of_folds(int splitting)
{
    unsigned half = 0;
    for (int f = 0; f < CS_FOLDS; ++f) {
        half |= (unsigned)!(__builtin_popcount((unsigned)(splitting & f)) % 2) << f;
    }
    return half;
}

typedef struct {
    const uint8_t *part; /* by document of the corpus: its fold, or CS_LEFT_OUT */
    /* contexts with fewer documents of a half count as unseen in it; 0: 2 */
    int64_t least;
    bool quarters;           /* also the products of quarters, of all contexts */
    const double *scale, *f; /* cols: s_v and f_v, at least 0 */
    int threads;             /* 0: cs_threads(); bits do not depend on it */
} cs_fold_options;

/* With M_h the sum over pairs of documents of half h, and Q_fg the one over pairs of quarters f and
 * g of weight 8 (cs_pairs_of_contexts); quarter q is folds 2 q and 2 q + 1. */
typedef struct {
    double plain[CS_FOLDS];  /* i = 1 .. 7: tr M_a M_b of the halves of splitting i */
    double scaled[CS_FOLDS]; /* sum_uv f_u f_v of the same products */
    /* share of the mass of each half in the contexts that it contains */
    double seen[CS_FOLDS][2];
    double pairing[CS_PAIRINGS]; /* tr Q_01 Q_23, tr Q_02 Q_13, tr Q_03 Q_12; 0: not wanted */
    double trace;                /* of these six, the sum */
} cs_fold_products;

/* All of them in one pass over the pairs of entries of each context, in place of one pass for each
 * sum: 10 inner products of 20 sums in the time of two or three. index: of these rows.
 *
 * Exact except for rounding. Memory: 20 bytes an entry of the contexts of two documents and of the
 * rows of these with at least two tokens, 128 a context, 320 for every distinct division of the
 * counts of an entry over the folds (few, if counts are small), 192 a column and thread.
 * CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_fold_products_of(const cs_cooc *rows, const cs_context_index *index,
                              const cs_fold_options *options, cs_fold_products *out) CS_MUST_CHECK;
