/* Numbers of the tables of a study over several seeds, with their blocks. */
#pragma once

#include "analysis/study/claims.h"

/* The number of the side: in "STEP/FILE.csv", or, if the name of the step contains '#', the mean
 * over the seeds of the study, with their variance; in a pair, over those that the other side has
 * too (NULL: no pair). CS_ERR_INPUT as cs_claims_measure. */
cs_status cs_side_measure(const cs_study *study, cs_claim_side *side,
                          const cs_claim_side *other) CS_MUST_CHECK;
void cs_side_free(cs_claim_side *side);

/* The error of left minus right from the documents: one part if both sides have blocks of the same
 * documents (a paired jackknife of the difference), else one for each side. */
void cs_sides_documents(const cs_claim_side *left, const cs_claim_side *right,
                        cs_error_part part[2]);
