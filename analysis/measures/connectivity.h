/** \file
 * Connectivity of a co-occurrence matrix: the property that LA 4.1.1 reads from feature
 * similarities (its Figure 2), computed from the matrix itself.
 *
 * The bipartite graph of A joins conditional texts X and target tokens X+ with weight A[X, X+].
 * For a connected component, renormalised to sum 1, with second singular value sigma_2 (0 if the
 * rank is 1) and volume \f$\mathrm{vol}(S \cup S') = P_C(S) + P_G(S')\f$ (total 2), the Cheeger
 * constant is
 *
 * \f[ h = \min \frac{\mathrm{cut}(S \cup S')}{\min(\mathrm{vol},\, 2 - \mathrm{vol})}, \qquad \frac{1 - \sigma_2}{2} \le h \le \sqrt{1 - \sigma_2^2}. \f]
 *
 * The sweep over \f$(u_2/\sqrt{P_C}, v_2/\sqrt{P_G})\f$ finds a cut below the upper bound (Chung
 * 1997, for the bipartite double cover). The least cross-entropy of a model that predicts X+ from
 * X is \f$H(X^+ \mid X) = -\sum A \log P(X^+ \mid X)\f$.
 *
 * For a Gram form (cs_csr.gram) the numbers of rows and pairs, the sweep and the entropy are NaN.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cooc/spectrum.h"
#include "linalg/csr.h"

/** The sweep cut of a component. */
typedef struct {
    /** Rows of the component. */
    int64_t rows;
    /** Columns of the component. */
    int64_t cols;
    /** Second singular value; 0 if the rank is 1. */
    double sigma2;
    /** Its residual. */
    double residual;
    /** Lower Cheeger bound of h. */
    double lower;
    /** Upper Cheeger bound of h. */
    double upper;
    /** h of the sweep cut: lower <= h <= sweep <= upper. */
    double sweep;
    /** Volume of its smaller side, of 2. */
    double sweep_volume;
} cs_cut;

/** Options of a spectrum with k the number of values below 1 (0: 32). certify 0 means
 * CS_CERTIFY_USUAL. values_only and moment4 are set by the function.
 */
typedef cs_spectrum_options cs_connectivity_options;

/** Connectivity of a matrix. Free it with cs_connectivity_free. */
typedef struct {
    /** Values only: 1 for each component, then k more; of a form its k largest. */
    cs_spectrum spectrum;
    /** Leading values that are the ones of components; of a form 0. */
    int64_t ones;
    /** Share of the mass of the heaviest component, in [0, 1]. */
    double giant_mass;
    /** 1 minus the largest singular value that is not the 1 of a component; 1 if there is none; NaN
     * if the spectrum did not converge.
     */
    double gap;
    /** Cut of the heaviest component. */
    cs_cut cut;
    /** H(X+ | X), in nats. */
    double entropy;
} cs_connectivity;

/** Frees the spectrum; accepts a zeroed object. */
void cs_connectivity_free(cs_connectivity *c);

/** Components, spectrum, moments, gap, and the sweep cut of the heaviest component. With a form only
 * the spectrum and its sums are those of the form, and the rest, which describes the graph, is
 * computed from the normalised matrix. Cost: a
 * truncated SVD of k + components triplets and O(nnz log nnz) for the sweep; another SVD of 2
 * triplets of the heaviest component if its second is not among those, or their vectors exceed 1
 * GiB. A spectrum that did not converge is no failure (spectrum.converged).
 *
 * \param a matrix of counts or probabilities
 * \param out receives the result
 * \retval CS_ERR_CONVERGE the second triplet of the heaviest component did not converge
 * \return else as cs_spectrum_of
 */
cs_status cs_connectivity_of(const cs_csr *a, const cs_connectivity_options *options,
                             cs_connectivity *out) CS_MUST_CHECK;

/** The sweep cut of a connected matrix.
 *
 * \retval CS_ERR_INPUT the matrix has not exactly one component
 * \retval CS_ERR_CONVERGE the second triplet did not converge, so neither the bounds nor the order
 *     of the sweep are known
 */
cs_status cs_cut_of(const cs_csr *a, const cs_connectivity_options *options,
                    cs_cut *out) CS_MUST_CHECK;

enum {
    /** Number of metrics of cs_connectivity_values. */
    CS_CONNECTIVITY_METRICS = 19,
    /** Number of leading values below 1 that follow the metrics. */
    CS_CONNECTIVITY_SIGMAS = 8,
    /** Length of the list of cs_connectivity_values. */
    CS_CONNECTIVITY_VALUES = CS_CONNECTIVITY_METRICS + CS_CONNECTIVITY_SIGMAS,
};

/** Description of a metric. */
typedef struct {
    /** Its name in tables. */
    const char *name;
    /** Its formula in one sentence. */
    const char *definition;
    /** Its error is jackknifed over documents. Counts have none. */
    bool interval;
} cs_connectivity_metric_info;

/** Descriptions of the metrics. */
extern const cs_connectivity_metric_info cs_connectivity_metric[CS_CONNECTIVITY_METRICS];

/** The metrics of a matrix, then its leading values below 1 (NaN if there are fewer). `resampled`:
 * for a jackknife; a sum of sigma^4 that is an estimate is then NaN, for its error would be that
 * of the samples.
 */
void cs_connectivity_values(const cs_connectivity *c, double values[CS_CONNECTIVITY_VALUES],
                            bool resampled);
