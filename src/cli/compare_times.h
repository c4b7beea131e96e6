/* Estimated times of the steps of cospec compare: --dry-run. */
#pragma once

#include "analysis/study/compare.h"
#include "analysis/study/study.h"
#include "cli/opt.h"

/* The result of the command: the steps that are not kept, with estimated seconds, and their total.
 * Models and texts are read and one batch of each model is run; nothing is prepared or written.
 * CS_ERR_INPUT as in the steps. */
cs_status cs_compare_times(cs_args *args, const cs_model_comparison *models,
                           const cs_study *study) CS_MUST_CHECK;
