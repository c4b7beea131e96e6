/** \file
 * Sparse matrices in compressed sparse rows. Numbers of rows and nonzeros are int64, column
 * indices int32. The columns of a row ascend without repeats.
 *
 * Functions that take `threads` use cs_threads() threads for 0 and give the same bits for any
 * number. Results belong to the caller (cs_csr_free).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"

/** A sparse matrix, rows x cols. */
typedef struct {
    /** Number of rows. */
    int64_t rows;
    /** Number of columns. */
    int64_t cols;
    /** rows + 1: row i has the entries ptr[i] .. ptr[i+1]-1. */
    int64_t *ptr;
    /** ptr[rows] column indices. */
    int32_t *col;
    /** ptr[rows] values. */
    double *val;
    /** The arrays belong to another, and cs_csr_free leaves them. */
    bool borrowed;
    /** The matrix is the Gram form A^T A of a matrix A that is not available. Without its empty
     * rows and columns it is symmetric and positive semidefinite. Files keep this flag, copies and
     * products do not. A spectrum (cooc/spectrum.h) is then that of A.
     */
    bool gram;
} cs_csr;

/** Number of stored entries. */
static inline int64_t cs_csr_nnz(const cs_csr *a)
{
    return a->ptr ? a->ptr[a->rows] : 0;
}

/** Allocates a matrix with capacity for nnz entries; ptr is zeroed.
 *
 * \retval CS_ERR_USAGE a negative size
 * \retval CS_ERR_INPUT more than 2^31 - 1 columns
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_csr_init(cs_csr *a, int64_t rows, int64_t cols, int64_t nnz) CS_MUST_CHECK;

/** Frees a matrix; accepts a zeroed object. */
void cs_csr_free(cs_csr *a);

/** A copy. CS_ERR_MEMORY if memory is exhausted. */
cs_status cs_csr_copy(const cs_csr *a, cs_csr *out) CS_MUST_CHECK;

/** A matrix from n triplets in any order. Repeats are added in the given order; zeros are dropped.
 *
 * \param rows number of rows
 * \param cols number of columns
 * \param n number of triplets
 * \param row n row indices, from 0
 * \param col n column indices, from 0
 * \param val n values
 * \param out receives the matrix
 * \retval CS_ERR_INPUT an index is out of range
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_csr_from_triplets(int64_t rows, int64_t cols, int64_t n, const int64_t *row,
                               const int64_t *col, const double *val, cs_csr *out) CS_MUST_CHECK;

/** Sorts the columns of every row in place, adds repeats in the given order and drops zeros.
 * Columns must be in range. O(nnz) if nothing is out of order.
 */
cs_status cs_csr_tidy(cs_csr *a) CS_MUST_CHECK;

/** The matrix as a dense one (cs_dense_free). */
cs_status cs_csr_to_dense(const cs_csr *a, cs_dense *out) CS_MUST_CHECK;

/** A^T, on cs_threads() threads. O(nnz + rows + cols) time.
 *
 * \retval CS_ERR_INPUT more than 2^31 - 1 rows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_csr_transpose(const cs_csr *a, cs_csr *out) CS_MUST_CHECK;

/** A submatrix: rows row[0..rows-1], and the columns with col_map[j] >= 0, which become col_map[j].
 * Columns that are mapped to the same one are added. Indices out of range are bugs (assert).
 *
 * \param rows rows of the result
 * \param row rows indices; NULL: all rows in order
 * \param col_map a->cols numbers below `cols`, negative: dropped; NULL: all columns
 * \param cols columns of the result
 * \param out receives the submatrix
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_csr_select(const cs_csr *a, int64_t rows, const int64_t *row, const int32_t *col_map,
                        int64_t cols, cs_csr *out) CS_MUST_CHECK;

/** The rows of a larger matrix that a matrix stores; the others are empty. Row i of the stored
 * matrix is row cs_nonempty_rows_at(set, i) of the whole.
 */
typedef struct {
    /** Rows of the whole matrix. */
    int64_t rows;
    /** Rows that are stored. */
    int64_t count;
    /** count ascending row numbers, owned; NULL: all rows, in order. */
    int64_t *row;
} cs_nonempty_rows;

/** The set of all rows. */
static inline cs_nonempty_rows cs_nonempty_rows_all(int64_t rows)
{
    cs_nonempty_rows all = {rows, rows, 0};
    return all;
}

/** Row of the whole matrix that stored row i is; i if `set` is NULL. */
static inline int64_t cs_nonempty_rows_at(const cs_nonempty_rows *set, int64_t i)
{
    return set && set->row ? set->row[i] : i;
}

/** Frees a set; accepts a zeroed object. */
void cs_nonempty_rows_free(cs_nonempty_rows *set);

/** The set of rows that occur among the n entries of `row`, each in 0..rows-1; row[e] becomes its
 * index in the set. O(n) time if rows <= 2 n + 1, else that of sorting; at most 24 n bytes.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_nonempty_rows_number(int64_t rows, int64_t n, int64_t *row,
                                  cs_nonempty_rows *out) CS_MUST_CHECK;

/** A view of `a` without its empty rows; `*rows` receives the set of the others. The view shares
 * the entries of `a` and owns only `ptr` (cs_free), unless no row is empty: then view->ptr ==
 * a->ptr. Pointers need not have been checked.
 *
 * \retval CS_ERR_MEMORY memory is exhausted; both are unchanged
 */
cs_status cs_csr_drop_empty_rows(const cs_csr *a, cs_nonempty_rows *rows,
                                 cs_csr *view) CS_MUST_CHECK;

/** Removes the empty rows in place; `*rows` receives the set of the others. */
cs_status cs_csr_drop_empty(cs_csr *a, cs_nonempty_rows *rows) CS_MUST_CHECK;

/** Restores the whole matrix, with empty rows, and frees the set.
 *
 * \retval CS_ERR_MEMORY memory is exhausted; both are unchanged
 */
cs_status cs_csr_spread(cs_csr *a, cs_nonempty_rows *rows) CS_MUST_CHECK;

/** Extends the columns of x from the stored rows to the whole, with 0 elsewhere. */
cs_status cs_nonempty_rows_spread(const cs_nonempty_rows *rows, cs_dense *x) CS_MUST_CHECK;

/** The rows of x in the set, in memory of the pool; data NULL after a failure of the pool. */
cs_dense cs_nonempty_rows_gather(const cs_nonempty_rows *rows, const cs_dense *x, cs_pool *pool);

/** Row sums (rows values) and column sums (cols values); either may be NULL. */
void cs_csr_sums(const cs_csr *a, double *row_sum, double *col_sum);

/** Checks that entries are finite, ptr ascends, columns are in range and ascend, and optionally
 * that no entry is negative.
 *
 * \retval CS_ERR_INPUT "row 3, column 7: value -1 is negative"
 */
cs_status cs_csr_check(const cs_csr *a, bool non_negative) CS_MUST_CHECK;

/** As cs_csr_check for a matrix that stores the given rows of a larger one, whose row numbers
 * appear in messages; `rows` NULL: all.
 */
cs_status cs_csr_check_rows(const cs_csr *a, const cs_nonempty_rows *rows,
                            bool non_negative) CS_MUST_CHECK;

/** Whether every value is an integer of magnitude below 2^53. */
bool cs_csr_is_integer(const cs_csr *a);

/** Y = A X. For A^T X pass the transpose. O(nnz k) time, 64 cols bytes of scratch.
 *
 * \param a rows x cols
 * \param x cols x k
 * \param y rows x k, allocated by the caller
 * \param threads 0: cs_threads()
 * \retval CS_ERR_USAGE the shapes do not match
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_csr_apply(const cs_csr *a, const cs_dense *x, cs_dense *y, int threads) CS_MUST_CHECK;

enum {
    /** Columns of a panel. */
    CS_PANEL = 8,
};

/** Y = A X for panels: CS_PANEL columns stored row by row, `x[j * 8 + c]` of cols rows and
 * `y[i * 8 + c]` of rows rows, aligned to 64 bytes, so that a row is one cache line. The bits are
 * those of cs_csr_apply; no scratch.
 */
cs_status cs_csr_apply_panel(const cs_csr *a, const double *x, double *y,
                             int threads) CS_MUST_CHECK;

/** A zeroed panel of `rows` rows, aligned; NULL with a reason if memory is exhausted. Free it with
 * cs_free_aligned.
 */
double *cs_csr_panel_alloc(int64_t rows) CS_MUST_CHECK;

/** Copies the columns first..first+count-1 of a dense matrix into a panel with the same number of
 * rows; its other columns become zero.
 */
void cs_csr_panel_put(const cs_dense *from, int64_t first, int64_t count, double *panel);

/** Copies the first `count` columns of a panel to the columns first..first+count-1 of a dense
 * matrix.
 */
void cs_csr_panel_get(const double *panel, int64_t first, int64_t count, cs_dense *to);

/** Y = A^T A X for panels of cols rows, in one pass over A and without A^T. Bits depend neither on
 * threads nor on the scratch. 2 nnz multiply-adds a column.
 *
 * \param x panel of a->cols rows
 * \param y panel of a->cols rows
 * \param work scratch of cs_csr_normal_work_size(a) doubles, aligned to 64 bytes; not used between
 *     calls
 * \param threads 0: cs_threads()
 */
cs_status cs_csr_apply_normal(const cs_csr *a, const double *x, double *y, double *work,
                              int threads) CS_MUST_CHECK;

/** Doubles of scratch of cs_csr_apply_normal: at most a quarter of nnz. */
int64_t cs_csr_normal_work_size(const cs_csr *a);

/** ax = A X and atz = A^T Z for panels in one pass; x and atz have cols rows, z and ax have rows
 * rows. Scratch and cost of cs_csr_apply_normal.
 */
cs_status cs_csr_apply_both(const cs_csr *a, const double *x, const double *z, double *ax,
                            double *atz, double *work, int threads) CS_MUST_CHECK;

/** A bound c on rounding: \f$\|\mathrm{fl}(A x) - A x\| \le c\, \| |A| |x| \|\f$, and the same for
 * A^T z. It is the number of additions of an entry plus one, times eps / 2. O(rows + nnz).
 *
 * \param at A^T; NULL if cs_csr_apply_both computes the second product
 * \param out receives c
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_csr_rounding(const cs_csr *a, const cs_csr *at, double *out) CS_MUST_CHECK;

/** Whether cs_csr_apply_normal costs less than two products: at least 128 nonzeros a column, or a
 * small matrix.
 */
bool cs_csr_normal_pays(const cs_csr *a);
