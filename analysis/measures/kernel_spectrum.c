/* LAPACK's eigenvalues of R; those within 8 s units of rounding of the largest of each other are one
 * with a multiplicity, and of zero are zero. */
#include "analysis/measures/kernel_spectrum.h"

#include <float.h>
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/dense.h"

void cs_kernel_spectrum_free(cs_kernel_spectrum *spectrum)
{
    cs_pool_free(&spectrum->pool);
    *spectrum = (cs_kernel_spectrum){0};
}

/* ascending: s values. */
static void group(int64_t s, const double *ascending, cs_kernel_spectrum *out)
{
    double slack = 8 * (double)s * DBL_EPSILON * ascending[s - 1];
    for (int64_t j = s - 1, last; j >= 0; j = last) {
        double sum = 0;
        for (last = j; last >= 0 && ascending[j] - ascending[last] <= slack; --last) {
            sum += ascending[last];
        }
        double mean = sum / (double)(j - last);
        out->value[out->values] = fabs(mean) <= slack ? 0 : mean;
        out->multiplicity[out->values++] = j - last;
    }
}

static cs_status kernel_of(const cs_objective *objective, int64_t s, double *r)
{
    CS_AUTO(cs_pairs) pairs = {0};
    cs_status status = cs_pairs_of(objective, s, &pairs);
    return status == CS_OK ? cs_kernel_of_pairs(&pairs, r) : status;
}

cs_status cs_kernel_spectrum_of(const cs_objective *objective, int64_t s, cs_kernel_spectrum *out)
{
    CS_AUTO(cs_dense) r = {0};
    cs_kernel_spectrum local = {0};
    CS_POOL_FIELDS(&local.pool, s, &local, value, multiplicity, target_weight);
    double *ascending = cs_pool_take(&local.pool, s, sizeof *ascending);
    cs_status status = local.pool.status ? local.pool.status : cs_dense_init(&r, s, s);
    if (status == CS_OK) status = kernel_of(objective, s, r.data);
    for (int64_t i = 0; i < s * s && status == CS_OK; ++i) {
        local.target_weight[i / s] += r.data[i];
    }
    if (status == CS_OK) status = cs_interrupt_check();
    if (status == CS_OK) {
        local.kappa = cs_kernel_collision(r.data, s);
        status = cs_dense_eigh(&r, ascending, true);
    }
    if (status == CS_OK) group(s, ascending, &local);
    return CS_DELIVER(status, out, local, cs_kernel_spectrum_free);
}

cs_status cs_kernel_difference(const cs_objective *objective, int64_t s, double *out)
{
    CS_AUTO_FREE double *closed = cs_alloc(s * s, sizeof *closed),
                        *all = cs_alloc(s * s, sizeof *all);
    cs_status status = closed && all ? kernel_of(objective, s, closed) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_kernel_of_plans(objective, s, all);
    *out = 0;
    for (int64_t i = 0; i < s * s && status == CS_OK; ++i) {
        *out = fmax(*out, fabs(closed[i] - all[i]));
    }
    return status;
}
