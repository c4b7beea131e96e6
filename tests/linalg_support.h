/* What the tests of src/linalg share. */
#pragma once

#include <stdint.h>

#include "linalg/csr.h"
#include "linalg/dense.h"
#include "test.h"

double max_abs_difference(const cs_dense *a, const cs_dense *b);

/* max |U^T U - I| over the columns of U. */
double orthonormality(const cs_dense *u);

/* Standard normal entries; a function of `index`. */
void fill_normal(cs_dense *a, uint64_t index);

/* About density * rows * cols standard normal entries, at least one; a function of `index`. */
cs_csr random_sparse(int64_t rows, int64_t cols, double density, uint64_t index);
