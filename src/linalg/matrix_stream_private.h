/* The rows of a matrix file one after the other, for readers that keep only some of them. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npz.h"

typedef struct {
    void *ctx;
    cs_status (*begin)(void *ctx, int64_t rows, int64_t cols);
    /* n entries of a row as they stand in the file: columns in range, values finite, in any order;
     * they may repeat or be zero. Rows ascend; empty ones come too. */
    cs_status (*row)(void *ctx, int64_t row, int64_t n, const int32_t *col, const double *val);
} cs_row_visitor;

/* Visits every row of what cs_matrix_read reads. A .npz of format csr is read in pieces of about
 * 2^18 entries, and takes no more memory than these; every other form is read whole first. Errors
 * as cs_matrix_read, and those of the visitor; CS_ERR_USAGE for a Gram form. */
cs_status cs_matrix_stream(const char *path, const cs_row_visitor *visitor) CS_MUST_CHECK;

/* The members format, freed by the caller, and shape of a scipy.sparse archive. */
cs_status cs_sparse_kind(cs_npz *npz, const char *path, char **format,
                         int64_t shape[2]) CS_MUST_CHECK;
