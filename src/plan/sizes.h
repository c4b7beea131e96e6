/* The distribution of |S| of a permutation-invariant objective, visited size by size, so that sums
 * over it need no memory at any length. Private to src/plan and the toy model. */
#pragma once

#include "plan/objective.h"

/* c(m) > 0, the expected number of tokens of one plan predicted from m others (bernoulli-masked: up
 * to a factor): q(m) = c(m) / sum c. False stops the visit. */
typedef bool (*cs_size_fn)(void *ctx, int64_t m, long double c);

/* As in cs_pairs; incomplete after a visit that was stopped. */
typedef struct cs_size_facts {
    double predicted, clamped;
    int64_t denominator;
} cs_size_facts;

/* Calls `visit` once for every m = 0..s-1 with c(m) > 0, in no particular order. The objective must
 * be permutation-invariant, checked, and exist at length s. Time O(number of sizes), O(s^2) for gvp
 * random and mixed under `mask` weights (s <= 10,000); memory O(1), O(s) for those. *facts may be
 * NULL. CS_ERR_MEMORY. */
cs_status cs_sizes_visit(const cs_objective *objective, int64_t s, cs_size_fn visit, void *ctx,
                         cs_size_facts *facts) CS_MUST_CHECK;

/* gvp (3.2, App. B): the boundaries n_0 < ... < n_{K-1} of its groups. `random` (K distinct draws from
 * 1..s-1) and `mixed` (n_{K-1} from a clamped, rounded normal, K-1 distinct draws below it) have the
 * same form: n_{K-1} = N with probability last[N], and the other K-1 uniform and distinct in 1..N-1.
 *
 * P(n_{K-1} = N) for N = 0..s (s+1 values), random and mixed; *clamped: probability that the normal
 * fell outside K..s-1 (0 for random). O(s). */
void cs_gvp_last(const cs_objective *objective, int64_t s, long double *last, double *clamped);
