/* plan: bad parameters and lengths, plan files, failed allocations. */
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

static cs_status pass_over(void *ctx, const cs_plan *plan, double probability)
{
    (void)ctx;
    (void)plan;
    (void)probability;
    return CS_OK;
}

/* --- bad parameters --- */

TEST(bad_specifications_are_named)
{
    const char *const cases[][2] = {
        {"arr", "unknown objective \"arr\" (ar, masked, variable-masked, bernoulli-masked, "
                "diverse-ar, offset-ar, group-ar, permuted-ar, gvp, file"},
        {"arr", "mix); did you mean ar?"},
        {"gpt3", "did you mean ar?"},
        {"offset-ar:offset-weights=unform:2",
         "are not uniform:T, power:A or mix:L; did you mean uniform:2?"},
        {"masked",
         "masked needs a number of unmasked tokens (unmasked) or a mask ratio (mask-ratio)"},
        {"masked:unmasked=1:2", "needs a single number of unmasked tokens, got 1:2"},
        {"masked:unmasked=0", "unmasked 0 needs an empty prefix"},
        {"masked:unmasked=x", "\"x\" is not M or LO:HI"},
        {"masked:unmasked=-1", "\"-1\" is not M or LO:HI"},
        {"masked:unmasked=99999999999999999999", "is not M or LO:HI"},
        {"variable-masked:unmasked=3:1", "3 exceeds 1"},
        {"variable-masked:unmasked=1:", "is not M or LO:HI"},
        {"masked:mask-ratio=1.2", "mask ratio 1.2 not in (0, 1)"},
        {"masked:mask-ratio=0", "mask ratio 0 not in (0, 1)"},
        {"masked:mask-ratio=nan", "mask ratio nan not in (0, 1)"},
        {"masked:mask-ratio=abc", "\"abc\" is not RHO or LO:HI"},
        {"masked:mask-ratio=0.1:0.2", "needs a single mask ratio, got 0.1:0.2"},
        {"variable-masked:mask-ratio=0.3:0.1", "0.3 exceeds 0.1"},
        {"masked:unmasked=1,mask-ratio=0.5", "both unmasked 1 and mask ratio 0.5"},
        {"bernoulli-masked:unmasked=2",
         "does not apply to bernoulli-masked, only to masked, variable-masked"},
        {"bernoulli-masked", "bernoulli-masked needs a mask ratio"},
        {"diverse-ar", "diverse-ar needs a number of tokens (t)"},
        {"group-ar:t=0", "t 0 is not a whole number >= 1"},
        {"offset-ar", "offset-ar needs offset weights"},
        {"offset-ar:offset-weights=uniform:0", "uniform:0"},
        {"offset-ar:offset-weights=uniform:1.5", "uniform:1.5"},
        {"offset-ar:offset-weights=power:-1", "power:-1"},
        {"offset-ar:offset-weights=power:inf", "power:inf"},
        {"offset-ar:offset-weights=mix:1.5", "mix:1.5"},
        {"offset-ar:offset-weights=mix:nan", "mix:nan"},
        {"offset-ar:offset-weights=flat:1", "\"flat:1\" are not uniform:T, power:A or mix:L"},
        {"gvp:segmentation=fixed", "gvp needs a number of groups"},
        {"gvp:segmentation=even,groups=2", "even is not one of fixed|random|mixed"},
        {"gvp:segmentation=mixd,groups=2", "fixed|random|mixed; did you mean mixed?"},
        {"file", "needs a plan file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective;
        assert_fails(cs_objective_parse(cases[i][0], &objective), CS_ERR_USAGE, cases[i][1]);
    }
    cs_objective objective = cs_objective_default(CS_OBJ_GROUP_AR);
    objective.t = 0;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE, "t 0 is below 1");
    objective = cs_objective_default(CS_OBJ_GVP);
    objective.groups = -3;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE, "groups -3 is below 1");
    objective = cs_objective_default(CS_OBJ_AR);
    objective.empty_prefix = (cs_empty_prefix)9;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE,
                 "empty-prefix: value 9 is not one of");
    objective.empty_prefix = (cs_empty_prefix)3; /* one beyond the last */
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE,
                 "empty-prefix: value 3 is not one of");
    objective.empty_prefix = (cs_empty_prefix)2;
    OK(cs_objective_check(&objective));
    objective = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    objective.unmasked_hi = 3;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE, "unmasked -1:3 is not a range");
}

TEST(bad_lengths_are_named)
{
    const struct {
        const char *spec;
        int64_t s;
        const char *reason;
    } cases[] = {
        {"ar", 1, "ar needs length >= 2, got 1"},
        {"ar", 0, "got 0"},
        {"ar", -5, "got -5"},
        {"ar:empty-prefix=shared", 0, "ar needs length >= 1, got 0"},
        {"masked:unmasked=5", 4, "masked with 5 unmasked needs length >= 6, got 4"},
        {"masked:mask-ratio=0.5", 1, "masked needs length >= 2, got 1"},
        {"gvp:segmentation=random,groups=4", 4, "gvp with 4 groups needs length >= 5, got 4"},
        {"gvp:segmentation=random,groups=4,event-weight=mask", 20000, "length 20000 exceeds 10000"},
        {"permuted-ar", 3000000000, "length 3000000000 exceeds"},
        {"offset-ar:offset-weights=power:1", 1000000, "events, but at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = plan_objective(cases[i].spec);
        cs_pairs pairs;
        assert_fails(cs_pairs_of(&objective, cases[i].s, &pairs), CS_ERR_USAGE, cases[i].reason);
    }
    cs_objective ar = plan_objective("ar"), permuted = plan_objective("permuted-ar");
    int64_t lo, hi;
    assert_fails(cs_objective_unmasked(&ar, 5, &lo, &hi), CS_ERR_USAGE,
                 "ar does not accept a range of unmasked tokens");
    CS_AUTO(cs_plan) plan = {0};
    assert_fails(cs_plan_init(&plan, 0), CS_ERR_USAGE, "plan length 0");
    OK(cs_plan_init(&plan, 1));
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    assert_fails(cs_plan_sample(&ar, &rng, &plan), CS_ERR_USAGE, "ar needs length >= 2, got 1");
    assert_fails(cs_plan_enumerate(&permuted, 30, 1000000, pass_over, NULL), CS_ERR_USAGE,
                 "permuted-ar at length 30 has 2.6525285981219");
    assert_fails(cs_plan_enumerate(&ar, 1, 10, pass_over, NULL), CS_ERR_USAGE, "got 1");
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&permuted, 2000, &pairs));
    assert_fails(cs_pairs_expand(&pairs, 1000000), CS_ERR_USAGE,
                 "length 2000 expands to inf events, but at most 1000000");
}

/* --- plan files --- */

TEST(defects_of_plan_files_are_named)
{
    const char *const cases[][2] = {
        {"[]", "not an object"},
        {"{}", "not an object with an array"},
        {"{\"plans\": 3}", "not an object with an array"},
        {"{\"plans\": []}", "\"plans\" is empty"},
        {"{\"plans\": [], \"extra\": 1}", "unknown key \"extra\""},
        {"{\"plans\": [7]}", "plan 1: not an object"},
        {"{\"plans\": [{\"groups\": [0, 1]}]}", "plan 1: probability is missing"},
        {"{\"plans\": [{\"probability\": \"1\", \"groups\": [0, 1]}]}", "is not a number"},
        {"{\"plans\": [{\"probability\": 0, \"groups\": [0, 1]}]}",
         "probability 0 is not positive"},
        {"{\"plans\": [{\"probability\": -0.5, \"groups\": [0, 1]}]}", "probability -0.5"},
        {"{\"plans\": [{\"probability\": 1}]}", "plan 1: groups is missing"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": []}]}", "groups is not an array"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": 4}]}", "groups is not an array"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1.5]}]}",
         "group of position 2 is not an integer"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, -1]}]}", "group -1 of position 2"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 9]}]}", "group 9 of position 2"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1]}, {\"probability\": 1, \"groups\": "
         "[0, 2]}]}",
         "plan 2: group 1 is empty, but group 2 is used"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0]}]}",
         "weights is not an array of 2 numbers"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, null]}]}",
         "weight of position 2 is not a number"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, -1]}]}",
         "weight -1 of position 2 is negative"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [1, 1]}]}",
         "weight 1 of position 1 must be 0: the position is in group 0"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, 0]}]}",
         "weights sum to 0"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 0]}]}", "weights sum to 0"},
        {"{\"plans\": [{\"probability\": 1e308, \"groups\": [0, 1]}, {\"probability\": 1e308, "
         "\"groups\": [0, 1]}]}",
         "probabilities of plans of length 2 sum to inf"},
        {"{\"plans\": [{\"probability\": 1, \"group\": [0, 1]}]}", "unknown key \"group\""},
        {"{\"plans\": [", "1:"},
    };
    char path[64];
    plan_temporary(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_plan_file file = {0};
        plan_write(path, cases[i][0]);
        cs_reason_clear();
        assert_int_equal(cs_plan_file_read(path, &file), CS_ERR_INPUT);
        assert_null(file.plan);
        assert_non_null(strstr(cs_reason(), path));
        expect_reason(cases[i][1]);
    }
    cs_plan_file file;
    assert_int_equal(unlink(path), 0);
    assert_int_not_equal(cs_plan_file_read(path, &file), CS_OK);
    expect_reason(path);
}

/* --- memory --- */

/* Every allocation of pairs, expansion and enumeration failed in turn; leaks are the sanitizer's.
 */
static cs_status everything(const cs_objective *objective)
{
    CS_AUTO(cs_pairs) pairs = {0};
    cs_status status = cs_pairs_of(objective, 5, &pairs);
    if (status == CS_OK) status = cs_pairs_expand(&pairs, 10000);
    if (status == CS_OK) status = cs_plan_enumerate(objective, 5, 10000, pass_over, NULL);
    return status;
}

static void fail_each_allocation(const cs_objective *objective)
{
    EACH_ALLOCATION_FAILS(n)
        (void)out_of_memory(everything(objective));
}

TEST(failed_allocations_are_reported)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective objective = plan_objective(plan_spec(i));
        objective.event_weight = i % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        if (plan_exists(&objective, 5)) {
            fail_each_allocation(&objective);
        }
    }
    char path[64];
    plan_temporary(path);
    plan_write(path, "{\"plans\": [{\"probability\": 1, \"groups\": [0, 1, 1, 2, 2]}]}");
    CS_AUTO(cs_plan_file) file = {0};
    EACH_ALLOCATION_FAILS(n) {
        if (out_of_memory(cs_plan_file_read(path, &file))) assert_null(file.plan);
    }
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    objective.file = &file;
    fail_each_allocation(&objective);
    assert_int_equal(unlink(path), 0);
}
