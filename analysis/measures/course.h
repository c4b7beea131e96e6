/* Phases of a measure over the checkpoints of a pretraining, with simultaneous intervals.
 *
 * x_rt is the logarithm of a positive measure of run r at checkpoint t = 0..T-1, and D_ij the mean
 * over the R runs of x_rj - x_ri. A pattern is a sequence of signs s_1..s_P, -1 for a fall and +1
 * for a rise. Its depth is the least of its changes at the best turning points,
 *
 *     depth = max over t_0 < t_1 < ... < t_P of min over p of s_p D(t_{p-1}, t_p),
 *
 * so the pattern occurs where the depth is above 0: exp(depth) - 1 is about the relative size of its
 * weakest phase. On a curve that is monotone no pattern with both signs has a depth above 0.
 *
 * Intervals. All K = T (T - 1) / 2 differences are held at once: |D_ij - E D_ij| <= m_ij for all i < j
 * with a probability of at least .95, m_ij = m(.05 / K) of stats/decide.h (Bonferroni). Its parts are
 * the delete-block jackknife over documents of the mean over runs, and the variance over runs. The
 * depth increases in every s_p D, so with s_p D - m and s_p D + m in place of s_p D it gives limits
 * that hold however the turning points were chosen. With one run they are about that run alone.
 *
 * Source: the phases of Li et al. (NeurIPS 2025, arXiv 2509.23024), who show curves without
 * intervals; the rule is ours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { CS_COURSE_PHASES = 3 };

typedef struct {
    int64_t runs, steps; /* R, T */
    int64_t blocks;      /* B; below 2: no jackknife */
    const double *value; /* R x T, the measure itself */
    /* R x T x B: without each block; NULL without jackknife. The blocks of all runs are the same
     * documents. */
    const double *left_out;
} cs_course;

/* The geometric mean over runs and its interval of 95 % at this step alone; NaN: no error. */
typedef struct {
    double value, low, high;
} cs_course_point;

/* CS_ERR_MEMORY. O(R B) time. */
cs_status cs_course_mean(const cs_course *course, int64_t step, cs_course_point *out) CS_MUST_CHECK;

/* Changes of the mean logarithm. Zeroed: none. */
typedef struct {
    int64_t steps;
    double *change; /* T x T: D_ij at i T + j, i < j */
    double *margin; /* T x T: m_ij; NaN: there is no error */
} cs_course_changes;

/* CS_ERR_USAGE: no run or no step. A value that is not positive makes its changes NaN.
 * O(R T^2 B) time. */
cs_status cs_course_changes_of(const cs_course *course, cs_course_changes *out) CS_MUST_CHECK;
void cs_course_changes_free(cs_course_changes *c); /* accepts a zeroed object */

typedef struct {
    double depth, low, high;            /* with its simultaneous 95 % limits */
    bool found;                         /* there are as many steps as turning points */
    int64_t turn[CS_COURSE_PHASES + 1]; /* t_0..t_P of the largest lower limit, else of the depth */
} cs_course_depth;

/* The pattern of `phases` signs. NaN where steps are too few or a change is NaN. O(P T^2) time. */
cs_status cs_course_depth_of(const cs_course_changes *changes, int phases, const int *sign,
                             cs_course_depth *out) CS_MUST_CHECK;

/* "found": low > 0; "absent": high < matters; else "undetermined". A pattern that is both is
 * absent: its weakest phase is too small to be of interest. */
const char *cs_course_verdict(const cs_course_depth *phases, double matters);

/* The standard error whose interval of 95 % with `freedom` degrees of freedom ends where the
 * simultaneous one does, on the side of 0: for decisions on the sign of the depth. */
double cs_course_error(const cs_course_depth *phases, double freedom);
