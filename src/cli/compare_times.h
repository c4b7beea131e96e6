/* What the steps of cospec compare will take: --dry-run. */
#pragma once

#include "analysis/study/compare.h"
#include "analysis/study/study.h"
#include "cli/opt.h"

/* Prints the steps with estimated seconds, and the time of all. Models and texts are read and one batch of
 * each model is run; nothing is prepared or written. CS_ERR_INPUT as the steps would have it, also for a
 * corpus known by name that has not been prepared. */
cs_status cs_compare_times(cs_args *args, const cs_model_comparison *models, const cs_study *study,
                           int jobs) CS_MUST_CHECK;
