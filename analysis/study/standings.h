/* Claims that compare objects in pairs, summarised by object: the claims of one source are one
 * measure, the labels of their sides the objects. */
#pragma once

#include "analysis/study/claims.h"
#include "base/status.h"

/* A row for each measure and object: claim (the name of the first that has it, up to its last
 * part), measure, series, step (of the row with the name of the object in the table `models` of the
 * study; else empty), object, value, se, low, high (95 %, of the documents only). */
cs_status cs_scores_write(const cs_study *study, const cs_claims *claims,
                          const char *path) CS_MUST_CHECK;
