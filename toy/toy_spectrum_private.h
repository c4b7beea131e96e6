/* Builds a cs_toy_spectrum from individual values: private to toy/. */
#pragma once

#include "linalg/dense.h"
#include "toy/toy.h"

/* Values in any order, with multiplicities; all zero: none. cs_toy_values_group returns a failure
 * of allocation. */
typedef struct {
    double sigma;
    int64_t multiplicity;
} cs_toy_value;

typedef struct {
    int64_t n, capacity;
    cs_toy_value *value; /* free it with cs_free */
    cs_status status;
    double floor, residual; /* largest of the solvers that ran */
} cs_toy_values;

/* Adds sigma `multiplicity` times; 0 times adds nothing. */
void cs_toy_values_add(cs_toy_values *values, double sigma, int64_t multiplicity);

/* The ones of all classes in `columns` columns of B; if the classes share an empty set of mass
 * `empty` of a column, 1 once and sqrt(1 - empty) r - 1 times. */
void cs_toy_values_add_ones(cs_toy_values *values, const cs_toy *toy, double empty,
                            int64_t columns);

/* A spectrum by a method for blind or given positions: the method itself, or for a partially known
 * position cs_toy_mix_positions of the blind spectrum. */
cs_status cs_toy_mixed_by(cs_status (*method)(const cs_toy *toy, cs_toy_spectrum *out),
                          const cs_toy *toy, cs_toy_spectrum *out) CS_MUST_CHECK;

/* All singular values of a dense matrix, each `multiplicity` times, their largest residual
 * max_j max(||A v_j - sigma_j u_j||, ||A^T u_j - sigma_j v_j||) recomputed from a copy, and the
 * floor below which a value is rounding. The matrix is destroyed. */
cs_status cs_toy_values_add_svd(cs_toy_values *values, cs_dense *a,
                                int64_t multiplicity) CS_MUST_CHECK;

/* Sorts, drops values <= floor, merges those within 1e-9 of the largest of their group to their
 * mean, and sums the moments of the rest. Sets everything in *out except formula and source. */
cs_status cs_toy_values_group(cs_toy_values *values, cs_toy_spectrum *out) CS_MUST_CHECK;
