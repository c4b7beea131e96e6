/** \file
 * Alignment of an objective with a classification task, in the theory of linear predictors.
 *
 * Tokens have features h_i of d numbers: one-hot, or hidden states of a model. Over the events
 * (S, k) of the objective with weights w, and over documents with mean feature x and one-hot label y,
 *
 * \f[ S_0 = \sum w\, b_S b_S^T, \quad S_1 = \sum w\, b_S h_k^T, \quad b_S = \sum_{i \in S} h_i, \quad S_{xx} = E[x x^T], \quad S_{xy} = E[x y^T]. \f]
 *
 * V: the leading t generalised eigenvectors of (S_1 S_1^T, S_0), the best linear predictor of rank t.
 * U: the leading u of (S_xy S_xy^T, S_xx), with \f$U^T S_{xx} U = I\f$. With P the orthogonal projection on
 * the columns of V,
 *
 * \f[ \mathrm{score} = \frac{\|P U\|_F^2}{\|U\|_F^2} \in [0, 1]. \f]
 *
 * With `ar`, hidden states and t = u this is the Next Token Perception Score (Cheng et al., arXiv
 * 2505.17169). Other objectives are ours. S_0 and S_1 are sums over pairs of positions
 * (plan/position_weights.h), exact at any length. Sequences weigh as in a matrix: the expected
 * number of predicted tokens, or 1 under `mask` weights.
 *
 * Eigenvalues of S_0 and S_xx below 1e-12 of the largest count as 0, and their directions are left
 * out. docs/explanation/alignment.md.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "linalg/dense.h"
#include "plan/objective.h"

/** \cond INTERNAL */
struct cs_position_table;
/** \endcond */

/** The sums. Free them with cs_alignment_free. */
typedef struct {
    /** Borrowed. */
    const cs_objective *objective;
    /** d. */
    int64_t width;
    /** Number of classes. */
    int64_t classes;
    /** S_0, d x d, not divided by `weight`. */
    cs_dense between;
    /** S_1, d x d, not divided by `weight`. */
    cs_dense across;
    /** S_xx, d x d, not divided by `documents`. */
    cs_dense mean;
    /** S_xy, d x classes, not divided by `documents`. */
    cs_dense label;
    /** Total weight of the sequences. */
    double weight;
    /** Sum of the weights times |S|: given / weight is the mean size of a context. */
    double given;
    /** Sequences that were added. */
    int64_t sequences;
    /** Sequences at whose length the objective does not exist. */
    int64_t skipped;
    /** Labelled documents. */
    int64_t documents;
    /** Weights of pairs of positions by length. */
    struct cs_position_table *table;
} cs_alignment;

/** The score and what it is made of. */
typedef struct {
    /** \f$\|P U\|_F^2 / \|U\|_F^2\f$ */
    double score;
    /** t. */
    int64_t rank;
    /** u. */
    int64_t task_rank;
    /** Number of directions in which S_0 is not 0. */
    int64_t directions;
    /** Eigenvalue number t of (S_1 S_1^T, S_0) as a share of the first. */
    double last;
    /** Eigenvalue number t + 1 as a share of the first, 0 if there is none; if it equals `last`, V
     * is not unique.
     */
    double next;
    /** given / weight */
    double context_tokens;
} cs_alignment_score;

/** Empty sums. Memory: 3 d^2 doubles.
 *
 * \param objective checked by cs_objective_check; borrowed
 * \param width d
 * \param classes number of classes
 * \param out receives the sums
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_alignment_open(const cs_objective *objective, int64_t width, int64_t classes,
                            cs_alignment *out) CS_MUST_CHECK;

/** Frees sums; accepts a zeroed object. */
void cs_alignment_free(cs_alignment *a);

/** Adds a sequence of s tokens with one-hot features. O(s^2).
 *
 * \param a the sums
 * \param token s ids below d
 * \param s length
 * \retval CS_ERR_USAGE the events of this objective cannot be summed at this length (cs_pairs_of)
 */
cs_status cs_alignment_add_tokens(cs_alignment *a, const int32_t *token, int64_t s) CS_MUST_CHECK;

/** Adds a sequence of s rows of features. O(s^2 d + s d^2).
 *
 * \param a the sums
 * \param row s x d, row-major
 * \param s length
 * \retval CS_ERR_USAGE as cs_alignment_add_tokens
 */
cs_status cs_alignment_add_rows(cs_alignment *a, const float *row, int64_t s) CS_MUST_CHECK;

/** Adds a document of a class. O(d^2), or the square of the number of features that are not 0.
 *
 * \param a the sums
 * \param x d values, the mean feature
 * \param label class
 */
void cs_alignment_add_document(cs_alignment *a, const double *x, int32_t label);

/** The score. O(d^3).
 *
 * \param a the sums
 * \param rank t, or 0 for the smaller of 64 and the number of positive eigenvalues
 * \param task_rank u, or 0 for the smaller of classes - 1 and the number of positive eigenvalues
 * \param out receives the score
 * \retval CS_ERR_INPUT fewer than t or u eigenvalues are positive, or none: names the number
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_alignment_score_of(const cs_alignment *a, int64_t rank, int64_t task_rank,
                                cs_alignment_score *out) CS_MUST_CHECK;
