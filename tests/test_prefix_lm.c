/* prefix-lm: its events against all plans and drawn ones, and by hand; its kernel, contexts and
 * mixtures; how a network reads it. */
#include "batch_support.h"
#include "context_support.h"
#include "io_support.h"
#include "mix_support.h"
#include "plan/kernel.h"
#include "plan_support.h"
#include "toy_support.h"
#include "train/model_kind.h"

TEST(events_are_those_of_all_plans)
{
    cs_objective o = plan_objective("prefix-lm");
    plan_compare_variants(o, 0, (const double[]){1, 1});
}

/* s = 4: prefixes of 1, 2, 3 tokens predict 3, 2, 1; token 3 is predicted by all of them. */
TEST(later_tokens_are_predicted_more_often)
{
    const double by_token[] = {1 / 6.0, 2 / 6.0, 3 / 6.0},
                 by_mask[] = {2 / 18.0, 5 / 18.0, 11 / 18.0};
    cs_objective o = plan_objective("prefix-lm");
    for (int weight = 0; weight < 2; ++weight) {
        o.event_weight = (cs_event_weight)weight;
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, 4, &pairs));
        assert_int_equal(pairs.events, 3);
        assert_true(pairs.predicted == 2);
        assert_each(e, 0, 3, cs_pairs_set_of(&pairs, e).size == e + 1);
        assert_each(e, 0, 3, pairs.target[e] == e + 1);
        assert_each(e, 0, 3, fabs(pairs.weight[e] - (weight ? by_mask : by_token)[e]) < 1e-15);
    }
}

/* One stream: the rows of the prefix see all of it, and what a row predicts is what comes after the
 * rows that it sees. */
TEST(a_network_reads_it_in_one_stream)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective mixed = plan_held("mix:1*ar+1*prefix-lm", &file);
    assert_int_equal(cs_objective_reads(&mixed), CS_ROWS_SHIFTED);
    for (int64_t step = 0; step < 40; ++step) {
        cs_task task = batch_task("prefix-lm");
        task.objective = step % 2 ? mixed : task.objective;
        cs_model_config config = batch_config(CS_FORM_SINGLE);
        cs_example example = {batch_text, 6, 0, NULL, NULL};
        AUTO_OK(cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, 5, step, NULL}, &example, 1, &b));
        assert_int_equal(b.form, CS_FORM_SINGLE);
        assert_true(b.events >= 1 && b.events <= 5);
        for (int64_t r = 0; r < b.events; ++r) {
            assert_each(j, 0, 6, (b.vis[j] <= b.lim[b.loss.predict[r]]) == (j < b.loss.place[r]));
            assert_int_equal(b.loss.target[r], batch_text[b.loss.place[r]]);
        }
        assert_int_equal(b.loss.place[b.events - 1], 5);
    }
}

/* Brute force over all contents, r = 2, s = 4, T = 2: every text has one next token, as under
 * ar. */
TEST(its_toy_spectrum_is_that_of_ar)
{
    for (int prefix = 0; prefix < 3; ++prefix) {
        const int64_t ones[] = {6, 7, 8};
        cs_toy toy = {plan_objective("prefix-lm"), 2, 4, 2, false, false, 0};
        toy.objective.empty_prefix = (cs_empty_prefix)prefix;
        AUTO_OK(cs_toy_spectrum, spectrum, cs_toy_reduce(&toy, &spectrum));
        assert_int_equal(spectrum.values, 1);
        assert_true(fabs(spectrum.sigma[0] - 1) < 1e-14);
        assert_int_equal(spectrum.multiplicity[0], ones[prefix]);
    }
}

/* Every text has one next token: two targets of one context are the same. */
TEST(its_kernel_is_that_of_all_plans)
{
    double r[50 * 50], trace = 0;
    cs_objective o = plan_objective("prefix-lm");
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, 50, &pairs));
    OK(cs_kernel_of_pairs(&pairs, r));
    trace += SUM(i, 0, 50, r[51 * i]);
    assert_true(fabs(trace - 1) < 1e-13);
    plan_compare_kernel("mix:0.3*prefix-lm+0.7*permuted-ar");
}

TEST(its_context_weights_are_exact)
{
    context_check("prefix-lm", 2, 7);
}

/* Two streams of an objective of next tokens but ar: content is read by plans. */
TEST(two_streams_read_it_by_plans)
{
    const cs_model_config config = {.arch = CS_ARCH_GPT2, .attention.query_vector = true};
    const cs_task task = {.objective = plan_objective("prefix-lm"), .two_stream = true};
    AUTO_OK(cs_model_kind, kind, cs_model_kind_of(&task, &config, CS_LOSS_CROSS_ENTROPY, 1, &kind));
    assert_int_equal(kind.attention, CS_ATTENTION_PLAN);
}

TEST(it_mixes)
{
    static const mixture m = {.spec = "mix:1*prefix-lm+3*variable-masked(mask-ratio=0.1:0.3)",
                              .part = {"prefix-lm", "variable-masked:mask-ratio=0.1:0.3"},
                              .share = {0.25, 0.75}};
    CS_AUTO(cs_plan_file) file = {0};
    plan_compare_variants(
        plan_held("mix:0.3*offset-ar(offset-weights=power:1)+0.7*prefix-lm", &file), 2,
        (const double[]){7, 7});
    for (int given = 0; given < 2; ++given) {
        mix_check(&m, "nearest:2", given > 0, 0);
        mix_check(&m, "each:2", given > 0, 0);
        mix_check(&m, "document", given > 0, 0);
    }
    expect_reduction_exact(
        "mix:1*prefix-lm+1*masked(unmasked=1)+3*masked(unmasked=12),event-weight=mask", 1);
}

TEST_IN_DIR(it_is_a_part_of_a_plan_file)
{
    plan_check_distribution(
        in_dir(state, "mix.json"),
        "{\"mixture\": [{\"share\": 1, \"objective\": \"offset-ar\", \"parameters\": "
        "{\"offset-weights\": \"power:6/s\"}}, {\"share\": 1, \"objective\": "
        "\"prefix-lm\"}]}",
        "mix:1*offset-ar(offset-weights=power:1)+1*prefix-lm");
}
