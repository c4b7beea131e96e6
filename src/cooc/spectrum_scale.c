/* A matrix that comes normalised may be of any size; its spectrum is taken of 2^-e Abar.
 *
 * Method. Certificates need sigma^4 and its rounding error, which leave the range of doubles long
 * before sigma does, and solvers have absolute constants (eps^(2/3) in ARPACK's test of
 * convergence). So the largest modulus is brought into [1/2, 1). Powers of two are exact: scaling
 * changes no bit of what comes out, but where a result itself is too large or too small.
 *
 * Limits: entries below 2^-1074 of the largest may become 0.
 *
 * The spectrum of a matrix that is given by its Gram form alone (cs_csr.gram).
 *
 * Method. Divided by its own marginals, which are P_G on both sides, the Gram form is M = Abar^T
 * Abar: symmetric, positive semidefinite, with sum lambda = tr M = sum sigma^2 and sum lambda^2 =
 * ||M||_F^2 = sum sigma^4. The stages take M as they take any matrix, but do not lump it, so that
 * its rows and columns keep one order. What they find, and what probe and inertia say of it, is
 * lambda = sigma^2, and becomes sigma here, in one place. Where ||M v - lambda v|| <= r, the
 * triplet (Abar v / sigma, sigma, v) has the residual r / sigma.
 *
 * Limits: values below the root of the solver's floor count as zero. There are no left vectors. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/spectrum_stages_private.h"

int cs_scale_exponent(double largest)
{
    int exponent = 0;
    if (largest > 0) {
        (void)frexp(largest, &exponent);
    }
    return exponent;
}

void cs_scale_down(int exponent, cs_csr *a)
{
    const double factor = ldexp(1, -exponent); /* a product with it rounds as ldexp does */
    const bool normal = isnormal(factor);
    for (int64_t e = 0; exponent != 0 && e < cs_csr_nnz(a); ++e) {
        a->val[e] = normal ? a->val[e] * factor : ldexp(a->val[e], -exponent);
    }
}

static void restore(int exponent, double *x)
{
    *x = ldexp(*x, exponent);
}

/* Sums of powers: NaN where the range of doubles does not hold them. */
static double power_sum(int exponent, double x)
{
    double y = ldexp(x, exponent);
    return x == y || (fabs(y) >= DBL_MIN && fabs(y) <= DBL_MAX) ? y : (double)NAN;
}

static void restore_sum4(int exponent, cs_sum4 *sum)
{
    bool lost = isnan(power_sum(4 * exponent, sum->value)) && !isnan(sum->value);
    sum->value = power_sum(4 * exponent, sum->value);
    sum->low = lost ? (double)NAN : ldexp(sum->low, 4 * exponent);
    sum->high = lost ? (double)NAN : ldexp(sum->high, 4 * exponent);
    sum->error = lost ? (double)NAN : ldexp(sum->error, 4 * exponent);
    sum->out_of_range = lost;
}

/* A pair (u, v) is one up to its common sign, which solvers leave to rounding: the first entry of v
 * within 1e-6 of its largest modulus becomes positive. */
static void orient(cs_dense *u, cs_dense *v, int64_t j)
{
    double *x = v->data + j * v->ld, *y = u->data + j * u->ld, largest = 0;
    int64_t i = 0;
    for (int64_t n = 0; n < v->rows; ++n) {
        largest = fmax(largest, fabs(x[n]));
    }
    while (i < v->rows && !(fabs(x[i]) >= (1 - 1e-6) * largest)) {
        ++i;
    }
    if (i < v->rows && x[i] < 0) {
        for (i = 0; i < v->rows; ++i) {
            x[i] = -x[i];
        }
        for (i = 0; i < u->rows; ++i) {
            y[i] = -y[i];
        }
    }
}

void cs_spectrum_restore(cs_spectrum *s)
{
    int e = s->solution.exponent;
    s->solution.exponent = 0;
    for (int64_t j = 0; j < s->k && s->u.data && s->v.data; ++j) {
        orient(&s->u, &s->v, j);
    }
    if (s->second.v.data) orient(&s->second.u, &s->second.v, 0);
    if (e == 0) {
        return;
    }
    for (int64_t j = 0; j < s->k; ++j) {
        restore(e, &s->sigma[j]);
        restore(e, &s->residual[j]);
        if (s->eigenvalue) restore(e, &s->eigenvalue[j]);
    }
    restore(e, &s->solution.floor);
    s->moments.sum_sigma2 = power_sum(2 * e, s->moments.sum_sigma2);
    restore_sum4(e, &s->moments.sum4);
    s->moments.sum_sigma4 = s->moments.sum4.value;
    s->moments.sum_sigma4_error = s->moments.sum4.error;
    cs_certificate *const of_values[] = {&s->cert.moments, &s->cert.probe, &s->cert.residual};
    for (int i = 0; i < 3; ++i) { /* the moments of all triplets compare squares */
        bool squares = of_values[i] == &s->cert.moments && s->rank >= 0;
        double *number[] = {&of_values[i]->value, &of_values[i]->bound};
        for (int n = 0; n < 2; ++n) {
            *number[n] = squares ? power_sum(2 * e, *number[n]) : ldexp(*number[n], e);
        }
        restore(e, &of_values[i]->reach);
    }
    restore(e, &s->cert.inertia.reach); /* its other numbers are counts */
}

static void restore_sums(int exponent, int64_t n, cs_interval *x)
{
    for (int64_t i = 0; i < n; ++i) {
        x[i].value = power_sum(exponent, x[i].value);
        x[i].low = power_sum(exponent, x[i].low);
        x[i].high = power_sum(exponent, x[i].high);
    }
}

void cs_spectrum_density_restore(int e, cs_spectrum_density *d)
{
    cs_density *curve = &d->density;
    if (e == 0) {
        return;
    }
    for (int64_t i = 0; i < curve->points; ++i) {
        restore(e, &d->x[i]);
    }
    for (int64_t j = 0; j < d->k; ++j) {
        restore(e, &d->sigma[j]);
    }
    for (int64_t t = 0; d->tail_exact && t <= d->k; ++t) {
        d->tail_exact[t] = power_sum(4 * e, d->tail_exact[t]);
    }
    restore(e, &d->top);
    restore(e, &d->residual);
    restore(e, &curve->width);
    restore(-e, &curve->bias); /* of a density */
    restore(4 * e, &curve->rest4_error);
    for (int64_t i = 0; i < curve->points; ++i) {
        restore(-e, &curve->density[i].value);
        restore(-e, &curve->density[i].low);
        restore(-e, &curve->density[i].high);
    }
    restore_sums(4 * e, curve->points, curve->fourth_below);
    restore_sums(2 * e, 1, &curve->rest2);
    restore_sums(4 * e, 1, &curve->rest4);
    restore_sums(4 * e, d->k + 1, d->tail);
    restore_sums(2 * e, 1, &d->sum2);
    restore_sums(4 * e, 1, &d->sum4);
    d->sum_sigma2 = power_sum(2 * e, d->sum_sigma2);
    d->sum_sigma4 = power_sum(4 * e, d->sum_sigma4);
}

static const double SYMMETRIC = 1e-12; /* of the largest entry: the rounding of divisions */

/* Rows are gone through in order, so the mirror of an entry is the next one of its row. */
static bool symmetric(const cs_csr *a, int64_t *next)
{
    double largest = 0, off = 0;
    memcpy(next, a->ptr, (size_t)a->rows * sizeof *next);
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            const int64_t j = a->col[e], mirror = next[j]++;
            if (mirror == a->ptr[j + 1] || a->col[mirror] != i) {
                return false;
            }
            largest = fmax(largest, fabs(a->val[e]));
            off = fmax(off, fabs(a->val[e] - a->val[mirror]));
        }
    }
    return off <= SYMMETRIC * largest;
}

cs_status cs_gram_check(const cs_csr *a)
{
    CS_AUTO_FREE int64_t *next = cs_alloc(a->rows, sizeof *next);
    if (!next) return CS_ERR_MEMORY;
    const bool same = a->rows == a->cols && symmetric(a, next);
    return same ? CS_OK
                : cs_fail(CS_ERR_INPUT,
                          "a Gram form must be symmetric, but without its empty rows and columns "
                          "(%lld x %lld) it is not",
                          (long long)a->rows, (long long)a->cols);
}

void cs_gram_to_sigma(cs_spectrum *s)
{
    const double top = s->k > 0 ? sqrt(s->sigma[0]) : 1;
    double *const of_values[] = {&s->cert.probe.value, &s->cert.probe.bound, &s->cert.probe.reach,
                                 &s->cert.inertia.reach};
    for (int64_t j = 0; j < s->k; ++j) {
        s->sigma[j] = sqrt(s->sigma[j]);
        s->residual[j] /= s->sigma[j];
    }
    for (int i = 0; i < 4; ++i) {
        *of_values[i] = sqrt(*of_values[i]);
    }
    s->solution.floor = sqrt(s->solution.floor);
    s->cert.residual.value /= top;
    s->cert.residual.bound /= top;
    s->solution.exponent /= 2; /* it is even */
}
