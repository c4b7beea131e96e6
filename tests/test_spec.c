/* Objective specifications: every key, and what is wrong with each bad one. */
#include "plan/spec.h"
#include "test.h"

TEST(every_key_is_understood)
{
    cs_objective o;
    OK(cs_objective_parse("ar", &o));
    assert_int_equal(o.kind, CS_OBJ_AR);
    OK(cs_objective_parse("variable-masked:unmasked=1:3,event-weight=mask", &o));
    assert_int_equal(o.unmasked_lo, 1);
    assert_int_equal(o.unmasked_hi, 3);
    assert_int_equal(o.event_weight, CS_EVENT_MASK);
    OK(cs_objective_parse("masked:mask-ratio=0.25", &o));
    assert_true(o.mask_ratio_lo == 0.25);
    OK(cs_objective_parse("offset-ar:offset-weights=power:1.5,empty-prefix=shared", &o));
    assert_int_equal(o.offset, CS_OFFSET_POWER);
    assert_true(o.offset_value == 1.5);
    assert_int_equal(o.empty_prefix, CS_PREFIX_SHARED);
    OK(cs_objective_parse("gvp:segmentation=mixed,groups=3", &o));
    assert_int_equal(o.segmentation, CS_SEGMENT_MIXED);
    assert_int_equal(o.groups, 3);
    OK(cs_objective_parse("group-ar:t=4", &o));
    assert_int_equal(o.t, 4);
}

/* Parentheses, blanks after commas, and the names that others use. */
TEST(other_forms_mean_the_same)
{
    cs_objective o;
    OK(cs_objective_parse("gvp(segmentation=mixed, groups=3)", &o));
    assert_int_equal(o.segmentation, CS_SEGMENT_MIXED);
    assert_int_equal(o.groups, 3);
    OK(cs_objective_parse("offset-ar(offset-weights=mix:0.5)", &o));
    assert_true(o.offset_value == 0.5);
    OK(cs_objective_parse("gpt", &o));
    assert_int_equal(o.kind, CS_OBJ_AR);
    OK(cs_objective_parse("mlm(mask-ratio=0.15)", &o));
    assert_int_equal(o.kind, CS_OBJ_MASKED);
    OK(cs_objective_parse("diverse-ar(t=2,event-weight=token)", &o));
}

/* Where a part of the parameters suffices, the others are those of training. */
TEST(a_part_of_the_parameters_leaves_those_of_training)
{
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const char *trained = cs_objective_table((cs_objective_kind)kind)->trained;
        CS_AUTO_FREE char *parts = cs_strdup(trained ? trained : "");
        char *rest = parts, *part;
        while ((part = strsep(&rest, ",")) && *part) {
            CS_AUTO_FREE char *spec =
                cs_format("%s(%s)", cs_objective_name((cs_objective_kind)kind), part);
            cs_objective objective;
            unsigned set = 0;
            if (cs_objective_parse(spec, &objective) != CS_OK) continue;
            OK(cs_objective_read(spec, &set, NULL, &objective));
            cs_objective filled = objective;
            OK(cs_objective_complete(&filled, set));
            CS_AUTO_FREE char *read = cs_objective_describe(&objective);
            CS_AUTO_FREE char *complete = cs_objective_describe(&filled);
            assert_string_equal(read, complete);
        }
    }
}

TEST(bad_specifications_name_what_is_wrong)
{
    const struct {
        const char *spec, *named;
    } bad[] = {
        {"arr", "arr"},
        {"group-ar:t=0", "0"},
        {"group-ar:t=2x", "2x"},
        {"group-ar:t", "KEY=VALUE"},
        {"gvp:segmentation=loose,groups=2", "loose"},
        {"masked:unmasked=2,colour=red", "colour"},
        {"masked:mask-ratio=1.2", "1.2"},
        {"masked:mask-ratio=0,3", "\"0,3\": a decimal has a point, not a comma: 0.3"},
        {"mix:12,50*ar+1*masked", "\"12,50\": a decimal has a point, not a comma: 12.50"},
        {"masked(mask-ratio=15)", "mask ratio 15 not in (0, 1); did you mean 0.15?"},
        {"masked(mask-ratio=15%)", "\"15%\" is not RHO or LO:HI; did you mean 0.15?"},
        {"masked(maskratio=0.5)",
         "unknown objective parameter \"maskratio\" (masked accepts event-weight, target-weight, "
         "empty-prefix, share, unmasked, mask-ratio); did you mean mask-ratio?"},
        {"ar:colour=3", "(ar accepts event-weight, target-weight, empty-prefix, share)"},
        {"span-masked",
         "or a mask ratio (mask-ratio), for example span-masked(mask-ratio=0.15,t=3)"},
        {"bernoulli-masked",
         "needs a mask ratio (mask-ratio), for example bernoulli-masked(mask-ratio=0.15)"},
        {"group-ar", "group-ar needs a number of tokens (t), for example group-ar(t=2)"},
        {"gvp",
         "gvp needs a number of groups (groups), for example gvp(segmentation=mixed,groups=2)"},
        {"masked(unmasked=2", "parenthesis"},
        {"masked(unmasked=2,unmasked=3)", "unmasked is given twice, unmasked=3"},
        {"ar(event-weight=token,event-weight=mask)", "event-weight is given twice"},
        {"maked", "did you mean masked?"},
        {"ar(t=2)", "does not apply to ar, only to diverse-ar, group-ar"},
        {"diverse-ar(t=2,event-weight=mask)", "does not apply to diverse-ar"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_objective o;
        assert_int_equal(cs_objective_parse(bad[i].spec, &o), CS_ERR_USAGE);
        assert_non_null(strstr(cs_reason(), bad[i].spec));
        assert_non_null(strstr(cs_reason(), bad[i].named));
        cs_reason_clear();
    }
}
