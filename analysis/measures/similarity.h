/** \file
 * Similarity of two representations A (n x p) and B (n x q) of the same n inputs. All measures are
 * invariant to rotation and scaling of either side, and centre the columns.
 *
 * - cka: linear CKA, \f$\|B^T A\|_F^2 / (\|A^T A\|_F \|B^T B\|_F)\f$ (Kornblith, Norouzi, Lee and
 *   Hinton, ICML 2019). It uses the biased HSIC and is near 1 for any two wide matrices with n <=
 *   p, q.
 * - cka_unbiased: the same ratio of unbiased estimators of HSIC (Song et al., JMLR 13, 2012, Eq.
 *   5). It may be negative, and is NaN if the estimate of a side with itself is not positive. n >=
 *   4.
 * - procrustes: \f$\min_R \|A/\|A\|_F - (B/\|B\|_F) R\|_F^2 = 2 - 2 \|A^T B\|_* / (\|A\|_F
 *   \|B\|_F)\f$ over orthogonal R (Ding, Denain and Steinhardt, NeurIPS 2021), the narrower side
 *   padded with zeros. 0 if a rotation maps one to the other, at most 2.
 * - procrustes_similarity: \f$\|A^T B\|_* / (\|A\|_F \|B\|_F)\f$, in [0, 1].
 * - angles: principal angles between the spans of the first k principal components (left singular
 *   vectors).
 *
 * With K = A A^T and L = B B^T, and K0, L0 the same with zero diagonals,
 *
 * \f[ \mathrm{HSIC} = \frac{1}{n(n-3)} \left( \mathrm{tr}(K_0 L_0) + \frac{1^T K_0 1\; 1^T L_0 1}{(n-1)(n-2)} - \frac{2}{n-2} 1^T K_0 L_0 1 \right). \f]
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "io/rows.h"
#include "linalg/dense.h"

/** Options of cs_similarity_of. */
typedef struct {
    /** k; reduced to the smaller rank. */
    int64_t angles;
    /** Blocks of rows for the errors of both cka, at most the number of rows; 0 or 1:
     * no errors.
     */
    int64_t blocks;
    /** Block of each row, below `blocks`, none empty; NULL: consecutive rows. */
    const int32_t *block;
    /** 0: cs_threads(). */
    int threads;
    /** NULL: none. */
    const cs_progress *progress;
} cs_similarity_options;

/** The measures. Free them with cs_similarity_free. */
typedef struct {
    /** n. */
    int64_t rows;
    /** Linear CKA. */
    double cka;
    /** Unbiased CKA. */
    double cka_unbiased;
    /** Standard error of cka: delete-block jackknife over rows; NaN: none. */
    double cka_se;
    /** Standard error of cka_unbiased. */
    double cka_unbiased_se;
    /** Procrustes distance, in [0, 2]. */
    double procrustes;
    /** In [0, 1]. */
    double procrustes_similarity;
    /** Number of angles. */
    int64_t angles;
    /** angles values in radians, ascending. */
    double *angle;
    /** Mean of cos^2 of the angles. */
    double mean_squared_cosine;
    /** Share of the squared norm of A in its k components. */
    double share_a;
    /** Share of the squared norm of B in its k components. */
    double share_b;
} cs_similarity;

/** Frees the angles; accepts a zeroed object. */
void cs_similarity_free(cs_similarity *s);

/** The part of the measures that one side alone decides. */
typedef struct cs_similarity_side cs_similarity_side;

/** Prepares a side for any number of pairs, all with the same options. Memory 8 (n p + p^2) bytes
 * and 8 (n + p) for each block; time n p^2 flops (twice with blocks, and n p for each block) and
 * an eigenproblem. Bits do not depend on the number of threads.
 *
 * \param a n x p, borrowed until this returns; its name as long as the side
 * \param out receives the side; free it with cs_similarity_side_free
 * \retval CS_ERR_INPUT fewer than 2 rows, a value that is not finite, or a constant side
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_similarity_side_of(const cs_rows *a, const cs_similarity_options *options,
                                cs_similarity_side **out) CS_MUST_CHECK;
/** Frees a side; accepts NULL. */
void cs_similarity_side_free(cs_similarity_side **side);

/** Computes all measures of two sides. Memory 8 p q bytes (twice with blocks); time 2 n p q flops
 * (twice with blocks) and an SVD of p x q. Bits do not depend on the number of threads.
 *
 * \retval CS_ERR_INPUT unequal numbers of rows
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_similarity_between(const cs_similarity_side *a, const cs_similarity_side *b,
                                const cs_similarity_options *options,
                                cs_similarity *out) CS_MUST_CHECK;

/** Computes all measures of two matrices: the sides, then what is between them.
 *
 * \param a n x p
 * \param b n x q
 * \param out receives the measures
 * \retval CS_ERR_INPUT unequal numbers of rows, fewer than 2 rows, a value that is not finite, or
 *     a constant side
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_similarity_of(const cs_rows *a, const cs_rows *b, const cs_similarity_options *options,
                           cs_similarity *out) CS_MUST_CHECK;

/** Appends an object for each measure to the array `metrics`: of, with, name, definition, n, value.
 */
void cs_similarity_record(const cs_similarity *s, const char *of, const char *with,
                          cs_item *metrics);

/** Adds "angles" to an object: k, radians, and the shares of both sides. */
void cs_similarity_angles_record(const cs_similarity *s, cs_item *root);

/* Principal angles between subspaces (Bjorck and Golub, Math. Comp. 27, 1973), to compare the
 * directions that two objectives learn:
 *
 * \f[ \cos \theta_i = \sigma_i(Q_1^T Q_2), \qquad \sin \theta_i = \sigma_i((I - Q_1 Q_1^T) Q_2). \f]
 *
 * Small angles are computed from the sines, since a cosine near 1 loses half the digits.
 */
/** The angles between the column spaces of two matrices.
 *
 * \param a n x p, of full column rank; it need not be orthonormal
 * \param b n x q, of full column rank
 * \param angle receives min(p, q) values in radians, ascending
 * \retval CS_ERR_INPUT the numbers of rows differ, or a matrix has more columns than rows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle) CS_MUST_CHECK;
