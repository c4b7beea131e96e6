/* Objectives for the tests of src/plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/spec.h"
#include "plan_support.h"

const char *const plan_specs[PLAN_SPECS] = {
    "ar",
    "masked:unmasked=1",
    "masked:unmasked=3",
    "masked:mask-ratio=0.4",
    "variable-masked:unmasked=1:3",
    "variable-masked:mask-ratio=0.15:0.7",
    "bernoulli-masked:mask-ratio=0.3",
    "bernoulli-masked:mask-ratio=0.8",
    "diverse-ar:t=1",
    "diverse-ar:t=2",
    "diverse-ar:t=4",
    "diverse-ar:t=9",
    "offset-ar:offset-weights=uniform:2",
    "offset-ar:offset-weights=power:0",
    "offset-ar:offset-weights=power:1",
    "offset-ar:offset-weights=power:0.5",
    "offset-ar:offset-weights=mix:0",
    "offset-ar:offset-weights=mix:0.25",
    "offset-ar:offset-weights=mix:1",
    "group-ar:t=1",
    "group-ar:t=2",
    "group-ar:t=3",
    "group-ar:t=8",
    "permuted-ar",
    "gvp:segmentation=fixed,groups=1",
    "gvp:segmentation=fixed,groups=2",
    "gvp:segmentation=fixed,groups=5",
    "gvp:segmentation=random,groups=1",
    "gvp:segmentation=random,groups=2",
    "gvp:segmentation=random,groups=3",
    "gvp:segmentation=random,groups=5",
    "gvp:segmentation=mixed,groups=1",
    "gvp:segmentation=mixed,groups=2",
    "gvp:segmentation=mixed,groups=4",
};

cs_objective plan_objective(const char *spec)
{
    cs_objective objective;
    cs_reason_clear();
    assert_int_equal(cs_objective_parse(spec, &objective), CS_OK);
    return objective;
}

bool plan_exists(const cs_objective *objective, int64_t s)
{
    bool ok = cs_objective_check_length(objective, s) == CS_OK;
    cs_reason_clear();
    return ok;
}

void plan_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void plan_temporary(char path[64])
{
    (void)snprintf(path, 64, "/tmp/cospec_plan_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}
