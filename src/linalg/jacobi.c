/* Gauss rules, bounds and modified measures of a Jacobi matrix.
 *
 * Method. Nodes are eigenvalues and weights the squared first components of the eigenvectors (Golub
 * and Welsch, Math. Comp. 23, 1969), by ARPACK's dstqrb: LAPACK's implicit QL and QR iteration with
 * the last row of the vectors alone, hence O(q^2); it is given the matrix turned end for end. A node
 * is prescribed at x by the last diagonal entry of the matrix grown by
 * one: J's elimination at x has pivots d_i, and x + beta_{q-1}^2 / d_{q-1} makes the next one zero
 * (Golub, SIAM Rev. 15, 1973). The measure lambda^2 mu has the rule's nodes with weights w theta^2,
 * right to degree 2 q - 3; Lanczos on that diagonal matrix, orthogonalised in full, gives its
 * Jacobi matrix.
 *
 * Limits: when x lies so near a Gauss node that the prescribed entry leaves the scale of the
 * matrix, the plain inequalities between Gauss nodes are used.
 */
#include "linalg/jacobi_private.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/vector_ops.h"
#include "linalg/dense.h"

static const double FAR = 100;       /* times the norm: a prescribed entry beyond is not used */
static const double AT_NODE = 1e-12; /* times the norm */
static const double NOTHING = 1e-15; /* times the norm: the discrete measure has no more nodes */

/* Of ARPACK (no header declares it): the symmetric tridiagonal matrix of diagonal d and n - 1
 * off-diagonal entries e; d becomes its eigenvalues, ascending, z the last row of their vectors.
 * work: max(1, 2 n - 2). */
void dstqrb_(const int *n, double *d, double *e, double *z, double *work, int *info);

/* End for end. */
static void turn(int64_t n, double *x)
{
    for (int64_t i = 0; i < n / 2; ++i) {
        double last = x[n - 1 - i];
        x[n - 1 - i] = x[i];
        x[i] = last;
    }
}

/* Nodes ascending with weights: d becomes the nodes, z the weights. work: 2 n more. */
static cs_status rule_of(int64_t order, double mass, double *d, double *e, double *z, double *work)
{
    int n = 0, info = 0;
    bool finite = true; /* dstqrb would not notice */
    cs_status status = cs_blas_int(order, "order of a quadrature rule", &n);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < n; ++i) {
        finite = finite && isfinite(d[i]) && (i + 1 == n || isfinite(e[i]));
    }
    turn(n, d);
    turn(n - 1, e);
    if (finite) {
        dstqrb_(&n, d, e, z, work, &info);
    }
    if (!finite || info != 0) {
        return cs_fail(CS_ERR_CONVERGE,
                       "the quadrature rule of order %lld did not converge; check that all values "
                       "of the matrix are finite",
                       (long long)order);
    }
    for (int64_t i = 0; i < n; ++i) {
        z[i] *= mass * z[i];
    }
    return CS_OK;
}

cs_status cs_jacobi_rule(const cs_jacobi *j, double *buffer, double *node, double *weight)
{
    if (j->order == 0) {
        return CS_OK;
    }
    memcpy(node, j->alpha, (size_t)j->order * sizeof *node);
    memcpy(buffer, j->beta, (size_t)j->order * sizeof *buffer);
    return rule_of(j->order, j->mass, node, buffer, weight, buffer + j->order);
}

static double norm_of(const cs_jacobi *j)
{
    double norm = 0;
    for (int64_t i = 0; i < j->order; ++i) {
        norm = fmax(norm, fabs(j->alpha[i]) + j->beta[i] + (i > 0 ? j->beta[i - 1] : 0));
    }
    return norm;
}

/* The last entry that makes x an eigenvalue of the matrix grown by one. */
static double prescribed(const cs_jacobi *j, double x, double norm)
{
    double pivot = 1;
    for (int64_t i = 0; i < j->order; ++i) {
        double before = i > 0 ? j->beta[i - 1] * j->beta[i - 1] / pivot : 0;
        pivot = j->alpha[i] - x - before;
        if (fabs(pivot) < DBL_EPSILON * DBL_EPSILON * norm) {
            pivot = DBL_EPSILON * DBL_EPSILON * norm;
        }
    }
    double left = j->beta[j->order - 1];
    return x + left * left / pivot;
}

cs_status cs_jacobi_above(const cs_jacobi *j, double x, double *buffer, double *low, double *high)
{
    int64_t q = j->order, n = q + 1;
    *low = *high = 0;
    if (q == 0) {
        return CS_OK;
    }
    double *d = buffer, *e = d + q + 1, *w = e + q + 1;
    double norm = norm_of(j) + fabs(x), last = prescribed(j, x, norm);
    bool plain = !(fabs(last - x) <= FAR * norm);
    memcpy(d, j->alpha, (size_t)q * sizeof *d);
    memcpy(e, j->beta, (size_t)q * sizeof *e);
    if (plain) {
        n = q;
    } else {
        d[q] = last;
    }
    cs_status status = rule_of(n, j->mass, d, e, w, w + q + 1);
    if (status != CS_OK) return status;
    int64_t above = n, from; /* first node beyond x, first node not before it */
    while (above > 0 && d[above - 1] > x + AT_NODE * norm) {
        --above;
    }
    from = above;
    while (from > 0 && d[from - 1] >= x - AT_NODE * norm) {
        --from;
    }
    if (plain) {
        above = above < n ? above + 1 : n;
        from = from > 0 ? from - 1 : 0;
    }
    for (int64_t i = n - 1; i >= from; --i) {
        *high += w[i];
        *low += i >= above ? w[i] : 0;
    }
    *high = fmin(*high, j->mass);
    *low = fmin(*low, *high);
    return CS_OK;
}

/* Lanczos with diag(node) from the start in basis column 0 (of norm 1), at most `steps` of them. */
static void lanczos_diagonal(int64_t n, const double *node, double *basis, int64_t steps,
                             cs_jacobi *out)
{
    double norm = fmax(fabs(node[0]), fabs(node[n - 1]));
    for (out->order = 0; out->order < steps;) {
        int64_t k = out->order++;
        const double *q = basis + k * n;
        double *next = basis + (k + 1) * n;
        for (int64_t i = 0; i < n; ++i) {
            next[i] = node[i] * q[i];
        }
        out->alpha[k] = cs_inner(n, next, q);
        for (int pass = 0; pass < 2; ++pass) {
            for (int64_t p = 0; p <= k; ++p) {
                double along = cs_inner(n, next, basis + p * n);
                for (int64_t i = 0; i < n; ++i) {
                    next[i] -= along * basis[p * n + i];
                }
            }
        }
        double left = sqrt(cs_inner(n, next, next));
        if (left <= NOTHING * norm || k + 1 == n) {
            out->beta[k] = 0;
            return;
        }
        out->beta[k] = left;
        cs_divide(n, left, next);
    }
}

cs_status cs_jacobi_squared(const cs_jacobi *j, double *buffer, cs_jacobi *out)
{
    int64_t q = j->order;
    double *node = buffer, *weight = node + q, *scratch = weight + q;
    out->order = 0;
    out->mass = 0;
    cs_status status = cs_jacobi_rule(j, scratch, node, weight);
    if (status != CS_OK || q == 0) return status;
    double *basis = scratch;
    for (int64_t i = 0; i < q; ++i) {
        basis[i] = sqrt(weight[i]) * fabs(node[i]);
        out->mass += weight[i] * node[i] * node[i];
    }
    if (out->mass > 0) {
        cs_divide(q, sqrt(out->mass), basis);
        lanczos_diagonal(q, node, basis, j->beta[q - 1] == 0 ? q : q - 2, out);
    }
    if (out->order == 0) {
        out->mass = 0;
    }
    return CS_OK;
}
