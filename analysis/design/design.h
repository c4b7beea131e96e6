/* Designed objectives (designed-objectives.md): in a family of objectives, the law that is
 * best connected under linear constraints, with a bound on what any other law could reach.
 *
 * The family is linear: events (S, k) have weights w = B x of variables x >= 0. The sum to be made
 * small is tr M^2 = sum sigma_j^4 or (kernel, stream) tr M = sum sigma_j^2 of one of three matrices,
 * all functions of the position kernel R (plan/kernel.h) and the target weights w(k):
 *
 *   toy      M = D^{-1/2} R D^{-1/2}, D = diag w(k): the spectrum of the toy model, per class
 *   kernel   M = R itself: its eigenvalues as `cospec kernel` has them; tr R = kappa
 *   stream   M = sum_kl R_kl C_|k-l|: a stationary text whose contexts are all different, C_e the
 *            normalised pair counts at distance e; only their inner products enter (cs_stream_gram)
 *
 * The two latter are convex in x whatever else; the toy model's where the weights of the contexts or
 * those of the targets are fixed. The solver is a Frank-Wolfe method with pairwise steps. Its gap
 * <gradient, x - v>, v the vertex of the linear programme, certifies: no law of the family that
 * meets the constraints is below value - gap.
 */
#pragma once

#include <jansson.h>

#include "base/progress.h"
#include "plan/pairs.h"
#include "text/corpus.h"

typedef enum { CS_DESIGN_TOY, CS_DESIGN_KERNEL, CS_DESIGN_STREAM } cs_design_matrix;
typedef enum { CS_DESIGN_SIGMA4, CS_DESIGN_SIGMA2 } cs_design_sum;
typedef enum { CS_FIX_CONTEXTS, CS_FIX_TARGETS, CS_FIX_BOTH, CS_FIX_NONE } cs_design_fixed;

typedef struct {
    int64_t length; /* s */
    /* The family. reach > 0: one law of the distances 1..reach, the same for every prefix that has
     * so many tokens left, 1 <= reach < s. Else of `objective`: a mixture's shares, the parts as they
     * are; of any other the weights of its events, whatever its own weights. */
    int64_t reach;
    cs_objective objective;
    cs_design_matrix matrix;
    const double *gram; /* stream: s x s inner products <C_d, C_e> of distances 0..s-1, C_0 = I */
    cs_design_sum sum;
    /* contexts: W(S) as in the objective (reach: equal); targets: all positions that are targets of
     * the family weigh the same. Of parts with different contexts only the latter can be fixed. */
    cs_design_fixed fixed;
    double next_token;   /* least weight of the events ({0..k-1}, k); 0: any */
    double misalignment; /* largest E cs_length_misalignment(s, |S|); infinity: any */
} cs_design_problem;

typedef struct {
    double gap;        /* stop at value - bound <= gap x (the sum with its known part) */
    int64_t max_steps; /* CS_OK with converged = false after so many */
    const cs_progress *progress;
} cs_design_options;

typedef struct {
    double value; /* sum_{j>t} sigma_j^4 or sigma_j^2; t = 1 (sigma_1 = 1), of a kernel 0 */
    double bound; /* no law of the family that meets the constraints has less */
    double known; /* t: what is left out of the sum */
    double kappa; /* tr R */
    double next_token, misalignment; /* of the law; misalignment NaN where an S is empty */
    int64_t steps;
    bool converged;
    cs_pairs law; /* the events with their weights, those of weight 0 left out; of parts that are
                     laws of sizes q */
    /* What the solver goes on from: x with its slack variables, and two bases of `rows` columns. */
    int64_t variables, rows;
    double *x;
    int64_t *basis;
} cs_design;

void cs_design_free(cs_design *design);

/* Solves the problem; goes on from *design where design->x is not NULL, to the bits of a run that
 * was never stopped. A step: two linear programmes of `rows` rows (contexts or targets, and a
 * constraint each), O(rows (rows + variables)) a pivot, and some ten gradients of O(sum_S targets(S)^2).
 * Memory 16 rows^2 + O(events + s^2) bytes. CS_ERR_USAGE: constraints that nothing meets, with what
 * could be met; both marginals free on the toy model; parts that have no marginal in common; more
 * than 2^18 events or 2048 rows. CS_ERR_INTERRUPT: *design holds the last step, from which it can go on. */
cs_status cs_design_solve(const cs_design_problem *problem, const cs_design_options *options,
                          cs_design *design) CS_MUST_CHECK;

/* The largest weight of next tokens under the other constraints. Errors as above. */
cs_status cs_design_most(const cs_design_problem *problem, double *next_token) CS_MUST_CHECK;

/* The same numbers of problem->objective as it stands, whatever the constraints; its bound is NaN. */
cs_status cs_design_of(const cs_design_problem *problem, cs_design *out) CS_MUST_CHECK;

/* The law as a plan file (plan/plan_file.h): a plan a context, or the mixture with its new shares. */
cs_status cs_design_plans(const cs_design_problem *problem, const cs_design *design,
                          json_t **out) CS_MUST_CHECK;

/* What cs_design_solve goes on from, to the bit, as JSON; and back, CS_ERR_INPUT. */
cs_status cs_design_state(const cs_design *design, json_t **out) CS_MUST_CHECK;
cs_status cs_design_continue(const json_t *state, cs_design *out) CS_MUST_CHECK;

/* The Gram matrix of a corpus read as one stream: its documents one behind the other, the last token
 * followed by the first, so that all distances have one marginal p. C_e(u, v) = P_e(u, v) /
 * sqrt(p(u) p(v)), P_e the mass of the pairs at distance e in either order, half each. gram: s x s
 * numbers. A build under context `unique` a distance, and s x sum nnz(C_e) multiply-adds; 12 bytes an
 * entry of each. CS_ERR_INPUT: fewer tokens than s; CS_ERR_MEMORY. */
cs_status cs_stream_gram(const cs_corpus *corpus, int64_t s, const cs_progress *progress,
                         double *gram) CS_MUST_CHECK;

/* Rows of tables, appended to an array: kind, series, next_token_weight, misalignment, kappa, value,
 * bound, gap, steps, reached (whether it converged). */
cs_status cs_design_row(const char *kind, const char *series, const cs_design *design,
                        json_t *rows) CS_MUST_CHECK;

/* The row of an objective as it stands (cs_design_of); and of every objective with its parameters of
 * training, with some variants, where they exist at this length. */
cs_status cs_design_compare(const cs_design_problem *problem, const char *spec,
                            json_t *rows) CS_MUST_CHECK;
cs_status cs_design_compare_all(const cs_design_problem *problem, json_t *rows) CS_MUST_CHECK;
