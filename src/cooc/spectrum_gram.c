/* The spectrum of a matrix that is given by its Gram form alone (cs_csr.gram).
 *
 * Method. Divided by its own marginals, which are P_G on both sides, the Gram form is M = Abar^T
 * Abar: symmetric, positive semidefinite, with sum lambda = tr M = sum sigma^2 and sum lambda^2 =
 * ||M||_F^2 = sum sigma^4. The stages take M as they take any matrix, but do not lump it, so that
 * its rows and columns keep one order. What they find, and what probe and inertia say of it, is
 * lambda = sigma^2, and becomes sigma here, in one place. Where ||M v - lambda v|| <= r, the
 * triplet (Abar v / sigma, sigma, v) has the residual r / sigma.
 *
 * Limits: values below the root of the solver's floor count as zero. There are no left vectors. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/spectrum_private.h"

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
    int64_t *next = cs_alloc(a->rows, sizeof *next);
    if (!next) return CS_ERR_MEMORY;
    const bool same = a->rows == a->cols && symmetric(a, next);
    cs_free(next);
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
