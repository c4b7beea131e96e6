/* The rows of a matrix file in order, for readers that keep only some of them. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npz.h"
#include "linalg/csr.h"

typedef struct {
    void *ctx;
    cs_status (*begin)(void *ctx, int64_t rows, int64_t cols, int64_t entries);
    /* n > 0 entries of a row as stored: columns in range, values finite, in any order; they may
     * repeat or be zero. Rows ascend. */
    cs_status (*row)(void *ctx, int64_t row, int64_t n, const int32_t *col, const double *val);
} cs_row_visitor;

/* Visits every row of a file of cs_matrix_read. A .npz of format csr is read in pieces of about
 * 2^18 entries, in their memory, and so are shards, one after the other; every other form is read
 * whole first. Errors as cs_matrix_read,
 * and those of the visitor; CS_ERR_USAGE for a Gram form. */
cs_status cs_matrix_stream(const char *path, const cs_row_visitor *visitor) CS_MUST_CHECK;

/* Visits the rows of an archive of format csr, path is for messages. */
cs_status cs_csr_stream(cs_npz *npz, const char *path, int64_t rows, int64_t cols,
                        const cs_row_visitor *visitor) CS_MUST_CHECK;

/* The nonempty rows of all that `visit` passes to the visitor. `path` is for messages. */
cs_status cs_rows_collect(const char *path,
                          cs_status (*visit)(void *ctx, const cs_row_visitor *visitor), void *ctx,
                          cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* Puts empty rows back into their places unless reading failed; frees the matrix after a failure. */
cs_status cs_rows_spread(cs_status status, const char *path, cs_nonempty_rows *rows,
                         cs_csr *out) CS_MUST_CHECK;

/* The members format, freed by the caller, and shape of a scipy.sparse archive. */
cs_status cs_sparse_kind(cs_npz *npz, const char *path, char **format,
                         int64_t shape[2]) CS_MUST_CHECK;

/* Member `name` as a vector of numbers. */
cs_status cs_sparse_vector(cs_npz *npz, const char *path, const char *name,
                           cs_array *out) CS_MUST_CHECK;

/* The items of an index member of an archive from `first` on. */
typedef struct {
    const char *path, *member;
    const cs_array *a;
    int64_t first;
} cs_index_items;

/* Item `at`, which must lie in low..high. */
cs_status cs_index_at(const cs_index_items *items, int64_t at, int64_t low, int64_t high,
                      int64_t *out) CS_MUST_CHECK;

/* The matrix of an archive of format dia (diagonals) or bsr (matrix_blocks.c). */
cs_status cs_blocks_read(cs_npz *npz, const char *path, bool diagonals, const int64_t shape[2],
                         cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* CS_ERR_INPUT for an entry that is not finite. */
cs_status cs_entry_finite(const char *path, int64_t row, int64_t col, double x) CS_MUST_CHECK;

/* CS_ERR_USAGE: the rows of a Gram form are no rows of A, so they cannot be distributed. */
cs_status cs_gram_refuse(const char *path) CS_MUST_CHECK;

/* n entries of a matrix, in its range. */
typedef struct {
    int64_t rows, cols, n;
    int64_t *row;
    const int64_t *col;
    const double *val;
} cs_triplets;

/* The nonempty rows of the matrix; row[] is renumbered. */
cs_status cs_nonempty_from_triplets(const char *path, const cs_triplets *t, cs_nonempty_rows *set,
                                    cs_csr *out) CS_MUST_CHECK;

/* The rows read so far without those that turned out to be empty, unless reading failed. */
cs_status cs_drop_empty_rows(cs_status status, cs_csr *a, cs_nonempty_rows *set,
                             cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* Matrix Market: coordinate or array; real, integer or pattern; general, symmetric or
 * skew-symmetric. Repeats are added. CS_ERR_INPUT names file and line; complex and hermitian
 * matrices are refused. */
cs_status cs_mtx_read(const char *path, cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;
