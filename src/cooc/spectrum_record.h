/* A spectrum as the record of a result: sizes, sums, certificates with their meaning, values. */
#pragma once

#include "cooc/spectrum.h"
#include "io/result.h"

/* Adds the members of svd.json (docs/formats.md) to `root`; options are those of the spectrum, the
 * the budget as it was asked for. */
void cs_spectrum_record(const char *name, const cs_spectrum_options *options, const cs_spectrum *s,
                        cs_item *root);

/* "passed", "failed", "inconclusive", "not run". */
const char *cs_cert_state_name(cs_cert_state state);

/* The solver of the largest component, "closed form" where none had to run. */
const char *cs_spectrum_solver(const cs_spectrum *s);
