/* Matrices the co-occurrence tests share. Every function stops the test when memory is out. */
#pragma once

#include "linalg/csr.h"

/* From rows x cols values, row by row. */
cs_csr matrix_of(int64_t rows, int64_t cols, const double *values);

/* The nonzeros of a dense one. */
cs_csr csr_of(const cs_dense *a);

/* `blocks` disjoint connected blocks with rows and columns permuted. rank1: 60 x 24 ones;
 * else 40..159 x 16..63 with 8 random entries a row, a full first row and a full first column, and
 * heavy-tailed integer counts. Exactly `blocks` singular values of the normalised matrix are 1. */
cs_csr multiplicity_matrix(bool rank1, int64_t blocks, uint64_t seed);

/* Random sparse counts in `components` disjoint parts, with a share of proportional rows and
 * columns, empty rows and empty columns, all shuffled. */
cs_csr untidy_matrix(int64_t components, int64_t rows, int64_t cols, uint64_t seed);
