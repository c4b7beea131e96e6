/* The options of cospec probe. */
#pragma once

#include "analysis/trained/probe_runs.h"
#include "cli/opt.h"

/* Labels, metrics, seeds and fits; and the options for a model and texts. */
extern const cs_opt cs_group_probe[], cs_group_probe_texts[];

/* Everything in the first group that is known before anything is read: few, seed, seeds and fit of
 * *s, whose penalties are in *penalty (fresh memory, NULL: the defaults). */
cs_status cs_args_probe(cs_args *args, cs_probe_study *s, double **penalty) CS_MUST_CHECK;
