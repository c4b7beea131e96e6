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

void cs_lumping_free(cs_lumping *lumping)
{
    if (!lumping->same) {
        cs_csr_free(&lumping->a);
    }
    cs_free(lumping->lump[CS_LEFT]);
    cs_free(lumping->lump[CS_RIGHT]);
    *lumping = (cs_lumping){0};
}

/* Adds the rows of each lump; all rows of a lump share a pattern. */
static cs_status add_rows(const cs_csr *a, const int32_t *lump, int64_t count, cs_csr *out)
{
    cs_pool pool = {0};
    int64_t *length = cs_pool_take(&pool, count, sizeof *length), nnz = 0;
    for (int64_t i = 0; length && i < a->rows; ++i) {
        if (lump[i] >= 0 && length[lump[i]] == 0) {
            length[lump[i]] = a->ptr[i + 1] - a->ptr[i];
            nnz += length[lump[i]];
        }
    }
    double *lost = cs_pool_take(&pool, nnz, sizeof *lost);
    cs_status status = lost ? cs_csr_init(out, count, a->cols, nnz) : CS_ERR_MEMORY;
    if (status != CS_OK) goto done;
    memset(out->val, 0, (size_t)nnz * sizeof *out->val);
    for (int64_t l = 0; l < count; ++l) {
        out->ptr[l + 1] = out->ptr[l] + length[l];
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = 0; lump[i] >= 0 && e < length[lump[i]]; ++e) {
            int64_t to = out->ptr[lump[i]] + e;
            out->col[to] = a->col[a->ptr[i] + e];
            cs_add_compensated(&out->val[to], &lost[to], a->val[a->ptr[i] + e]);
        }
    }
    for (int64_t e = 0; e < nnz; ++e) {
        out->val[e] += lost[e];
    }
done:
    cs_pool_free(&pool);
    return status;
}

/* *out is `a` itself where every row is a lump, else *sum. */
static cs_status lump_rows(const cs_csr *a, double tolerance, int32_t *lump, cs_csr *sum,
                           const cs_csr **out)
{
    cs_pool pool = {0};
    int64_t count = 0, alike = 0;
    bool *shared = cs_pool_take(&pool, a->rows, sizeof *shared);
    cs_status status = pool.status;
    if (status == CS_OK && tolerance != CS_LUMP_NOTHING)
        status = cs_rows_that_share(a, shared, &alike);
    if (status == CS_OK && alike == 0) {
        for (int64_t i = 0; i < a->rows; ++i) {
            lump[i] = a->ptr[i] < a->ptr[i + 1] ? (int32_t)count++ : -1;
        }
    } else if (status == CS_OK) {
        double apart = cs_csr_is_integer(a) ? CS_LUMP_EXACT : tolerance;
        status = cs_lump_proportional(a, apart, shared, lump, &count);
    }
    cs_pool_free(&pool);
    *out = count == a->rows ? a : sum;
    return status || *out == a ? status : add_rows(a, lump, count, sum);
}

/* Proportional columns of by_row; *same: there are none, and no empty ones. */
static cs_status lump_columns(const cs_csr *by_row, double tolerance, int32_t *lump, bool *same,
                              cs_csr *out)
{
    cs_csr transposed = {0}, sum = {0};
    const cs_csr *by_col = NULL;
    int64_t cols = 0;
    bool alike = false;
    cs_status status = cs_number_columns(by_row, lump, &cols, &alike);
    if (status == CS_OK && (!alike || tolerance == CS_LUMP_NOTHING)) {
        *same = *same && cols == by_row->cols;
        if (!*same) return cs_csr_select(by_row, by_row->rows, NULL, lump, cols, out);
        *out = *by_row;
        return CS_OK;
    }
    *same = false;
    if (status == CS_OK) status = cs_csr_transpose(by_row, &transposed);
    if (status == CS_OK) status = lump_rows(&transposed, tolerance, lump, &sum, &by_col);
    if (by_col == &sum) {
        cs_csr_free(&transposed);
    }
    if (status == CS_OK) status = cs_csr_transpose(by_col, out);
    cs_csr_free(&sum);
    cs_csr_free(&transposed);
    return status;
}

cs_status cs_lump_may_find(const cs_csr *a, bool *any)
{
    cs_pool pool = {0};
    bool *shared = cs_pool_take(&pool, a->rows, sizeof *shared);
    int32_t *number = cs_pool_take(&pool, a->cols, sizeof *number);
    int64_t alike = 0, cols = 0;
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_rows_that_share(a, shared, &alike);
    *any = alike > 0;
    if (status == CS_OK && !*any) status = cs_number_columns(a, number, &cols, any);
    cs_pool_free(&pool);
    return status;
}

cs_status cs_lump_checked(const cs_csr *a, bool zeros, double tolerance, cs_lumping *out)
{
    cs_lumping l = {.size = {a->rows, a->cols}};
    cs_csr nonzeros = {0}, sum = {0};
    const cs_csr *by_row = NULL;
    if (a->rows > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%lld rows exceed the limit of 2^31 - 1", (long long)a->rows);
    }
    l.lump[CS_LEFT] = cs_alloc(a->rows, sizeof *l.lump[0]);
    l.lump[CS_RIGHT] = cs_alloc(a->cols, sizeof *l.lump[0]);
    cs_status status = l.lump[CS_LEFT] && l.lump[CS_RIGHT] ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && zeros) { /* patterns are then sets of nonzeros */
        status = cs_csr_select(a, a->rows, NULL, NULL, a->cols, &nonzeros);
    }
    if (status == CS_OK)
        status = lump_rows(zeros ? &nonzeros : a, tolerance, l.lump[CS_LEFT], &sum, &by_row);
    l.same = by_row == a;
    if (status == CS_OK) status = lump_columns(by_row, tolerance, l.lump[CS_RIGHT], &l.same, &l.a);
    cs_csr_free(&sum);
    cs_csr_free(&nonzeros);
    return CS_DELIVER(status, out, l, cs_lumping_free);
}

cs_status cs_lump(const cs_csr *a, double tolerance, cs_lumping *out)
{
    if (!(tolerance >= 0) || tolerance >= 1) {
        return cs_fail(CS_ERR_USAGE, "lumping tolerance %g is not in [0, 1)", tolerance);
    }
    cs_status status = cs_csr_check(a, true);
    if (status != CS_OK) return status;
    return cs_lump_checked(
        a, cs_csr_entries_of(a).count<cs_csr_nnz(a), tolerance> 0 ? tolerance : CS_LUMP_TOLERANCE,
        out);
}
