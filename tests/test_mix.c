/* mix: the distribution of a mixture against all plans of its parts and drawn ones, its shape at
 * any length, what networks read, its text and JSON, what is refused. */
#include "batch_support.h"
#include "io_support.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/parameter.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "toy_support.h"

/* The largest weight of a drawn plan of 6: 5 or 6 prefixes, or 7 / n of a ratio's. */
TEST(events_are_those_of_all_plans)
{
    const char *const specs[] = {"mix:0.5*ar+0.5*masked(mask-ratio=0.4)",
                                 "mix:1*diverse-ar(t=2)+3*group-ar(t=2)+1*permuted-ar",
                                 "mix:0.2*masked(unmasked=1)+0.8*bernoulli-masked(mask-ratio=0.3)",
                                 "mix:0.3*offset-ar(offset-weights=power:1)+0.7*permuted-ar"};
    for (int i = 0; i < 4; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_objective o = plan_held(specs[i], &file);
        plan_compare_variants(o, 2, (const double[]){7, 7});
    }
}

/* Two AR-like parts by hand, s = 3: ar has events (0, 1), (01, 2) of weight 1 each; masked with one
 * unmasked token six events of 1/3 each (2 tokens over 3 sets). Token weights: 4 tokens in all. */
TEST(parts_weigh_by_their_tokens)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_held("mix:1*ar+1*masked(unmasked=1)", &file);
    for (int weight = 0; weight < 2; ++weight) {
        o.event_weight = (cs_event_weight)weight;
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, 3, &pairs));
        assert_int_equal(pairs.events, 2);
        assert_true(cs_pairs_expand_count(&pairs) == 7);
        OK(cs_pairs_expand(&pairs, 7));
        assert_int_equal(pairs.events, 7);
        assert_true(pairs.predicted == 2);
        for (int64_t e = 0; e < 7; ++e) {
            unsigned set = plan_mask(&pairs, e);
            bool both = cs_pairs_set_of(&pairs, e).size == 1 && set == 1 && pairs.target[e] == 1;
            double expected = set == 3 ? 3 : both ? 4 : 1;
            assert_true(fabs(pairs.weight[e] - expected / 12) < 1e-15);
        }
    }
}

/* Distributions of sizes mix at any length: two masks of the same kind are a mask in the mean,
 * exactly (variable-masked under token weights, theorem-4-2.md). */
TEST(invariant_parts_mix_at_any_length)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_toy toy = {.classes = 2, .length = 100000, .tokens = 3};
    toy.objective = plan_held("mix:1*masked(unmasked=20000)+1*masked(unmasked=60000)", &file);
    AUTO_OK(cs_toy_spectrum, spectrum, cs_toy_reduce(&toy, &spectrum));
    double m = 40000, s = 100000;
    assert_int_equal(spectrum.values, 2);
    assert_true(fabs(spectrum.sigma[1] - sqrt(m / ((s - m) * (s - 1)))) < 1e-15);
}

/* Shares and numbers of a command line may be expressions too: at each length the mixture that has
 * their values, bit for bit. */
TEST(expressions_are_allowed_in_a_specification)
{
    const char *const spec = "mix:1/s*ar+(1-1/s)*masked(mask-ratio=min(0.5,2/s))+"
                             "max(s*2,1)*group-ar(t=max(round(s/3),1))";
    const double ratio[] = {0.5, 0.5, 0.4, 2.0 / 6};
    cs_plan_file file, by_hand;
    cs_objective o = plan_held(spec, &file);
    char *text = cs_objective_describe(&o);
    assert_non_null(strstr(text, spec));
    cs_free(text);
    for (int64_t s = 3; s <= 6; ++s) {
        static double own[PLAN_CELLS], expected[PLAN_CELLS];
        double share = 1 / (double)s;
        text = cs_format("mix:%.17g*ar+%.17g*masked(mask-ratio=%.17g)+%d*group-ar(t=%d)", share,
                         1 - share, ratio[s - 3], (int)s * 2, s < 5 ? 1 : 2);
        cs_objective hand = plan_held(text, &by_hand);
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, s, &pairs));
        plan_table_of_pairs(&pairs, own);
        cs_pairs_free(&pairs);
        OK(cs_pairs_of(&hand, s, &pairs));
        plan_table_of_pairs(&pairs, expected);
        assert_memory_equal(own, expected, sizeof own);
        cs_plan_file_free(&by_hand);
        cs_free(text);
    }
    cs_plan_file_free(&file);
}

TEST(networks_read_what_parts_have_in_common)
{
    const struct {
        const char *spec;
        cs_objective_reading reads;
    } cases[] = {{"mix:1*ar+1*mix(1*ar+2*ar)", CS_ROWS_SHIFTED},
                 {"mix:1*masked(unmasked=1)+1*bernoulli-masked(mask-ratio=0.5)", CS_ROWS_MASKED},
                 {"mix:1*ar+1*masked(unmasked=1)", CS_ROWS_GROUPS},
                 {"mix:1*offset-ar(offset-weights=uniform:2)+1*offset-ar(offset-weights=mix:0.5)",
                  CS_ROWS_GROUPS}};
    for (int i = 0; i < 4; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_task task = batch_task("ar");
        cs_model_config config = batch_config(i < 2 ? CS_FORM_SINGLE : CS_FORM_TWO_STREAM);
        cs_example example = {.token = batch_text, .length = 6};
        task.objective = plan_held(cases[i].spec, &file);
        assert_int_equal(cs_objective_reads(&task.objective), cases[i].reads);
        for (int64_t step = 0; step < 20; ++step) {
            AUTO_OK(
                cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, 5, step, NULL}, &example, 1, &b));
            assert_int_equal(b.form, i < 2 ? CS_FORM_SINGLE : CS_FORM_TWO_STREAM);
            assert_true(b.loss.weight_sum >= 0);
        }
    }
}

TEST(text_and_json_lead_back)
{
    CS_AUTO(cs_plan_file) file = {0}, again = {0};
    cs_objective o = plan_held("mix:1*gpt+3*masked(mask-ratio=0.15)", &file), back;
    json_auto_t *json = NULL;
    CS_AUTO_FREE char *text = cs_objective_describe(&o);
    assert_string_equal(text, "mix:0.25*ar+0.75*masked(mask-ratio=0.15)");
    OK(cs_objective_to_json(&o, &json));
    OK(cs_objective_from_json(json, &again, &back));
    CS_AUTO_FREE char *second = cs_objective_describe(&back);
    assert_string_equal(second, text);
    cs_plan_file_free(&again);
    OK(cs_objective_parse_held(
        "mix:1*ar+1*masked(unmasked=0),event-weight=mask,empty-prefix=shared", &again, &back));
    assert_true(back.event_weight == CS_EVENT_MASK && back.empty_prefix == CS_PREFIX_SHARED);
}

/* A mixture within another is that of its parts with the products of their shares. */
TEST(mixtures_nest)
{
    CS_AUTO(cs_plan_file) file = {0}, flat_file = {0}, again = {0};
    cs_objective o =
        plan_held("mix:1*ar+3*mix(1*masked(unmasked=2)+1*mix(s*gpt+s*permuted-ar))", &file);
    cs_objective flat = plan_held("mix:5*ar+6*masked(unmasked=2)+3*permuted-ar+2*ar", &flat_file),
                 back;
    CS_AUTO_FREE char *text = cs_objective_describe(&o);
    assert_string_equal(text,
                        "mix:0.25*ar+0.75*mix(0.5*masked(unmasked=2)+0.5*mix(s*ar+s*permuted-ar))");
    for (int64_t s = 3; s <= 6; ++s) {
        double one[PLAN_CELLS], other[PLAN_CELLS];
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, s, &pairs));
        plan_table_of_pairs(&pairs, one);
        cs_pairs_free(&pairs);
        OK(cs_pairs_of(&flat, s, &pairs));
        plan_table_of_pairs(&pairs, other);
        plan_assert_same_table(one, other, text);
        plan_compare_with_enumeration(&o, s);
    }
    OK(cs_objective_parse_held(text, &again, &back));
    CS_AUTO_FREE char *second = cs_objective_describe(&back);
    assert_true(strncmp(second, text, strlen(text)) == 0);
}

/* A ratio that was computed is no percentage. */
TEST(computed_ratios_are_not_guessed_at)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_held("mix:1*ar+1*masked(mask-ratio=3/s)", &file);
    assert_fails(cs_objective_check_length(&o, 2), CS_ERR_INPUT, "mask ratio 1.5 not in (0, 1)");
    assert_null(strstr(cs_reason(), "did you mean"));
    cs_reason_clear();
}

/* Blanks and exponents mean nothing else. */
TEST(shares_are_read_as_they_come)
{
    static const char *const specs[] = {
        "mix:0.1*ar+0.2*masked(mask-ratio=1/3)+0.7*permuted-ar",
        " mix: 0.1 * ar + 0.2 * masked( mask-ratio = 1/3 ) + 0.7 * permuted-ar ",
        "mix:1e+2*ar+2E+2*masked(mask-ratio=1/3)+7e2*permuted-ar"};
    for (int i = 0; i < 3; ++i) {
        double share[3];
        CS_AUTO(cs_plan_file) file = {0};
        cs_objective o = plan_held(specs[i], &file);
        OK(cs_mix_shares(&o, 5, share));
        assert_true(fabs(share[0] - 0.1) + fabs(share[1] - 0.2) + fabs(share[2] - 0.7) < 1e-15);
    }
}

/* The printed form is the same mixture to the last bit, whatever the shares sum to. */
TEST(printed_shares_read_back)
{
    cs_rng rng = cs_rng_at(1, CS_STREAM_AUDIT, 0);
    for (int i = 0; i < 200; ++i) {
        char spec[200];
        double share[8], again[8];
        CS_AUTO(cs_plan_file) file = {0}, back = {0};
        ARRAY(double, u, 5, j, cs_rng_uniform(&rng));
        (void)snprintf(spec, sizeof spec,
                       "mix:%.17g*ar+%.17g*masked(unmasked=1)+%.17g*mix(%.17g*gvp(groups=2)+%.17g*"
                       "permuted-ar)",
                       u[0], u[1], u[2], u[3], u[4]);
        cs_objective one = plan_held(spec, &file);
        CS_AUTO_FREE char *text = cs_objective_describe(&one);
        cs_objective other = plan_held(text, &back);
        OK(cs_mix_shares(&one, 5, share));
        OK(cs_mix_shares(&other, 5, again));
        assert_int_equal(file.parts, 5);
        assert_memory_equal(share, again, 5 * sizeof *share);
    }
}

TEST(bad_mixtures_are_named)
{
    const struct {
        const char *spec, *named;
    } bad[] = {
        {"mix:ar+masked", "part \"ar\" is not SHARE*OBJECTIVE"},
        {"mix:0*ar+1*masked", "share \"0\""},
        {"mix:1*ar", "two parts"},
        {"mix:1*ar+", "part \"\""},
        {"mix:0.5*", "part \"0.5*\" is not SHARE*OBJECTIVE: it lacks the objective"},
        {"mix: * ar + 1*masked", "part \"*ar\" is not SHARE*OBJECTIVE: it lacks the share"},
        {"mix:1e+3*ar", "two parts"},
        {"mix:0.5*ar,0.5*masked",
         "\"0.5*masked\" after a comma: join the parts of a mixture with +"},
        {"mix:1*ar+1*masked(mask-ratio=15)", "mask ratio 15 not in (0, 1); did you mean 0.15?"},
        {"mix:1*ar+1*maked", "did you mean masked?"},
        {"mix:1*ar+1*mix", "part \"\" is not SHARE*OBJECTIVE"},
        {"mix:1*ar+1*mix(1*ar+0*masked)", "share \"0\""},
        {"mix:1*ar+1*mix(1*ar+1*masked(event-weight=mask))",
         "part 2 of the mixture: part 2: event-weight, target-weight, empty-prefix and share must "
         "be "
         "given for the whole mixture"},
        {"mix:1*ar+1*mix(1*ar", "parenthesis"},
        {"mix:1*ar+1*file", "file needs plan-file"},
        {"mix:0/s*ar+1*masked(colour=3)", "unknown objective parameter \"colour\""},
        {"mix:(1*ar+1*masked", "part \"(1*ar+1*masked\" is not"},
        {"mix:1/t*ar+1*masked", "part 1 of the mixture: share: \"1/t\": column 3: unknown name t"},
        {"mix:1*ar+1*masked(mask-ratio=0.1,mask-ratio=0.2)", "mask-ratio is given twice"},
        {"mix:1*ar+1*masked(event-weight=mask)", "must be given for the whole mixture"},
        {"mix:1*ar+1*masked(mask-ratio=1.5)", "mask ratio 1.5"},
        {"mix:1*ar+1*masked(mask-ratio=0.5", "parenthesis"},
        {"mix:nan*ar+1*masked", "share \"nan\""},
        {"mix:1e308*ar+1e308*masked", "shares sum to inf"},
        {"mix:1*ar+1*masked", "part 2 of the mixture: masked needs a number of unmasked tokens"},
        {"mix:1*ar+1*mix(1*ar+1*span-masked)", "for example span-masked(mask-ratio=0.15,t=3)"},
        {"mix", "two parts"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_objective o;
        assert_fails(cs_objective_parse_held(bad[i].spec, &file, &o), CS_ERR_USAGE, bad[i].named);
        cs_reason_clear();
    }
    cs_objective o;
    assert_fails(cs_objective_parse("mix:1*ar+1*masked", &o), CS_ERR_USAGE,
                 "a mixture is not allowed here");
}

/* Listed prefixes remain prefixes when they are mixed with sizes. ar and masked with m = 170 of s =
 * 200 predict 199 and 30 tokens. The events: 199 listed ones and those of C(200, 170) sets. */
TEST(forms_mix_at_any_length)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_held("mix:1*ar+1*masked(mask-ratio=0.15)", &file);
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, 200, &pairs));
    assert_int_equal(pairs.events, 199);
    assert_true(pairs.prefixes && pairs.predicted == 229.0 / 2);
    assert_each(e, 0, 199, cs_pairs_set_of(&pairs, e).size == e + 1);
    assert_each(e, 0, 199, cs_pairs_is_prefix(&pairs, cs_pairs_set_of(&pairs, e)));
    assert_each(e, 0, 199, fabs(pairs.weight[e] * 229 - 1) < 1e-15);
    assert_true(fabs(pairs.q[170] * 229 - 30) < 1e-14 && pairs.invariant == pairs.q[170]);
    assert_true(fabs(cs_pairs_expand_count(&pairs) / cs_binomial(200, 170) - 30) < 1e-12);
    assert_fails(cs_pairs_expand(&pairs, 1 << 20), CS_ERR_USAGE, "length 200 expands to 1.2");
}

/* The reduction of a toy model by symmetry (above 12 positions) against all its sets, empty ones
 * among them. */
TEST(position_reduction_is_exact)
{
    expect_reduction_exact("mix:1*ar+1*masked(mask-ratio=0.5)", 1);
    expect_reduction_exact("mix:1*group-ar(t=3)+2*permuted-ar,empty-prefix=shared", 3);
    expect_reduction_exact(
        "mix:1*ar+1*diverse-ar(t=2)+1*bernoulli-masked(mask-ratio=0.7),empty-prefix=shared", 2);
    expect_reduction_exact("mix:1*ar+1*masked(unmasked=1)+3*masked(unmasked=12),event-weight=mask",
                           1);
    expect_reduction_exact(
        "mix:1*offset-ar(offset-weights=power:1)+1*permuted-ar,empty-prefix=class", 2);
    expect_reduction_exact("mix:1*ar+2*gvp(groups=2),empty-prefix=shared", 2);
}

/* Sums over sets as fractions, eigenvalues with 40 digits (m = 7 of 14, 51 of 60); those within 1e-9
 * of each other have their mean. */
TEST(long_mixtures_have_their_golden_spectra)
{
    static const struct {
        const char *spec;
        int64_t s;
        double second, last, sigma2, sigma4;
    } golden[] = {{"mix:0.5*ar+0.5*masked(mask-ratio=0.5)", 14, 0.8320502943378437,
                   0.3476767476825577, 9.427408299754912, 6.764481918620343},
                  {"mix:0.5*ar+0.5*masked(mask-ratio=0.15)", 60, 0.93919798331929561,
                   0.3303725048725507, 52.270531400495614, 46.141005208238646}};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_toy toy = {.classes = 1, .length = golden[i].s, .tokens = 1};
        toy.objective = plan_held(golden[i].spec, &file);
        CS_AUTO(cs_toy_spectrum) spectrum = toy_run(cs_toy_reduce, &toy);
        /* A dense SVD: a few units of rounding a value. */
        assert_true(fabs(spectrum.sigma[1] - golden[i].second) < 1e-14);
        assert_true(fabs(spectrum.sigma[spectrum.values - 1] - golden[i].last) < 1e-14);
        assert_true(fabs(spectrum.sum_sigma2 / golden[i].sigma2 - 1) < 1e-14);
        assert_true(fabs(spectrum.sum_sigma4 / golden[i].sigma4 - 1) < 1e-14);
    }
}

static cs_status every_form(const char *spec)
{
    CS_AUTO(cs_plan_file) file = {0};
    CS_AUTO(cs_pairs) pairs = {0};
    cs_toy toy = {.classes = 2, .length = 13, .tokens = 1};
    CS_AUTO(cs_toy_spectrum) spectrum = {0};
    cs_status status = cs_objective_parse_held(spec, &file, &toy.objective);
    if (status == CS_OK) status = cs_pairs_of(&toy.objective, 5, &pairs);
    if (status == CS_OK) status = cs_pairs_expand(&pairs, 1 << 10);
    if (status == CS_OK) status = cs_toy_reduce(&toy, &spectrum);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_or_spare_each_allocation(every_form, "mix:1*ar+1*mix(1*masked(unmasked=3)+2*permuted-ar)");
}
