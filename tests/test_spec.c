/* Objective specifications: every key, and what is wrong with each bad one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/spec.h"

static void every_key_is_understood(void **state)
{
    (void)state;
    cs_objective o;
    assert_int_equal(cs_objective_parse("ar", &o), CS_OK);
    assert_int_equal(o.kind, CS_OBJ_AR);
    assert_int_equal(cs_objective_parse("variable-masked:unmasked=1:3,event-weight=mask", &o),
                     CS_OK);
    assert_int_equal(o.unmasked_lo, 1);
    assert_int_equal(o.unmasked_hi, 3);
    assert_int_equal(o.event_weight, CS_EVENT_MASK);
    assert_int_equal(cs_objective_parse("masked:mask-ratio=0.25", &o), CS_OK);
    assert_true(o.mask_ratio_lo == 0.25);
    assert_int_equal(
        cs_objective_parse("offset-ar:offset-weights=power:1.5,empty-prefix=shared", &o), CS_OK);
    assert_int_equal(o.offset, CS_OFFSET_POWER);
    assert_true(o.offset_value == 1.5);
    assert_int_equal(o.empty_prefix, CS_PREFIX_SHARED);
    assert_int_equal(cs_objective_parse("gvp:segmentation=mixed,groups=3", &o), CS_OK);
    assert_int_equal(o.segmentation, CS_SEGMENT_MIXED);
    assert_int_equal(o.groups, 3);
    assert_int_equal(cs_objective_parse("group-ar:t=4", &o), CS_OK);
    assert_int_equal(o.t, 4);
}

static void bad_specifications_name_what_is_wrong(void **state)
{
    (void)state;
    const struct {
        const char *spec, *named;
    } bad[] = {
        {"arr", "arr"},
        {"group-ar:t=0", "0"},
        {"group-ar:t=2x", "2x"},
        {"group-ar:t", "KEY=VALUE"},
        {"group-ar", "t"},
        {"gvp:segmentation=loose,groups=2", "loose"},
        {"masked:unmasked=2,colour=red", "colour"},
        {"masked:mask-ratio=1.2", "1.2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_objective o;
        assert_int_equal(cs_objective_parse(bad[i].spec, &o), CS_ERR_USAGE);
        assert_non_null(strstr(cs_reason(), bad[i].spec));
        assert_non_null(strstr(cs_reason(), bad[i].named));
        cs_reason_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_understood),
        cmocka_unit_test(bad_specifications_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
