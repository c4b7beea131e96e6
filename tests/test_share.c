/* A share of the predictions: it changes how many tokens a batch scores, and nothing else. */
#include "batch_support.h"
#include "plan/parameter.h"
#include "plan/spec.h"
#include "plan_support.h"

enum { LENGTH = 6, STEPS = 200 };

static cs_objective thinned(const char *spec, double share)
{
    cs_objective o = plan_objective(spec);
    o.share = share;
    return o;
}

/* The distribution of events is bit for bit that of all predictions; their number is not. */
TEST(events_do_not_depend_on_the_share)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        const cs_objective all = plan_objective(plan_spec(i)), few = thinned(plan_spec(i), 0.3);
        double predicted = 0, kept = 0;
        AUTO_OK(cs_pairs, a, cs_pairs_of(&all, LENGTH, &a));
        AUTO_OK(cs_pairs, b, cs_pairs_of(&few, LENGTH, &b));
        OK(cs_pairs_expand(&a, 1 << 20));
        OK(cs_pairs_expand(&b, 1 << 20));
        assert_int_equal(a.events, b.events);
        assert_each(e, 0, a.events,
                    plan_mask(&a, e) == plan_mask(&b, e) && a.target[e] == b.target[e]);
        assert_each(e, 0, a.events, a.weight[e] == b.weight[e]);
        OK(cs_objective_predicted(&all, LENGTH, &predicted));
        OK(cs_objective_predicted(&few, LENGTH, &kept));
        assert_true(fabs(kept - 0.3 * predicted) <= 1e-14 * predicted);
    }
}

/* Drawn plans keep their groups; each weight stays or is 0, the latter for a share of 1 - .3. */
TEST(drawn_plans_lose_weights_alone)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        const cs_objective all = plan_objective(plan_spec(i)), few = thinned(plan_spec(i), 0.3);
        double total = 0, kept = 0;
        AUTO_OK(cs_plan, a, cs_plan_init(&a, LENGTH));
        AUTO_OK(cs_plan, b, cs_plan_init(&b, LENGTH));
        for (uint64_t draw = 0; draw < 2000; ++draw) {
            cs_rng one = cs_rng_at(5, CS_STREAM_TEST, draw), two = one;
            OK(cs_plan_sample(&all, &one, &a));
            OK(cs_plan_sample(&few, &two, &b));
            assert_memory_equal(a.group, b.group, sizeof *a.group * LENGTH);
            assert_each(k, 0, LENGTH, b.weight[k] == a.weight[k] || b.weight[k] == 0);
            total += SUM(k, 0, LENGTH, a.weight[k] > 0);
            kept += SUM(k, 0, LENGTH, b.weight[k] > 0);
        }
        assert_true(fabs(kept - 0.3 * total) <= 5 * sqrt(0.3 * 0.7 * total));
    }
}

static void same_rows(const int32_t *a, const int32_t *b, int64_t rows)
{
    assert_true(!a == !b);
    if (a) assert_memory_equal(a, b, sizeof *a * (size_t)rows);
}

/* All that the network reads is the same, and the scored rows are some of all rows, in order. */
static void compare(const cs_batch *all, const cs_batch *few)
{
    assert_true(few->length == all->length && few->queries == all->queries);
    assert_int_equal(few->decoder_length, all->decoder_length);
    same_rows(all->token, few->token, all->batch * all->length);
    same_rows(all->position, few->position, all->batch * all->length);
    same_rows(all->lim, few->lim, all->batch * all->length);
    same_rows(all->vis, few->vis, all->batch * all->length);
    same_rows(all->query.lim, few->query.lim, all->batch * all->queries);
    same_rows(all->decoder.from, few->decoder.from, all->batch * all->decoder_length);
    for (int64_t r = 0, at = 0; r < few->events; ++r, ++at) {
        while (at < all->events && !(all->loss.predict[at] == few->loss.predict[r] &&
                                     all->loss.place[at] == few->loss.place[r])) {
            ++at;
        }
        assert_true(at < all->events);
        assert_true(all->loss.target[at] == few->loss.target[r] &&
                    all->loss.weight[at] == few->loss.weight[r]);
    }
}

static void check_batches(cs_task task, const cs_model_config *config)
{
    enum { TEXTS = 4 };
    cs_example example[TEXTS];
    double total = 0, kept = 0;
    cs_task few = task;
    few.objective.share = 0.3;
    for (int64_t b = 0; b < TEXTS; ++b) {
        example[b] = (cs_example){batch_text, LENGTH, b, NULL, NULL};
    }
    for (int64_t step = 0; step < STEPS; ++step) {
        AUTO_OK(
            cs_batch, a,
            cs_batch_build(&(cs_batch_order){&task, config, 1, step, NULL}, example, TEXTS, &a));
        AUTO_OK(cs_batch, b,
                cs_batch_build(&(cs_batch_order){&few, config, 1, step, NULL}, example, TEXTS, &b));
        compare(&a, &b);
        total += (double)a.events;
        kept += (double)b.events;
    }
    assert_true(total > 0 && fabs(kept - 0.3 * total) <= 5 * sqrt(0.3 * 0.7 * total));
}

TEST(batches_score_a_share_of_the_same_predictions)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_task task = batch_task(plan_spec(i));
        cs_model_config config = batch_config(batch_form_of(&task));
        check_batches(task, &config);
        config = batch_config(CS_FORM_LINEAR);
        check_batches(task, &config);
        task.two_stream = true;
        config = batch_config(CS_FORM_TWO_STREAM);
        check_batches(task, &config);
    }
    cs_task task = batch_task("masked:unmasked=3");
    cs_model_config config = batch_config(CS_FORM_MAE);
    for (int d = CS_DECODER_SELF; d <= CS_DECODER_CAUSAL_CROSS; ++d) {
        config.decoder.attention = (cs_decoder_attention)d;
        check_batches(task, &config);
    }
}

/* Specifications and JSON keep the share; shares outside (0, 1], mask weights and shares of parts are
 * refused. */
TEST(shares_are_read_and_checked)
{
    cs_objective o, back;
    json_auto_t *json = NULL;
    OK(cs_objective_parse("masked(mask-ratio=0.5,share=0.2)", &o));
    assert_true(o.share == 0.2);
    CS_AUTO_FREE char *text = cs_objective_describe(&o);
    assert_string_equal(text, "masked(mask-ratio=0.5,share=0.2)");
    OK(cs_objective_to_json(&o, &json));
    AUTO_OK(cs_plan_file, held, cs_objective_from_json(json, &held, &back));
    assert_true(back.share == 0.2);
    cs_free(text);
    OK(cs_objective_parse_held("mix:0.5*ar+0.5*masked(unmasked=1),share=0.1", &held, &o));
    text = cs_objective_describe(&o);
    assert_string_equal(text, "mix:0.5*ar+0.5*masked(unmasked=1),share=0.1");
    cs_plan_file_free(&held);
    assert_fails(cs_objective_parse("ar(share=0)", &o), CS_ERR_USAGE, "not in (0, 1]");
    assert_fails(cs_objective_parse("ar(share=1.5)", &o), CS_ERR_USAGE, "not in (0, 1]");
    assert_fails(cs_objective_parse("masked(unmasked=1,share=0.5,event-weight=mask)", &o),
                 CS_ERR_USAGE, "needs event-weight=token");
    assert_fails(cs_objective_parse_held("mix:0.5*ar(share=0.5)+0.5*masked(unmasked=1)", &held, &o),
                 CS_ERR_USAGE, "whole mixture");
}
