/* Listed events are sorted by conditioning set, so that each set is a run of them: R is a sum of one
 * outer product a run. Of an invariant part only the size m of the set counts: its C(s, m) sets
 * give two positions k, l one weight, by symmetry
 *
 *     R_kk = kappa / s,   R_kl = (p - kappa) / (s (s - 1)),
 *     kappa = sum_m q(m) / (s - m),   p = sum_m q(m).
 *
 * Where a listed set is also one of these C(s, m), its outer product is taken out of their sum and
 * that of both weights together put in.
 */
#include "plan/kernel.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "plan/count.h"
#include "plan/laws_private.h"

double cs_kernel_collision(const double *r, int64_t s)
{
    double sum = 0;
    for (int64_t k = 0; k < s; ++k) {
        sum += r[k * s + k];
    }
    return sum;
}

static void add_invariant(const cs_pairs *pairs, double *r)
{
    int64_t s = pairs->length;
    double kappa = 0;
    for (int64_t m = 0; m < s; ++m) {
        kappa += pairs->q[m] / (double)(s - m);
    }
    double on = kappa / (double)s;
    double off = s > 1 ? (pairs->invariant - kappa) / (double)(s * (s - 1)) : 0;
    for (int64_t k = 0; k < s; ++k) {
        for (int64_t l = 0; l < s; ++l) {
            r[k * s + l] += k == l ? on : off;
        }
    }
}

static void add_outer(double factor, const double *w, int64_t s, double *r)
{
    for (int64_t k = 0; k < s; ++k) {
        for (int64_t l = 0; l < s && w[k] != 0; ++l) {
            r[k * s + l] += factor * w[k] * w[l];
        }
    }
}

/* The run of events of one set, from number `e`; where it ends. w: room for s numbers. */
static int64_t add_set(const cs_pairs *pairs, int64_t e, double *w, double *r)
{
    int64_t s = pairs->length, set = pairs->set[e];
    cs_pairs_set given = cs_pairs_set_of(pairs, e);
    const int32_t *position = cs_pairs_positions(pairs, given);
    double others = (double)(s - given.size), whole = 0;
    double shared = pairs->q ? pairs->q[given.size] / cs_binomial(s, given.size) / others : 0;
    for (int64_t k = 0; k < s; ++k) {
        w[k] = shared;
    }
    for (int64_t i = 0; i < given.size; ++i) {
        w[position[i]] = 0;
    }
    if (shared > 0) {
        add_outer(-1 / (shared * others), w, s, r);
        whole = shared * others;
    }
    for (; e < pairs->events && pairs->set[e] == set; ++e) {
        w[pairs->target[e]] += pairs->weight[e];
        whole += pairs->weight[e];
    }
    add_outer(1 / whole, w, s, r);
    return e;
}

cs_status cs_kernel_of_pairs(const cs_pairs *pairs, double *r)
{
    int64_t s = pairs->length;
    double *w = cs_alloc(s, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    memset(r, 0, (size_t)(s * s) * sizeof *r);
    if (pairs->q) {
        add_invariant(pairs, r);
    }
    cs_status status = CS_OK;
    for (int64_t e = 0; e < pairs->events && status == CS_OK;) {
        e = add_set(pairs, e, w, r);
        status = cs_interrupt_check();
    }
    cs_free(w);
    return status;
}

cs_status cs_kernel_of_plans(const cs_objective *objective, int64_t s, double *r)
{
    cs_pairs pairs = {.length = s};
    cs_status status = cs_pairs_of_plans(objective, s, &pairs);
    if (status == CS_OK) status = cs_kernel_of_pairs(&pairs, r);
    cs_pairs_free(&pairs);
    return status;
}
