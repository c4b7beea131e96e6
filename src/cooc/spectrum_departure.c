/* How far the vectors of a spectrum are from orthonormal.
 *
 * Method. Vectors of different components have no entry in common; those of one component are
 * gathered and multiplied, COLUMNS by COLUMNS. Where a vector reaches over several components, all
 * are multiplied with all. What rounding may hide of an inner product of n terms, n u, is added.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum_stages_private.h"

enum { COLUMNS = 32 };

/* ||Q^T Q - I||_F^2, with what rounding may hide. */
static cs_status square_departure(const cs_dense *q, double *square)
{
    cs_dense g = {0};
    int64_t k = q->cols;
    cs_status status = cs_dense_init(&g, cs_least(k, COLUMNS), k);
    double hidden = (double)q->rows * DBL_EPSILON / 2 * (double)k;
    *square = hidden * hidden;
    for (int64_t first = 0; status == CS_OK && first < k; first += COLUMNS) {
        int64_t width = cs_least(k - first, COLUMNS);
        cs_dense left = {q->rows, width, q->ld, q->data + first * q->ld};
        cs_dense rest = {q->rows, k - first, q->ld, left.data};
        cs_dense part = {width, k - first, g.ld, g.data};
        status = cs_interrupt_check();
        if (status == CS_OK) status = cs_gemm(true, false, 1, &left, &rest, 0, &part);
        for (int64_t j = 0; status == CS_OK && j < part.cols; ++j) {
            for (int64_t i = 0; i < width; ++i) { /* what is not in the square counts twice */
                double x = part.data[i + j * part.ld] - (i == j);
                *square += (j < width ? 1 : 2) * x * x;
            }
        }
    }
    cs_dense_free(&g);
    return status;
}

/* Columns j with block[j] == b, the rows of its members only. */
static cs_status gather(const cs_dense *x, const int64_t *block, int64_t b,
                        const cs_reduction_side *s, cs_dense *out)
{
    const int64_t *list = s->list + s->list_start[b];
    int64_t members = s->list_start[b + 1] - s->list_start[b], count = 0, at = 0;
    for (int64_t j = 0; j < x->cols; ++j) {
        count += block[j] == b;
    }
    cs_status status = cs_dense_init(out, members, count);
    for (int64_t j = 0; status == CS_OK && j < x->cols; ++j) {
        for (int64_t m = 0; block[j] == b && m < members; ++m) {
            out->data[m + at * out->ld] = x->data[list[m] + j * x->ld];
        }
        at += block[j] == b;
    }
    return status;
}

/* The component that holds each column of x; whether all are held by one: false when a column
 * reaches over several, or is zero. home: scratch, a value a row. */
static bool blocks_of(const cs_dense *x, const cs_reduction_side *s, int64_t count, int64_t *home,
                      int64_t *block)
{
    bool apart = true;
    memset(home, 0xff, (size_t)x->rows * sizeof *home); /* -1 */
    for (int64_t b = 0; b < count; ++b) {
        for (int64_t m = s->list_start[b]; m < s->list_start[b + 1]; ++m) {
            home[s->list[m]] = b;
        }
    }
    for (int64_t j = 0; j < x->cols; ++j) {
        const double *column = x->data + j * x->ld;
        block[j] = -1;
        for (int64_t i = 0; i < x->rows && block[j] >= -1; ++i) {
            if (column[i] != 0) {
                block[j] = block[j] == -1 || block[j] == home[i] ? home[i] : -2;
            }
        }
        apart = apart && block[j] >= 0;
    }
    return apart;
}

/* ||X^T X - I||_F of one side: vectors of different components have no inner products. */
static cs_status departure_of(const cs_dense *x, const cs_reduction_side *s, int64_t count,
                              double *departure)
{
    double sum = 0, square = 0;
    cs_pool pool = {0};
    int64_t *block = cs_pool_take(&pool, x->cols, sizeof *block);
    int64_t *home = cs_pool_take(&pool, x->rows, sizeof *home);
    cs_status status = pool.status;
    bool apart = status == CS_OK && count > 1 && blocks_of(x, s, count, home, block);
    if (status == CS_OK && !apart) status = square_departure(x, &sum);
    for (int64_t b = 0; status == CS_OK && apart && b < count; ++b) {
        cs_dense part = {0};
        status = gather(x, block, b, s, &part);
        if (status == CS_OK) status = square_departure(&part, &square);
        sum += square;
        cs_dense_free(&part);
    }
    cs_pool_free(&pool);
    *departure = sqrt(sum);
    return status;
}

cs_status cs_spectrum_departure(const cs_reduction *r, const cs_spectrum *s, double *departure)
{
    double left = 0, right = 0;
    cs_status status = departure_of(&s->u, &r->side[CS_LEFT], r->count, &left);
    if (status == CS_OK) status = departure_of(&s->v, &r->side[CS_RIGHT], r->count, &right);
    *departure = left >= right || isnan(left) ? left : right;
    return status;
}
