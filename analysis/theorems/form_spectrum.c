/* The spectrum of a form (form_spectrum.h). */
#include "analysis/theorems/form_spectrum.h"

#include "base/auto.h"

cs_status cs_form_spectrum(const cs_csr *a, const char *form, int64_t k, bool eigenvalues,
                           const cs_theorem_input *input, cs_spectrum *out)
{
    CS_AUTO(cs_matrix_form) *parsed = NULL;
    cs_spectrum local = {0};
    cs_spectrum_options o = input->spectrum ? *input->spectrum : (cs_spectrum_options){0};
    cs_status status = cs_matrix_form_parse(form, &parsed);
    o.k = k;
    o.form = parsed;
    o.normalised = o.values_only = o.moment4 = false;
    o.eigenvalues = eigenvalues;
    o.row_column = eigenvalues ? input->row_column : NULL;
    if (status == CS_OK) status = cs_spectrum_of(a, &o, &local);
    if (status == CS_OK) status = cs_spectrum_require(&local);
    return CS_DELIVER(status, out, local, cs_spectrum_free);
}
