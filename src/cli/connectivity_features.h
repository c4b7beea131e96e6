/* The mode of cospec connectivity that estimates connectivity from features (--pairs). */
#pragma once

#include "base/status.h"
#include "cli/opt.h"

/* --pairs --features --similarity --self --center --truth --force-unequal. */
extern const cs_opt cs_group_features[];

/* Measures the features that the arguments [NAME=]FILE name; --jackknife and the options of
 * cli/rank_rows.h apply. CS_ERR_USAGE names a repeated NAME. */
cs_status cs_connectivity_features(cs_args *args) CS_MUST_CHECK;
