/* Group segmentation of GVP (3.2, App. B): the distribution of the boundaries n_0 < ... < n_{K-1}.
 *
 * `random` (K distinct draws from 1..s-1) and `mixed` (n_{K-1} from a clamped, rounded normal, K-1
 * distinct draws below it) have the same form: n_{K-1} = N with probability last[N], and the other
 * K-1 uniform and distinct in 1..N-1. For src/plan, the closed forms of the toy model and the sizes
 * of batches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"
#include "plan/objective.h"

enum { CS_GVP_MASK_LENGTH = 10000 }; /* most positions under `mask` weights, which cost O(s^2) */

/* n_i = floor((i+1) s / (K+1)) of `fixed`, i = 0..K. K <= s-1 makes s / (K+1) >= 1, so that no
 * boundary is 0 and no two are equal: every group has a member. */
static inline int64_t cs_gvp_fixed(int64_t s, int64_t groups, int64_t i)
{
    return (i + 1) * s / (groups + 1);
}

/* P(n_{K-1} = N) for N = 0..s (s+1 values), random and mixed; *clamped: probability that the normal
 * fell outside K..s-1 (0 for random). O(s). */
void cs_gvp_last(const cs_objective *objective, int64_t s, long double *last, double *clamped);

/* round(p s), p ~ N(0.5, sd 0.1), clamped into K..s-1. */
int64_t cs_gvp_draw_last(int64_t s, int64_t groups, cs_rng *rng);

/* Expected number c(m) of tokens predicted from m others in one plan, random and mixed under
 * `token` weights, for m = s-1 down to 1 by a recurrence: start, then m and c are valid after each
 * `next` that is true. After the last, `predicted` is the expected number of predicted tokens (the
 * sum of c) and `clamped` as above. The other members are the state of the recurrence. O(1) a step.
 */
typedef struct {
    const cs_objective *objective;
    int64_t s, m;
    long double c, predicted, clamped;
    long double distribution, below, above, g, tail;
} cs_gvp_draw;

cs_gvp_draw cs_gvp_draw_start(const cs_objective *objective, int64_t s);
bool cs_gvp_draw_next(cs_gvp_draw *draw);

/* The same under `mask` weights, where each token of a plan has weight 1 / (s - n_0): c(m) for m =
 * 0..s (s+1 values). O(s^2). CS_ERR_MEMORY. */
cs_status cs_gvp_mask_sizes(const cs_objective *objective, int64_t s, long double *c,
                            long double *predicted, double *clamped) CS_MUST_CHECK;
