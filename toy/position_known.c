/* A target position that is known with probability theta, and the floor of sum sigma^2
 * (theorem-4-2.md).
 *
 * Known position. Given S the targets have p = P(. | S), and a named position t leaves p_t = theta
 * e_t + (1 - theta) p with probability p(t), so that E[p_t p_t^T | S] = theta^2 diag p + (1 -
 * theta^2) p p^T: the Gram form is theta^2 of the given one, the identity on the classes'
 * positions, and 1 - theta^2 of the blind one. */
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "plan/pairs.h"
#include "toy/toy_spectrum_private.h"

enum { MOST_EVENTS = 1 << 20 };

static const double SAME = 1e-12;

/* Positions that are ever a target. */
static cs_status count_targets(const cs_toy *toy, int64_t *count)
{
    double rows, nnz, cols = 0;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    *count = (int64_t)(cols / ((double)toy->classes * (double)toy->tokens));
    return status;
}

cs_status cs_toy_mix_positions(const cs_toy *toy, const cs_toy_spectrum *blind,
                               cs_toy_spectrum *out)
{
    cs_toy_values values = {.residual = blind->residual};
    const double square = toy->position_known * toy->position_known;
    int64_t targets = 0;
    cs_status status = count_targets(toy, &targets);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < blind->values; ++i) {
        const double x = blind->sigma[i];
        cs_toy_values_add(&values, sqrt(square + (1 - square) * x * x), blind->multiplicity[i]);
    }
    cs_toy_values_add(&values, toy->position_known, toy->classes * targets - blind->rank);
    status = cs_toy_values_group(&values, out);
    if (status == CS_OK) {
        out->formula = blind->formula;
        (void)snprintf(out->source, sizeof out->source,
                       "%.100s; position known: 1 - (1 - theta^2)(1 - sigma^2)", blind->source);
    }
    cs_free(values.value);
    return status;
}

cs_status cs_toy_mixed_by(cs_status (*method)(const cs_toy *toy, cs_toy_spectrum *out),
                          const cs_toy *toy, cs_toy_spectrum *out)
{
    cs_toy plain = *toy;
    CS_AUTO(cs_toy_spectrum) blind = {0};
    cs_status status = cs_toy_check(toy);
    if (status != CS_OK) return status;
    if (!(toy->position_known > 0)) {
        return method(toy, out);
    }
    plain.position_known = 0;
    status = method(&plain, &blind);
    return status == CS_OK ? cs_toy_mix_positions(toy, &blind, out) : status;
}

/* --- the floor -------------------------------------------------------------------------------- */

/* Adds the events first..last-1 of one set. */
static void add_set(const cs_pairs *pairs, const double *target, int64_t first, int64_t last,
                    double *floor, bool *met)
{
    const cs_pairs_set set = cs_pairs_set_of(pairs, first);
    const int32_t *position = cs_pairs_positions(pairs, set);
    double inside = 0, weight = 0, outside = 0;
    for (int64_t i = 0; i < set.size; ++i) {
        inside += target[position[i]];
    }
    for (int64_t e = first; e < last; ++e) {
        weight += pairs->weight[e];
        outside += target[pairs->target[e]];
    }
    *floor += weight / (1 - inside);
    *met = *met && fabs(outside - (1 - inside)) <= SAME;
    for (int64_t e = first; e < last; ++e) {
        const double share = pairs->weight[e] / weight, of = target[pairs->target[e]];
        *met = *met && fabs(share * (1 - inside) - of) <= SAME;
    }
}

cs_status cs_toy_floor(const cs_toy *toy, double *floor, bool *met)
{
    cs_pairs pairs = {0};
    const int64_t s = toy->length;
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->objective.empty_prefix != CS_PREFIX_NONE)
        status = cs_fail(CS_ERR_USAGE, "the lower bound on sum sigma^2 needs nonempty texts");
    if (status == CS_OK) status = cs_pairs_of(&toy->objective, s, &pairs);
    if (status == CS_OK && pairs.q && pairs.events > 0)
        status = cs_pairs_expand(&pairs, MOST_EVENTS);
    if (status != CS_OK) return status;
    CS_AUTO_FREE double *target = cs_alloc(s, sizeof *target);
    status = target ? CS_OK : CS_ERR_MEMORY;
    if (target) cs_pairs_targets(&pairs, 1, target);
    *floor = 0;
    *met = true;
    for (int64_t m = 0; m < s && pairs.q && target; ++m) { /* by symmetry */
        *floor += pairs.q[m] * (double)s / (double)(s - m);
    }
    for (int64_t e = 0, next; e < pairs.events && target; e = next) {
        for (next = e; next < pairs.events && pairs.set[next] == pairs.set[e]; ++next) {
        }
        add_set(&pairs, target, e, next, floor, met);
    }
    cs_pairs_free(&pairs);
    return status;
}
