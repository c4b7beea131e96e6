/* Position of the row space of the [MASK] rows relative to that of the others (Theorem 2.2). V_R:
 * the eigenvectors of the k_R = rank_tau largest eigenvalues of H_R^T H_R, V_M likewise; k_R and
 * k_M are kept when a block is left out. */
#pragma once

#include "analysis/measures/effective_rank.h"
#include "linalg/gram.h"

typedef enum {
    CS_CONTAIN_OUTSIDE,      /* ||H_M (I - V_R V_R^T)||_F^2 / ||H_M||_F^2 */
    CS_CONTAIN_OUTSIDE_REAL, /* the same of H_R: at most 1 - tau */
    CS_CONTAIN_LARGEST,      /* largest principal angle of V_R and V_M, degrees */
    CS_CONTAIN_MEDIAN,       /* median one (lower middle) */
    CS_CONTAIN_COSINE,       /* mean squared cosine; of random subspaces max(k_R, k_M) / d */
    CS_CONTAIN_MEASURES
} cs_contain_measure;

const char *cs_contain_name(cs_contain_measure measure); /* "outside_share", ... */
const char *cs_contain_definition(cs_contain_measure measure);

typedef struct {
    int64_t real, mask; /* k_R, k_M */
    double value[CS_CONTAIN_MEASURES], se[CS_CONTAIN_MEASURES];
    /* Share of ||H_M||_F^2 outside the whole row space of H_R, `rank` directions with eigenvalues
     * above the floor gamma ||H_R||_F^2, and the error bound of that share: (gamma ||H_R||_F^2 /
     * lambda_rank)^2 + 2 (..) sqrt(share) + gamma. 0 and 0 if rank = d. */
    int64_t rank;
    double exact, exact_error;
} cs_containment;

/* Containment of two sums with the same groups: uncentred or centred as options say. B + 1 times
 * two eigenproblems and an SVD, in parallel. */
cs_status cs_containment_of(const cs_gram *real, const cs_gram *mask,
                            const cs_rank_options *options, cs_containment *out) CS_MUST_CHECK;
