/* Connectivity of a co-occurrence matrix: what LA 4.1.1 reads off feature similarities (its Figure
 * 2), read off the matrix itself.
 *
 * The bipartite graph of A joins conditional texts X and target tokens X+ with weight A[X, X+]. Per
 * connected component, A renormalised to sum 1, with second singular value sigma_2 (0 if rank 1)
 * and volume vol(S u S') = P_C(S) + P_G(S') (total 2):
 *
 *   h = min cut(S u S') / min(vol, 2 - vol),      (1 - sigma_2) / 2 <= h <= sqrt(1 - sigma_2^2)
 *
 * The sweep over (u_2 / sqrt(P_C), v_2 / sqrt(P_G)) finds a cut below the upper bound (Chung 1997,
 * for the bipartite double cover).
 *
 * The least cross-entropy of a model that predicts X+ from X is H(X+ | X) = -sum A log P(X+ | X).
 *
 * A Gram form (cs_csr.gram) says all of this but the contexts: numbers of rows and of pairs, the
 * sweep and the entropy are NaN.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cooc/spectrum.h"
#include "linalg/csr.h"

/* The sweep cut of one component. */
typedef struct {
    int64_t rows, cols;      /* of the component */
    double sigma2, residual; /* second singular value; 0 if rank 1 */
    double lower, upper;     /* Cheeger bounds of h */
    double sweep;            /* h of the sweep cut: lower <= h <= sweep <= upper */
    double sweep_volume;     /* of its smaller side, of 2 */
} cs_cut;

/* Those of the spectra, with k the singular values below 1 that are wanted (0: 32), and certify 0
 * for CS_CERTIFY_USUAL. What is computed (vectors, moments) is set here. */
typedef cs_spectrum_options cs_connectivity_options;

typedef struct {
    cs_spectrum spectrum; /* values only: the ones (a component each) and then k more */
    double giant_mass;    /* share of mass of the heaviest component */
    double gap;     /* 1 - the largest singular value that is not a component's 1; 1 when there
                   is none; NaN when the spectrum did not converge */
    cs_cut cut;     /* of the heaviest component */
    double entropy; /* H(X+ | X), nats */
} cs_connectivity;

void cs_connectivity_free(cs_connectivity *c);

/* Components, spectrum, moments, gap and the sweep cut of the heaviest component of a matrix of
 * counts or probabilities. Cost: one truncated SVD of k + components triplets, O(nnz log) for the
 * sweep; one SVD of 2 triplets of the heaviest component where its second is not among those or
 * their vectors take more than 1 GiB. A spectrum that did not converge is no failure
 * (spectrum.converged says so); a cut that rests on one is, as in cs_cut_of. */
cs_status cs_connectivity_of(const cs_csr *a, const cs_connectivity_options *options,
                             cs_connectivity *out) CS_MUST_CHECK;

/* The sweep cut of a connected matrix (exactly one component; CS_ERR_INPUT otherwise).
 * CS_ERR_CONVERGE when the second triplet did not converge: without it neither the bounds nor the
 * order of the sweep are known. */
cs_status cs_cut_of(const cs_csr *a, const cs_connectivity_options *options,
                    cs_cut *out) CS_MUST_CHECK;

/* --- as a list of numbers with names, which a jackknife can measure --- */

enum {
    CS_CONNECTIVITY_METRICS = 19,
    CS_CONNECTIVITY_SIGMAS = 8, /* leading values below 1, which get an interval too */
    CS_CONNECTIVITY_VALUES = CS_CONNECTIVITY_METRICS + CS_CONNECTIVITY_SIGMAS,
};

/* interval: its error is jackknifed over documents (that of a count is not: its leave-one-out
 * values say nothing of a spread). */
typedef struct {
    const char *name, *definition;
    bool interval;
} cs_connectivity_metric_info;
extern const cs_connectivity_metric_info cs_connectivity_metric[CS_CONNECTIVITY_METRICS];

/* The metrics of one matrix, then its leading values below 1 (NaN where there are fewer).
 * resampled: for the jackknife, whose errors would be those of the samples where sum sigma^4 is an
 * estimate: that value is then NaN. */
void cs_connectivity_values(const cs_connectivity *c, double values[CS_CONNECTIVITY_VALUES],
                            bool resampled);
