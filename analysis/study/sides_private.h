/* Numbers of a study's tables over several seeds, with what their blocks say. */
#pragma once

#include "analysis/study/claims.h"

/* The side's number: in "STEP/FILE.csv", or where the step's name holds '#' the mean over the seeds of
 * the study, with their variance; in a pair, over those that the other side has too (NULL: no pair).
 * CS_ERR_INPUT as cs_claims_measure. */
cs_status cs_side_measure(const cs_study *study, cs_claim_side *side,
                          const cs_claim_side *other) CS_MUST_CHECK;
void cs_side_free(cs_claim_side *side);

/* The error of left less right from the documents: one part where both sides have blocks of the same
 * documents (a paired jackknife of the difference), else one a side. */
void cs_sides_documents(const cs_claim_side *left, const cs_claim_side *right,
                        cs_error_part part[2]);
