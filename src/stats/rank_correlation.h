/** \file
 * Rank correlation of two quantities over objects that were each measured in several runs.
 *
 * With x_i, y_i, z_i the means of object i over its runs, i = 1..n:
 *
 * - tau: Kendall's tau_b of x and y with its exact p-value. At constant z the
 *   partial tau of Kendall (Biometrika 32, 1942),
 *   \f$(t_{xy} - t_{xz} t_{yz}) / \sqrt{(1 - t_{xz}^2)(1 - t_{yz}^2)}\f$, for which no exact
 *   p-value is known.
 * - rho: Spearman's correlation of mid-ranks; at constant z by the same formula.
 *
 * Two errors. Over objects, each with its runs: the delete-one jackknife of atanh(tau), whose
 * interval has n - 1 degrees of freedom and includes the noise of runs. Over runs of the same
 * objects: the deviation of tau over bootstrap draws of the r runs of each object, with deviations
 * from the mean multiplied by \f$\sqrt{r/(r-1)}\f$.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** The data; borrowed. */
typedef struct {
    /** n. */
    int64_t objects;
    /** r, the number of runs of each object. */
    int64_t runs;
    /** n x r, row-major, no NaN. */
    const double *x;
    /** n x r, row-major, no NaN. */
    const double *y;
    /** n x r, row-major, no NaN; NULL: nothing is held constant. */
    const double *z;
    /** Seed of the bootstrap draws. */
    uint64_t seed;
} cs_rank_data;

/** The result. */
typedef struct {
    /** tau; NaN if x or y is constant. */
    double tau;
    /** p-value; NaN if tau is NaN, with z, and if both x and y have ties. */
    double p;
    /** Lower end of the 95% interval of tau; NaN for fewer than 3 objects, or if |tau| is 1. */
    double low;
    /** Upper end. */
    double high;
    /** Error over runs; NaN for one run. */
    double runs_se;
    /** rho. */
    double rho;
} cs_rank_correlation;

/** Computes all of them. O(n^4 / 8) time, O(n^2 + n r) memory.
 *
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_rank_correlation_of(const cs_rank_data *data, cs_rank_correlation *out) CS_MUST_CHECK;

/* Kendall's tau-b of two rankings, and its exact p-value under independence.
 *
 * \f[ \tau_b = \frac{S}{\sqrt{(N - T_1)(N - T_2)}}, \qquad S = C - D, \qquad N = n(n-1)/2, \f]
 *
 * with C concordant and D discordant pairs of objects, and T_1, T_2 pairs tied in the first and in
 * the second ranking (Kendall, Biometrika 33, 1945). Under the null hypothesis all orders of the
 * second ranking are equally likely. D is then the number of inversions of a random permutation of
 * a multiset, whose generating function is the q-multinomial coefficient of the sizes of its ties
 * (MacMahon 1913). With n = 4 a perfect order has p = 2/24, so four objects cannot be significant
 * at 5%.
 */
/** The statistic and its p-value. */
typedef struct {
    /** tau_b; NaN if a side is constant or there is one object. */
    double tau;
    /** P(|S'| >= |S|); NaN if tau is NaN or both sides have ties. */
    double p;
} cs_kendall;

/** tau_b and p. O(n^4 / 8) time, O(n^2) memory.
 *
 * \param count n
 * \param first n values, no NaN
 * \param second n values, no NaN
 * \param out receives the result
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_kendall_of(int64_t count, const double *first, const double *second,
                        cs_kendall *out) CS_MUST_CHECK;

/* Agreement of two quantities on the ranking of objects, with the errors of both.
 *
 * Kendall's tau-b with its exact p-value takes values as exact. Counts of pairs
 * take errors into account: a quantity distinguishes two objects if they differ by more than
 *
 * \f[ \sqrt{t_1^2\, \mathrm{se}_1^2 + t_2^2\, \mathrm{se}_2^2}, \f]
 *
 * t_i the 97.5% point of Student's distribution with the degrees of freedom of each error
 * (stats/decide.h), as if the errors were independent. Errors measured on the same inputs are
 * mostly positively correlated, so this is conservative.
 */
/** A value with its error. */
typedef struct {
    /** The value. */
    double value;
    /** Standard error; NaN: unknown, and no pair is distinguished. */
    double se;
    /** Degrees of freedom of `se`; 0: unknown, taken as infinite. */
    int64_t freedom;
} cs_measured;

/** The agreement. */
typedef struct {
    /** Number of objects. */
    int64_t objects;
    /** tau_b and p of the values. */
    cs_kendall kendall;
    /** Pairs that both quantities distinguish, in the same order. */
    int64_t agree;
    /** Pairs that both distinguish, in opposite orders. */
    int64_t disagree;
    /** Pairs that at least one quantity does not distinguish. */
    int64_t undetermined;
} cs_ranking;

/** 1 if a is above b, -1 if below, 0 if they are not distinguished. */
int cs_ranking_order(cs_measured a, cs_measured b);

/** Compares two quantities on the same objects; in both, larger is better.
 *
 * \param count number of objects
 * \param first count values, no NaN
 * \param second count values, no NaN
 * \param out receives the agreement
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second,
                        cs_ranking *out) CS_MUST_CHECK;
