/* Building a cs_toy_spectrum from loose values: private to the toy room. */
#ifndef CS_TOY_SPECTRUM_H
#define CS_TOY_SPECTRUM_H

#include "linalg/dense.h"
#include "toy/toy.h"

/* Values in any order, with multiplicities; room is fixed at the start. */
typedef struct {
    int64_t n, room;
    double *sigma;
    int64_t *multiplicity;
} cs_toy_values;

cs_status cs_toy_values_init(cs_toy_values *values, int64_t room) CS_MUST_CHECK;
void cs_toy_values_free(cs_toy_values *values);

/* Adds sigma `multiplicity` times; 0 times adds nothing. */
void cs_toy_values_add(cs_toy_values *values, double sigma, int64_t multiplicity);

/* Sorts, leaves out values <= floor, joins those within 1e-9 of the largest of their group to their
 * mean, and sums the moments of what is left. Sets everything in *out but residual and source. */
cs_status cs_toy_values_group(cs_toy_values *values, double floor,
                              cs_toy_spectrum *out) CS_MUST_CHECK;

/* All singular values of a dense matrix (min(rows, cols), descending), its largest residual
 * max_j max(||A v_j - sigma_j u_j||, ||A^T u_j - sigma_j v_j||) recomputed from a copy, and the
 * floor below which a value is rounding. The matrix is destroyed. */
cs_status cs_toy_svd(cs_dense *a, double *sigma, double *residual, double *floor) CS_MUST_CHECK;

#endif
