/* Spectra for the tests of toy. */
#include <inttypes.h>

#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"
#include "toy_support.h"

cs_status toy_enumerate(const cs_toy *toy, cs_toy_spectrum *out)
{
    return cs_toy_enumerate(toy, 0, out);
}

cs_toy toy_of(const char *spec, int64_t classes, int64_t length, int64_t tokens)
{
    cs_toy toy = {.classes = classes, .length = length, .tokens = tokens};
    cs_reason_clear();
    OK(cs_objective_parse(spec, &toy.objective));
    return toy;
}

cs_toy_spectrum toy_run(toy_method by, const cs_toy *toy)
{
    cs_toy_spectrum spectrum = {0};
    OK(by(toy, &spectrum));
    assert_true(strlen(spectrum.source) > 10);
    assert_true(strlen(spectrum.source) < sizeof spectrum.source - 1); /* not cut */
    assert_true(spectrum.residual < 5e-13); /* 7e-14 with kernels for any x86-64, more on aarch64 */
    return spectrum;
}

void expect_spectra_agree(const cs_toy_spectrum *a, const cs_toy_spectrum *b)
{
    bool same = a->values == b->values && a->rank == b->rank;
    for (int64_t j = 0; same && j < a->values; ++j) {
        same = fabs(a->sigma[j] - b->sigma[j]) <= toy_agreement &&
               a->multiplicity[j] == b->multiplicity[j];
    }
    same = same && fabs(a->sum_sigma2 - b->sum_sigma2) <= toy_agreement * a->sum_sigma2 &&
           fabs(a->sum_sigma4 - b->sum_sigma4) <= toy_agreement * a->sum_sigma2;
    if (!same) {
        for (int64_t j = 0; j < a->values || j < b->values; ++j) {
            print_error("%.15g x %" PRId64 "   %.15g x %" PRId64 "\n",
                        j < a->values ? a->sigma[j] : 0, j < a->values ? a->multiplicity[j] : 0,
                        j < b->values ? b->sigma[j] : 0, j < b->values ? b->multiplicity[j] : 0);
        }
        fail_msg("%s\nagainst %s", a->source, b->source);
    }
}

void expect_reduction_exact(const char *spec, int64_t classes)
{
    for (int given = 0; given < 2; ++given) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_toy toy = {.classes = classes, .length = 13, .tokens = 1, .given = given > 0};
        toy.objective = plan_held(spec, &file);
        CS_AUTO(cs_toy_spectrum) all = toy_run(toy_enumerate, &toy);
        CS_AUTO(cs_toy_spectrum) reduced = toy_run(cs_toy_reduce, &toy);
        expect_spectra_agree(&all, &reduced);
    }
}
