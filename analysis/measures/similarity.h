/* Similarity of two representations A (n x p), B (n x q) of the same n inputs. All measures here
 * are invariant to rotations and scaling of either side, and centre the columns.
 *
 *   cka                    linear CKA, |B^T A|_F^2 / (|A^T A|_F |B^T B|_F) (Kornblith, Norouzi, Lee
 *                          and Hinton, ICML 2019): the biased HSIC, near 1 for any two wide
 *                          matrices with n <= p, q
 *   cka_unbiased           the same ratio of unbiased estimators of HSIC (Song et al., JMLR 13,
 *                          2012, Eq. 5), below; may be negative; NaN when a side's own estimate is
 *                          not positive. n >= 4
 *   procrustes             min over orthogonal R of
 *                          |A/|A|_F - B/|B|_F R|_F^2 = 2 - 2 |A^T B|_* / (|A|_F |B|_F)
 *                          (Ding, Denain and Steinhardt, NeurIPS 2021; the narrower side padded
 *                          with zeros): 0 when a rotation takes one to the other, 2 at most
 *   procrustes_similarity  |A^T B|_* / (|A|_F |B|_F), in [0, 1]
 *   angles                 principal angles of the spans of the first k principal components (left
 *                          singular vectors; analysis/measures/subspace.h)
 *
 * With K = A A^T, L = B B^T and their diagonals set to zero, K0 and L0, the unbiased estimator is
 *
 *   HSIC = (tr(K0 L0) + 1'K0 1 1'L0 1 / ((n-1)(n-2)) - 2/(n-2) 1'K0 L0 1) / (n (n-3))
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/result.h"
#include "io/rows.h"

typedef struct {
    int64_t angles; /* k; as many as the smaller rank when there are fewer */
    int64_t
        blocks; /* of consecutive rows, for the errors of both cka; at most the rows; 0, 1: none */
    int threads;
} cs_similarity_options;

typedef struct {
    int64_t rows;
    double cka, cka_unbiased;
    double cka_se, cka_unbiased_se; /* delete-block jackknife over the rows; NaN: none */
    double procrustes, procrustes_similarity;
    int64_t angles;
    double *angle;              /* radians, ascending */
    double mean_squared_cosine; /* of the angles */
    double share_a, share_b;    /* of the squared norm in the k components */
} cs_similarity;

void cs_similarity_free(cs_similarity *s);

/* Memory 8 n (2 p + 2 q) + 16 (p + q)^2 bytes (with blocks twice the latter), time n (p + q)^2 flops (with
 * blocks twice, and n (p + q) a block) and an SVD of p x q.
 * Bits do not depend on `threads`, nor on those of BLAS, which is given one meanwhile.
 * CS_ERR_INPUT for unequal numbers of rows, fewer than 2, a value that is not finite, a side that
 * is constant. */
cs_status cs_similarity_of(const cs_rows *a, const cs_rows *b, const cs_similarity_options *options,
                           cs_similarity *out) CS_MUST_CHECK;

/* A row a measure into `metrics`: of, with, name, definition, n, value. */
void cs_similarity_record(const cs_similarity *s, const char *of, const char *with,
                          cs_item *metrics);

/* root["angles"]: k, radians, and the shares of both sides. */
void cs_similarity_angles_record(const cs_similarity *s, cs_item *root);
