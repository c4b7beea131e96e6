/* Group segmentation of GVP (3.2, App. B): the distribution of the boundaries n_0 < ... < n_{K-1}.
 *
 * `random` (K distinct draws from 1..s-1) and `mixed` (n_{K-1} from a clamped, rounded normal, K-1
 * distinct draws below it) have the same form: n_{K-1} = N with probability last[N], and the other
 * K-1 uniform and distinct in 1..N-1. For gvp.c and the closed forms of
 * the toy model. */
#pragma once

#include "plan/objective.h"

/* P(n_{K-1} = N) for N = 0..s (s+1 values), random and mixed; *clamped: probability that the normal
 * fell outside K..s-1 (0 for random). O(s). */
void cs_gvp_last(const cs_objective *objective, int64_t s, long double *last, double *clamped);
