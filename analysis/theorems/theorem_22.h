/* Theorem 2.2 of MAE-LM: residual contraction of one attention layer whose [MASK] rows lie in the
 * row space of the real ones, as its proof (appendix A) prints it and as corrected.
 *
 *   X = [H_R; H_M], H_M = U H_R;  H_R' = softmax(H_R W^QK X^T) X W^VO  (no residual path, no MLP)
 *   R = H_R - 1 h^T, h = mean of the rows of H_R (the paper leaves the norm of its argmin open)
 *
 * Printed, with ||A||_1 = largest column sum of |A|, ||A||_inf = largest row sum,
 * ||A||_{1,inf} = sqrt(||A||_1 ||A||_inf), R' = H_R' minus the mean of its rows:
 *
 *   ||R'||_{1,inf} <= 4 eps ||R||_{1,inf}^3,
 *   eps = ||W^QK||_1 ||W^VO||_{1,inf} ||U||_inf (1 + ||U||_inf)
 *
 * Its proof multiplies elementwise inequalities by signed matrices, uses exp(x) <= 1 + 2x for any
 * x >= 0, and takes U 1 = 1 for granted, which is false: see cs_theorem_22.
 *
 * Corrected, where U 1 = 1. L = R W^QK [R; U R]^T, delta = largest row range of L,
 * ||.||_{2,inf} = largest 2-norm of a row, p = softmax([R; U R] W^QK^T h),
 * h'^T = (p^T [R; U R] + h^T) W^VO:
 *
 *   ||H_R' - 1 h'^T||_{2,inf} <= 2 tanh(delta/4) ||U||_inf ||R||_{2,inf} ||W^VO||_2      (tight)
 *                             <= ||W^QK||_2 ||W^VO||_2 ||U||_inf^2 ||R||_{2,inf}^3       (cubic)
 *
 * Proof. Logits of row i are L_i + g + constant, g = [R; U R] W^QK^T h, so its weights are q_i ~ p
 * exp(L_i) and the row of H_R' - 1 h'^T is (q_i - p)^T [R; U R] W^VO. Two distributions whose
 * log-ratio ranges over delta differ by at most 2 tanh(delta/4) in the 1-norm; rows of [R; U R] are
 * at most ||U||_inf ||R||_{2,inf} long, as ||U||_inf >= 1. For the second, delta <= 2 ||W^QK||_2
 * ||U||_inf ||R||_{2,inf}^2 and tanh x <= x. A bias of the queries adds to g alone, one of the keys
 * to the row's constant, one of the values to H_R' and h' alike: all leave the bound as it is.
 */
#pragma once

#include "analysis/measures/mask_rank.h"
#include "analysis/theorems/statement.h"
#include "infer/hidden_states.h"
#include "linalg/dense.h"

typedef struct {
    const cs_dense *h;       /* H_R: n x d, n >= 1 */
    const cs_dense *u;       /* m x n */
    const cs_dense *wqk;     /* d x d, divided by the root of the head's width */
    const cs_dense *wvo;     /* d x e */
    const double *key;       /* d: contribution of a bias of the queries to g, X key; NULL: 0 */
    double norm_qk, norm_vo; /* 2-norms; 0: computed here, by SVD */
    /* receives H_R' (n x e, allocated by the caller); NULL: not wanted */
    cs_dense *next;
} cs_22_layer;

typedef struct {
    double lhs, tight, cubic; /* corrected */
    double trivial;           /* 2 ||U||_inf ||R||_{2,inf} ||W^VO||_2: any two distributions */
    double error;             /* bound on the rounding error of tight - lhs and of cubic - lhs */
    double printed_lhs, printed_rhs, printed_error;
    double contraction; /* 4 eps ||R||_{1,inf}^2: the printed bound shrinks R where it is below 1 */
    double delta, residual;  /* ||R||_{2,inf} */
    double printed_residual; /* ||R||_{1,inf} */
    double u_norm;           /* ||U||_inf */
    double u_sum;            /* largest |(U 1)_i - 1|: the corrected bound needs 0 */
} cs_22_sides;

/* Both statements of a layer. Time 2 (n + m) (d^2 + n d + d e) flops. CS_ERR_USAGE names shapes
 * that do not fit; CS_ERR_INPUT a value that is not finite. Sides that overflow become infinite or
 * NaN. Rounding: logits gamma_{2d+4} |h_i| |W|_F |x_j|, carried through softmax and products to
 * first order. */
cs_status cs_22_evaluate(const cs_22_layer *layer, cs_22_sides *out) CS_MUST_CHECK;

/* One of the bounds over `count` layers, as a statement at the layer closest to failing (largest
 * (lhs + error) / rhs, among those with a bound better than the trivial one), whose number is
 * *worst; details report its looseness over all of them. A layer with a side or an error that is
 * not finite counts as closest unless one fails, and makes the statement INCONCLUSIVE; "not_finite"
 * is their number. */
typedef enum { CS_22_TIGHT, CS_22_CUBIC, CS_22_PRINTED } cs_22_bound;
cs_status cs_22_bounds(const cs_22_sides *sides, int64_t count, cs_22_bound which,
                       const char *input, int64_t *worst, cs_statements *out) CS_MUST_CHECK;

/* Appends: the corrected bounds and the printed one on random layers with U 1 = 1, each at the
 * trial closest to failing; a layer on which the tight bound is an equality; the printed bound
 * without U 1 = 1 (H_R = (1.1, 0.9), H_M = -1, W = 1); its convergence if 4 eps ||R||^2 >= 1 (W^QK
 * = 10 I, W^VO = I, 50 layers); its step exp(x) <= 1 + 2x. seed fixes the layers. trials: random
 * layers; 0: 2000. */
cs_status cs_theorem_22(int64_t trials, uint64_t seed, cs_statements *out) CS_MUST_CHECK;

/* The same bounds on the attention heads of a model, one at a time, and the states that they read
 * (after the norm before the attention). H_R and H_M are the rows of one piece of text; U = 1 1^T /
 * n + (H_M - 1 hbar^T) (H_R - 1 hbar^T)^+ is the least-squares combination with U 1 = 1. If H_M
 * differs from U H_R (the assumption "H_M = U H_R" with its relative error), the bound is evaluated
 * on U H_R, which satisfies its assumptions. Two statements a layer, at the head and piece closest
 * to failing. *done is false, and nothing is appended, for relative positions, whose logits do not
 * have the form above. */
typedef struct {
    const cs_hidden_options *hidden; /* masking, documents; layers and pooling are set here */
    int64_t pieces;                  /* first ones with a [MASK] and two other rows; 0: 4 */
    int threads;
} cs_22_model_options;
cs_status cs_theorem_22_model(cs_model *model, const cs_corpus *corpus, const char *input,
                              const cs_22_model_options *options, cs_statements *out,
                              bool *done) CS_MUST_CHECK;

/* Lemma 2.1 and Theorem 2.2 as statements: the rank of the [MASK] rows from the first to the last
 * layer studied (numerical, and rank_tau with two standard errors of the difference); the premise
 * rank(P) <= d - rank(E) on the tables of the model (singular values above max(rows, d) 2^-23
 * sigma_1, float tables); a layer with rank-deficient H_R, and whether its row space contains that
 * of H_M, at the numerical tolerance. length: positions of the text. */
cs_status cs_lemma_21(const cs_model *model, const cs_mask_rank *r, int64_t length,
                      const char *input, cs_statements *out) CS_MUST_CHECK;
