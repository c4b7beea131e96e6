/* Batches: what rows hold in each form. */
#include "batch_support.h"
#include "plan_support.h"

static cs_batch build(const cs_task *task, const cs_model_config *config, int64_t s, int64_t step)
{
    cs_example example = {batch_text, s, 0, NULL, NULL};
    cs_batch batch;
    OK(cs_batch_build(&(cs_batch_order){task, config, 5, step, NULL}, &example, 1, &batch));
    return batch;
}

static void expect_ints(const int32_t *array, int64_t count, const int32_t *expected)
{
    assert_each(i, 0, count, array[i] == expected[i]);
}

/* --- one stream ------------------------------------------------------------------------------- */

TEST(ar_predicts_the_next_token)
{
    cs_task task = batch_task("ar");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    CS_AUTO(cs_batch) b = build(&task, &config, 4, 0);
    assert_int_equal(b.form, CS_FORM_SINGLE);
    assert_int_equal(b.batch, 1);
    assert_int_equal(b.length, 4);
    assert_int_equal(b.queries, 0);
    assert_int_equal(b.decoder_length, 0);
    assert_null(b.query.position);
    assert_null(b.decoder.from);
    expect_ints(b.token, 4, batch_text);
    expect_ints(b.position, 4, (int32_t[]){0, 1, 2, 3});
    expect_ints(b.vis, 4, (int32_t[]){0, 1, 2, 3});
    expect_ints(b.lim, 4, (int32_t[]){0, 1, 2, 3});
    assert_int_equal(b.predictions, 3);
    assert_int_equal(b.events, 3);
    assert_int_equal(b.tokens, 4);
    expect_ints(b.loss.predict, 3, (int32_t[]){0, 1, 2});
    expect_ints(b.loss.target, 3, batch_text + 1);
    assert_true(b.loss.weight[0] == 1 && b.loss.weight[2] == 1 && b.loss.weight_sum == 3);
    cs_batch_free(&b);
    task.objective.event_weight = CS_EVENT_MASK;
    b = build(&task, &config, 5, 0);
    assert_true(b.loss.weight[0] == 0.25 && b.loss.weight_sum == 1);
}

TEST(a_shared_empty_prefix_is_the_begin_token)
{
    cs_task task = batch_task("ar:empty-prefix=shared");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    CS_AUTO(cs_batch) b =
        build(&task, &config, PLACES, 0); /* as long as the positions: no row more */
    assert_int_equal(b.length, PLACES);
    assert_int_equal(b.token[0], BOS);
    expect_ints(b.token + 1, PLACES - 1, batch_text);
    assert_int_equal(b.predictions, PLACES);
    expect_ints(b.loss.target, PLACES, batch_text);
}

TEST(masked_tokens_are_hidden)
{
    cs_task task = batch_task("masked:unmasked=6");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    config.position.offset = 2;
    for (int64_t step = 0; step < 20; ++step) {
        CS_AUTO(cs_batch) b = build(&task, &config, 10, step);
        assert_int_equal(b.predictions, 4);
        int64_t r = 0;
        for (int32_t i = 0; i < 10; ++i) {
            assert_int_equal(b.position[i], i + 2);
            assert_int_equal(b.vis[i], 0);
            assert_int_equal(b.lim[i], 0);
            if (b.token[i] == MASK) {
                assert_int_equal(b.loss.predict[r], i);
                assert_int_equal(b.loss.place[r], i);
                assert_int_equal(b.loss.target[r++], batch_text[i]);
            } else {
                assert_int_equal(b.token[i], batch_text[i]);
            }
        }
        assert_int_equal(r, 4);
    }
}

/* Replacements: shares within 5 standard deviations, no special token drawn, every other one. */
TEST(replacements_keep_their_shares)
{
    cs_task task = batch_task("masked:mask-ratio=0.5");
    task.keep = 0.1;
    task.random = 0.3;
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    config.ids.eos = 30; /* special ids need not be contiguous */
    config.ids.unk = -1;
    config.ids.pad = BOS; /* nor be distinct */
    double kept = 0, masked = 0, other = 0, n = 0;
    int drawn[VOCAB] = {0};
    for (int64_t step = 0; step < 3000; ++step) {
        CS_AUTO(cs_batch) b = build(&task, &config, 20, step);
        for (int64_t r = 0; r < b.events; ++r, ++n) {
            int32_t shown = b.token[b.loss.predict[r]];
            kept += shown == b.loss.target[r];
            masked += shown == MASK;
            other += shown != b.loss.target[r] && shown != MASK;
            drawn[shown] += shown != b.loss.target[r] && shown != MASK;
            assert_int_equal(b.loss.target[r], batch_text[b.loss.place[r]]);
        }
    }
    double real = VOCAB - 3, chance = 1 / real; /* a random token may be the token itself */
    assert_true(kept > n * (0.1 + 0.3 * chance) - 5 * 0.33 * sqrt(n));
    assert_true(kept < n * (0.1 + 0.3 * chance) + 5 * 0.33 * sqrt(n));
    assert_true(masked > n * 0.6 - 5 * 0.49 * sqrt(n));
    assert_true(masked < n * 0.6 + 5 * 0.49 * sqrt(n));
    for (int32_t v = 0; v < VOCAB; ++v) {
        bool special = v == BOS || v == MASK || v == 30;
        assert_true(special ? drawn[v] == 0 : drawn[v] > 0);
        double expected = n * 0.3 * chance; /* less its own draws, at most 1 in 20 */
        double off = 5 * sqrt(expected);
        assert_true(special || drawn[v] > 0.95 * expected - off);
        assert_true(special || drawn[v] < expected + off);
    }
    assert_true(kept + masked + other == n);
}

/* --- two streams, linear ---------------------------------------------------------------------- */

TEST(queries_sit_where_they_predict)
{
    for (int p = 0; p < plan_spec_count(); ++p) {
        cs_task task = batch_task(plan_spec(p));
        cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
        config.position.offset = 3;
        if (batch_form_of(&task) != CS_FORM_TWO_STREAM || !plan_exists(&task.objective, 9)) {
            continue;
        }
        for (int64_t step = 0; step < 10; ++step) {
            CS_AUTO(cs_batch) b = build(&task, &config, 9, step);
            expect_ints(b.token, 9, batch_text);
            for (int64_t i = 0; i < 9; ++i) {
                assert_int_equal(b.position[i], i + 3);
                assert_int_equal(b.vis[i], b.lim[i]); /* a row sees itself */
            }
            assert_each(r, 0, b.events, b.query.position[b.loss.predict[r]] == b.loss.place[r] + 3);
            assert_each(r, 0, b.events, b.query.lim[b.loss.predict[r]] < b.vis[b.loss.place[r]]);
        }
    }
}

TEST(no_positions_no_position_rows)
{
    cs_task task = batch_task("permuted-ar");
    cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
    config.shape.positions = 0;
    CS_AUTO(cs_batch) b = build(&task, &config, 4, 0);
    expect_ints(b.position, 4, (int32_t[]){-1, -1, -1, -1});
    expect_ints(b.query.position, 3, (int32_t[]){-1, -1, -1});
    cs_batch_free(&b);
    config.position.relative_buckets = 8; /* relative positions need the places */
    b = build(&task, &config, 4, 0);
    expect_ints(b.position, 4, (int32_t[]){0, 1, 2, 3});
}

/* Events of one conditioning set read one row: ar and offset-ar one a prefix, masks one, groups one
 * each. */
TEST(linear_rows_are_conditioning_sets)
{
    const struct {
        const char *spec;
        int64_t queries;
    } want[] = {
        {"ar", 6},          {"offset-ar:offset-weights=power:1", 6}, {"masked:unmasked=3", 1},
        {"permuted-ar", 6}, {"gvp:segmentation=fixed,groups=3", 3},  {"diverse-ar:t=8", 1}};
    cs_model_config config = batch_config(CS_FORM_LINEAR);
    for (size_t i = 0; i < sizeof want / sizeof *want; ++i) {
        cs_task task = batch_task(want[i].spec);
        CS_AUTO(cs_batch) b = build(&task, &config, 7, 0);
        assert_int_equal(b.form, CS_FORM_LINEAR);
        assert_int_equal(b.queries, want[i].queries);
        expect_ints(b.token, 7, batch_text);
        for (int64_t r = 0; r < b.events; ++r) {
            uint64_t set = batch_sees(&b, &config, r);
            for (int64_t q = 0; q < b.events; ++q) {
                bool same_row = b.loss.predict[r] == b.loss.predict[q];
                assert_true(same_row == (set == batch_sees(&b, &config, q)));
            }
        }
    }
}

/* --- mae -------------------------------------------------------------------------------------- */

static void check_mae(const cs_task *task, const cs_model_config *config, int64_t step)
{
    enum { S = 12, MASKED = 6 };
    CS_AUTO(cs_batch) b = build(task, config, S, step);
    cs_decoder_attention attention = config->decoder.attention;
    int64_t kept = (int64_t)(task->delta * MASKED + 0.5), encoded = S - MASKED + kept;
    bool causal = attention == CS_DECODER_CAUSAL_CROSS, cross = attention == CS_DECODER_CROSS;
    assert_int_equal(b.form, CS_FORM_MAE);
    assert_int_equal(b.length, encoded);
    assert_int_equal(b.decoder_length, cross ? MASKED : S);
    assert_int_equal(b.events, causal ? S : MASKED);
    int64_t masks = 0;
    int32_t place[S],
        last = -1; /* of encoder rows, by their positions where these are the text's */
    for (int64_t i = 0; i < encoded; ++i) {
        masks += b.token[i] == MASK;
        place[i] = b.position[i] - 1;
        assert_int_equal(b.vis[i], 0);
        assert_int_equal(b.lim[i], 0);
        assert_true(place[i] > last && place[i] < S);
        last = place[i];
        assert_true(!task->misaligned || place[i] == i);
        assert_true(task->misaligned || b.token[i] == MASK || b.token[i] == batch_text[place[i]]);
    }
    assert_int_equal(masks, kept);
    int64_t from_encoder = 0;
    for (int64_t i = 0; i < b.decoder_length; ++i) {
        int32_t from = b.decoder.from[i], k = b.decoder.position[i] - 1;
        assert_int_equal(b.decoder.cross_lim[i], 0);
        assert_int_equal(b.decoder.vis[i], causal ? i : 0);
        assert_int_equal(b.decoder.lim[i], causal ? i : 0);
        if (causal) {
            assert_int_equal(from, -1);
            assert_int_equal(b.decoder.token[i], i ? batch_text[i - 1] : BOS);
            assert_int_equal(k, i);
            continue;
        }
        assert_int_equal(b.decoder.token[i], from < 0 ? 0 : -1);
        assert_true(cross || k == i);
        from_encoder += from >= 0;
        assert_true(from < 0 || task->misaligned || place[from] == k);
    }
    int64_t taken = causal || cross ? 0 : S - MASKED + (task->decoder_resets ? 0 : kept);
    assert_int_equal(from_encoder, taken);
    for (int64_t r = 0; r < b.events; ++r) {
        assert_int_equal(b.loss.target[r], batch_text[b.loss.place[r]]);
        assert_int_equal(b.decoder.position[b.loss.predict[r]], b.loss.place[r] + 1);
        int32_t from = b.decoder.from[b.loss.predict[r]];
        assert_true(from < 0 || b.token[from] == MASK);
    }
}

TEST(mae_rows_are_those_of_each_decoder)
{
    const double delta[] = {0, 0.25, 0.5, 1};
    for (int v = 0; v < 4 * 4 * 4; ++v) {
        cs_task task = batch_task("masked:unmasked=6");
        cs_model_config config = batch_config(CS_FORM_MAE);
        config.decoder.attention = (cs_decoder_attention)(v % 4);
        task.delta = delta[v / 4 % 4];
        task.misaligned = v / 16 & 1;
        task.decoder_resets = v / 16 & 2;
        for (int64_t step = 0; step < 5; ++step) {
            check_mae(&task, &config, step);
        }
    }
}

TEST(shares_of_masks_round_half_away)
{
    cs_task task = batch_task("masked:unmasked=3");
    cs_model_config config = batch_config(CS_FORM_MAE);
    task.delta = 0.3; /* of 5: 1.5 */
    CS_AUTO(cs_batch) b = build(&task, &config, 8, 0);
    assert_int_equal(b.length, 3 + 2);
    cs_batch_free(&b);
    task.delta = 0.29; /* 1.45 */
    b = build(&task, &config, 8, 0);
    assert_int_equal(b.length, 3 + 1);
}

/* Every subset of [MASK]s is kept equally often: 6 pairs of 4, within 5 standard deviations. */
TEST(kept_masks_are_uniform)
{
    enum { DRAWS = 6000 };
    cs_task task = batch_task("masked:unmasked=1");
    cs_model_config config = batch_config(CS_FORM_MAE);
    task.delta = 0.5;
    double seen[16] = {0};
    for (int64_t step = 0; step < DRAWS; ++step) {
        CS_AUTO(cs_batch) b = build(&task, &config, 5, step);
        unsigned set = 0, bit = 1;
        for (int64_t r = 0; r < b.events; ++r, bit <<= 1) {
            set |= b.decoder.from[b.loss.predict[r]] >= 0 ? bit : 0;
        }
        seen[set] += 1;
    }
    for (unsigned set = 0; set < 16; ++set) {
        bool pair = __builtin_popcount(set) == 2;
        double off = seen[set] - DRAWS / 6.0;
        assert_true(pair ? off * off < 25 * DRAWS * 5.0 / 36 : seen[set] == 0);
    }
}

/* Masked tokens that stay may be shown as they are or replaced; the decoder then takes these rows
 * even where it resets [MASK]s. */
TEST(replaced_tokens_of_the_encoder_are_not_reset)
{
    cs_task task = batch_task("masked:unmasked=2");
    cs_model_config config = batch_config(CS_FORM_MAE);
    task.delta = 1;
    task.decoder_resets = true;
    task.random = 1;
    CS_AUTO(cs_batch) b = build(&task, &config, 9, 1);
    int64_t changed = 0;
    for (int64_t r = 0; r < b.events; ++r) {
        int32_t from = b.decoder.from[b.loss.predict[r]];
        assert_true(from >= 0 && b.token[from] > UNK);
        changed += b.token[from] != b.loss.target[r];
    }
    assert_true(changed > 0);
}
