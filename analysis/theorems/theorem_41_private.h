/* Private to Theorem 4.1: labels, the incremental least-squares classifier, rotations.
 *
 * Maths letters: Y[X, c] = sqrt(P_C(X)) pi_c(X), lambda = sigma^2, U_t = the top t left singular
 * vectors, P_T(X, X') = sum_{X+} P_G(X+) P(X|X+) P(X'|X+).
 */
#pragma once

#include "analysis/theorems/theorems.h"
#include "linalg/csr.h"

/* Labels of the rows, and quantities that do not depend on a classifier. Unlabelled rows of
 * positive mass form a separate class, so that every row has one and the theorem applies. */
typedef struct {
    cs_pool pool;
    int64_t rows, cols, classes;
    int32_t *label;        /* rows: y(X), the majority class; -1 for rows of no mass */
    double *mass, *root;   /* rows: P_C, sqrt(P_C) */
    cs_csr hard, soft;     /* rows x classes: 1[y(X) = c] and pi_c(X); empty rows of no mass */
    double unlabelled;     /* mass of the extra class, 0 when there is none */
    double p_max;          /* largest class mass */
    double alpha, alpha_t; /* alpha, alpha~ of y(X), y(X+) the majority of P(c|X+) */
    double p_max_soft;     /* the same for pi: class masses sum_X P_C pi_c */
    double alpha_t_soft;   /* 1 - sum_{X+} P_G sum_c P(c|X+)^2, P(c|X+) from pi */
    double noise;          /* sum_X P_C (1 - pi_{y(X)}) */
    double rounding;       /* bound on the rounding of the sums above */
} cs_41_labels;

/* CS_ERR_INPUT when nothing is labelled, CS_ERR_USAGE when sizes differ or masses are missing. */
cs_status cs_41_labels_of(const cs_labelled *m, const cs_spectrum *spectrum,
                          cs_41_labels *out) CS_MUST_CHECK;
void cs_41_labels_free(cs_41_labels *labels);

/* Two scores within this distance (on the scale where a label is 1) are a tie. */
#define CS_41_TIE 1e-9

/* Least squares of diag(root) target on orthonormal columns that arrive one at a time:
 * scores = sum_j u_j (u_j^T diag(root) target). O(rows classes) a column. */
typedef struct {
    cs_pool pool;
    const cs_41_labels *labels;
    const cs_csr *target; /* rows x classes */
    const double *root;   /* weight of a row in the fit */
    int threads;
    double *score;       /* rows x classes, row-major */
    double *coefficient; /* classes: of the last column */
    double *partial;     /* chunks x (classes + 3) */
    double error;        /* mass on which argmax differs from y(X), ties included */
    double documents;    /* the same against labels drawn from pi(X) */
    double excess;       /* documents - noise, exactly 0 where error is */
} cs_41_fit;

cs_status cs_41_fit_init(const cs_41_labels *labels, const cs_csr *target, const double *root,
                         int threads, cs_41_fit *out) CS_MUST_CHECK;
void cs_41_fit_free(cs_41_fit *fit);

/* Adds a column (rows values, orthonormal to those before) and measures. */
cs_status cs_41_fit_step(cs_41_fit *fit, const double *column) CS_MUST_CHECK;

/* Errors over the rotations of the degenerate singular spaces that straddle t; NaN elsewhere.
 * Arrays of t_max, entry t - 1. */
typedef struct {
    cs_pool pool;
    double *mean, *worst;
    /* drawn for each space: fewer than requested if that would take too long */
    int64_t rotations;
    int64_t straddled; /* number of t with a rotated space */
    int64_t largest;   /* largest dimension of a rotated space */
    bool truncated;    /* a degenerate space extends beyond the computed triplets */
} cs_41_rotations;

cs_status cs_41_rotations_of(const cs_labelled *m, const cs_41_labels *labels,
                             const cs_spectrum *spectrum, int64_t t_max,
                             const cs_theorem_input *options, cs_41_rotations *out) CS_MUST_CHECK;
void cs_41_rotations_free(cs_41_rotations *rotations);

/* Everything measured, entry t - 1 for t = 1..t_max. */
typedef struct {
    cs_pool pool;
    int64_t t_max;
    bool full;          /* all nonzero singular values are known */
    const char *source; /* source of the tails */
    cs_41_labels labels;
    cs_41_rotations rotations;
    double *error, *worst;    /* E as returned; the worst over rotations too */
    double *excess;           /* documents - label noise */
    double *documents, *soft; /* against document labels: trained on y(X); on pi(X) */
    double *unweighted;       /* E of the unweighted fit; NULL when too long */
    double *next;             /* sigma_{t+1}, or an upper bound of it */
    double *tail2, *tail4;    /* sum_{j>t} sigma^2, sigma^4 */
    double *tail4_error;
    double *explained; /* sum_{j<=t} lambda_j ||u_j^T Y||^2 */
    /* bound on the effect of residuals and loss of orthogonality on rhs */
    double *perturbation;
    double defect; /* ||U^T U - I||_F */
} cs_41_curve;

cs_status cs_41_curve_of(const cs_labelled *m, const cs_spectrum *spectrum,
                         const cs_theorem_input *options, cs_41_curve *out) CS_MUST_CHECK;
void cs_41_curve_free(cs_41_curve *curve);

/* Only the sharp bound: for least squares with equal weights of contexts, and with weights P_C. */
void cs_41_weighting(const cs_41_curve *curve, const cs_spectrum *spectrum, const char *input,
                     cs_statements *out);

/* Appends the statements that a curve supports, and its rows to `curve` (may be NULL). */
void cs_41_statements(const cs_41_curve *c, const cs_spectrum *spectrum, const char *input,
                      cs_statements *out, cs_item *curve);
