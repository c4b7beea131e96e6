/* The spectrum of a form of a matrix (cooc/matrix_form.h), as statements about other forms need it:
 * with vectors, converged, by the options of the input. */
#pragma once

#include "analysis/theorems/registry.h"

/* k triplets of the form, 0: all. eigenvalues: of a symmetric matrix. Errors of cs_spectrum_of and
 * cs_spectrum_require. */
cs_status cs_form_spectrum(const cs_csr *a, const char *form, int64_t k, bool eigenvalues,
                           const cs_theorem_input *input, cs_spectrum *out) CS_MUST_CHECK;
