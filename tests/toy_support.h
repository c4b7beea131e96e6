/* Shared by the tests of toy. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "toy/toy.h"

/* Backward errors of dense SVDs of a few hundred rows are some 1e-15, golden values are printed to
 * 14 digits: 1e-12 leaves a factor of ten on both. */
static const double toy_agreement = 1e-12;

/* A way to the spectrum: toy_enumerate, cs_toy_reduce, cs_toy_closed. */
typedef cs_status (*toy_method)(const cs_toy *toy, cs_toy_spectrum *out);

/* Without a limit. */
cs_status toy_enumerate(const cs_toy *toy, cs_toy_spectrum *out);

cs_toy toy_of(const char *spec, int64_t classes, int64_t length, int64_t tokens);

/* The spectrum by a method that must succeed, with a small residual and a source that is not
 * truncated. */
cs_toy_spectrum toy_run(toy_method by, const cs_toy *toy);

/* Position reduction of a mixture of 13 positions, above those whose sets are all listed, against the
 * matrix over all contents, blind and given. */
void expect_reduction_exact(const char *spec, int64_t classes);

/* The same values and multiplicities to toy_agreement. */
void expect_spectra_agree(const cs_toy_spectrum *a, const cs_toy_spectrum *b);
