/* Pair distributions with explicit sets: private to the plan room. */
#ifndef CS_PLAN_PAIRS_SETS_H
#define CS_PLAN_PAIRS_SETS_H

#include "plan/pairs.h"

/* Room for the arrays set, target, weight; *pairs stays to be freed by the caller on failure. */
cs_status cs_pairs_events_init(cs_pairs *pairs, int64_t events) CS_MUST_CHECK;

/* The distribution of the plans of length s in objective->file into *pairs, whose length is set. */
cs_status cs_pairs_of_file(const cs_objective *objective, int64_t s, cs_pairs *pairs) CS_MUST_CHECK;

#endif
