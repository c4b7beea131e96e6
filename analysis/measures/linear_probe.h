/* Linear probes: how well a linear function of frozen features predicts a label (Alain and Bengio,
 * 2016).
 *
 * With features standardised over the training rows, z_ij = (x_ij - mean_j) / sd_j (constant ones
 * are left out), and targets y_i:
 *
 *   classes     f(W, b) = (1/n) sum_i w_i [-log softmax(W^T z_i + b)_{y_i}] + (penalty / 2) |W|^2
 *   regression  f(w, b) = (1/n) sum_i (1/2) (v_i - w^T z_i - b)^2 + (penalty / 2) |w|^2,
 *               v_i = (y_i - mean) / sd
 *
 * The bias is not penalised. Both forms do not change with the scale of features or values. w_i is
 * 1, or n / (K n_{y_i}) (balanced). All K classes have a column of W, as in the multinomial model
 * of scikit-learn: penalty = 1 / (n C). With two classes its binary model has one column,
 * w = W_1 - W_0, and then penalty = 2 / (n C).
 *
 * Classes are fitted by L-BFGS (Liu and Nocedal, 1989; libLBFGS) in a metric of Z^T Z and the
 * penalty, values in closed form (Cholesky, refined). Neither is believed: `gradient` is |grad f| computed anew at what came out, converged
 * means that it is at most the tolerance.
 *
 * The penalty is the one of a grid whose mean loss on held-out rows is least (the larger of equal
 * ones): stratified folds, or one share held out, of the training rows alone, each standardised
 * without the rows held out. Each path goes from large to small penalties, every fit starting from
 * the one before.
 *
 * Bits depend on the data and the seed, never on the number of threads: sums are formed over 16
 * fixed runs of rows and added in their order; BLAS is called on one thread inside each.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/status.h"
#include "io/rows.h"

typedef struct {
    int64_t penalties;
    const double *penalty; /* positive, falling; NULL: 10^1, 10^0, ..., 10^-5 */
    int64_t folds;         /* 0: 5; at most the rows */
    double share; /* of the rows of each class held out once, in (0, 1); 0, or where that is
                              no row: folds */
    bool balanced;
    const int64_t
        *unit;        /* of each row of x: rows of one unit, as the patches of a picture, are held
                            out together, and folds are not stratified; NULL: each row is one */
    double tolerance; /* on |grad f| of the fit; 0: 1e-6. Fits of folds: 100 times as much */
    int64_t max_iterations; /* of one fit; 0: 2000 */
    uint64_t seed;          /* of the folds */
    int threads;            /* 0: cs_threads() */
    const cs_progress *progress;
} cs_linear_probe_options;

typedef struct {
    double penalty;
    double held_out; /* mean loss on rows held out, without the penalty; NaN: the only penalty */
    int64_t unconverged; /* fits of folds that stopped before their tolerance */
} cs_linear_probe_step;

typedef struct {
    cs_pool pool;              /* of all below */
    int64_t features, outputs; /* outputs: classes that training has; regression: 1 */
    int64_t classes;           /* as given; 0: regression */
    int64_t rows;              /* trained on */
    int64_t constant;          /* features left out */
    double *mean, *scale;      /* features: z = (x - mean) * scale, scale 0 of a constant one */
    double *weight;            /* features x outputs, row-major, of z; 0 for a constant one */
    double *intercept;         /* outputs; sum 0 of classes */
    int64_t *class_of;         /* outputs: number of the class; NULL: regression */
    double value_mean, value_scale; /* regression: y = mean + scale (z w + b); else 0 and 1 */
    int64_t steps, chosen;
    cs_linear_probe_step *step; /* the grid */
    double loss, gradient;      /* f and |grad f| of the fit at step[chosen] */
    int64_t iterations;
    bool converged;
    /* Classes: how many training rows are classified right, and the least margin (score of the true
     * class less the largest other; positive: the rows are separated). Regression: NaN. */
    double train_accuracy, least_margin;
} cs_linear_probe;

/* x: features; row: `count` row numbers of x to train on (NULL: 0..count-1); y: a target for each
 * row of x: class numbers 0..classes-1, or values (classes 0). Memory: 8 count features bytes and
 * 16 runs of features x outputs, and where these are no more than rows 16 features^2; time: 4 count
 * features outputs flops an evaluation of f, and then 2 features^2 outputs more.
 * CS_ERR_USAGE: an option out of range. CS_ERR_INPUT: fewer than two rows, one class alone, all
 * values equal, a label out of range, a state that is not finite (row and column), no feature that
 * varies, too few rows to hold any out. A fit that does not converge is CS_OK: see `converged`. */
cs_status cs_linear_probe_fit(const cs_rows *x, int64_t count, const int64_t *row, const double *y,
                              int64_t classes, const cs_linear_probe_options *options,
                              cs_linear_probe *out) CS_MUST_CHECK;
void cs_linear_probe_free(cs_linear_probe *p);

/* The least mean loss on held-out rows of x over several penalties, without the fit of all rows; NaN
 * where the labels are one. Errors as above. */
cs_status cs_linear_probe_held_out(const cs_rows *x, const double *y, int64_t classes,
                                   const cs_linear_probe_options *options,
                                   double *out) CS_MUST_CHECK;

/* Whether all numbers of x are finite, so that test rows are refused before a training:
 * CS_ERR_INPUT names the first that is not by row and column. Reads every row once. */
cs_status cs_linear_probe_check(const cs_rows *x) CS_MUST_CHECK;

/* prediction: a class number (the largest score, the lowest class on ties) or value for each row of
 * x. CS_ERR_INPUT: columns that are not p->features, a state that is not finite. */
cs_status cs_linear_probe_predict(const cs_linear_probe *p, const cs_rows *x, int threads,
                                  double *prediction) CS_MUST_CHECK;

/* score: outputs a row, W^T z + b; of classes those of class_of, in its order. Errors as above. */
cs_status cs_linear_probe_scores(const cs_linear_probe *p, const cs_rows *x, int threads,
                                 double *score) CS_MUST_CHECK;
