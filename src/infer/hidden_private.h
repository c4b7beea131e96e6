/* The options of hidden states, checked (hidden_options.c). */
#pragma once

#include "infer/hidden_states.h"

/* Fills in what is 0. CS_ERR_USAGE as cs_hidden_states. */
cs_status cs_hidden_resolve(const cs_model *model, cs_hidden_options *o) CS_MUST_CHECK;
