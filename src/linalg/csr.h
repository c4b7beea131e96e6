/* Compressed sparse rows. Rows and nonzeros are counted in int64; column indices are int32
 * (vocabularies are below 2^31). Columns of a row ascend, without repeats.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"

typedef struct {
    int64_t rows, cols;
    int64_t *ptr; /* rows + 1 */
    int32_t *col; /* ptr[rows] */
    double *val;  /* ptr[rows] */
    bool gram;    /* the Gram form A^T A of a matrix A that is not at hand: without its empty rows
                     and columns it is symmetric and positive semidefinite. Files keep this, copies
                     and products do not; a spectrum (cooc/spectrum.h) is that of A */
} cs_csr;

static inline int64_t cs_csr_nnz(const cs_csr *a)
{
    return a->ptr ? a->ptr[a->rows] : 0;
}

/* Room for nnz entries; ptr zeroed. */
cs_status cs_csr_init(cs_csr *a, int64_t rows, int64_t cols, int64_t nnz) CS_MUST_CHECK;
void cs_csr_free(cs_csr *a);
cs_status cs_csr_copy(const cs_csr *a, cs_csr *out) CS_MUST_CHECK;

/* From n triplets in any order; repeats are added (in the order given), zeros are kept out. */
cs_status cs_csr_from_triplets(int64_t rows, int64_t cols, int64_t n, const int64_t *row,
                               const int64_t *col, const double *val, cs_csr *out) CS_MUST_CHECK;

/* Repairs rows whose columns are out of order or repeat: sorts them, adds repeats in the order
 * given and drops zeros, in place. Columns must be in range. O(nnz) when nothing is out of order.
 */
cs_status cs_csr_tidy(cs_csr *a) CS_MUST_CHECK;

cs_status cs_csr_to_dense(const cs_csr *a, cs_dense *out) CS_MUST_CHECK;

/* A^T, on cs_threads() threads. O(nnz + rows + cols) time, 8 cols bytes of scratch for every
 * 2^17 + cols nonzeros, sixteen times at most. CS_ERR_INPUT when rows do not fit int32. */
cs_status cs_csr_transpose(const cs_csr *a, cs_csr *out) CS_MUST_CHECK;

/* Rows row[0..rows-1] and the columns with col_map[j] >= 0, renumbered to col_map[j] < cols; rows
 * are sorted where the map is not monotone, and columns mapped to one are added. NULL row: all rows
 * in order; NULL col_map: all columns. Indices out of range are bugs (asserted). */
cs_status cs_csr_select(const cs_csr *a, int64_t rows, const int64_t *row, const int32_t *col_map,
                        int64_t cols, cs_csr *out) CS_MUST_CHECK;

/* Which rows of a larger matrix a matrix has, where it is kept without the others, which are empty:
 * row i of it is row cs_kept_rows_at(set, i) of the whole. */
typedef struct {
    int64_t rows;  /* of the whole */
    int64_t count; /* of those kept */
    int64_t *row;  /* count, ascending; NULL: all rows, in order */
} cs_kept_rows;

static inline cs_kept_rows cs_kept_rows_all(int64_t rows)
{
    cs_kept_rows all = {rows, rows, 0};
    return all;
}

static inline int64_t cs_kept_rows_at(const cs_kept_rows *set, int64_t i)
{
    return set && set->row ? set->row[i] : i;
}

void cs_kept_rows_free(cs_kept_rows *set);

/* The rows that occur among the n of row[], each in 0 .. rows - 1; row[e] becomes its number among
 * them. O(n) time where rows <= 2 n + 1, else that of sorting; at most 24 n bytes, whatever `rows`
 * is. CS_ERR_MEMORY. */
cs_status cs_kept_rows_number(int64_t rows, int64_t n, int64_t *row,
                              cs_kept_rows *out) CS_MUST_CHECK;

/* *view: a without the rows that store nothing, which leave *rows, those that a has. The view has
 * a's entries, and pointers of its own (cs_free) unless no row is empty: then view->ptr == a->ptr.
 * Pointers need not have been checked. CS_ERR_MEMORY: both as they were. */
cs_status cs_csr_filled(const cs_csr *a, cs_kept_rows *rows, cs_csr *view) CS_MUST_CHECK;

/* The same in place. */
cs_status cs_csr_drop_empty(cs_csr *a, cs_kept_rows *rows) CS_MUST_CHECK;

/* Back to the whole matrix; frees the set. CS_ERR_MEMORY: both as they were. */
cs_status cs_csr_spread(cs_csr *a, cs_kept_rows *rows) CS_MUST_CHECK;

/* Columns over the rows of a set become columns over the whole, 0 elsewhere. */
cs_status cs_kept_rows_spread(const cs_kept_rows *rows, cs_dense *x) CS_MUST_CHECK;

/* The way there, in a pool's memory, which frees it; data NULL once the pool failed. */
cs_dense cs_kept_rows_gather(const cs_kept_rows *rows, const cs_dense *x, cs_pool *pool);

/* Row sums (rows values) and column sums (cols values), each either NULL. */
void cs_csr_sums(const cs_csr *a, double *row_sum, double *col_sum);

/* Entries finite, ptr monotone, columns in range and ascending; non-negative when asked.
 * CS_ERR_INPUT "row 3, column 7: value -1 is negative". */
cs_status cs_csr_check(const cs_csr *a, bool non_negative) CS_MUST_CHECK;

/* The same where `a` has these rows of a larger matrix, whose numbers are named; NULL: all. */
cs_status cs_csr_check_rows(const cs_csr *a, const cs_kept_rows *rows,
                            bool non_negative) CS_MUST_CHECK;

/* Every value is an integer of magnitude below 2^53: what int64 and double hold alike. */
bool cs_csr_is_integer(const cs_csr *a);

/* Y = A X: X cols x k, Y rows x k with its room made by the caller; threaded (0: cs_threads()), the
 * same bits for any thread count. For A^T X pass the transposed matrix, so that it is a row loop
 * too. O(nnz k) time, 64 cols bytes of scratch. CS_ERR_USAGE names shapes that do not fit. */
cs_status cs_csr_apply(const cs_csr *a, const cs_dense *x, cs_dense *y, int threads) CS_MUST_CHECK;

/* The same for panels of eight columns stored row by row, x[j * 8 + c] of cols rows and
 * y[i * 8 + c] of rows: a row of a panel on one cache line (both aligned to 64) is what a nonzero
 * costs. No scratch; the bits of cs_csr_apply. */
enum { CS_PANEL = 8 };
cs_status cs_csr_apply_panel(const cs_csr *a, const double *x, double *y,
                             int threads) CS_MUST_CHECK;

/* Room for one: rows x CS_PANEL zeros on cache lines, in large pages where the system has them.
 * NULL without memory; freed by cs_free_aligned. */
double *cs_csr_panel_alloc(int64_t rows) CS_MUST_CHECK;

/* Columns first..first+count-1 of a dense matrix into a panel of as many rows, whose other columns
 * become zero, and back. */
void cs_csr_panel_put(const cs_dense *from, int64_t first, int64_t count, double *panel);
void cs_csr_panel_get(const double *panel, int64_t first, int64_t count, cs_dense *to);

/* Y = A^T A X of such panels, both of cols rows, with one pass over A and without A^T. The bits
 * depend on neither threads nor room; no more threads than chunks of rows are used (4 to 32, one
 * for a small matrix). room: cs_csr_normal_room(a) doubles, aligned to 64, (chunks - 1) cols 8, at
 * most a quarter of nnz; not used between calls. 2 nnz multiply-adds a column. */
cs_status cs_csr_apply_normal(const cs_csr *a, const double *x, double *y, double *room,
                              int threads) CS_MUST_CHECK;
int64_t cs_csr_normal_room(const cs_csr *a);

/* ax = A X and atz = A^T Z of panels, X and atz of cols rows, Z and ax of rows: the same pass, its
 * room and its cost. */
cs_status cs_csr_apply_both(const cs_csr *a, const double *x, const double *z, double *ax,
                            double *atz, double *room, int threads) CS_MUST_CHECK;

/* What rounding may add to either product: *out = c with ||fl(A x) - A x|| <= c || |A| |x| || and
 * so for A^T z, c the additions that an entry goes through and its multiplication, times eps / 2.
 * at: A^T, or NULL where cs_csr_apply_both takes its place. O(rows + nnz). */
cs_status cs_csr_rounding(const cs_csr *a, const cs_csr *at, double *out) CS_MUST_CHECK;

/* Whether they cost less than two products: 128 nonzeros a column or more, or a small matrix. */
bool cs_csr_normal_pays(const cs_csr *a);
