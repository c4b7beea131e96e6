/** \file
 * Designed objectives: the best connected member of a linear family of objectives under linear
 * constraints, with a bound on all others (docs/explanation/designed-objectives.md). Source: ours.
 *
 * Events (S, k) have weights w = B x of variables x >= 0. The minimised sum is
 * \f$\mathrm{tr} M^2 = \sum \sigma_j^4\f$ or (kernel, stream)
 * \f$\mathrm{tr} M = \sum \sigma_j^2\f$ of one of three matrices, functions of the position kernel
 * R (plan/kernel.h) and the target weights w(k):
 *
 * - toy: \f$M = D^{-1/2} R D^{-1/2}\f$, D = diag w(k): the spectrum of the toy model for a class
 * - kernel: M = R; tr R = kappa
 * - stream: \f$M = \sum_{kl} R_{kl} C_{|k-l|}\f$: a stationary text with all contexts different;
 *   C_e are normalised pair counts at distance e, and only their inner products enter (cs_stream_gram)
 *
 * The last two are convex in x; the first is convex if the weights of contexts or of targets are
 * fixed. The solver is a Frank-Wolfe method with pairwise steps. Its gap
 * \f$\langle \nabla, x - v \rangle\f$, v the vertex of the linear programme, is a certificate: no
 * member of the family that meets the constraints is below value - gap.
 */
#pragma once

#include <jansson.h>

#include "analysis/design/problem.h"
#include "base/progress.h"
#include "text/corpus.h"

/** Options of the solver. */
typedef struct {
    /** Stop at value - bound <= gap times the sum with its known part. */
    double gap;
    /** Most steps; then CS_OK with converged = false. */
    int64_t max_steps;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_design_options;

/** A solution. Free it with cs_design_free. */
typedef struct {
    /** Sum over j > t of sigma_j^4 or sigma_j^2; t = 1 (sigma_1 = 1), of a kernel 0. */
    double value;
    /** No member of the family that meets the constraints has less. */
    double bound;
    /** t, the part left out of the sum. */
    double known;
    /** tr R. */
    double kappa;
    /** Weight of next-token events. */
    double next_token;
    /** Expected length misalignment; NaN if some S is empty. */
    double misalignment;
    /** Steps taken. */
    int64_t steps;
    /** The gap was reached. */
    bool converged;
    /** The events with positive weights; of parts that are distributions of sizes, q. */
    cs_pairs distribution;
    /** State of the solver: number of variables. */
    int64_t variables;
    /** State of the solver: columns of a basis. */
    int64_t rows;
    /** State of the solver: variables with their slack variables. */
    double *x;
    /** State of the solver: two bases of `rows` columns. */
    int64_t *basis;
} cs_design;

/** Frees a solution; accepts a zeroed object. */
void cs_design_free(cs_design *design);

/** Solves the problem, or continues from `*design` if design->x is not NULL, with the bits of an
 * uninterrupted run. A step takes two linear programmes with `rows` rows, O(rows (rows +
 * variables)) a pivot, and about ten gradients of O(sum over S of the squared number of its
 * targets). Memory: 16 rows^2 + O(events + s^2) bytes.
 *
 * \param design receives the solution
 * \retval CS_ERR_USAGE constraints that no member meets (names what is possible), both marginals
 *     free with the toy matrix, parts without a common marginal, or more than 2^18 events or 2048
 *     rows
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set; `*design` holds the last step and can be
 *     continued
 */
cs_status cs_design_solve(const cs_design_problem *problem, const cs_design_options *options,
                          cs_design *design) CS_MUST_CHECK;

/** The largest weight of next-token events under the other constraints. Errors of cs_design_solve.
 */
cs_status cs_design_most(const cs_design_problem *problem, double *next_token) CS_MUST_CHECK;

/** The numbers of problem->objective itself, whatever the constraints; its bound is NaN. Errors of
 * cs_design_solve.
 */
cs_status cs_design_of(const cs_design_problem *problem, cs_design *out) CS_MUST_CHECK;

/** The solution as a plan file (plan/plan_file.h): a plan for each context, or the mixture with its
 * new shares. A new reference.
 */
cs_status cs_design_plans(const cs_design_problem *problem, const cs_design *design,
                          json_t **out) CS_MUST_CHECK;

/** State of the solver as JSON, exact to the bit. A new reference. */
cs_status cs_design_state(const cs_design *design, json_t **out) CS_MUST_CHECK;

/** Reads such a state.
 *
 * \retval CS_ERR_INPUT the state is invalid
 */
cs_status cs_design_continue(const json_t *state, cs_design *out) CS_MUST_CHECK;

/** The inner products \f$\langle C_d, C_e \rangle\f$ of a corpus that is read as one circular
 * stream, with its documents one after another, so that all distances have the same marginal p.
 * \f$C_e(u, v) = P_e(u, v) / \sqrt{p(u)\, p(v)}\f$, P_e the mass of pairs at distance e, half in
 * either order. Cost: a build with context `unique` for each distance, and s sum nnz(C_e)
 * multiply-adds; 12 bytes for each entry.
 *
 * \param s number of distances
 * \param progress callback, or NULL
 * \param gram receives s x s values
 * \retval CS_ERR_INPUT fewer tokens than s
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_stream_gram(const cs_corpus *corpus, int64_t s, const cs_progress *progress,
                         double *gram) CS_MUST_CHECK;

/** Appends an object to the array `rows`: kind, series, next_token_weight, misalignment, kappa,
 * value, bound, gap, steps, reached (whether it converged).
 */
cs_status cs_design_row(const char *kind, const char *series, const cs_design *design,
                        json_t *rows) CS_MUST_CHECK;

/** Appends the row of an objective, given by its specification, as it is (cs_design_of). */
cs_status cs_design_compare(const cs_design_problem *problem, const char *spec,
                            json_t *rows) CS_MUST_CHECK;

/** Appends the rows of all objectives with their parameters of training, and of some variants, that
 * exist at this length.
 */
cs_status cs_design_compare_all(const cs_design_problem *problem, json_t *rows) CS_MUST_CHECK;
