/* Exact lumping of proportional rows, then proportional columns.
 *
 * Method. Integers below 2^53 are compared exactly, other values to a tolerance, both only among
 * rows that share their pattern (lump_rows.c).
 *
 * Columns are the rows of the transpose of the row-lumped matrix; adding proportional columns makes
 * no new proportional rows, so one pass over each side is complete.
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/compensated_private.h"
#include "cooc/lump_private.h"
#include "cooc/reduce.h"

static const double DEFAULT_TOLERANCE = 1e-13;

void cs_lumping_free(cs_lumping *lumping)
{
    cs_csr_free(&lumping->a);
    cs_free(lumping->row_lump);
    cs_free(lumping->col_lump);
    *lumping = (cs_lumping){0};
}

/* Adds the rows of each lump; all rows of a lump share a pattern. */
static cs_status add_rows(const cs_csr *a, const int64_t *lump, int64_t count, cs_csr *out)
{
    cs_status status = CS_ERR_MEMORY;
    cs_csr sum = {0};
    double *lost = NULL;
    int64_t *length = cs_calloc(count, sizeof *length);
    if (!length) {
        goto done;
    }
    int64_t nnz = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (lump[i] >= 0 && length[lump[i]] == 0) {
            length[lump[i]] = a->ptr[i + 1] - a->ptr[i];
            nnz += length[lump[i]];
        }
    }
    status = cs_csr_init(&sum, count, a->cols, nnz);
    lost = status == CS_OK ? cs_calloc(nnz, sizeof *lost) : NULL;
    if (!lost) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    memset(sum.val, 0, (size_t)nnz * sizeof *sum.val);
    for (int64_t l = 0; l < count; ++l) {
        sum.ptr[l + 1] = sum.ptr[l] + length[l];
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = 0; lump[i] >= 0 && e < length[lump[i]]; ++e) {
            int64_t to = sum.ptr[lump[i]] + e;
            sum.col[to] = a->col[a->ptr[i] + e];
            cs_add_compensated(&sum.val[to], &lost[to], a->val[a->ptr[i] + e]);
        }
    }
    for (int64_t e = 0; e < nnz; ++e) {
        sum.val[e] += lost[e];
    }
    *out = sum;
    sum = (cs_csr){0};
done:
    cs_csr_free(&sum);
    cs_free(lost);
    cs_free(length);
    return status;
}

/* *out is `a` itself, borrowed, when every row is a lump. */
static cs_status lump_rows(const cs_csr *a, double tolerance, int64_t *lump, cs_csr *out,
                           bool *borrowed)
{
    int64_t count = 0, alike = 0;
    bool *shared = cs_calloc(a->rows, sizeof *shared);
    cs_status status = shared ? cs_rows_that_share(a, shared, &alike) : CS_ERR_MEMORY;
    if (status == CS_OK && alike == 0) {
        for (int64_t i = 0; i < a->rows; ++i) {
            lump[i] = a->ptr[i] < a->ptr[i + 1] ? count++ : -1;
        }
    } else if (status == CS_OK) {
        double apart = cs_csr_is_integer(a) ? CS_LUMP_EXACT : tolerance;
        status = cs_lump_proportional(a, apart, shared, lump, &count);
    }
    cs_free(shared);
    *borrowed = status == CS_OK && count == a->rows;
    if (*borrowed) {
        *out = *a;
    }
    return status || *borrowed ? status : add_rows(a, lump, count, out);
}

/* The columns with number[j] >= 0, `cols` of them, so numbered in their order. */
static cs_status keep_columns(const cs_csr *a, const int64_t *number, int64_t cols, cs_csr *out)
{
    int64_t nnz = cs_csr_nnz(a);
    cs_status status = cs_csr_init(out, a->rows, cols, nnz);
    if (status == CS_OK) {
        memcpy(out->ptr, a->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
        memcpy(out->val, a->val, (size_t)nnz * sizeof *a->val);
    }
    for (int64_t e = 0; status == CS_OK && e < nnz; ++e) {
        out->col[e] = (int32_t)number[a->col[e]];
    }
    return status;
}

/* Proportional columns of by_row. */
static cs_status lump_columns(const cs_csr *by_row, double tolerance, int64_t *lump, cs_csr *out)
{
    cs_csr transposed = {0}, by_col = {0};
    int64_t cols = 0;
    bool borrowed = false;
    cs_status status = cs_number_columns(by_row, lump, &cols);
    if (status != CS_OK || cols >= 0) {
        return status ? status : keep_columns(by_row, lump, cols, out);
    }
    status = cs_csr_transpose(by_row, &transposed);
    status = status ? status : lump_rows(&transposed, tolerance, lump, &by_col, &borrowed);
    if (status == CS_OK) {
        if (!borrowed) {
            cs_csr_free(&transposed);
        }
        status = cs_csr_transpose(&by_col, out);
    }
    if (!borrowed) {
        cs_csr_free(&by_col);
    }
    cs_csr_free(&transposed);
    return status;
}

/* A copy without stored zeros: patterns are then sets of nonzeros. */
static cs_status drop_zeros(const cs_csr *a, cs_csr *out)
{
    cs_csr b = {0};
    cs_status status = cs_csr_init(&b, a->rows, a->cols, cs_csr_nnz(a));
    if (status != CS_OK) return status;
    int64_t n = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->val[e] != 0) {
                b.col[n] = a->col[e];
                b.val[n++] = a->val[e];
            }
        }
        b.ptr[i + 1] = n;
    }
    *out = b;
    return CS_OK;
}

static bool has_zeros(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        if (a->val[e] == 0) {
            return true;
        }
    }
    return false;
}

cs_status cs_lump_may_find(const cs_csr *a, bool *any)
{
    int64_t alike = 0, cols = 0;
    *any = true;
    if (has_zeros(a)) { /* patterns are then not what is stored */
        return CS_OK;
    }
    bool *shared = cs_calloc(a->rows, sizeof *shared);
    int64_t *number = cs_alloc(a->cols, sizeof *number);
    cs_status status = shared && number ? cs_rows_that_share(a, shared, &alike) : CS_ERR_MEMORY;
    if (status == CS_OK && alike == 0) {
        status = cs_number_columns(a, number, &cols);
        *any = cols < 0;
    }
    cs_free(shared);
    cs_free(number);
    return status;
}

cs_status cs_lump_checked(const cs_csr *a, double tolerance, cs_lumping *out)
{
    cs_status status = CS_OK;
    cs_lumping l = {.rows = a->rows, .cols = a->cols};
    cs_csr nonzeros = {0}, by_row = {0};
    bool borrowed = false;
    double tol = tolerance > 0 ? tolerance : DEFAULT_TOLERANCE;
    l.row_lump = cs_alloc(a->rows, sizeof *l.row_lump);
    l.col_lump = cs_alloc(a->cols, sizeof *l.col_lump);
    if (!l.row_lump || !l.col_lump) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    bool zeros = has_zeros(a);
    if (zeros && (status = drop_zeros(a, &nonzeros)) != CS_OK) goto done;
    if ((status = lump_rows(zeros ? &nonzeros : a, tol, l.row_lump, &by_row, &borrowed)) != CS_OK ||
        (status = lump_columns(&by_row, tol, l.col_lump, &l.a)) != CS_OK) {
        goto done;
    }
    *out = l;
    l = (cs_lumping){0};
done:
    if (!borrowed) {
        cs_csr_free(&by_row);
    }
    cs_csr_free(&nonzeros);
    cs_lumping_free(&l);
    return status;
}

cs_status cs_lump(const cs_csr *a, double tolerance, cs_lumping *out)
{
    if (!(tolerance >= 0) || tolerance >= 1) {
        return cs_fail(CS_ERR_USAGE, "lumping tolerance %g not in [0, 1)", tolerance);
    }
    cs_status status = cs_csr_check(a, true);
    return status == CS_OK ? cs_lump_checked(a, tolerance, out) : status;
}
