/* model: tokens that a prediction must not see cannot change one bit of its logits, on every
 * backend; and sizes of a batch below the network's change nothing either. */
#include "backend_ref.h"
#include "model_support.h"

enum { VOCAB = 11, PREDICTIONS = 7, PLANS = 6 };

static bool same_outputs(const float *a, const float *b, int64_t outputs, int64_t row)
{
    return memcmp(a + row * outputs, b + row * outputs, (size_t)outputs * sizeof *a) == 0;
}

static bool same_row(const float *a, const float *b, int64_t row)
{
    return same_outputs(a, b, VOCAB, row);
}

/* Logits, or values that are predicted. */
static int64_t outputs_of(const model_world *world)
{
    return world->net.graph.tensor[world->net.loss.logits].cols;
}

static void assert_all_finite(const float *x, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            fail_msg("%s: logit %d is %g", name, (int)i, (double)x[i]);
        }
    }
}

/* --- tokens out of sight ---------------------------------------------------------------------- */

/* Another token in place of one, whose own bit is in `is`; rows whose logits it may move may, others
 * must not. Counts those that did and those that could not. */
static void perturb(model_world *world, model_data *data, const float *before, int32_t *token,
                    dependence is, const char *name, int64_t counts[2])
{
    float after[PREDICTIONS * VOCAB];
    int32_t kept = *token;
    *token = (kept + 1) % VOCAB;
    world_load(world, data);
    world_logits(world, after);
    *token = kept;
    for (int64_t p = 0; p < data->predictions; ++p) {
        dependence may = data_dependence(data, world, p);
        bool free = may.sequence == is.sequence &&
                    ((may.content & is.content) != 0 || (may.decoder & is.decoder) != 0);
        bool same = same_outputs(before, after, outputs_of(world), p);
        if (!free && !same) {
            fail_msg("%s: loss row %d moved with a token out of its sight", name, (int)p);
        }
        counts[0] += !same;
        counts[1] += !free;
    }
}

static void check_leaks(backend_open open, const model_case *what, bool training)
{
    cs_model_config config = case_config(what, training);
    cs_network_options options = case_options(what, training);
    CS_AUTO_BY(world_close, model_world) world = {0};
    int64_t counts[2] = {0};
    world_open(&world, open, &config, &options);
    for (uint64_t plan = 0; plan < PLANS; ++plan) {
        model_data data;
        float before[PREDICTIONS * VOCAB];
        data_fill(&data, &world, plan);
        world_load(&world, &data);
        world_logits(&world, before);
        assert_all_finite(before, PREDICTIONS * outputs_of(&world), what->name);
        for (int64_t r = 0; r < data.batch * data.length; ++r) {
            const dependence is = {r / data.length, 1ULL << (r % data.length), 0};
            perturb(&world, &data, before, &data.token[r], is, what->name, counts);
        }
        bool causal = config.decoder.attention == CS_DECODER_CAUSAL_CROSS;
        int64_t decoder = causal ? data.batch * data.decoder_length : 0;
        for (int64_t r = 0; r < decoder; ++r) {
            const dependence is = {r / data.decoder_length, 0, 1ULL << (r % data.decoder_length)};
            perturb(&world, &data, before, &data.decoder_token[r], is, what->name, counts);
        }
    }
    assert_true(counts[0] > PLANS); /* what is seen does move it, and something is not seen */
    assert_true(counts[1] > PLANS);
}

TEST(test_leaks)
{
    for (const backend_open *open = model_backends; *open; ++open) {
        for (const model_case *what = model_cases; what->name; ++what) {
            check_leaks(*open, what, false);
            check_leaks(*open, what, true);
        }
    }
}

/* A query is blind to the token at its own place, and later groups are not. Groups of two: rank
 * k / 2; query q sits at place q and sees the groups before its own. */
TEST(test_two_stream_targets)
{
    const model_case what = {"two-stream", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CS_LOSS_CROSS_ENTROPY,
                             NULL};
    for (const backend_open *open = model_backends; *open; ++open) {
        cs_model_config config = case_config(&what, false);
        cs_network_options options = case_options(&what, false);
        options.queries = options.length = 5;
        options.batch = 1;
        options.predictions = 5;
        CS_AUTO_BY(world_close, model_world) world = {0};
        model_data data;
        world_open(&world, *open, &config, &options);
        data_fill(&data, &world, 2);
        for (int32_t k = 0; k < 5; ++k) {
            data.vis[k] = data.lim[k] = k / 2;
            data.query_position[k] = data.predict[k] = k;
            data.query_lim[k] = k / 2 - 1;
        }
        float before[5 * VOCAB], after[5 * VOCAB];
        world_load(&world, &data);
        world_logits(&world, before);
        for (int64_t k = 0; k < 5; ++k) {
            data.token[k] = (data.token[k] + 1) % VOCAB;
            world_load(&world, &data);
            world_logits(&world, after);
            assert_each(q, 0, 5, same_row(before, after, q) == (q / 2 <= k / 2));
            data.token[k] = (data.token[k] + VOCAB - 1) % VOCAB;
        }
    }
}

/* A query that sees nothing has the logits of its start vector and place alone: the same in any
 * batch, with any other text. */
TEST(test_empty_query)
{
    const cs_arch arch[] = {CS_ARCH_GPT2, CS_ARCH_ROBERTA_PRELAYERNORM, CS_ARCH_BERT};
    for (size_t a = 0; a < sizeof arch / sizeof *arch; ++a) {
        const model_case what = {"empty query", CS_FORM_TWO_STREAM, arch[a], CS_LOSS_CROSS_ENTROPY,
                                 NULL};
        cs_model_config config = case_config(&what, false);
        cs_network_options options = case_options(&what, false);
        float logits[2][PREDICTIONS * VOCAB];
        for (int small = 0; small < 2; ++small) {
            CS_AUTO_BY(world_close, model_world) world = {0};
            model_data data;
            if (small) {
                options.batch = options.length = options.queries = options.predictions = 1;
            }
            world_open(&world, cs_backend_ref, &config, &options);
            data_fill(&data, &world, 3 + (uint64_t)small);
            int64_t last = data.batch * data.queries - 1;
            data.query_lim[last] = -1;
            data.query_position[last] = 4;
            data.predict[0] = (int32_t)last;
            world_load(&world, &data);
            world_logits(&world, logits[small]);
        }
        assert_true(same_row(logits[0], logits[1], 0));
    }
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* A network of larger maxima, with the same data, gives the same bits. */
TEST(test_present_sizes)
{
    for (const model_case *what = model_cases; what->name; ++what) {
        cs_model_config config = case_config(what, false);
        float logits[2][PREDICTIONS * VOCAB];
        for (int larger = 0; larger < 2; ++larger) {
            cs_network_options options = case_options(what, larger != 0);
            CS_AUTO_BY(world_close, model_world) exact = {0}, world = {0};
            model_data data;
            world_open(&exact, cs_backend_ref, &config, &options);
            data_fill(&data, &exact, 9);
            if (larger) {
                options.batch += 1;
                options.length += 2;
                options.queries += 3;
                options.decoder_length += 2;
                options.predictions += 5;
            }
            world_open(&world, cs_backend_ref, &config, &options);
            world_load(&world, &data);
            world_logits(&world, logits[larger]);
        }
        for (int64_t p = 0; p < PREDICTIONS; ++p) {
            if (!same_row(logits[0], logits[1], p)) {
                fail_msg("%s: loss row %d differs", what->name, (int)p);
            }
        }
    }
}

/* --- loss at the start ------------------------------------------------------------------------ */

/* With output weights of standard deviation r below 6r (11 x 8 normal draws of one seed), logits
 * are below m = 6 r |f|_1: the cross-entropy is within 2 m of ln V, the spectral loss of factor 2
 * within 2 m + m^2 of 0. */
TEST(test_first_loss)
{
    for (const model_case *what = model_cases; what->name; ++what) {
        cs_model_config config = case_config(what, false);
        cs_network_options options = case_options(what, false);
        if (config.head.target != CS_TARGET_IDS) { /* the loss at the start is that of the values */
            continue;
        }
        config.training.init_range = 1e-6;
        CS_AUTO_BY(world_close, model_world) world = {0};
        model_data data;
        double features[PREDICTIONS * 8], most = 0;
        world_open(&world, cs_backend_ref64, &config, &options);
        OK(cs_model_randomise(&world.model, 1));
        data_fill(&data, &world, 4);
        world_load(&world, &data);
        double loss = world_loss(&world);
        OK(cs_run_get(world.run, world.net.loss.features, features));
        for (int64_t p = 0; p < PREDICTIONS; ++p) {
            double sum = SUM(c, 0, 8, fabs(features[p * 8 + c]));
            most = fmax(most, sum);
        }
        double m = 6 * config.training.init_range * most;
        double start = what->loss == CS_LOSS_CROSS_ENTROPY ? log(VOCAB) : 0;
        assert_true(m < 1e-3);
        if (!(fabs(loss - start) <= 2 * m + m * m + 1e-14)) {
            fail_msg("%s: loss %.9g, not %.9g", what->name, loss, start);
        }
    }
}
