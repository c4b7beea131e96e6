/* prefix-lm: its events against all plans and drawn ones, and by hand; how a network reads it. */
#include <math.h>

#include "batch_support.h"
#include "plan_support.h"
#include "test.h"
#include "toy_support.h"

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
        cs_pairs pairs;
        o.event_weight = (cs_event_weight)weight;
        OK(cs_pairs_of(&o, 4, &pairs));
        assert_int_equal(pairs.events, 3);
        assert_true(pairs.predicted == 2);
        for (int e = 0; e < 3; ++e) {
            assert_int_equal(cs_pairs_set_of(&pairs, e).size, e + 1);
            assert_int_equal(pairs.target[e], e + 1);
            assert_true(fabs(pairs.weight[e] - (weight ? by_mask : by_token)[e]) < 1e-15);
        }
        cs_pairs_free(&pairs);
    }
}

/* One stream: the rows of the prefix see all of it, and what a row predicts is what comes after the
 * rows that it sees. */
TEST(a_network_reads_it_in_one_stream)
{
    for (int64_t step = 0; step < 20; ++step) {
        cs_task task = batch_task("prefix-lm");
        cs_model_config config = batch_config(CS_FORM_SINGLE);
        cs_example example = {batch_text, 6, 0, NULL};
        cs_batch b;
        OK(cs_batch_build(&(cs_batch_order){&task, &config, 5, step, NULL}, &example, 1, &b));
        assert_int_equal(b.form, CS_FORM_SINGLE);
        assert_true(b.events >= 1 && b.events <= 5);
        for (int64_t r = 0; r < b.events; ++r) {
            for (int64_t j = 0; j < 6; ++j) {
                assert_true((b.vis[j] <= b.lim[b.predict[r]]) == (j < b.place[r]));
            }
            assert_int_equal(b.target[r], batch_text[b.place[r]]);
        }
        assert_int_equal(b.place[b.events - 1], 5);
        cs_batch_free(&b);
    }
}

/* Brute force over all contents, r = 2, s = 4, T = 2: every text has one next token, as under
 * ar. */
TEST(its_toy_spectrum_is_that_of_ar)
{
    for (int prefix = 0; prefix < 3; ++prefix) {
        const int64_t ones[] = {6, 7, 8};
        cs_toy toy = {plan_objective("prefix-lm"), 2, 4, 2, false, false};
        cs_toy_spectrum spectrum;
        toy.objective.empty_prefix = (cs_empty_prefix)prefix;
        OK(cs_toy_reduce(&toy, &spectrum));
        assert_int_equal(spectrum.values, 1);
        assert_true(fabs(spectrum.sigma[0] - 1) < 1e-14);
        assert_int_equal(spectrum.multiplicity[0], ones[prefix]);
        cs_toy_spectrum_free(&spectrum);
    }
}
