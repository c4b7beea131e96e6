/* Every theorem that is evaluated here (analysis/theorems/registry.h), in ascending order. It is in
 * this folder because the entry `trained` is. */
#pragma once

#include "analysis/theorems/registry.h"

/* Inputs of `trained`: toy, width (0: the largest t <= 16 at a gap of the spectrum), steps of each
 * model, seed, spectrum. CS_ERR_USAGE: a toy that no model can be trained on (a class-specific
 * empty prefix, a known target), a width beyond the matrix; CS_ERR_MEMORY: a toy too large. */
extern const cs_theorem cs_entry_trained;

enum { CS_THEOREMS = 12 };
extern const cs_theorem *const cs_theorem_list[CS_THEOREMS];
