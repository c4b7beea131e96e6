/* Building, repairing and reshaping sparse matrices.
 *
 * Methods: triplets are bucketed by row, stably; a row is sorted by (column, order given) only when
 * it is not ascending already; transposition by counting (Gustavson 1978).
 * Limits: column indices are int32, so at most 2^31 - 1 columns (and rows, to transpose).
 */
#include "linalg/csr_private.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"

cs_status cs_csr_init(cs_csr *a, int64_t rows, int64_t cols, int64_t nnz)
{
    *a = (cs_csr){0};
    if (rows < 0 || rows == INT64_MAX || cols < 0 || nnz < 0) {
        return cs_fail(CS_ERR_USAGE,
                       "invalid size of a sparse matrix: %lld x %lld with %lld entries",
                       (long long)rows, (long long)cols, (long long)nnz);
    }
    if (cols > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%lld columns exceed the limit of 2^31 - 1", (long long)cols);
    }
    cs_csr b = {.rows = rows, .cols = cols};
    b.ptr = cs_calloc(rows + 1, sizeof *b.ptr);
    b.col = b.ptr ? cs_alloc(nnz, sizeof *b.col) : NULL;
    b.val = b.col ? cs_alloc(nnz, sizeof *b.val) : NULL;
    if (!b.val) {
        cs_csr_free(&b);
        return cs_blame(CS_ERR_MEMORY, "sparse matrix of %lld x %lld with %lld entries",
                        (long long)rows, (long long)cols, (long long)nnz);
    }
    *a = b;
    return CS_OK;
}

void cs_csr_free(cs_csr *a)
{
    if (!a->borrowed) CS_FREE_FIELDS(a, ptr, col, val);
    *a = (cs_csr){0};
}

cs_status cs_csr_copy(const cs_csr *a, cs_csr *out)
{
    const int64_t nnz = cs_csr_nnz(a);
    cs_status status = cs_csr_init(out, a->rows, a->cols, nnz);
    if (status == CS_OK && nnz > 0) {
        memcpy(out->ptr, a->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
        memcpy(out->col, a->col, (size_t)nnz * sizeof *a->col);
        memcpy(out->val, a->val, (size_t)nnz * sizeof *a->val);
    }
    return status;
}

/* An entry of a row being sorted; `order` makes the sort stable. */
typedef struct {
    int64_t order;
    double val;
    int32_t col;
} entry;

CS_RISING(compare_entries, entry, col, order)

static bool ascending(const int32_t *col, int64_t n)
{
    for (int64_t p = 1; p < n; ++p) {
        if (col[p] < col[p - 1]) {
            return false;
        }
    }
    return true;
}

static void sort_row(int32_t *col, double *val, int64_t n, entry *scratch)
{
    for (int64_t p = 0; p < n; ++p) {
        scratch[p] = (entry){.order = p, .val = val[p], .col = col[p]};
    }
    qsort(scratch, (size_t)n, sizeof *scratch, compare_entries);
    for (int64_t p = 0; p < n; ++p) {
        col[p] = scratch[p].col;
        val[p] = scratch[p].val;
    }
}

/* The longest row that is out of order, 0 if none is. */
static int64_t longest_unsorted(const cs_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t n = a->ptr[i + 1] - a->ptr[i];
        if (n > longest && !ascending(a->col + a->ptr[i], n)) {
            longest = n;
        }
    }
    return longest;
}

/* Whether every row rises and holds no zero. */
static bool is_tidy(const cs_csr *a)
{
    bool zero = false;
    for (int64_t i = 0; i < a->rows; ++i) {
        bool rises = true;
        for (int64_t p = a->ptr[i] + 1; p < a->ptr[i + 1]; ++p) {
            rises &= a->col[p - 1] < a->col[p];
        }
        if (!rises) {
            return false;
        }
    }
    for (int64_t p = 0; p < cs_csr_nnz(a); ++p) {
        zero |= a->val[p] == 0;
    }
    return !zero;
}

cs_status cs_csr_tidy(cs_csr *a)
{
    if (is_tidy(a)) {
        return CS_OK;
    }
    int64_t longest = longest_unsorted(a);
    CS_AUTO_FREE entry *scratch = NULL;
    if (longest > 0) {
        scratch = cs_alloc(longest, sizeof *scratch);
        if (!scratch) return CS_ERR_MEMORY;
    }
    int64_t kept = 0, begin = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t end = a->ptr[i + 1];
        if (scratch && !ascending(a->col + begin, end - begin)) {
            sort_row(a->col + begin, a->val + begin, end - begin, scratch);
        }
        for (int64_t p = begin; p < end;) {
            int32_t col = a->col[p];
            double sum = a->val[p++];
            while (p < end && a->col[p] == col) {
                sum += a->val[p++];
            }
            if (sum != 0) {
                a->col[kept] = col;
                a->val[kept++] = sum;
            }
        }
        begin = end;
        a->ptr[i + 1] = kept;
    }
    return CS_OK;
}

cs_status cs_csr_from_triplets(int64_t rows, int64_t cols, int64_t n, const int64_t *row,
                               const int64_t *col, const double *val, cs_csr *out)
{
    cs_csr a;
    cs_status status = cs_csr_init(&a, rows, cols, n);
    if (status != CS_OK) return status;
    for (int64_t t = 0; t < n; ++t) {
        if (row[t] < 0 || row[t] >= rows || col[t] < 0 || col[t] >= cols) {
            status =
                cs_fail(CS_ERR_INPUT, "entry %lld: row %lld, column %lld is outside %lld x %lld",
                        (long long)t, (long long)row[t], (long long)col[t], (long long)rows,
                        (long long)cols);
            goto done;
        }
        a.ptr[row[t] + 1] += 1;
    }
    cs_starts(rows, a.ptr);
    /* ptr[i] runs over row i while it is filled, and is row i + 1's start when done. */
    for (int64_t t = 0; t < n; ++t) {
        int64_t p = a.ptr[row[t]]++;
        a.col[p] = (int32_t)col[t];
        a.val[p] = val[t];
    }
    memmove(a.ptr + 1, a.ptr, (size_t)rows * sizeof *a.ptr);
    a.ptr[0] = 0;
    status = cs_csr_tidy(&a);
done:
    return CS_DELIVER(status, out, a, cs_csr_free);
}

cs_status cs_csr_to_dense(const cs_csr *a, cs_dense *out)
{
    cs_dense b;
    cs_status status = cs_dense_init(&b, a->rows, a->cols);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            b.data[i + a->col[p] * b.ld] = a->val[p];
        }
    }
    *out = b;
    return CS_OK;
}

/* The transpose by counting: `parts` runs of rows of about equal work count their columns apart, so
 * that each knows where its entries go. */
typedef struct {
    const cs_csr *a;
    cs_csr *b;
    int64_t parts;
    int64_t *next; /* parts x cols: counts, then the place of the next entry */
} transposition;

static cs_status count_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const transposition *t = ctx;
    int64_t *count = t->next + part * t->a->cols;
    int64_t end = t->a->ptr[cs_csr_chunk_end(t->a, part, t->parts)];
    for (int64_t p = t->a->ptr[cs_csr_chunk_start(t->a, part, t->parts)]; p < end; ++p) {
        count[t->a->col[p]] += 1;
    }
    return CS_OK;
}

static cs_status place_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const transposition *t = ctx;
    int64_t *next = t->next + part * t->a->cols, end = cs_csr_chunk_end(t->a, part, t->parts);
    for (int64_t i = cs_csr_chunk_start(t->a, part, t->parts); i < end; ++i) {
        for (int64_t p = t->a->ptr[i]; p < t->a->ptr[i + 1]; ++p) {
            int64_t q = next[t->a->col[p]]++;
            t->b->col[q] = (int32_t)i;
            t->b->val[q] = t->a->val[p];
        }
    }
    return CS_OK;
}

cs_status cs_csr_transpose(const cs_csr *a, cs_csr *out)
{
    enum { MOST_PARTS = 16, LEAST_WORK = 1 << 17 };
    cs_csr b;
    if (a->rows > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT,
                       "%lld rows exceed 2^31 - 1, so the matrix cannot be transposed",
                       (long long)a->rows);
    }
    int64_t work = cs_csr_nnz(a) / (LEAST_WORK + a->cols);
    transposition t = {.a = a,
                       .b = &b,
                       .parts = work < 1            ? 1
                                : work < MOST_PARTS ? work
                                                    : MOST_PARTS};
    cs_status status = cs_interrupt_check(); /* here: no pass over the entries is left half done */
    if (status == CS_OK) status = cs_csr_init(&b, a->cols, a->rows, cs_csr_nnz(a));
    if (status != CS_OK) return status;
    t.next = cs_calloc(t.parts * a->cols, sizeof *t.next);
    status = t.next ? cs_parallel_through(t.parts, 0, count_part, &t) : CS_ERR_MEMORY;
    for (int64_t j = 0, place = 0; status == CS_OK && j < a->cols; ++j) {
        for (int64_t part = 0; part < t.parts; ++part) {
            int64_t count = t.next[part * a->cols + j];
            t.next[part * a->cols + j] = place;
            place += count;
        }
        b.ptr[j + 1] = place;
    }
    status = status ? status : cs_parallel_through(t.parts, 0, place_part, &t);
    cs_free(t.next);
    return CS_DELIVER(status, out, b, cs_csr_free);
}

cs_status cs_csr_select(const cs_csr *a, int64_t rows, const int64_t *row, const int32_t *col_map,
                        int64_t cols, cs_csr *out)
{
    assert(row || rows == a->rows);
    assert(col_map || cols == a->cols);
    int64_t nnz = 0;
    for (int64_t r = 0; r < rows; ++r) {
        int64_t i = row ? row[r] : r;
        assert(i >= 0 && i < a->rows);
        if (!col_map) {
            nnz += a->ptr[i + 1] - a->ptr[i];
            continue;
        }
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            nnz += col_map[a->col[p]] >= 0;
        }
    }
    cs_csr b;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = cs_csr_init(&b, rows, cols, nnz);
    if (status != CS_OK) return status;
    int64_t q = 0;
    for (int64_t r = 0; r < rows; ++r) {
        int64_t i = row ? row[r] : r;
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            int32_t j = col_map ? col_map[a->col[p]] : a->col[p];
            if (j >= 0) {
                assert(j < cols);
                b.col[q] = j;
                b.val[q++] = a->val[p];
            }
        }
        b.ptr[r + 1] = q;
    }
    status = cs_csr_tidy(&b);
    return CS_DELIVER(status, out, b, cs_csr_free);
}

void cs_csr_sums(const cs_csr *a, double *row_sum, double *col_sum)
{
    if (col_sum) {
        memset(col_sum, 0, (size_t)a->cols * sizeof *col_sum);
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        double sum = 0;
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            sum += a->val[p];
            if (col_sum) {
                col_sum[a->col[p]] += a->val[p];
            }
        }
        if (row_sum) {
            row_sum[i] = sum;
        }
    }
}

typedef struct {
    const cs_csr *a;
    const cs_nonempty_rows *rows;
    bool non_negative;
} check_job;

static cs_status check_row(const check_job *job, int64_t i)
{
    const cs_csr *a = job->a;
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
        long long row = (long long)cs_nonempty_rows_at(job->rows, i), col = (long long)a->col[p];
        if (col < 0 || col >= a->cols) {
            return cs_fail(CS_ERR_INPUT, "row %lld: column %lld is not in 0..%lld", row, col,
                           (long long)a->cols - 1);
        }
        if (p > a->ptr[i] && a->col[p] <= a->col[p - 1]) {
            return cs_fail(CS_ERR_INPUT,
                           "row %lld: column %lld does not follow column %lld; columns must ascend",
                           row, col, (long long)a->col[p - 1]);
        }
        if (!isfinite(a->val[p])) {
            return cs_fail(CS_ERR_INPUT, "row %lld, column %lld: value %g is not finite", row, col,
                           a->val[p]);
        }
        if (job->non_negative && a->val[p] < 0) {
            return cs_fail(CS_ERR_INPUT, "row %lld, column %lld: value %g is negative", row, col,
                           a->val[p]);
        }
    }
    return CS_OK;
}

enum { CHECKED_ROWS = 4096 }; /* of an item */

static cs_status check_rows(void *ctx, int64_t item, int worker)
{
    (void)worker;
    const check_job *job = ctx;
    int64_t end = cs_least((item + 1) * CHECKED_ROWS, job->a->rows);
    cs_status status = CS_OK;
    for (int64_t i = item * CHECKED_ROWS; i < end && status == CS_OK; ++i) {
        status = check_row(job, i);
    }
    return status;
}

cs_status cs_csr_check_rows(const cs_csr *a, const cs_nonempty_rows *rows, bool non_negative)
{
    if (a->ptr[0] != 0) {
        return cs_fail(CS_ERR_INPUT, "row pointers start at %lld, not 0", (long long)a->ptr[0]);
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        if (a->ptr[i + 1] < a->ptr[i]) {
            return cs_fail(CS_ERR_INPUT, "row %lld ends at %lld before its start %lld",
                           (long long)cs_nonempty_rows_at(rows, i), (long long)a->ptr[i + 1],
                           (long long)a->ptr[i]);
        }
    }
    check_job job = {.a = a, .rows = rows, .non_negative = non_negative};
    return cs_parallel_through((a->rows + CHECKED_ROWS - 1) / CHECKED_ROWS, 0, check_rows, &job);
}

cs_status cs_csr_check(const cs_csr *a, bool non_negative)
{
    return cs_csr_check_rows(a, NULL, non_negative);
}

enum { TESTED = 1 << 16 }; /* values of a piece */

typedef struct {
    const cs_csr *a;
    atomic_bool broken; /* by a value that is no integer */
} integer_test;

static cs_status test_integers(void *ctx, int64_t piece, int worker)
{
    (void)worker;
    integer_test *t = ctx;
    const int64_t from = piece * TESTED, end = cs_least(from + TESTED, cs_csr_nnz(t->a));
    bool all = !atomic_load(&t->broken);
    for (int64_t p = from; p < end && all; ++p) {
        /* from 2^52 on doubles are integers, and adding 2^52 to one below it rounds it to an
         * integer */
        const double x = fabs(t->a->val[p]), whole = (x + 0x1p52) - 0x1p52;
        all = x < 0x1p53 && (whole == x || x >= 0x1p52);
    }
    if (!all) atomic_store(&t->broken, true);
    return CS_OK;
}

bool cs_csr_is_integer(const cs_csr *a)
{
    integer_test t = {.a = a};
    cs_status status =
        cs_parallel_through((cs_csr_nnz(a) + TESTED - 1) / TESTED, 0, test_integers, &t);
    return status == CS_OK && !t.broken;
}
