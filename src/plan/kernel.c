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
#include "base/auto.h"
#include "base/vector_ops.h"

#include "base/threads.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

double cs_kernel_collision(const double *r, int64_t s)
{
    double sum = 0;
    for (int64_t k = 0; k < s; ++k) {
        sum += r[k * s + k];
    }
    return sum;
}

void cs_kernel_invariant(const cs_pairs *pairs, double *on, double *off)
{
    int64_t s = pairs->length;
    double kappa = 0;
    for (int64_t m = 0; pairs->q && m < s; ++m) {
        kappa += pairs->q[m] / (double)(s - m);
    }
    *on = kappa / (double)s;
    *off = pairs->q && s > 1 ? (pairs->invariant - kappa) / (double)(s * (s - 1)) : 0;
}

/* The run of events of one set, from number `e`: where it ends. */
static int64_t run_of(const cs_pairs *pairs, int64_t e)
{
    int64_t set = pairs->set[e];
    for (; e < pairs->events && pairs->set[e] == set; ++e) {
    }
    return e;
}

int64_t cs_kernel_reach(const cs_pairs *pairs)
{
    int64_t reach = pairs->q ? pairs->length - 1 : 0;
    for (int64_t e = 0; e < pairs->events && !pairs->q;) {
        int64_t end = run_of(pairs, e), far = pairs->target[end - 1] - pairs->target[e];
        reach = far > reach ? far : reach;
        e = end;
    }
    return reach;
}

/* R += factor w w^T of the positions first..end-1. */
static void add_outer(double factor, const double *w, int64_t s, int64_t first, int64_t end,
                      double *r)
{
    for (int64_t k = first; k < end; ++k) {
        for (int64_t l = k; l < end && w[k] != 0; ++l) {
            r[(l - k) * s + k] += factor * w[k] * w[l];
        }
    }
}

/* The events e..end-1 of one set. w: a buffer of s numbers. */
static void add_set(const cs_pairs *pairs, int64_t e, int64_t end, double *w, double *r)
{
    int64_t s = pairs->length, from = pairs->target[e], to = pairs->target[end - 1] + 1;
    cs_pairs_set given = cs_pairs_set_of(pairs, e);
    const int32_t *position = cs_pairs_positions(pairs, given);
    double others = (double)(s - given.size), whole = 0;
    double shared = pairs->q ? pairs->q[given.size] / cs_binomial(s, given.size) / others : 0;
    if (shared > 0) {
        from = 0;
        to = s;
    }
    cs_fill(to - from, shared, w + from);
    for (int64_t i = 0; i < given.size && shared > 0; ++i) {
        w[position[i]] = 0;
    }
    if (shared > 0) {
        add_outer(-1 / (shared * others), w, s, 0, s, r);
        whole = shared * others;
    }
    for (; e < end; ++e) {
        w[pairs->target[e]] += pairs->weight[e];
        whole += pairs->weight[e];
    }
    add_outer(1 / whole, w, s, from, to, r);
}

cs_status cs_kernel_diagonals(const cs_pairs *pairs, double *r)
{
    int64_t s = pairs->length, reach = cs_kernel_reach(pairs);
    double on = 0, off = 0;
    CS_AUTO_FREE double *w = cs_alloc(s, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    cs_kernel_invariant(pairs, &on, &off);
    for (int64_t i = 0; i < (reach + 1) * s; ++i) {
        r[i] = i % s >= s - i / s ? 0 : i < s ? on : off;
    }
    cs_status status = CS_OK;
    for (int64_t e = 0; e < pairs->events && status == CS_OK;) {
        int64_t end = run_of(pairs, e);
        add_set(pairs, e, end, w, r);
        e = end;
        status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_kernel_of_pairs(const cs_pairs *pairs, double *r)
{
    int64_t s = pairs->length, reach = cs_kernel_reach(pairs);
    CS_AUTO_FREE double *diagonal = cs_alloc((reach + 1) * s, sizeof *diagonal);
    cs_status status = diagonal ? cs_kernel_diagonals(pairs, diagonal) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < s && status == CS_OK; ++k) {
        for (int64_t l = k; l < s; ++l) {
            r[k * s + l] = r[l * s + k] = l - k > reach ? 0 : diagonal[(l - k) * s + k];
        }
    }
    return status;
}

cs_status cs_kernel_of_plans(const cs_objective *objective, int64_t s, double *r)
{
    CS_AUTO(cs_pairs) pairs = {.length = s};
    cs_status status = cs_pairs_of_plans(objective, s, &pairs);
    return status == CS_OK ? cs_kernel_of_pairs(&pairs, r) : status;
}
