/** \file
 * Inner products of sums over pairs of tokens of one context, for all balanced splits of eight
 * folds of the documents at once, and for all pairings of their four quarters.
 */
#pragma once

#include "cooc/by_document.h"

/** Options of cs_fold_products_of. */
typedef struct {
    /** By document of the corpus: its fold, or CS_LEFT_OUT; borrowed. */
    const uint8_t *part;
    /** Contexts with fewer documents of a half count as unseen in it; 0: 2. */
    int64_t least;
    /** Also compute the products of quarters, of all contexts. */
    bool quarters;
    /** cols: s_v >= 0; borrowed. */
    const double *scale;
    /** cols: f_v >= 0; borrowed. */
    const double *f;
    /** 0: cs_threads(). Bits do not depend on it. */
    int threads;
} cs_fold_options;

/** The products. M_h is the sum over pairs of documents of half h, and Q_fg that over pairs of
 * quarters f and g with weight 8 (cs_pairs_of_contexts); quarter q is folds 2 q and 2 q + 1.
 */
typedef struct {
    /** For i = 1 .. 7: tr M_a M_b of the halves of split i. */
    double plain[CS_FOLDS];
    /** For i = 1 .. 7: sum over u, v of f_u f_v (M_a)_uv (M_b)_uv. */
    double scaled[CS_FOLDS];
    /** For i = 1 .. 7: share of the mass of each half in the contexts that it contains. */
    double seen[CS_FOLDS][2];
    /** tr Q_01 Q_23, tr Q_02 Q_13, tr Q_03 Q_12; 0 without `quarters`. */
    double pairing[CS_PAIRINGS];
    /** Sum of the traces of these six matrices. */
    double trace;
} cs_fold_products;

/** Computes all products in one pass over the pairs of entries of each context: 10 inner products
 * of 20 sums in the time of two or three. Exact except for rounding.
 *
 * Memory: 20 bytes an entry of the contexts of two documents and of the rows of these with at
 * least two tokens, 128 a context, 320 for every distinct division of the counts of an entry over
 * the folds (few, if counts are small), 192 a column and thread.
 *
 * \param rows a build by document
 * \param index the index of these rows
 * \param options options of the products
 * \param out receives the products
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_fold_products_of(const cs_cooc *rows, const cs_context_index *index,
                              const cs_fold_options *options, cs_fold_products *out) CS_MUST_CHECK;
