/* Batches of tasks of every form: draws of a sequence do not depend on the others, sizes, bad
 * input. */
#include "batch_support.h"
#include "plan_support.h"

/* --- masked autoencoders ---------------------------------------------------------------------- */

/* In training and in perplexity: a causal decoder reads the token before a place, nothing at the
 * class token, and the encoder skips hidden places. */
TEST(the_class_token_of_a_causal_decoder_reads_nothing)
{
    const int32_t bos = 1, token[] = {5, 6};
    cs_model_config config = {
        .ids.bos = bos, .decoder.attention = CS_DECODER_CAUSAL_CROSS, .shape.vocab = 8};
    const cs_network_options sizes = {
        .form = CS_FORM_MAE, .batch = 1, .length = 2, .decoder_length = 3, .predictions = 1};
    AUTO_OK(cs_batch, batch, cs_batch_shape(&sizes, &config, &batch));
    cs_mae_rows rows = {.text = {.batch = &batch,
                                 .config = &config,
                                 .before = &bos,
                                 .befores = 1,
                                 .token = token,
                                 .tokens = 2}};
    assert_int_equal(cs_mae_row(&rows, 0, bos, 0, false, true), 0);
    assert_int_equal(cs_mae_row(&rows, 1, -1, 1, false, true), 1);
    assert_int_equal(cs_mae_row(&rows, 2, token[1], 2, false, true), 2);
    assert_memory_equal(batch.decoder.token, ((const int32_t[]){-1, bos, token[0]}),
                        3 * sizeof *token);
    assert_memory_equal(batch.token, ((const int32_t[]){bos, token[1]}), 2 * sizeof *token);
    assert_int_equal(cs_mae_row(&rows, 2, -1, 2, false, false), -1);
}

/* --- independence, padding, sizes ------------------------------------------------------------- */

/* The rows of one sequence of a batch; where they are numbers of rows, `base` is that of the
 * sequence's first. */
typedef struct {
    const int32_t *batch;
    int64_t rows, sequence, base;
} span;

static void expect_same_rows(span x, span y, int32_t padding)
{
    int64_t rows = x.rows > y.rows ? x.rows : y.rows;
    for (int64_t i = 0; i < rows; ++i) {
        int32_t p = i < x.rows ? x.batch[x.sequence * x.rows + i] : padding;
        int32_t q = i < y.rows ? y.batch[y.sequence * y.rows + i] : padding;
        assert_int_equal(p < 0 ? p : p - x.base, q < 0 ? q : q - y.base);
    }
}

static void expect_same_sequence(const cs_batch *x, int64_t b, const cs_batch *y, int64_t c)
{
    int64_t xl = x->length, yl = y->length, xq = x->queries, yq = y->queries;
    int64_t xd = x->decoder_length, yd = y->decoder_length;
    expect_same_rows((span){x->token, xl, b, 0}, (span){y->token, yl, c, 0}, -1);
    expect_same_rows((span){x->position, xl, b, 0}, (span){y->position, yl, c, 0}, -1);
    expect_same_rows((span){x->vis, xl, b, 0}, (span){y->vis, yl, c, 0}, INT32_MAX);
    expect_same_rows((span){x->lim, xl, b, 0}, (span){y->lim, yl, c, 0}, -1);
    expect_same_rows((span){x->query.position, xq, b, 0}, (span){y->query.position, yq, c, 0}, -1);
    expect_same_rows((span){x->query.lim, xq, b, 0}, (span){y->query.lim, yq, c, 0}, -1);
    expect_same_rows((span){x->decoder.from, xd, b, b * xl}, (span){y->decoder.from, yd, c, c * yl},
                     -1);
    expect_same_rows((span){x->decoder.token, xd, b, 0}, (span){y->decoder.token, yd, c, 0}, -1);
    expect_same_rows((span){x->decoder.position, xd, b, 0}, (span){y->decoder.position, yd, c, 0},
                     -1);
    expect_same_rows((span){x->decoder.vis, xd, b, 0}, (span){y->decoder.vis, yd, c, 0}, INT32_MAX);
    expect_same_rows((span){x->decoder.lim, xd, b, 0}, (span){y->decoder.lim, yd, c, 0}, -1);
    expect_same_rows((span){x->decoder.cross_lim, xd, b, 0}, (span){y->decoder.cross_lim, yd, c, 0},
                     -1);
    int64_t top_x = xq ? xq : xd ? xd : xl, top_y = yq ? yq : yd ? yd : yl;
    int64_t r = 0, q = 0;
    for (;; ++r, ++q) {
        while (r < x->predictions && x->loss.example[r] != b) {
            ++r;
        }
        while (q < y->predictions && y->loss.example[q] != c) {
            ++q;
        }
        if (r >= x->predictions || q >= y->predictions) {
            break;
        }
        assert_int_equal(x->loss.predict[r] - b * top_x, y->loss.predict[q] - c * top_y);
        assert_int_equal(x->loss.target[r], y->loss.target[q]);
        assert_int_equal(x->loss.place[r], y->loss.place[q]);
        assert_true(x->loss.weight[r] == y->loss.weight[q]);
    }
    assert_true(r >= x->predictions && q >= y->predictions);
}

static const char *const mae_specs[] = {"masked:mask-ratio=0.4", "variable-masked:unmasked=1:3",
                                        "bernoulli-masked:mask-ratio=0.5"};

/* Tasks of every form and objective, one after another. */
static bool nth_task(int n, cs_task *task, cs_model_config *config)
{
    if (n < 4 * plan_spec_count()) {
        *task = batch_task(plan_spec(n / 4));
        task->two_stream = n % 4 > 1;
        *config = batch_config(task->two_stream ? CS_FORM_TWO_STREAM
                               : n % 4          ? CS_FORM_LINEAR
                                                : batch_form_of(task));
        config->attention.blind_queries = n % 4 == 3;
        return true;
    }
    n -= 4 * plan_spec_count();
    *task = batch_task(mae_specs[n % 3]);
    *config = batch_config(CS_FORM_MAE);
    config->decoder.attention = (cs_decoder_attention)(n / 3 % 4);
    task->delta = 0.5;
    task->keep = 0.2;
    task->random = 0.2;
    return n < 12;
}

TEST(a_sequence_is_a_function_of_seed_step_and_row)
{
    cs_task task;
    cs_model_config config;
    for (int n = 0; nth_task(n, &task, &config); ++n) {
        const cs_example both[] = {{batch_text, 9, 17, NULL, NULL},
                                   {batch_text + 3, 14, 4, NULL, NULL}};
        const cs_example other[] = {{batch_text + 3, 14, 4, NULL, NULL}};
        cs_network_options most = {0};
        AUTO_OK(cs_batch, x,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, 9, NULL}, both, 2, &x));
        AUTO_OK(cs_batch, y,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, 9, NULL}, other, 1, &y));
        OK(cs_task_sizes(&task, &config, 5, 20, &most));
        AUTO_OK(cs_batch, padded,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, 9, &most}, both, 2, &padded));
        expect_same_sequence(&x, 1, &y, 0);
        expect_same_sequence(&x, 0, &padded, 0);
        expect_same_sequence(&x, 1, &padded, 1);
        assert_int_equal(padded.batch, 5);
        assert_int_equal(padded.length, most.length);
        assert_int_equal(padded.predictions, most.predictions);
        assert_true(padded.loss.weight_sum == x.loss.weight_sum && padded.events == x.events);
        assert_each(r, x.events, padded.predictions,
                    padded.loss.predict[r] == -1 && padded.loss.target[r] == -1);
        assert_each(r, x.events, padded.predictions,
                    padded.loss.weight[r] == 0 && padded.loss.example[r] == -1 &&
                        padded.loss.place[r] == -1);
        assert_each(i, 2 * padded.length, 5 * padded.length,
                    padded.token[i] == -1 && padded.vis[i] == INT32_MAX && padded.lim[i] == -1);
    }
}

/* Rows, steps and seeds each have draws of their own: of a mask of 10 in 20, never twice the same
 * in a few hundred (184,756 masks: the chance of one pair is about a quarter, so two may be). */
TEST(no_two_rows_draw_alike)
{
    enum { DRAWS = 300 };
    cs_task task = batch_task("masked:unmasked=10");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    uint64_t seen[DRAWS];
    int repeats = 0;
    for (int n = 0; n < DRAWS; ++n) {
        int64_t step = n % 3 == 0 ? n : n % 3 == 1 ? 0 : INT64_C(1) << 42;
        int64_t row = n % 3 == 0 ? 0 : n % 3 == 1 ? n : (1 << 20) - 1 - n;
        cs_example example = {batch_text, 20, row, NULL, NULL};
        AUTO_OK(cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, (uint64_t)(n % 2), step, NULL},
                               &example, 1, &b));
        seen[n] = 0;
        for (int64_t r = 0; r < b.events; ++r) {
            seen[n] |= UINT64_C(1) << b.loss.place[r];
        }
        for (int m = 0; m < n; ++m) {
            repeats += seen[m] == seen[n];
        }
    }
    assert_true(repeats <= 2);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* cs_task_sizes holds every batch, and no number is larger than some batch needs. The exceptions
 * are linear and blind queries, which are bounded by tokens where they are groups, and rare
 * draws. */
TEST(sizes_hold_any_batch)
{
    cs_task task;
    cs_model_config config;
    for (int n = 0; nth_task(n, &task, &config); ++n) {
        for (int64_t longest = 1; longest <= 8; ++longest) {
            cs_network_options most = {0}, reached = {0};
            OK(cs_task_sizes(&task, &config, 2, longest, &most));
            for (int64_t step = 0; step < 40; ++step) {
                const cs_example example[] = {{batch_text, longest, 0, NULL, NULL},
                                              {batch_text, 1 + step % longest, 1, NULL, NULL}};
                AUTO_OK(cs_batch, b,
                        cs_batch_build(&(cs_batch_order){&task, &config, 3, step, &most}, example,
                                       2, &b));
                cs_batch_free(&b);
                OK(cs_batch_build(&(cs_batch_order){&task, &config, 3, step, NULL}, example, 2,
                                  &b));
                reached.length = larger(reached.length, b.length);
                reached.queries = larger(reached.queries, b.queries);
                reached.decoder_length = larger(reached.decoder_length, b.decoder_length);
            }
            const cs_objective *o = &task.objective;
            bool rare = o->kind == CS_OBJ_BERNOULLI_MASKED ||
                        cs_objective_table(o->kind)->weighting == CS_WEIGHTS_OWN ||
                        (o->kind == CS_OBJ_GVP && o->segmentation != CS_SEGMENT_FIXED);
            if (plan_exists(o, longest) && !rare) {
                assert_int_equal(reached.length, most.length);
                assert_int_equal(reached.decoder_length, most.decoder_length);
                bool groups = config.arch == CS_ARCH_LINEAR || config.attention.blind_queries;
                assert_true(groups || reached.queries == most.queries);
            }
        }
    }
}

TEST(short_sequences_predict_nothing)
{
    cs_task task;
    cs_model_config config;
    for (int n = 0; nth_task(n, &task, &config); ++n) {
        const cs_example example[] = {{batch_text, 0, 0, NULL, NULL},
                                      {batch_text, 1, 1, NULL, NULL},
                                      {batch_text, 12, 2, NULL, NULL}};
        AUTO_OK(cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, 0, NULL}, example, 2, &b));
        bool one = plan_exists(&task.objective, 1);
        assert_int_equal(b.skipped, one ? 1 : 2);
        assert_int_equal(b.tokens, one);
        if (!one) {
            assert_int_equal(b.events, 0);
            assert_int_equal(b.predictions, 1);
            assert_int_equal(b.loss.predict[0], -1);
            assert_int_equal(b.length, 1);
            assert_true(b.loss.weight_sum == 0);
            assert_string_equal(cs_reason(), "");
        }
        cs_batch_free(&b);
        OK(cs_batch_build(&(cs_batch_order){&task, &config, 1, 0, NULL}, example, 3, &b));
        assert_int_equal(b.tokens, 12 + one);
        cs_batch_free(&b);
        OK(cs_batch_build(&(cs_batch_order){&task, &config, 1, 0, NULL}, NULL, 0, &b));
        assert_int_equal(b.batch, 1);
    }
}

/* --- bad input -------------------------------------------------------------------------------- */

static void expect_refusal(const cs_task *task, const cs_model_config *config, const char *part)
{
    cs_example example = {batch_text, 8, 0, NULL, NULL};
    cs_network_options sizes = {0};
    cs_batch b;
    assert_fails(cs_task_check(task, config), CS_ERR_USAGE, part);
    assert_fails(cs_task_sizes(task, config, 1, 8, &sizes), CS_ERR_USAGE, part);
    assert_fails(cs_batch_build(&(cs_batch_order){task, config, 0, 0, NULL}, &example, 1, &b),
                 CS_ERR_USAGE, part);
}

TEST(tasks_that_cannot_be_are_refused)
{
    cs_task ar = batch_task("ar"), masked = batch_task("masked:unmasked=2"), task = ar;
    cs_model_config single = batch_config(CS_FORM_SINGLE), mae = batch_config(CS_FORM_MAE);
    cs_model_config linear = batch_config(CS_FORM_LINEAR), config = single;
    task.objective.empty_prefix = CS_PREFIX_CLASS;
    expect_refusal(&task, &single, "class");
    expect_refusal(&ar, &mae, "a model with a decoder needs a masked objective, not ar");
    config = linear;
    config.decoder = mae.decoder;
    expect_refusal(&masked, &config, "linear attention");
    task = masked;
    task.keep = 1.2;
    expect_refusal(&task, &single, "1.2 is not in [0, 1]");
    task.keep = 0.5;
    task.random = 0.6;
    expect_refusal(&task, &single, "0.5 and replaced 0.6 exceed 1");
    task.random = 0.1;
    expect_refusal(&task, &linear, "masked reads no masked token");
    task = ar;
    task.random = 0.1;
    expect_refusal(&task, &single, "ar reads no masked token");
    task = masked;
    task.delta = 0.5;
    expect_refusal(&task, &single, "decoder");
    task.delta = -0.1;
    expect_refusal(&task, &mae, "delta -0.1");
    task = masked;
    task.misaligned = true;
    expect_refusal(&task, &single, "decoder");
    config = single;
    config.ids.mask = -1;
    expect_refusal(&masked, &config, "no mask token");
    config.ids.mask = VOCAB;
    expect_refusal(&masked, &config, "mask token 40 is not below the vocabulary 40");
    config = mae;
    config.ids.bos = -1;
    config.decoder.attention = CS_DECODER_CAUSAL_CROSS;
    expect_refusal(&masked, &config, "no begin token");
    task = ar;
    task.objective.empty_prefix = CS_PREFIX_SHARED;
    config = single;
    config.ids.bos = -1;
    expect_refusal(&task, &config, "no begin token");
    task = masked;
    task.random = 0.1;
    config = single;
    config.shape.vocab = 5;
    expect_refusal(&task, &config, "vocabulary of 5 contains only special");
    task = masked;
    task.objective.unmasked_lo = -3;
    cs_batch b;
    cs_example example = {batch_text, 8, 0, NULL, NULL};
    assert_int_equal(cs_batch_build(&(cs_batch_order){&task, &single, 0, 0, NULL}, &example, 1, &b),
                     CS_ERR_USAGE);
    cs_reason_clear();
}

/* A model need not have special tokens that a form does not read. */
TEST(needless_special_tokens_may_be_absent)
{
    cs_task masked = batch_task("masked:unmasked=2");
    cs_model_config mae = batch_config(CS_FORM_MAE), linear = batch_config(CS_FORM_LINEAR);
    mae.ids.mask = linear.ids.mask = -1;
    OK(cs_task_check(&masked, &mae));
    OK(cs_task_check(&masked, &linear));
    masked.delta = 0.5;
    assert_fails(cs_task_check(&masked, &mae), CS_ERR_USAGE, "no mask token");
}

TEST(bad_examples_are_named)
{
    cs_task task = batch_task("ar");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    int32_t text[] = {5, 6, 7, 8};
    cs_example example[] = {{batch_text, 3, 0, NULL, NULL}, {text, 4, 12, NULL, NULL}};
    cs_batch b;
    text[2] = VOCAB;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b),
                 CS_ERR_INPUT, "row 12: token 40 at position 2 is not in 0..39");
    text[2] = -1;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b),
                 CS_ERR_INPUT, "row 12: token -1 at position 2");
    text[2] = 7;
    example[1].row = 1 << 20;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b),
                 CS_ERR_USAGE, "row 1048576");
    example[1].row = -1;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b),
                 CS_ERR_USAGE, "row -1");
    example[1].row = 1;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, -1, NULL}, example, 2, &b),
                 CS_ERR_USAGE, "step -1");
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, INT64_C(1) << 43, NULL},
                                example, 2, &b),
                 CS_ERR_USAGE, "step 8796093022208");
    config.shape.positions = 3;
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b),
                 CS_ERR_USAGE, "row 1: length 4 exceeds the 3 positions");
    cs_network_options most = {0};
    assert_fails(cs_task_sizes(&task, &config, 2, 4, &most), CS_ERR_USAGE,
                 "length 4 exceeds the 3 positions");
    config.shape.positions = 0;
    assert_fails(cs_task_sizes(&task, &config, 0, 4, &most), CS_ERR_USAGE, "0 sequences");
    assert_fails(cs_task_sizes(&task, &config, INT64_C(1) << 40, INT64_C(1) << 40, &most),
                 CS_ERR_USAGE, "1099511627776 sequences");
    OK(cs_task_sizes(&task, &config, 2, 3, &most));
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, &most}, example, 2, &b),
                 CS_ERR_USAGE, "4 rows, but its capacity is 3");
    OK(cs_task_sizes(&task, &config, 1, 4, &most));
    assert_fails(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, &most}, example, 2, &b),
                 CS_ERR_USAGE, "2 sequences, but its capacity is 1");
}

TEST(every_failed_allocation_is_reported)
{
    cs_task task;
    cs_model_config config;
    for (int n = 0; nth_task(n, &task, &config); ++n) {
        const cs_example example[] = {{batch_text, 9, 0, NULL, NULL},
                                      {batch_text, 14, 1, NULL, NULL}};
        cs_batch b;
        EACH_ALLOCATION_FAILS(at) {
            (void)out_of_memory(
                cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b));
        }
        cs_batch_free(&b);
        cs_batch_free(&b); /* of a zeroed object */
    }
}
