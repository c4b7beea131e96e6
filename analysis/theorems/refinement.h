/* Spectra of one corpus under many contexts, pair by pair (refinement-and-kernel.md, refinement). */
#pragma once

#include <stdint.h>

#include "analysis/theorems/registry.h"
#include "cooc/builder.h"

/* One context beside another: is the one coarser, and is sigma_j(coarse) <= sigma_j(fine)? */
typedef struct {
    bool ordered;     /* its rows are a function of those of the finer one (cooc/refinement.h) */
    int64_t compared; /* j = 1..compared, of which some may be below what is told from 0 */
    int64_t equal;    /* of these at which both are known to eight digits and equal within that,
                         those that are 1 by the components apart */
    int64_t j;        /* where the inequality is nearest to failing, of the others if there are any;
                         0: both sides are 1, or 0 */
    double coarse, fine, error; /* sigma_j of both, and what bounds the error of their difference */
    double marginals, marginals_error; /* largest difference of P_G, and its rounding */
    double loewner, loewner_error; /* smallest eigenvalue of Abar^T Abar(fine) less that of coarse;
                                      NaN: too many columns */
    double kept;                   /* least share of the events' mass that has a row, of the two */
    bool converged;
} cs_refined;

typedef struct {
    int64_t count, events;
    char (*name)[24]; /* count: "each:2", "each:2+k" where the target's position is given */
    cs_refined *pair; /* count x count: at coarse * count + fine */
} cs_refined_pairs;

void cs_refined_pairs_free(cs_refined_pairs *p);

/* Of `in`: spectrum, triplets (0: 32, after up to 256 that are 1; where not all are taken). Time: a build,
 * a spectrum and a sort of the events a context. Errors of cs_cooc_build, cs_refinement_of and
 * cs_spectrum_of. */
cs_status cs_refined_pairs_of(const cs_corpus *corpus, const cs_cooc_options *options,
                              int64_t count, const cs_context *context, const cs_theorem_input *in,
                              cs_refined_pairs *out) CS_MUST_CHECK;
