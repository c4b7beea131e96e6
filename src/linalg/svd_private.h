/* Shared by the SVD solvers. */
#pragma once

#include "linalg/svd.h"

/* The largest smaller side for which the Gram matrix is formed (128 MB). */
enum { CS_SVD_GRAM_LIMIT = 4000 };

/* Most elements of a dense copy under these options. */
int64_t cs_svd_dense_limit(const cs_svd_options *options);

/* Rayleigh-Ritz: with an orthonormal basis V of a right subspace of the tall operator B (rows >=
 * cols), the SVD of B V = U diag(s) Q^T gives the best triplets (s, U, V Q) with both sides
 * orthonormal to rounding, also in clusters. Consumes v (cols x p; orthonormalised first). Keeps k
 * <= p triplets in out->k, sigma, u, v, with the floor of A^T A; adds p to out->applications. */
cs_status cs_svd_ritz(const cs_linop *b, cs_dense *v, int64_t k, cs_svd *out) CS_MUST_CHECK;
