/* Inertia of a symmetric matrix from L D L^T.
 *
 * Method. For a non-negative matrix B and any x > 0, ||B||_2 = rho(B) <= max_i (B x)_i / x_i
 * (Collatz and Wielandt) where B is symmetric: a few steps of the power method make the quotient
 * tight, and each of them is a bound whatever the rounding of x. The products with |M| and
 * |L||D||L^T| are taken from the triangles.
 *
 * Limits: p(n) is generous for sums in any order and for 2 x 2 pivots solved by formula; terms of
 * order u^2 are left out.
 */
#include "linalg/inertia.h"

#include <float.h>
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"

enum { POWER_STEPS = 8 };

/* M before the factorisation; L and the diagonal of D after it. */
typedef struct {
    const cs_dense *a;
    const double *below;
    double *scratch;
} triangle;

/* y = |M| x. */
static void product_matrix(const triangle *t, const double *x, double *y)
{
    int64_t n = t->a->rows;
    cs_fill(n, 0, y);
    for (int64_t j = 0; j < n; ++j) {
        const double *column = t->a->data + j * t->a->ld;
        double sum = fabs(column[j]) * x[j];
        for (int64_t i = j + 1; i < n; ++i) {
            double m = fabs(column[i]);
            y[i] += m * x[j];
            sum += m * x[i];
        }
        y[j] += sum;
    }
}

/* y = |L||D||L^T| x, the permutation aside: it changes no eigenvalue. */
static void product_factors(const triangle *t, const double *x, double *y)
{
    int64_t n = t->a->rows;
    double *s = t->scratch;
    for (int64_t j = 0; j < n; ++j) {
        const double *column = t->a->data + j * t->a->ld;
        s[j] = x[j];
        for (int64_t i = j + 1; i < n; ++i) {
            s[j] += fabs(column[i]) * x[i];
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        y[i] = fabs(t->a->data[i + i * t->a->ld]) * s[i];
        y[i] += i > 0 ? fabs(t->below[i - 1]) * s[i - 1] : 0;
        y[i] += i + 1 < n ? fabs(t->below[i]) * s[i + 1] : 0;
    }
    for (int64_t j = n - 1; j >= 0; --j) { /* the last column first: y[j] is still |D||L^T| x */
        const double *column = t->a->data + j * t->a->ld;
        for (int64_t i = j + 1; i < n; ++i) {
            y[i] += fabs(column[i]) * y[j];
        }
    }
}

typedef void (*product_fn)(const triangle *t, const double *x, double *y);

static double norm_bound(const triangle *t, product_fn product, double *x, double *y)
{
    int64_t n = t->a->rows;
    double best = INFINITY;
    cs_fill(n, 1, x);
    for (int step = 0; step < POWER_STEPS; ++step) {
        double quotient = 0, largest = 0;
        product(t, x, y);
        for (int64_t i = 0; i < n; ++i) {
            if (!isfinite(y[i])) {
                return INFINITY;
            }
            quotient = fmax(quotient, y[i] / x[i]);
            largest = fmax(largest, y[i]);
        }
        best = fmin(best, quotient);
        for (int64_t i = 0; i < n; ++i) { /* away from 0, or a bound would be lost */
            x[i] = largest > 0 ? y[i] / largest + 1e-6 : 1;
        }
    }
    return best * (1 + 1e-9); /* sums of n terms of one sign */
}

static int64_t positive_of(const cs_dense *a, const double *below, const int *pivot)
{
    int64_t n = a->rows, positive = 0;
    for (int64_t i = 0; i < n; ++i) {
        double d = a->data[i + i * a->ld];
        if (pivot[i] >= 0 || i + 1 == n) {
            positive += d > 0;
            continue;
        }
        double next = a->data[i + 1 + (i + 1) * a->ld], e = below[i];
        /* Over e^2, which leaves the range of doubles before e does. A 2 x 2 pivot is taken where
         * e is the largest of its column, and |d next| well below e^2: one of each sign. */
        double determinant = (d / e) * (next / e) - 1;
        positive += determinant < 0 ? 1 : d + next > 0 ? 1 + (determinant > 0) : 0;
        ++i;
    }
    return positive;
}

cs_status cs_inertia(cs_dense *m, int64_t *positive, double *error)
{
    int64_t n = m->rows;
    CS_AUTO(cs_pool) pool = {0};
    double *below = cs_pool_take(&pool, n, sizeof *below), *x = cs_pool_take(&pool, n, sizeof *x);
    double *y = cs_pool_take(&pool, n, sizeof *y);
    triangle t = {m, below, cs_pool_take(&pool, n, sizeof *t.scratch)};
    int *pivot = cs_pool_take(&pool, n, sizeof *pivot);
    cs_status status = pool.status;
    double size = status == CS_OK && m->rows == m->cols ? norm_bound(&t, product_matrix, x, y) : 0;
    status = status ? status : cs_dense_ldl(m, below, pivot);
    if (status == CS_OK) {
        size += norm_bound(&t, product_factors, x, y);
        *error = n > 0 ? (4 * (double)n + 400) * (DBL_EPSILON / 2) * size : 0;
        *positive = positive_of(m, below, pivot);
    }
    return status;
}
