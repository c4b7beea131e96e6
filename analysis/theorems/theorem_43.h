/* Theorem 4.3 (LA 4.2, A.4): generation by a model of linear attention that was pretrained on
 * masks.
 *
 *   g(u, v, w) = (q_u . k_v) v_w, head by head, heads side by side; z = W f
 *   p = 2   Q K^T V, pooled over its rows: sum_u sum_v g(u, v, v), key and value index are one
 *   p = 3   the paper's expansion: sum_u sum_v sum_w g(u, v, w)
 *   f^(X) = f(X) / |X|^p, the mean of the terms
 *
 * A case is a sequence x_1 .. x_s, a prefix X_<k of k-1 tokens, 2 <= k <= N + 1, and an unmasked
 * set X_m of N tokens that contains the prefix and not x_k, which is predicted. X_- is an
 * independent token.
 *
 *   printed    L_gen <= sum_k (w_k^2 / (k-1)^2p + w_k ||W||^2 eta) / (2N) + delta_mask + 1,
 *              w_k = N^p - (k-1)^p, ||W f(X)|| = 1 for every X
 *   sharpened  ||W (f^(X_m) - f^(X_<k))|| <= ||W||_2 eta_i (1 - ((k-1)/N)^p) =: Delta_k
 *
 * eta is the largest difference of two terms of one sequence, eta_i that of sequence i: the largest
 * of all is the paper's. With one head it is exact in O(s^2): for two values v the square is convex
 * in the two factors q . k, so that its maximum is at the ends of their ranges. With more,
 * pairs of values are visited by falling bound until no bound is above what was found (exact), or
 * until the work limit is reached: then the bound (each head at its own ends) is used, an upper bound
 * of eta.
 *
 * Everything is computed in double from q, k, v and W as they are; errors are bounds on rounding
 * (gamma_m = m u / (1 - m u)). theorem-4-3.md.
 */
#pragma once

#include "analysis/theorems/statement.h"
#include "base/progress.h"
#include "linalg/dense.h"
#include "model/model.h"

/* The parameters of a model of architecture `linear`, as doubles. */
typedef struct {
    cs_pool pool; /* of all below */
    int64_t vocab, width, heads;
    int64_t positions;             /* rows of the position table, 0: none */
    double pooling;                /* power of 1/n of the model */
    double *token;                 /* vocab x width, row-major */
    double *position;              /* positions x width, or NULL */
    double *qkv;                   /* 3 width x width: rows of q, then k, then v */
    cs_dense w;                    /* vocab x width */
    double norm, norm_error;       /* ||W||_2 */
    double frobenius, largest_row; /* ||W||_F, largest ||w_y|| */
} cs_generation_bound_model;

/* CS_ERR_USAGE names another architecture; CS_ERR_INPUT a parameter that is not finite and its
 * place. Cost O(vocab width^2) for ||W||_2 by the Gram matrix. */
cs_status cs_generation_bound_model_of(const cs_model *model,
                                       cs_generation_bound_model *out) CS_MUST_CHECK;
/* A randomised model without positions (cs_model_randomise under `seed`). */
cs_status cs_generation_bound_model_random(int64_t vocab, int64_t width, int64_t heads,
                                           uint64_t seed,
                                           cs_generation_bound_model *out) CS_MUST_CHECK;
/* ||W||_2, ||W||_F and the largest row of a model whose other fields are set. */
cs_status cs_generation_bound_model_measure(cs_generation_bound_model *m) CS_MUST_CHECK;
void cs_generation_bound_model_free(cs_generation_bound_model *m);

/* q, k and v of the n tokens of a sequence: n x width each, row-major. */
typedef struct {
    int64_t n, width, heads;
    double *q, *k, *v;
    double term; /* >= ||g(u, v, w)||, computed with absolute values too */
    bool equal;  /* all rows are the same */
} cs_generation_bound_rows;

/* CS_ERR_INPUT: a token out of range, or beyond the positions. */
cs_status cs_generation_bound_rows_of(const cs_generation_bound_model *m, const int32_t *token,
                                      int64_t n, cs_generation_bound_rows *out) CS_MUST_CHECK;
void cs_generation_bound_rows_free(cs_generation_bound_rows *r);

/* f^ of the rows chosen (count >= 1) in f[0 .. width - 1]; f has a capacity of 2 width. power is 2
 * or 3. O(count width). */
void cs_generation_bound_features(const cs_generation_bound_rows *r, const int32_t *row,
                                  int64_t count, int power, double *f);

typedef struct {
    double value, error;
    double low; /* a difference that occurs: value if exact */
    bool exact; /* else value is an upper bound */
} cs_generation_bound_eta;

/* work: most evaluations of ||g - g'||^2 (0: 2^25). O(s^2 (width + heads) + work heads). */
cs_status cs_generation_bound_eta_of(const cs_generation_bound_rows *r, int power, int64_t work,
                                     cs_generation_bound_eta *out) CS_MUST_CHECK;

/* --- the audit ---------------------------------------------------------------------------------*/

typedef struct {
    int64_t count;
    const int32_t *const *token; /* count */
    const int64_t *length;       /* count */
    const int64_t *document;     /* count; NULL: the number of the sequence */
} cs_generation_bound_text;

typedef enum { CS_BOUND_SPECTRAL, CS_BOUND_CROSS_ENTROPY } cs_generation_bound_loss;

typedef struct {
    int64_t unmasked;  /* N, at most s - 1; 0: s - round(mask_ratio s), clamped into 1..s-1 */
    double mask_ratio; /* in (0, 1) */
    /* sets X_m for each prefix: all if there are no more, else this number is drawn by the seed; 0:
     * 4 */
    int64_t masks;
    int64_t last; /* the largest k; 0: N + 1 */
    uint64_t seed;
    const double *negative; /* P(X_-), vocab numbers; NULL: frequencies of the tokens predicted */
    double eta_scale;       /* factor on eta, so that tests can make the audit fail. 0: 1 */
    int64_t blocks;         /* of the jackknife over documents; 0: 20 */
    cs_generation_bound_loss loss;            /* of the curve: L_b or cross-entropy */
    double factor;                            /* b; 0: 2 */
    const cs_generation_bound_model *against; /* the curve has its loss too; NULL: none */
    const cs_progress *progress;
} cs_generation_bound_options;

/* The two sides of a statement on its worst case: first FAIL, then a side that is not finite, then
 * INCONCLUSIVE, then the least margin relative to the error. */
typedef struct {
    int64_t count; /* cases */
    double lhs, rhs, error;
    int64_t sequence, k;
} cs_generation_bound_case;

/* One form of f. Sums f for the printed statements, means for the sharpened ones. */
typedef struct {
    int power;
    /* The largest of all sequences. */
    cs_generation_bound_eta eta;
    /* Sequences whose eta is exact. */
    int64_t exact;
    /* sum_k w_k^2/(k-1)^2p / 2N and sum_k w_k / 2N, means. */
    double first, second;
    /* L_gen of the sums. */
    struct {
        double gen, error;
    } sums;
    /* L_gen of the means, and its bound. */
    struct {
        double gen, rhs, error, trivial;
    } means;
    struct {
        /* The maximum of -z_+ + z_-^2 over the masks seen. */
        double seen, error;
        /* Upper bound of |z_+| + z_-^2 on any mask. */
        double bound;
        /* The maximum of (-z_+ + z_-)^2, as printed; ar_literal: over prefixes. */
        double literal, ar_literal;
        /* The maximum of -z_+ over the same. */
        double largest_plus;
    } delta;
    /* Of ||W f||, prefixes and masks. */
    struct {
        double low, high, error;
    } norm;
    struct {
        /* Factor 1 as printed; 2. */
        cs_generation_bound_case triangle, triangle_two;
        /* ||eps||^2 <= w eta; ||eps|| <= w eta. */
        cs_generation_bound_case epsilon, epsilon_norm;
        /* z_-^2 <= 1. */
        cs_generation_bound_case negative;
        /* The bound and its consequence for single terms. */
        cs_generation_bound_case sharp, sharp_loss;
    } worst;
    /* ||W (f^ - f^)|| / Delta_k. */
    struct {
        double least, median, largest;
    } tightness;
} cs_generation_bound_form;

typedef struct {
    /* p = 2 and 3. */
    cs_generation_bound_form form[2];
    /* Sequences audited, and those excluded, which are shorter than 2 tokens. */
    int64_t sequences, excluded;
    /* (sequence, k, mask). */
    int64_t cases;
    /* Of these k - 1 = N: X_m is the prefix, both sides are 0. */
    int64_t whole;
    /* Sequences of equal rows: eta = 0, both sides are 0. */
    int64_t alike;
    /* Sequences all of whose masks went into delta. */
    int64_t enumerated;
    /* Prefixes longer than N, which the theorem excludes. */
    int64_t uncovered;
    /* N. */
    int64_t lowest, highest;
    /* By k: 0 .. lengths - 1; sums over the cases of k, and by block of documents. */
    int64_t lengths, blocks;
    /* blocks x lengths x CS_BOUND_CURVE. */
    double *curve;
} cs_generation_bound_audit;

enum { /* columns of the curve; the form is p = 2, the loss that of the model as it is */
       CS_BOUND_N,
       CS_BOUND_MISALIGNMENT,
       CS_BOUND_W,
       CS_BOUND_LOSS,      /* of the prefix */
       CS_BOUND_FULL_LOSS, /* of X_m, mean over the masks */
       CS_BOUND_OTHER,     /* of the prefix, by the other model */
       CS_BOUND_DELTA,
       CS_BOUND_DISTANCE, /* ||W (f^(X_m) - f^(X_<k))||, mean over the masks */
       CS_BOUND_GAP,      /* LOSS - OTHER, or LOSS - FULL_LOSS without another model */
       CS_BOUND_CURVE
};

/* Evaluates both forms. CS_ERR_USAGE names an option out of range, N > s - 1, a model `against` of
 * another vocabulary; CS_ERR_INPUT: no sequence of 2 tokens, as cs_generation_bound_rows_of, or a sequence whose
 * terms are so large that a side would overflow; CS_ERR_INTERRUPT.
 * Cost a case O(vocab width); memory O(vocab masks). */
cs_status cs_generation_bound_audit_of(const cs_generation_bound_model *m,
                                       const cs_generation_bound_text *text,
                                       const cs_generation_bound_options *options,
                                       cs_generation_bound_audit *out) CS_MUST_CHECK;
void cs_generation_bound_audit_free(cs_generation_bound_audit *a);

/* The statements of an audit, "4.3-..." with p in the id where both forms have one. */
cs_status cs_generation_bound_state(const cs_generation_bound_model *m,
                                    const cs_generation_bound_audit *a, const char *input,
                                    cs_statements *out) CS_MUST_CHECK;

/* Fixed small models on which the printed statements fail, with the true values. */
cs_status cs_generation_bound_examples(cs_statements *out) CS_MUST_CHECK;

/* Spearman's correlation over k of misalignment and degradation (CS_BOUND_GAP), with its delete-block
 * jackknife error over documents and the blocks that were left out in turn for it (those with
 * documents); NaN with fewer than three k or two blocks. Every k counts once. */
cs_status cs_generation_bound_spearman(const cs_generation_bound_audit *a, double *rho, double *se,
                                       int64_t *blocks) CS_MUST_CHECK;

/* Printed claim (LA 4.2): generation suffers from misaligned lengths. other: the name of the model
 * that the loss was compared with, or NULL. */
cs_status cs_generation_bound_state_order(const cs_generation_bound_audit *a, const char *input,
                                          const char *other, cs_statements *out) CS_MUST_CHECK;

/* Adds an object for each k to an array: model, k, n, misalignment, w_k, loss, full_loss, other_loss, gap,
 * gap_se, distance, delta_k. */
cs_status cs_generation_bound_curve(const cs_generation_bound_audit *a, const char *model,
                                    bool other, cs_item *curve) CS_MUST_CHECK;
