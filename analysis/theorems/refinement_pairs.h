/* Spectra of one corpus under many contexts, pair by pair (refinement-and-kernel.md, refinement). */
#pragma once

#include "analysis/theorems/registry.h"
#include "cooc/builder.h"

/* Comparison of two contexts: whether the first is coarser, and whether sigma_j(coarse) <=
 * sigma_j(fine). */
typedef struct {
    bool ordered; /* its rows are a function of those of the finer one (cooc/refinement.h) */
    /* j = 1..compared; some values may be too small to be distinguished from 0 */
    int64_t compared;
    /* of these, values known to eight digits and equal within that, except those that are 1 by the
     * components */
    int64_t equal;
    /* j for which the inequality is closest to failing, among the others if there are any; 0: both
     * sides are 1, or 0 */
    int64_t j;
    double coarse, fine, error; /* sigma_j of both, and a bound on the error of their difference */
    double marginals, marginals_error; /* largest difference of P_G, and its rounding */
    /* smallest eigenvalue of Abar^T Abar(fine) minus that of coarse; NaN: too many columns */
    double loewner, loewner_error;
    /* least share of the mass of events that has a row, of the two */
    double kept;
    bool converged;
} cs_refined;

typedef struct {
    int64_t count, events;
    char (*name)[24]; /* count: "each:2", "each:2+k" with a known target position */
    cs_refined *pair; /* count x count: at coarse * count + fine */
} cs_refined_pairs;

void cs_refined_pairs_free(cs_refined_pairs *p);

/* Of `in`: spectrum, triplets (0: 32, after up to 256 that are 1; if not all are computed). Time: a
 * build, a spectrum and a sort of the events for each context. Errors of cs_cooc_build,
 * cs_refinement_of and cs_spectrum_of. */
cs_status cs_refined_pairs_of(const cs_corpus *corpus, const cs_cooc_options *options,
                              int64_t count, const cs_context *context, const cs_theorem_input *in,
                              cs_refined_pairs *out) CS_MUST_CHECK;
