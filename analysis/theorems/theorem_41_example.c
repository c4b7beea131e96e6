/* Theorem 4.1: why the least squares must weigh a context by P_C.
 *
 *   A = (98  0)   y = 0        contexts of one column share their features; P_C, of 200:
 *       ( 1  0)       1        98, 1, 1 and 100
 *       ( 1  0)       1
 *       ( 0 100)      1
 *
 * Two components, sigma_1 = sigma_2 = 1, so U_2 tells the columns apart and no more: t = 2, tail 0,
 * sigma_3 = 0. In the first column class 0 has the mass and class 1 the contexts. Weighed alike the
 * guess there is 1, E = 98/200; weighed by P_C it is 0, E = 2/200.
 * alpha~ = (100/200) (1 - 0.98^2 - 0.02^2) = 0.0196 and the bound is 2 alpha~ = 0.0392 in both
 * cases.
 */
#include "analysis/theorems/theorem_41_private.h"

cs_status cs_theorem_41_unweighted(const cs_theorem_input *options, cs_statements *out)
{
    static const double mass[] = {98, 1, 1, 100};
    static const int32_t column[] = {0, 0, 0, 1}, label[] = {0, 1, 1, 1};
    enum { ROWS = sizeof mass / sizeof *mass, CLASSES = 2 };
    cs_labelled m = {.labels = CLASSES};
    cs_spectrum spectrum = {0};
    cs_41_curve c = {0};
    cs_theorem_input o = *options;
    o.triplets = 0;
    const cs_spectrum_options so = {.seed = o.seed, .threads = o.threads};
    cs_status status = cs_csr_init(&m.a, ROWS, CLASSES, ROWS);
    if (status == CS_OK) status = cs_csr_init(&m.row_label, ROWS, CLASSES, ROWS);
    for (int i = 0; status == CS_OK && i < ROWS; ++i) {
        m.a.col[i] = column[i];
        m.row_label.col[i] = label[i];
        m.a.val[i] = m.row_label.val[i] = mass[i];
        m.a.ptr[i + 1] = m.row_label.ptr[i + 1] = i + 1;
    }
    if (status == CS_OK) status = cs_spectrum_of(&m.a, &so, &spectrum);
    if (status == CS_OK) status = cs_41_curve_of(&m, &spectrum, &o, &c);
    const int64_t first = out->count;
    if (status == CS_OK) {
        cs_41_weighting(&c, &spectrum, "example: A = (98 0; 1 0; 1 0; 0 100), labels 0, 1, 1, 1",
                        out);
        cs_statements_mark(out, first);
        status = cs_statements_status(out);
    }
    cs_41_curve_free(&c);
    cs_spectrum_free(&spectrum);
    cs_labelled_free(&m);
    return status;
}
