/* A spectrum or a density as the record of a result: sizes, sums, certificates with their meaning,
 * values. */
#pragma once

#include "cooc/spectrum.h"
#include "cooc/spectrum_density.h"
#include "io/result.h"

/* Adds the members of svd.json (docs/reference/results-of-commands.md) to `root`; options are those
 * of the spectrum, the budget as requested. */
void cs_spectrum_record(const char *name, const cs_spectrum_options *options, const cs_spectrum *s,
                        cs_item *root);

/* "matrix_form" and "definition" of a form; NULL: "matrix_form" is normalised. */
void cs_item_form(cs_item *root, const cs_matrix_form *form);

/* "passed", "failed", "inconclusive", "not run". */
const char *cs_cert_state_name(cs_cert_state state);

/* The solver of the largest component, "closed form" if none had to run. */
const char *cs_spectrum_solver(const cs_spectrum *s);

/* All results about sum sigma^4: "tail" and sum_sigma4_method, _low, _high, _level, _samples,
 * _known, _sketched, _spent (multiply-adds). *tails: "tail" is known, not null. */
cs_status cs_sum4_record(const cs_spectrum *s, cs_item *root, bool *tails) CS_MUST_CHECK;

/* Adds the members of density.json, and under "~curve", for tables only, its points. */
void cs_spectrum_density_record(const char *name, const cs_spectrum_density_options *options,
                                const cs_spectrum_density *d, cs_item *root);
