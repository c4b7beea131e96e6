/* Plan files that hold for any length: their distributions against mixtures written out by hand,
 * plans and files within them, reading back from JSON, and errors named by file, part, expression,
 * length and value. */
#include "io_support.h"
#include "linalg_support.h"
#include "plan/parameter.h"
#include "plan/spec.h"
#include "plan_support.h"

static const char *const RATIOS =
    "{\"mixture\": [{\"share\": 1, \"objective\": \"masked\", \"parameters\": {\"mask-ratio\": ["
    "{\"value\": \"1/s\", \"share\": 1}, {\"value\": \"min(0.5, 2/s)\", \"share\": \"s-3\"}, "
    "{\"value\": 0.75, \"share\": \"1/2\"}]}}]}";

/* Shares 1, s-3, 1/2; the same bits, as nothing is rounded but by the division by their sum. */
TEST_IN_DIR(a_ratio_distribution_is_the_mixture_of_its_ratios)
{
    const char *const by_hand[] = {
        "mix:1*masked(unmasked=3)+1*masked(unmasked=2)+0.5*masked(unmasked=1)",
        "mix:1*masked(unmasked=4)+2*masked(unmasked=3)+0.5*masked(unmasked=1)",
        "mix:1*masked(unmasked=5)+3*masked(unmasked=4)+0.5*masked(unmasked=1)",
        "mix:1*masked(unmasked=99)+97*masked(unmasked=98)+0.5*masked(unmasked=25)"};
    const int64_t length[] = {4, 5, 6, 100};
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_of_text(in_dir(state, "mix.json"), RATIOS, &file);
    for (int i = 0; i < 4; ++i) {
        cs_objective hand;
        AUTO_OK(cs_plan_file, hand_file, cs_objective_parse_held(by_hand[i], &hand_file, &hand));
        AUTO_OK(cs_pairs, a, cs_pairs_of(&o, length[i], &a));
        AUTO_OK(cs_pairs, b, cs_pairs_of(&hand, length[i], &b));
        assert_int_equal(a.events, 0);
        assert_memory_equal(a.q, b.q, (size_t)(length[i] + 1) * sizeof *a.q);
        assert_true(a.predicted == b.predicted);
    }
}

/* A distribution of windows within a share, a range, an offset distribution, nested mixtures;
 * against all plans, drawn ones, and by hand at one length. */
TEST_IN_DIR(distributions_are_flattened)
{
    const struct {
        const char *text, *by_hand; /* at length 6 */
    } cases[] = {
        {"{\"mixture\": [{\"share\": \"1/s\", \"objective\": \"ar\"}, {\"share\": \"1-1/s\", "
         "\"objective\": \"diverse-ar\", \"parameters\": {\"t\": ["
         "{\"value\": 1, \"share\": 3}, {\"value\": \"ceil(s/3)\", \"share\": 1}]}}]}",
         "mix:4*ar+15*diverse-ar(t=1)+5*diverse-ar(t=2)"},
        {"{\"mixture\": [{\"share\": 0.25, \"objective\": \"variable-masked\", \"parameters\": "
         "{\"unmasked\": \"1:s-2\"}}, {\"share\": 0.75, \"mixture\": [{\"share\": \"s\", "
         "\"objective\": \"diverse-ar\", \"parameters\": {\"t\": \"min(s,2)\"}}, {\"share\": "
         "\"2*s\", \"objective\": \"gvp\", \"parameters\": {\"segmentation\": \"fixed\", "
         "\"groups\": \"floor(s/2)\"}}]}]}",
         "mix:1*variable-masked(unmasked=1:4)+1*diverse-ar(t=2)+2*gvp(segmentation=fixed,groups="
         "3)"},
        {"{\"mixture\": [{\"share\": 1, \"objective\": \"offset-ar\", \"parameters\": "
         "{\"offset-weights\": \"power:6/s\"}}, {\"share\": 1, \"objective\": \"permuted-ar\"}]}",
         "mix:1*offset-ar(offset-weights=power:1)+1*permuted-ar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        plan_check_distribution(in_dir(state, "mix.json"), cases[i].text, cases[i].by_hand);
    }
}

/* The explicit list of all masks of two of four is the expression s - 2 there. */
TEST_IN_DIR(expressions_are_the_explicit_list_of_a_length)
{
    static double listed[PLAN_CELLS], own[PLAN_CELLS];
    CS_AUTO(cs_plan_file) file = {0}, plans = {0};
    cs_objective list = cs_objective_default(CS_OBJ_FILE);
    plan_write(in_dir(state, "plans.json"),
               "{\"plans\": [{\"probability\": 1, \"groups\": [0, 0, 1, 1]}, {\"probability\": 1, "
               "\"groups\": [0, 1, 0, 1]}, {\"probability\": 1, \"groups\": [0, 1, 1, 0]}, "
               "{\"probability\": 1, \"groups\": [1, 0, 0, 1]}, {\"probability\": 1, \"groups\": "
               "[1, 0, 1, 0]}, {\"probability\": 1, \"groups\": [1, 1, 0, 0]}]}");
    OK(cs_objective_of_file(in_dir(state, "plans.json"), &plans, &list));
    cs_objective o = plan_of_text(in_dir(state, "mix.json"),
                                  "{\"mixture\": [{\"share\": \"s\", \"objective\": \"masked\", "
                                  "\"parameters\": {\"unmasked\": \"s-2\"}}]}",
                                  &file);
    plan_table_of(&list, 4, listed);
    plan_table_of(&o, 4, own);
    plan_assert_same_table(own, listed, "s-2 of 4");
}

/* Plans in a part have lengths of their own: the mixture exists there, and where their share is 0.
 */
TEST_IN_DIR(plans_are_a_part_where_they_are)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o =
        plan_of_text(in_dir(state, "mix.json"),
                     "{\"mixture\": [{\"share\": 1, \"objective\": \"ar\"}, {\"share\": \"max(0, "
                     "5-s)\", \"plans\": [{\"probability\": 3, \"groups\": [0, 1, 2, 3]}]}]}",
                     &file);
    plan_assert_as_by_hand(&o, 4, "mix:1*ar+1*ar");
    plan_assert_as_by_hand(&o, 5, "ar");
    plan_assert_as_by_hand(&o, 6, "ar");
    plan_compare_with_enumeration(&o, 4);
    plan_compare_with_samples(&o, 4, 4, 1);
    assert_fails(cs_objective_check_length(&o, 3), CS_ERR_USAGE,
                 "mix.json: part 2 has no plan of length 3");
    assert_fails(cs_objective_check_length(&o, 1), CS_ERR_USAGE, "mix needs length >= 2, got 1");
    int64_t lo, hi;
    assert_true(cs_objective_given(&o, 6, &lo, &hi) && lo == 1 && hi == 6);
    assert_false(cs_objective_given(&o, 3, &lo, &hi));
}

/* As many tokens as at any length up to the given one: batches are made for them. */
TEST_IN_DIR(the_most_tokens_of_shorter_texts_count)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_of_text(in_dir(state, "mix.json"),
                                  "{\"mixture\": [{\"share\": 1, \"objective\": \"masked\", "
                                  "\"parameters\": {\"mask-ratio\": \"min(0.5, 9/s^2)\"}}]}",
                                  &file);
    int64_t lo, hi;
    assert_true(cs_objective_given(&o, 100, &lo, &hi));
    assert_int_equal(lo, 98); /* 2 are masked of 4, 1 of 100 */
    assert_int_equal(hi, 99);
}

/* A file in a file, by a path relative to it, and on a command line; both lead back through JSON
 * when the files are gone. */
TEST_IN_DIR(files_within_files_are_read_once)
{
    CS_AUTO(cs_plan_file) file = {0}, again = {0}, outer = {0};
    cs_objective back, spec;
    json_auto_t *json = NULL;
    plan_write(in_dir(state, "inner.json"), RATIOS);
    plan_write(in_dir(state, "plans.json"),
               "{\"plans\": [{\"probability\": 1, \"groups\": [0, 0, 0, 1]}, {\"probability\": 1, "
               "\"groups\": [0, 0, 1, 0]}, {\"probability\": 1, \"groups\": [0, 1, 0, 0]}, "
               "{\"probability\": 1, \"groups\": [1, 0, 0, 0]}]}");
    cs_objective o = plan_of_text(
        in_dir(state, "mix.json"),
        "{\"mixture\": [{\"share\": 1, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
        "\"inner.json\"}}, {\"share\": 2.5, \"objective\": \"file\", \"parameters\": "
        "{\"plan-file\": \"plans.json\"}}]}",
        &file);
    assert_int_equal(file.inputs, 3);
    CS_AUTO_FREE char *text = cs_format("mix:2*file(plan-file=%s)+1*ar", in_dir(state, "mix.json"));
    OK(cs_objective_parse_held(text, &outer, &spec));
    assert_int_equal(outer.inputs, 3);
    OK(cs_objective_to_json(&o, &json));
    assert_int_equal(unlink(in_dir(state, "inner.json")), 0);
    assert_int_equal(unlink(in_dir(state, "plans.json")), 0);
    OK(cs_objective_from_json(json, &again, &back));
    static double a[PLAN_CELLS], b[PLAN_CELLS];
    plan_table_of(&o, 4, a);
    plan_table_of(&back, 4, b);
    assert_memory_equal(a, b, sizeof a);
    assert_string_equal(again.path, in_dir(state, "mix.json"));
    CS_AUTO_FREE char *described = cs_objective_describe(&back);
    assert_non_null(strstr(described, "file(plan-file="));
    assert_non_null(strstr(described, "mix.json)"));
    cs_plan_file_free(&again);
    json_decref(json);
    /* 2/3 of the file: 2/7 of that is its distribution, 5/7 its plans. */
    OK(cs_objective_to_json(&spec, &json));
    OK(cs_objective_from_json(json, &again, &back));
    back.event_weight = CS_EVENT_MASK;
    plan_assert_as_by_hand(&back, 4,
                           "mix:7*ar+1.6*masked(unmasked=3)+1.6*masked(unmasked=2)"
                           "+0.8*masked(unmasked=1)+10*masked(unmasked=3)");
}

/* --- what is wrong --- */

TEST_IN_DIR(defects_are_named_when_a_file_is_read)
{
#define PART(text) "{\"mixture\": [{\"share\": 1, \"objective\": \"ar\"}, " text "]}"
#define MASKED(parameters)                                                                         \
    PART("{\"share\": 1, \"objective\": \"masked\", \"parameters\": " parameters "}")
    const char *const cases[][2] = {
        {"{\"mixture\": []}", "\"mixture\" is empty"},
        {"{\"mixture\": 3}", "not an object with an array \"plans\" or \"mixture\""},
        {"{\"mixture\": [], \"plans\": []}", "not an object with an array"},
        {"{\"mixture\": [], \"extra\": 1}", "unknown key \"extra\" (known: plans, mixture)"},
        {PART("7"), "part 2: share is missing"},
        {PART("{\"share\": 1}"), "part 2: not an object with an array"},
        {PART("{\"objective\": \"ar\"}"), "part 2: share is missing"},
        {PART("{\"share\": null, \"objective\": \"ar\"}"),
         "share is neither a number nor a string"},
        {PART("{\"share\": \"1/\", \"objective\": \"ar\"}"),
         "part 2: share: \"1/\": column 3: the end, but a value was expected"},
        {PART("{\"share\": -1, \"objective\": \"ar\"}"), "part 2: share \"-1\" is -1"},
        {PART("{\"share\": \"0/0\", \"objective\": \"ar\"}"), "part 2: share \"0/0\" is nan"},
        {"{\"mixture\": [{\"share\": 0, \"objective\": \"ar\"}]}", "shares sum to 0"},
        {"{\"mixture\": [{\"share\": 1e308, \"objective\": \"ar\"}, {\"share\": 1e308, "
         "\"objective\": \"ar\"}]}",
         "shares sum to inf"},
        {PART("{\"share\": 1, \"objective\": \"arr\"}"), "part 2: unknown objective \"arr\""},
        {PART("{\"share\": 1, \"objective\": \"mix\"}"), "part 2: mix cannot be part"},
        {PART("{\"share\": 1, \"objective\": 3}"), "part 2: objective is not a string"},
        {PART("{\"share\": 1, \"objective\": \"ar\", \"plans\": []}"), "unknown key \"plans\""},
        {PART("{\"share\": 1, \"objective\": \"ar\", \"ratio\": 1}"), "unknown key \"ratio\""},
        {PART("{\"share\": 1, \"plans\": [{\"probability\": 1, \"groups\": [0, 2]}]}"),
         "part 2: plan 1: group 1 is empty"},
        {PART("{\"share\": 1, \"objective\": \"ar\", \"parameters\": {\"t\": 2}}"),
         "part 2: --t does not apply to ar"},
        {MASKED("[]"), "part 2: parameters are not an object"},
        {MASKED("{\"event-weight\": \"mask\"}"), "must be given for the whole mixture"},
        {MASKED("{\"mask-ratio\": 1.5}"), "part 2: mask ratio 1.5 not in (0, 1)"},
        {MASKED("{\"mask-ratio\": \"nan\"}"),
         "part 2: mask-ratio: \"nan\": column 1: unknown name"},
        {MASKED("{\"mask-ratio\": \"0.1:0.2\"}"), "needs a single mask ratio, got 0.1:0.2"},
        {MASKED("{\"unmasked\": 1.5}"), "part 2: unmasked 1.5 is not a whole number >= 0"},
        {MASKED("{\"unmasked\": -1}"), "unmasked -1 is not a whole number"},
        {MASKED("{\"unmasked\": \"1/0\"}"), "unmasked inf is not a whole number"},
        {MASKED("{\"unmasked\": 1, \"mask-ratio\": 0.5}"), "both unmasked 1 and mask ratio 0.5"},
        {MASKED("{\"mask-ratio\": []}"), "the distribution of mask-ratio is empty"},
        {MASKED("{\"mask-ratio\": [0.5]}"), "part 2: value 1 of mask-ratio: share is missing"},
        {MASKED("{\"mask-ratio\": [{\"share\": 1}]}"), "value 1 of mask-ratio: value is missing"},
        {MASKED("{\"mask-ratio\": [{\"share\": 0, \"value\": 0.5}]}"),
         "part 2: value 1 of mask-ratio: share \"0\" is 0 at length 1, but the shares sum to 0"},
        {MASKED("{\"mask-ratio\": [{\"share\": 1, \"value\": 0.5, \"weight\": 1}]}"),
         "value 1 of mask-ratio: unknown key \"weight\" (known: value, share)"},
        {MASKED("{\"mask-ratio\": [{\"share\": 1, \"value\": \"s+\"}]}"),
         "part 2: value 1 of mask-ratio: mask-ratio: \"s+\": column 3"},
        {PART("{\"share\": 1, \"objective\": \"group-ar\", \"parameters\": {\"t\": \"2:3\"}}"),
         "column 2: \":\", but an operator"},
        {PART("{\"share\": 1, \"objective\": \"gvp\", \"parameters\": {\"segmentation\": \"s\"}}"),
         "segmentation s is not one of fixed|random|mixed"},
        {PART("{\"share\": 1, \"objective\": \"offset-ar\", \"parameters\": "
              "{\"offset-weights\": \"power\"}}"),
         "part 2: offset-weights: \"\": column 1"},
        {PART("{\"share\": 1, \"objective\": \"file\"}"), "part 2: objective file needs plan-file"},
        {PART("{\"share\": 1, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
              "\"mix.json\"}}"),
         "mix.json includes itself"},
        {PART("{\"share\": 1, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
              "\"outer.json\"}}"),
         "mix.json includes itself"},
    };
    plan_write(in_dir(state, "outer.json"),
               PART("{\"share\": 1, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
                    "\"./mix.json\"}}"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_plan_file file = {0};
        plan_write(in_dir(state, "mix.json"), cases[i][0]);
        cs_reason_clear();
        assert_int_equal(cs_plan_file_read(in_dir(state, "mix.json"), &file), CS_ERR_INPUT);
        assert_non_null(strstr(cs_reason(), "mix.json: "));
        expect_reason(cases[i][1]);
    }
    cs_plan_file file = {0};
    plan_write(in_dir(state, "mix.json"),
               PART("{\"share\": 1, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
                    "\"none.json\"}}"));
    assert_fails(cs_plan_file_read(in_dir(state, "mix.json"), &file), CS_ERR_IO, "none.json");
}

/* Found where a length is known: CS_ERR_INPUT, since a text of that length is not to be left out. */
TEST_IN_DIR(values_out_of_range_name_part_expression_and_length)
{
    const struct {
        const char *text;
        int64_t good, bad;
        const char *named;
    } cases[] = {
        {MASKED("{\"mask-ratio\": \"2/s\"}"), 3, 2,
         "part 2: mask-ratio \"2/s\" is 1, length 2: mask ratio 1 not in (0, 1)"},
        {MASKED("{\"unmasked\": \"s/2\"}"), 4, 5,
         "part 2: unmasked \"s/2\" is 2.5, length 5: unmasked 2.5 is not a whole number >= 0"},
        {MASKED("{\"unmasked\": \"5-s\"}"), 4, 5, "unmasked 0 needs an empty prefix"},
        {MASKED("{\"unmasked\": \"8-s\"}"), 5, 3,
         "\"8-s\" is 5, length 3: masked with 5 unmasked needs length >= 6, got 3"},
        {MASKED("{\"mask-ratio\": [{\"value\": 0.5, \"share\": 1}, {\"value\": \"1/(s-3)\", "
                "\"share\": 1}]}"),
         5, 3, "part 2: value 2 of mask-ratio: mask-ratio \"1/(s-3)\" is inf, length 3"},
        {PART("{\"share\": \"1-s/5\", \"objective\": \"ar\"}"), 5, 6,
         "part 2: share \"1-s/5\" is -0.2 at length 6"},
        {PART("{\"share\": \"1/(s-4)\", \"objective\": \"ar\"}"), 5, 4,
         "part 2: share \"1/(s-4)\" is inf at length 4"},
        {PART("{\"share\": \"log(3-s)\", \"objective\": \"ar\"}"), 2, 4, "is nan at length 4"},
        {"{\"mixture\": [{\"share\": \"max(0,s-3)\", \"objective\": \"ar\"}]}", 4, 3,
         "part 1: share \"max(0,s-3)\" is 0 at length 3, but the shares sum to 0"},
        {PART("{\"share\": 1, \"objective\": \"gvp\", \"parameters\": {\"segmentation\": "
              "\"fixed\", \"groups\": \"s-3\"}}"),
         5, 3, "groups \"s-3\" is 0, length 3: groups 0 is not a whole number >= 1"},
        {PART("{\"share\": 1, \"objective\": \"variable-masked\", \"parameters\": {\"unmasked\": "
              "\"3:s-1\"}}"),
         5, 3, "unmasked \"3\" is 3, unmasked \"s-1\" is 2, length 3: unmasked: 3 exceeds 2"},
        {PART("{\"share\": 1, \"objective\": \"offset-ar\", \"parameters\": {\"offset-weights\": "
              "\"mix:s/5\"}}"),
         5, 6, "offset-weights \"s/5\" is 1.2, length 6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_pairs pairs;
        cs_objective o = plan_of_text(in_dir(state, "mix.json"), cases[i].text, &file);
        OK(cs_objective_check_length(&o, cases[i].good));
        assert_fails(cs_objective_check_length(&o, cases[i].bad), CS_ERR_INPUT, "mix.json: part");
        assert_fails(cs_pairs_of(&o, cases[i].bad, &pairs), CS_ERR_INPUT, cases[i].named);
    }
    /* At length 1 no mask exists, whatever its ratio: such a text is left out. */
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_of_text(in_dir(state, "mix.json"),
                                  MASKED("{\"mask-ratio\": \"min(0.5,2/s)\"}"), &file);
    o.empty_prefix = CS_PREFIX_SHARED;
    assert_fails(cs_objective_check_length(&o, 1), CS_ERR_USAGE, "masked needs length >= 2");
}

TEST_IN_DIR(parts_are_limited)
{
    enum { VALUES = 1025 };
    cs_plan_file file = {0};
    CS_AUTO_FREE char *distribution = cs_strdup("{\"value\": 2, \"share\": 1}");
    for (int i = 1; i < VALUES; ++i) {
        char *longer = cs_format("%s, {\"value\": 2, \"share\": 1}", distribution);
        cs_free(distribution);
        distribution = longer;
    }
    CS_AUTO_FREE char *text = cs_format("{\"mixture\": [{\"share\": 1, \"objective\": \"masked\", "
                                        "\"parameters\": {\"unmasked\": [%s]}}]}",
                                        distribution);
    plan_write(in_dir(state, "mix.json"), text);
    assert_fails(cs_plan_file_read(in_dir(state, "mix.json"), &file), CS_ERR_INPUT,
                 "a mixture has at most 1024 parts");
}

static cs_status read_and_describe(const char *path)
{
    CS_AUTO(cs_plan_file) file = {0}, again = {0};
    cs_objective o = cs_objective_default(CS_OBJ_FILE), back;
    CS_AUTO(cs_pairs) pairs = {0};
    json_auto_t *json = NULL;
    cs_status status = cs_objective_of_file(path, &file, &o);
    if (status == CS_OK) status = cs_pairs_of(&o, 5, &pairs);
    if (status == CS_OK) status = cs_objective_to_json(&o, &json);
    if (status == CS_OK) status = cs_objective_from_json(json, &again, &back);
    CS_AUTO_FREE char *text = status == CS_OK ? cs_objective_describe(&back) : NULL;
    if (status == CS_OK && !text) status = CS_ERR_MEMORY;
    return status;
}

TEST_IN_DIR(failed_allocations_are_reported)
{
    plan_write(in_dir(state, "inner.json"), RATIOS);
    plan_write(in_dir(state, "mix.json"),
               PART("{\"share\": 0.5, \"objective\": \"file\", \"parameters\": {\"plan-file\": "
                    "\"inner.json\"}}, {\"share\": \"max(0,4-s)\", \"plans\": [{\"probability\": "
                    "1, \"groups\": [0, 1]}]}"));
    fail_or_spare_each_allocation(read_and_describe, in_dir(state, "mix.json"));
}
