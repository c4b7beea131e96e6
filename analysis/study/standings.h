/* Claims that compare objects two by two, object by object: the claims of one source are one measure,
 * the labels of their sides the objects. */
#pragma once

#include "analysis/study/claims.h"
#include "base/status.h"

/* A row a measure and object: claim (the name of the first that has it, up to its last part), measure,
 * series, step (of the row of the study's table `models` that has the object's name; empty without),
 * object, value, se, low, high (95 %, of the documents alone). */
cs_status cs_scores_write(const cs_study *study, const cs_claims *claims,
                          const char *path) CS_MUST_CHECK;
