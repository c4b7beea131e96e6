/* Learned factors against theory: factors f, W of a model trained with the spectral loss, compared
 * with the SVD of the co-occurrence matrix (theorems.md; LA Eq. 1).
 *
 * F[X] = sqrt(P_C(X)) f(X), W'[X+] = sqrt(P_G(X+)) W[X+], d columns each, M = F W'^T. With factor b
 * the loss is L_b = ||(b/2) Abar - M||^2 - (b/2)^2 ||Abar||^2, so that
 *
 *   L_b >= -(b/2)^2 (sigma_1^2 + ... + sigma_d^2)                                     (minimum)
 *
 * attained at M = (b/2) Abar_d, and only there if sigma_d > sigma_{d+1} (Eckart and Young 1936).
 * With excess e = L_b - minimum, U_t the top t left singular vectors, t <= d, and Theta the angles
 * between U_t and the range of F (V_t and W' likewise),
 *
 *   ||sin Theta||_F^2 <= e / ((b/2)^2 (sigma_t^2 - sigma_{d+1}^2))                    (range; ours)
 *
 * Proof of the second, b = 2. Let P project on the range of F and p_i = ||P u_i||^2, so that p_i <=
 * 1 and sum p_i <= d. Then ||Abar - M||^2 >= ||Abar||^2 - ||P Abar||^2, and
 *
 *   e >= sum_{i<=d} sigma_i^2 (1 - p_i) - sum_{i>d} sigma_i^2 p_i.
 *
 * With a = sum_{i<=t} (1 - p_i) = ||sin Theta||_F^2 and c = sum_{t<i<=d} (1 - p_i) the sum of p_i
 * over i > d is at most a + c, hence
 *
 *   e >= sigma_t^2 a + sigma_d^2 c - sigma_{d+1}^2 (a + c) >= (sigma_t^2 - sigma_{d+1}^2) a.
 *
 * So a loss near its minimum proves that the subspace was found: the excess bounds the angles.
 *
 * Linear attention (src/model/network.c) over contexts of distinct tokens, features f(X) =
 * n^-p sum_{u,v in X} (q_u . k_v) v_v (in each head): every coordinate is n^-p times a quadratic
 * form in the presence of tokens. With constant q_u . k_v (uniform attention) it is n^(1-p) sum_v
 * v_v: any function linear in presence, with the required constant among the v_v. This suffices for
 * the optimum
 *   - when S has one size (masked): the singular functions of a class with values below 1 are
 *     E[psi(k) | S] = -1/(s-m) sum_{j in S} psi(j) for psi with sum 0, and 1 = 1/m sum_{j in S} 1;
 *   - when S is a prefix (ar, diverse-ar, offset-ar, group-ar): they are functions of its length i,
 *     and presence of position k times n^(1-p), i^(1-p) [i >= k], is a triangular basis of these.
 * It does not suffice when sizes vary (variable-masked, permuted-ar, gvp): the factor -1/(s-m) is
 * not a power of m. Nor can a context without tokens have features other than 0. cs_linear_reach
 * computes the attainable loss. */
#pragma once

#include <stdint.h>

#include "analysis/theorems/statement.h"
#include "analysis/theorems/theorem_31.h"
#include "analysis/theorems/toy_contexts.h"
#include "cooc/spectrum.h"

/* Least sigma_t^2 - sigma_{t+1}^2 that counts as a gap at t. */
#define CS_LEARNED_GAP 0.02

/* The matrix that factors are compared with, and all its singular triplets. */
typedef struct {
    cs_31_problem problem;
    cs_spectrum spectrum;
} cs_learned_target;

/* a: joint probabilities or counts without empty rows and columns. CS_ERR_INPUT for an empty row or
 * column; CS_ERR_CONVERGE when a triplet is missing. */
cs_status cs_learned_target_of(const cs_csr *a, const cs_spectrum_options *options,
                               cs_learned_target *out) CS_MUST_CHECK;
void cs_learned_target_free(cs_learned_target *target);

/* The largest t <= most with a gap after it, 0 when there is none. */
int64_t cs_learned_gap(const cs_spectrum *spectrum, int64_t most);

typedef struct {
    int64_t width, t;             /* d; the largest t <= d at a gap, 0: none */
    double factor;                /* b */
    double loss, minimum, excess; /* excess = loss - minimum */
    double error;                 /* numerical error of loss and minimum together */
    double distance;              /* ||(b/2) Abar_d - M||_F */
    /* The t principal angles, radians, ascending: top t singular vectors of M against U_t, V_t. */
    double *left, *right;
    double left_range, right_range; /* ||sin Theta||_F^2 of U_t against the range of F, V_t of W' */
    /* Its bound at the largest excess that rounding allows, and the numerical error of the angles.
     */
    double range_bound, range_error;
} cs_learned;

void cs_learned_free(cs_learned *learned);

/* f: rows x d, w: cols x d (as the model has them, unscaled). d at most either side of the matrix.
 * O((rows + cols) d^2). CS_ERR_USAGE: shapes or factor; CS_ERR_INPUT: a value that is not finite.
 */
cs_status cs_learned_of(const cs_learned_target *target, const cs_dense *f, const cs_dense *w,
                        double factor, int threads, cs_learned *out) CS_MUST_CHECK;

/* The least L_2 with d columns of F in the span of a set of features, for linear attention with
 * pooling power p. uniform: n^(1-p) [token in X] (attained by uniform attention whose values span
 * the constant); any: n^-p [two tokens in X], a lower bound for every choice of parameters. Both
 * NaN above 1,500 contexts: O(contexts^3). */
typedef struct {
    double uniform, any;
} cs_linear_reach;
cs_status cs_linear_reach_of(const cs_learned_target *target, const cs_toy_contexts *contexts,
                             int64_t width, double pooling, cs_linear_reach *out) CS_MUST_CHECK;

/* Statements of one trained pair: trained-minimum and trained-range, which hold for any parameters,
 * and trained-angle: the largest angle is below `tolerance`, PASS or INCONCLUSIVE (too little
 * training disproves nothing). With `reach`: UNSPECIFIED if the architecture cannot represent the
 * optimum, and then also trained-reach: the loss is not below the attainable one. model:
 * "table-b2". */
cs_status cs_learned_state(const cs_learned *learned, const char *model, const char *input,
                           const cs_linear_reach *reach, double tolerance,
                           cs_statements *out) CS_MUST_CHECK;

/* Cross-entropy of a trained model on fresh sequences. */
typedef struct {
    double loss, se; /* nats a predicted token; standard error over sequences */
    double optimum;
    int64_t sequences;
} cs_learned_entropy;

/* trained-entropy: optimum - 4 se <= loss; trained-entropy-excess: loss - optimum <= tolerance + 4
 * se, PASS or INCONCLUSIVE. */
cs_status cs_learned_entropy_state(const cs_learned_entropy *e, const char *model,
                                   const char *input, double tolerance,
                                   cs_statements *out) CS_MUST_CHECK;
