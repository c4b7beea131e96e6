/* Matrices kept without their empty rows.
 *
 * Method of the numbering: by an array over the rows where they are at most twice as many as the
 * entries, else by sorting these. So what empty rows cost is bounded by the entries, however many
 * there are.
 */
#include <stdlib.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "linalg/csr.h"

void cs_nonempty_rows_free(cs_nonempty_rows *set)
{
    cs_free(set->row);
    *set = (cs_nonempty_rows){0};
}

/* place[i] = 1 + its number in list, where row i occurs; returns how many do. */
static int64_t number_by_place(int64_t rows, int64_t n, int64_t *row, int64_t *place, int64_t *list)
{
    int64_t count = 0;
    for (int64_t e = 0; e < n; ++e) {
        place[row[e]] = 1;
    }
    for (int64_t i = 0; i < rows; ++i) {
        if (place[i] > 0) {
            list[count++] = i;
            place[i] = count;
        }
    }
    for (int64_t e = 0; e < n; ++e) {
        row[e] = place[row[e]] - 1;
    }
    return count;
}

static int64_t number_by_order(int64_t n, int64_t *row, int64_t *list)
{
    int64_t count = 0;
    for (int64_t e = 0; e < n; ++e) {
        list[e] = row[e];
    }
    qsort(list, (size_t)n, sizeof *list, cs_by_size);
    for (int64_t e = 0; e < n; ++e) {
        if (count == 0 || list[count - 1] != list[e]) {
            list[count++] = list[e];
        }
    }
    for (int64_t e = 0; e < n; ++e) {
        const int64_t *at = bsearch(&row[e], list, (size_t)count, sizeof *list, cs_by_size);
        row[e] = at - list;
    }
    return count;
}

cs_status cs_nonempty_rows_number(int64_t rows, int64_t n, int64_t *row, cs_nonempty_rows *out)
{
    const bool few = rows / 2 <= n;
    CS_AUTO_FREE int64_t *place = few ? cs_calloc(rows, sizeof *place) : NULL;
    int64_t *list = place || !few ? cs_alloc(cs_least(rows, n), sizeof *list) : NULL;
    if (list) {
        int64_t count =
            few ? number_by_place(rows, n, row, place, list) : number_by_order(n, row, list);
        *out = (cs_nonempty_rows){.rows = rows, .count = count, .row = list};
    }
    return list ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_csr_drop_empty_rows(const cs_csr *a, cs_nonempty_rows *rows, cs_csr *view)
{
    int64_t count = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        count += a->ptr[i + 1] != a->ptr[i];
    }
    *view = *a;
    if (count == a->rows) return CS_OK;
    int64_t *ptr = cs_alloc(count + 1, sizeof *ptr), *row = cs_alloc(count, sizeof *row), n = 0;
    if (!ptr || !row) {
        cs_free(ptr);
        cs_free(row);
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        if (a->ptr[i + 1] != a->ptr[i]) {
            ptr[n] = a->ptr[i];
            row[n++] = cs_nonempty_rows_at(rows, i);
        }
    }
    ptr[n] = a->ptr[a->rows];
    view->rows = rows->count = count;
    view->ptr = ptr;
    cs_free(rows->row);
    rows->row = row;
    return CS_OK;
}

cs_status cs_csr_drop_empty(cs_csr *a, cs_nonempty_rows *rows)
{
    cs_csr view;
    cs_status status = cs_csr_drop_empty_rows(a, rows, &view);
    if (status == CS_OK && view.ptr != a->ptr) {
        cs_free(a->ptr);
        *a = view;
    }
    if (status == CS_OK && rows->count == rows->rows) {
        cs_free(rows->row);
        rows->row = NULL;
    }
    return status;
}

cs_status cs_csr_spread(cs_csr *a, cs_nonempty_rows *rows)
{
    int64_t *ptr = rows->row ? cs_alloc(rows->rows + 1, sizeof *ptr) : a->ptr;
    if (!ptr) return CS_ERR_MEMORY;
    for (int64_t i = 0, at = 0; rows->row && i <= rows->rows; ++i) {
        while (at < a->rows && rows->row[at] < i) {
            ++at;
        }
        ptr[i] = a->ptr[at];
    }
    if (ptr != a->ptr) {
        cs_free(a->ptr);
        a->ptr = ptr;
        a->rows = rows->rows;
    }
    cs_nonempty_rows_free(rows);
    return CS_OK;
}

cs_status cs_nonempty_rows_spread(const cs_nonempty_rows *rows, cs_dense *x)
{
    cs_dense whole;
    if (!rows->row) return CS_OK;
    cs_status status = cs_dense_init(&whole, rows->rows, x->cols);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < x->cols; ++j) {
        for (int64_t i = 0; i < rows->count; ++i) {
            whole.data[rows->row[i] + j * whole.ld] = x->data[i + j * x->ld];
        }
    }
    cs_dense_free(x);
    *x = whole;
    return CS_OK;
}

cs_dense cs_nonempty_rows_gather(const cs_nonempty_rows *rows, const cs_dense *x, cs_pool *pool)
{
    cs_dense part = cs_dense_in(pool, rows->count, x->cols);
    for (int64_t j = 0; part.data && j < x->cols; ++j) {
        for (int64_t i = 0; i < rows->count; ++i) {
            part.data[i + j * part.ld] = x->data[cs_nonempty_rows_at(rows, i) + j * x->ld];
        }
    }
    return part;
}
