/* Effective ranks of a matrix of hidden states H (n x d), from the eigenvalues lambda_k = sigma_k^2
 * of H^T H, k = 1..min(n, d), descending. One name means many numbers, so each measure says what it
 * is:
 *
 *   rank_tau               least k with sum_{i <= k} lambda_i >= tau sum_i lambda_i (MAE-LM, Figure
 *                          1; tau = 0.9)
 *   rank_tau_interpolated  the same, linear between k - 1 and k
 *   entropy_rank           exp(-sum p_k ln p_k), p_k = sigma_k / sum sigma (Roy and Vetterli,
 *                          EUSIPCO 2007)
 *   entropy_rank_squared   the same with p_k = lambda_k / sum lambda
 *   rankme                 the same with p_k = sigma_k / sum sigma + eps, not renormalised
 *                          (Garrido, Balestriero, Najman and LeCun, ICML 2023; eps = 1e-7)
 *   participation_ratio    (sum lambda)^2 / sum lambda^2
 *   stable_rank            sum lambda / lambda_1 (Rudelson and Vershynin, JACM 54(4), 2007)
 *   numerical_rank         number of sigma_k above a tolerance
 *   decay_exponent         alpha of lambda_k ~ k^-alpha, least squares of ln lambda on ln k
 *                          (analysis/measures/dimension.h)
 *   rank_tau_corrected     B theta - (B - 1) mean_b theta_b, theta the interpolated rank_tau and
 *                          theta_b that without block b (Quenouille, Biometrika 43, 1956): ranks
 *                          grow with rows, and this takes out the part of the bias that falls as
 *                          1/n. It estimates the rank of the population, the others that at n.
 *                          Clipped to [tau, tau d], where the population's lies (lambda descends,
 *                          so its sums are above their chord): never farther from it.
 *
 * Standard errors: delete-block jackknife over the groups of the Gram blocks, se^2 = (B - 1) / B
 * sum_b (theta_b - mean)^2. A bootstrap of rows would draw rows twice and bias every rank
 * downwards. The error of rank_tau is that of the interpolated one; counts have none. Without
 * blocks to leave out there is no correction: NaN.
 *
 * The corrected rank varies more than the plain one, and the variance of its pseudo-values B theta -
 * (B - 1) theta_b, divided by B, is that of the plain one by algebra. Its own error is, over P =
 * min(B, 10) parts of consecutive blocks, theta_pq without parts p and q,
 *
 *   se^2 = (P - 1) / P sum_p (c_p - mean)^2 + (c'' - c)^2
 *   c_p  = (P - 1) theta_p - (P - 2) mean_{q != p} theta_pq          the corrected without part p
 *   c''  = (P^2 theta - 2 (P - 1)^2 mean theta_p + (P - 2)^2 mean theta_pq) / 2
 *
 * The first term is the jackknife of the corrected rank c itself, too large on average rather than
 * too small (Efron and Stein, Annals of Statistics 9, 1981); the second is the bias that is left: a
 * bias a / n + b / n^2 leaves about -b / n^2 in c and nothing in c'', the jackknife of second order
 * (Schucany, Gray and Owen, JASA 66, 1971), which itself varies too much. P (P + 1) / 2
 * eigenproblems more, P - 1 degrees of freedom, NaN below 3 parts. docs/explanation/effective-rank.md has what the
 * interval covers.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "linalg/gram.h"

/* Most parts of the jackknife of rank_tau_corrected. */
#define CS_RANK_PARTS 10

typedef enum {
    CS_RANK_TAU,
    CS_RANK_TAU_INTERPOLATED,
    CS_RANK_ENTROPY,
    CS_RANK_ENTROPY_SQUARED,
    CS_RANK_RANKME,
    CS_RANK_PARTICIPATION,
    CS_RANK_STABLE,
    CS_RANK_NUMERICAL,
    CS_RANK_DECAY,
    CS_RANK_OF_SPECTRUM, /* the measures above follow from a spectrum alone */
    CS_RANK_TAU_CORRECTED = CS_RANK_OF_SPECTRUM, /* this one from all that leave out a block */
    CS_RANK_MEASURES
} cs_rank_measure;

typedef struct {
    double tau;       /* in (0, 1] */
    double eps;       /* of RankMe; negative: 1e-7 */
    double tolerance; /* of the numerical rank, relative to sigma_1; 0: max(n, d) 2^-52, or the
                         floor of the eigenvalues when that is larger */
    int64_t decay_first, decay_last; /* range of the decay exponent; 0: 11 to 500 */
    bool centred;                    /* rows less their mean */
    bool jackknife;                  /* standard errors: B + P (P + 1) / 2 eigenproblems more */
    bool every_block;                /* the curve at every block, not at doublings only */
    int threads;
    const cs_progress *progress;
} cs_rank_options;

typedef struct {
    int64_t rows;
    int64_t above; /* eigenvalues above the floor */
    double floor;  /* bound of the eigenvalues' error, gamma trace (linalg/gram.h) */
    double value[CS_RANK_MEASURES]; /* of the spectrum; NaN: rank_tau_corrected */
} cs_rank_point;

typedef struct {
    int64_t rows, cols, blocks;
    int64_t count;  /* of eigenvalues: min(rows, cols) */
    double *lambda; /* descending; those below the floor are 0 */
    double floor;   /* that of the last point of the curve, which is the whole */
    int64_t below;  /* how many were below the floor */
    double value[CS_RANK_MEASURES], se[CS_RANK_MEASURES]; /* se: NaN when there is none */
    /* blocks x CS_RANK_MEASURES: without each block, so that a function of several matrices with
     * the same blocks has an error of its own; NULL without jackknife */
    double *left_out;
    int64_t parts;    /* P; 0: none */
    double *part_out; /* P: rank_tau_corrected without each part; NULL when there is none */
    double unclipped; /* rank_tau_corrected before it was clipped to its range */
    double bias_left; /* c'' - c; NaN when there is no part_out */
    int64_t points;   /* the curve: the first rows of the groups' order, more and more blocks */
    cs_rank_point *point;
    double first_share;    /* lambda_1 / sum lambda */
    int64_t heaviest;      /* row of the largest norm, before shift and division */
    double heaviest_share; /* of the sum of squared norms */
} cs_effective_rank;

const char *cs_rank_name(cs_rank_measure measure);

/* The definition of `measure` at one point of the result's curve (its last point is the whole), in one
 * sentence: the formula with the numbers that were used, sigma or sigma^2, centred or not, rows divided by
 * their norms or not, rows used. The caller frees the text; NULL when there is no memory. */
char *cs_rank_definition(cs_rank_measure measure, const cs_rank_options *options, const cs_gram *g,
                         const cs_effective_rank *result, const cs_rank_point *point) CS_MUST_CHECK;

/* The measures of a spectrum: lambda descending and not negative; rows, cols for the tolerance. All
 * 0 when the spectrum is (ranks of a zero matrix). NaN: decay without two values in its range,
 * rank_tau_corrected. */
void cs_rank_measures(int64_t count, const double *lambda, double tolerance,
                      const cs_rank_options *options, double value[CS_RANK_MEASURES]);

/* Everything above of Gram blocks. (B + P (P + 1) / 2 + about log2 B + 1) eigenproblems of d x d, 4/3 d^3
 * flops each; memory 8 d^2 bytes beside the blocks, and as much a thread.
 * CS_ERR_USAGE for tau outside (0, 1]; CS_ERR_INPUT for no rows, or centred with one. */
cs_status cs_effective_rank_of(const cs_gram *g, const cs_rank_options *options,
                               cs_effective_rank *out) CS_MUST_CHECK;
void cs_effective_rank_free(cs_effective_rank *r);
