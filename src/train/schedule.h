/* The learning-rate schedule: the rate of a step.
 *
 * With N steps counted from 1, W of them warm-up, peak p and final share f:
 *   s <= W:  p s / W
 *   s > W:   u = (s - W) / (N - W);  linear, one-cycle: p (1 - (1 - f) u)
 *            cosine: p (f + (1 - f) (1 + cos pi u) / 2)
 *            constant: p up to step N - C, then p (1 - (1 - f) (s - N + C) / C)
 * so that step W has p and step N has f p (constant without cool-down, C = 0: p). One-cycle is the
 * triangle of Geiping and Goldstein (2023), linear that of Devlin et al. (2019): they differ in the
 * warm-up they take when none is given. A constant rate with a cool-down: up to step N - C a run
 * does not depend on N (Hagele et al. 2024), so that runs of several lengths share it.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum {
    CS_SCHEDULE_ONE_CYCLE,
    CS_SCHEDULE_COSINE,
    CS_SCHEDULE_LINEAR,
    CS_SCHEDULE_CONSTANT
} cs_schedule;

/* "one-cycle", "cosine", "linear", "constant"; CS_ERR_USAGE names another. */
cs_status cs_schedule_by_name(const char *name, cs_schedule *out) CS_MUST_CHECK;
const char *cs_schedule_name(cs_schedule schedule);

/* Default warm-up steps: one-cycle N / 2 (the cramming repository's one-cycle), cosine and linear 8
 * % of N (MAE-LM, Table 3: 10K of 125K), constant 0, so that its steps may be increased later. */
int64_t cs_schedule_warmup(cs_schedule schedule, int64_t steps);

/* The rate of step s, 1 <= s <= steps, 0 <= warmup <= steps; cool: C, only for constant. */
double cs_schedule_rate(cs_schedule schedule, double peak, double final_share, int64_t warmup,
                        int64_t cool, int64_t steps, int64_t s);
