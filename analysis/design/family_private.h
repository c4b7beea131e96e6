/* A family of objectives as a linear map: variables x -> masses y of events (S, k) and of sizes of S
 * (those of permutation-invariant parts), y = B x; and the polytope of the constraints.
 */
#pragma once

#include <jansson.h>

#include "analysis/design/problem.h"
#include "analysis/design/simplex_private.h"

typedef struct {
    int64_t s;
    cs_pairs events; /* sets and targets; of free events the objective's own weights */
    int64_t *first;  /* sets + 1: the events of a set are a run */
    /* events, then s sizes of sets if parts are distributions of sizes */
    int64_t masses;
    bool free_events; /* a variable an event */
    /* B by columns: the masses of a variable, which sum to 1. Slack variables are the last of
     * `columns` and have none. */
    int64_t variables, columns;
    int64_t *ptr, *mass;
    double *part;
    cs_simplex polytope;
} cs_family;

/* CS_ERR_USAGE as cs_design_solve. The arrays of the family belong to the pool except `events`,
 * which cs_family_free frees. */
cs_status cs_family_of(const cs_design_problem *problem, cs_pool *pool,
                       cs_family *out) CS_MUST_CHECK;
void cs_family_free(cs_family *family);

/* y = B x; and g_x = B^T g_y, 0 for slack variables. */
void cs_family_masses(const cs_family *family, const double *x, double *y);
void cs_family_gradient(const cs_family *family, const double *of_masses, double *of_variables);

/* The share of a mass that is on ({0..k-1}, k), and its cs_length_misalignment. */
double cs_family_next_token(const cs_family *family, int64_t mass);
double cs_family_misalignment(const cs_family *family, int64_t mass);

/* The parts of a mixture as an array of a plan file, a new reference. If `share` is not NULL it has
 * a value for each part, and parts of share 0 are left out. */
cs_status cs_family_parts(const cs_objective *mixture, const double *share,
                          json_t **out) CS_MUST_CHECK;

/* Weight of each part at length s for a share of 1: its predicted tokens, or under `mask` weights
 * the share of plans that predict any. */
cs_status cs_family_weights(const cs_objective *mixture, int64_t s, double *weight) CS_MUST_CHECK;

/* --- the minimised sum of a design, with its gradient, as a function of the masses y of a family --- */

typedef struct {
    const cs_design_problem *problem;
    const cs_family *family;
    double *inner;            /* masses, none of them 0 */
    double *context, *target; /* W(S), w(k) */
    double *kernel, *slope;   /* R, and the derivative with respect to its entries: s x s */
    double *by_target;        /* the derivative with respect to the w(k); capacity 2 s */
} cs_design_sums;

cs_status cs_design_sums_init(const cs_design_problem *problem, const cs_family *family,
                              cs_pool *pool, cs_design_sums *out) CS_MUST_CHECK;

/* The sum, including its known part, from R and w; its derivatives with respect to both (s x s, and
 * an array of 2 s, of these s are used). */
double cs_design_sum_of(const cs_design_problem *problem, const double *kernel,
                        const double *target, double *slope, double *by_target);

/* The value at y; its gradient into `gradient` (masses). Leaves R in sums->kernel. */
double cs_design_sum_at(cs_design_sums *sums, const double *y, double *gradient);
