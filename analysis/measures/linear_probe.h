/** \file
 * Linear probes: how well a linear function of frozen features predicts a label (Alain and Bengio,
 * 2016).
 *
 * With features standardised over the training rows,
 * \f$z_{ij} = (x_{ij} - \mathrm{mean}_j) / \mathrm{sd}_j\f$ (constant ones are left out), targets
 * y_i and a penalty p, the objectives are
 *
 * \f[ f(W, b) = \frac1n \sum_i w_i \big[ -\log \mathrm{softmax}(W^T z_i + b)_{y_i} \big] + \frac p2 \|W\|^2 \quad \text{(classes)}, \f]
 * \f[ f(w, b) = \frac1n \sum_i \tfrac12 (v_i - w^T z_i - b)^2 + \frac p2 \|w\|^2, \quad v_i = (y_i - \mathrm{mean}) / \mathrm{sd} \quad \text{(regression)}. \f]
 *
 * The bias is not penalised. w_i is 1, or n / (K n_{y_i}) if balanced. All K classes have a column
 * of W, as in the multinomial model of scikit-learn: p = 1 / (n C). For two classes its binary
 * model has one column w = W_1 - W_0, and p = 2 / (n C).
 *
 * Classes are fitted by L-BFGS (Liu and Nocedal, 1989) preconditioned by Z^T Z and the penalty,
 * regression in closed form (Cholesky, refined). Convergence is checked by the gradient, which is
 * recomputed at the solution.
 *
 * The penalty is the one of a grid with the least mean loss on held-out training rows (the larger
 * of equal ones), by stratified folds or a single held-out share; features are standardised
 * without the held-out rows. Each path goes from large to small penalties with warm starts.
 *
 * Bits depend on the data and the seed, not on the number of threads.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/status.h"
#include "io/rows.h"

/** Options of a fit; zeros are defaults. */
typedef struct {
    /** Number of penalties. */
    int64_t penalties;
    /** penalties positive values, descending; NULL: 10^1, 10^0, ..., 10^-5. Borrowed. */
    const double *penalty;
    /** Number of folds; 0: 5; at most the number of rows. */
    int64_t folds;
    /** Share of the rows of each class that is held out once, in (0, 1), in place of folds; 0, or
     * if that is no row: folds.
     */
    double share;
    /** Classes have equal total weight. */
    bool balanced;
    /** Unit of each row of x: rows of a unit (patches of an image) are held out together, and folds
     * are not stratified; NULL: each row is a unit. Borrowed.
     */
    const int64_t *unit;
    /** Tolerance on |grad f| of the fit; 0: 1e-6. Fits of folds use 100 times as much. */
    double tolerance;
    /** Most iterations of a fit; 0: 2000. */
    int64_t max_iterations;
    /** Seed of the folds. */
    uint64_t seed;
    /** 0: cs_threads(). */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_linear_probe_options;

/** A penalty of the grid. */
typedef struct {
    /** The penalty. */
    double penalty;
    /** Mean loss on held-out rows without the penalty term; NaN if it is the only penalty. */
    double held_out;
    /** Fits of folds that stopped before their tolerance. */
    int64_t unconverged;
} cs_linear_probe_step;

/** A fitted probe. Free it with cs_linear_probe_free. */
typedef struct {
    /** Owns all arrays. */
    cs_pool pool;
    /** Number of features. */
    int64_t features;
    /** Number of classes that occur in training; 1 for regression. */
    int64_t outputs;
    /** Number of classes as given; 0: regression. */
    int64_t classes;
    /** Number of training rows. */
    int64_t rows;
    /** Number of constant features, left out. */
    int64_t constant;
    /** features: means. */
    double *mean;
    /** features: 1 / sd, so z = (x - mean) scale; 0 for a constant feature. */
    double *scale;
    /** features x outputs, row-major, for z; 0 for a constant feature. */
    double *weight;
    /** outputs; their sum is 0 for classes. */
    double *intercept;
    /** outputs: class of each output; NULL: regression. */
    int64_t *class_of;
    /** Regression: y = value_mean + value_scale (z w + b); else 0. */
    double value_mean;
    /** Regression: see value_mean; else 1. */
    double value_scale;
    /** Number of steps of the grid. */
    int64_t steps;
    /** Index of the chosen step. */
    int64_t chosen;
    /** steps steps. */
    cs_linear_probe_step *step;
    /** f of the fit with the chosen penalty. */
    double loss;
    /** |grad f| there. */
    double gradient;
    /** Iterations of that fit. */
    int64_t iterations;
    /** The gradient is at most the tolerance. */
    bool converged;
    /** Classes: share of training rows predicted correctly. Regression: NaN. */
    double train_accuracy;
    /** Classes: least margin, the score of the true class minus the largest other; positive if the
     * rows are separated. Regression: NaN.
     */
    double least_margin;
} cs_linear_probe;

/** Fits a probe. Time: 4 n features outputs flops for each evaluation of f. Memory: 8 n features
 * bytes and 16 times features x outputs doubles.
 *
 * \param x the features, one row for each input
 * \param count number n of training rows
 * \param row n row numbers of x; NULL: 0..n-1
 * \param y a target for each row of x: class numbers 0..classes-1, or values
 * \param classes number of classes; 0: regression
 * \param out receives the probe; a fit that does not converge is CS_OK (cs_linear_probe.converged)
 * \retval CS_ERR_USAGE an option is out of range
 * \retval CS_ERR_INPUT fewer than two rows, a single class, equal values, a label out of range, a
 *     feature that is not finite (row and column), no varying feature, or too few rows to hold any
 *     out
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_linear_probe_fit(const cs_rows *x, int64_t count, const int64_t *row, const double *y,
                              int64_t classes, const cs_linear_probe_options *options,
                              cs_linear_probe *out) CS_MUST_CHECK;

/** Frees a probe; accepts a zeroed object. */
void cs_linear_probe_free(cs_linear_probe *p);

/** The least mean loss on held-out rows over several penalties, without the fit of all rows; NaN if
 * all labels are equal. Errors of cs_linear_probe_fit.
 */
cs_status cs_linear_probe_held_out(const cs_rows *x, const double *y, int64_t classes,
                                   const cs_linear_probe_options *options,
                                   double *out) CS_MUST_CHECK;

/** Checks that all features are finite. Reads every row once.
 *
 * \retval CS_ERR_INPUT names row and column of the first that is not
 */
cs_status cs_linear_probe_check(const cs_rows *x) CS_MUST_CHECK;

/** Predicts a class (the largest score, the lowest class on ties) or a value for each row of x.
 *
 * \param x rows to predict
 * \param threads 0: cs_threads()
 * \param prediction receives x->rows numbers
 * \retval CS_ERR_INPUT another number of columns than p->features, or a feature that is not finite
 */
cs_status cs_linear_probe_predict(const cs_linear_probe *p, const cs_rows *x, int threads,
                                  double *prediction) CS_MUST_CHECK;

/** Scores W^T z + b of each row, x->rows x outputs, row-major; of classes in the order of class_of.
 * Errors of cs_linear_probe_predict.
 */
cs_status cs_linear_probe_scores(const cs_linear_probe *p, const cs_rows *x, int threads,
                                 double *score) CS_MUST_CHECK;
