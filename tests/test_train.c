/* The training loop: schedules, order of examples, target masses, determinism over threads, one
 * batch learnt by heart in every form. */
#include "io/table.h"
#include "io_support.h"
#include "plan/pairs.h"
#include "small_corpus.h"
#include "train/examples.h"
#include "train/specials.h"
#include "train_support.h"

/* --- schedules ---------------------------------------------------------------------------------*/

static double rate(cs_schedule schedule, double share, int64_t warmup, int64_t s)
{
    return cs_schedule_rate(schedule, 8.0, share, warmup, 0, 100, s);
}

static void near(double x, double y)
{
    if (!(fabs(x - y) <= 1e-14 * (1 + fabs(y)))) {
        fail_msg("%.17g is not %.17g", x, y);
    }
}

TEST(test_schedule_corners)
{
    for (int i = 0; i < 4; ++i) {
        cs_schedule schedule = (cs_schedule)i, found;
        double last = schedule == CS_SCHEDULE_CONSTANT ? 8.0 : 2.0;
        near(rate(schedule, 0.25, 20, 1), 8.0 / 20);
        near(rate(schedule, 0.25, 20, 10), 4.0);
        near(rate(schedule, 0.25, 20, 20), 8.0);
        near(rate(schedule, 0.25, 20, 100), last);
        near(rate(schedule, 0.25, 100, 100), 8.0); /* nothing but warm-up */
        OK(cs_schedule_by_name(cs_schedule_name(schedule), &found));
        assert_int_equal(found, schedule);
    }
    /* halfway down: u = 1/2 */
    near(rate(CS_SCHEDULE_ONE_CYCLE, 0.25, 20, 60), 5.0);
    near(rate(CS_SCHEDULE_LINEAR, 0.25, 20, 60), 5.0);
    near(rate(CS_SCHEDULE_COSINE, 0.25, 20, 60), 5.0);
    near(rate(CS_SCHEDULE_CONSTANT, 0.25, 20, 60), 8.0);
    /* a quarter down: the cosine is above the line */
    near(rate(CS_SCHEDULE_COSINE, 0, 20, 40), 8.0 * (1 + sqrt(0.5)) / 2);
    near(rate(CS_SCHEDULE_LINEAR, 0, 20, 40), 6.0);
    near(rate(CS_SCHEDULE_LINEAR, 0, 0, 1), 8.0 * 0.99);
    assert_fails(cs_schedule_by_name("step", &(cs_schedule){0}), CS_ERR_USAGE, "'step'");
}

TEST(test_schedule_warmup)
{
    assert_int_equal(cs_schedule_warmup(CS_SCHEDULE_ONE_CYCLE, 1001), 500);
    assert_int_equal(cs_schedule_warmup(CS_SCHEDULE_LINEAR, 125000), 10000);
    assert_int_equal(cs_schedule_warmup(CS_SCHEDULE_COSINE, 10), 0);
    assert_int_equal(cs_schedule_warmup(CS_SCHEDULE_CONSTANT, 1000), 0);
}

static int64_t at_of(cs_examples *e, int64_t n)
{
    int64_t at = -1;
    OK(cs_examples_at(e, n, &at));
    return at;
}

/* --- examples ----------------------------------------------------------------------------------*/

TEST(test_epochs_are_permutations)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    const cs_examples_options wanted = {
        .objective = &t.options.task.objective, .length = 5, .end_token = 2, .seed = 3};
    AUTO_OK(cs_examples, e, cs_examples_of(&t.corpus, &wanted, &e));
    AUTO_OK(cs_examples, again, cs_examples_of(&t.corpus, &wanted, &again));
    /* 16 documents of 3..9 tokens; pieces of one token predict nothing. */
    int64_t pieces = 0, short_ones = 0;
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        int64_t n = t.corpus.doc_ptr[d + 1] - t.corpus.doc_ptr[d];
        if (!t.corpus.held_out[d]) {
            pieces += n / 5 + (n % 5 >= 2);
            short_ones += n % 5 == 1;
        }
    }
    assert_int_equal(e.count, pieces);
    assert_int_equal(e.too_short, short_ones);
    assert_true(short_ones > 0);
    int64_t moved = 0;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
        uint8_t seen[64] = {0};
        for (int64_t i = 0; i < e.count; ++i) {
            int64_t at = at_of(&e, epoch * e.count + i);
            assert_true(at >= 0 && at < e.count);
            assert_int_equal(seen[at]++, 0);
            moved += epoch > 0 && at != at_of(&again, i);
        }
    }
    assert_true(moved > 0); /* epochs differ */
    /* In another order, the same examples. */
    int64_t late = at_of(&again, 2 * e.count + 1);
    assert_int_equal(late, at_of(&e, 2 * e.count + 1));
}

/* Groups of 4 over epochs of a length that is no multiple of 4: each example once an epoch, and
 * less padding than in an order that does not look at lengths. */
TEST(test_groups_of_like_length)
{
    recipe r = {.documents = 60};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    cs_examples_options wanted = {
        .objective = &t.options.task.objective, .length = 9, .seed = 3, .group = 4};
    AUTO_OK(cs_examples, e, cs_examples_of(&t.corpus, &wanted, &e));
    wanted.group = 0;
    AUTO_OK(cs_examples, plain, cs_examples_of(&t.corpus, &wanted, &plain));
    assert_true(e.count > 40);
    e.count -= e.count % 4 == 0; /* epochs that begin inside a batch */
    plain.count = e.count;
    int64_t rows[2] = {0, 0};
    uint8_t seen[3][64] = {{0}};
    for (int64_t n = 0; n < 3 * e.count / 4 * 4; n += 4) {
        int64_t longest[2] = {0, 0};
        for (int64_t i = n; i < n + 4; ++i) {
            int64_t at = at_of(&e, i), other = at_of(&plain, i);
            assert_int_equal(seen[i / e.count][at]++, 0);
            longest[0] = e.length[at] > longest[0] ? e.length[at] : longest[0];
            longest[1] = e.length[other] > longest[1] ? e.length[other] : longest[1];
        }
        rows[0] += 4 * longest[0];
        rows[1] += 4 * longest[1];
    }
    assert_true(rows[0] < rows[1]);
}

TEST(test_packing)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    cs_examples e = {0};
    cs_examples_options wanted = {
        .objective = &t.options.task.objective, .length = 7, .pack = true, .end_token = 2};
    OK(cs_examples_of(&t.corpus, &wanted, &e));
    int64_t at = 0, tokens = 0;
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        for (int64_t i = t.corpus.doc_ptr[d]; !t.corpus.held_out[d] && i < t.corpus.doc_ptr[d + 1];
             ++i) {
            assert_int_equal(e.token[at++], t.corpus.token[i]);
        }
        if (!t.corpus.held_out[d]) {
            assert_int_equal(e.token[at++], 2);
        }
    }
    for (int64_t i = 0; i < e.count; ++i) {
        assert_int_equal(e.start[i], 7 * i);
        assert_true(e.length[i] == 7 || i + 1 == e.count);
        tokens += e.length[i];
    }
    assert_true(tokens == at || (tokens == at - 1 && e.too_short == 1));
    cs_examples_free(&e);
    wanted.end_token = -1;
    assert_fails(cs_examples_of(&t.corpus, &wanted, &e), CS_ERR_USAGE, "end token");
}

/* Against the events of cs_pairs_of, summed one by one as explicit sets. */
static void check_mass(cs_objective_kind kind)
{
    recipe r = {.kind = kind};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    double mass[64], want[64] = {0}, total = 0;
    const cs_objective *o = &t.options.task.objective;
    const cs_examples_options wanted = {.objective = o, .length = 6};
    AUTO_OK(cs_examples, e, cs_examples_of(&t.corpus, &wanted, &e));
    OK(cs_examples_mass(&e, o, t.corpus.vocab, mass));
    for (int64_t i = 0; i < e.count; ++i) {
        AUTO_OK(cs_pairs, sets, cs_pairs_of(o, e.length[i], &sets));
        OK(cs_pairs_expand(&sets, 100000));
        for (int64_t k = 0; k < sets.events; ++k) {
            want[e.token[e.start[i] + sets.target[k]]] += sets.predicted * sets.weight[k];
            total += sets.predicted * sets.weight[k];
        }
    }
    for (int64_t v = 0; v < t.corpus.vocab; ++v) {
        if (fabs(mass[v] - want[v] / total) > 1e-13) {
            fail_msg("token %lld: %g, not %g", (long long)v, mass[v], want[v] / total);
        }
    }
}

TEST(test_target_masses)
{
    check_mass(CS_OBJ_AR);
    check_mass(CS_OBJ_DIVERSE_AR);
    check_mass(CS_OBJ_VARIABLE_MASKED);
    check_mass(CS_OBJ_GVP);
}

/* Special tokens take ids 0..4 and keep the tokens that spelled them; the others keep their order.
 */
TEST(test_specials_first)
{
    const int64_t length[] = {6};
    static const char *const spelled[] = {"<unk>", "the", "<mask>", "a"};
    CS_AUTO(cs_corpus) c = small_corpus(1, length, 4, 0, 1);
    for (int32_t i = 0; i < 6; ++i) {
        c.token[i] = i % 4;
    }
    for (int i = 0; i < 4; ++i) {
        cs_free(c.word[i]);
        c.word[i] = cs_strdup(spelled[i]);
        assert_non_null(c.word[i]);
    }
    OK(cs_corpus_specials_first(&c));
    static const int32_t want[] = {3, 5, 4, 6, 3, 5};
    static const char *const words[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "the", "a"};
    assert_int_equal(c.vocab, 7);
    assert_int_equal(c.unknown, 3);
    assert_each(i, 0, 7, strcmp(c.word[i], words[i]) == 0);
    assert_memory_equal(c.token, want, sizeof want);
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_of_corpus(&c, CS_SPLITTER_WHITESPACE, &t));
    assert_int_equal(cs_tokenizer_vocab(t), 7);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_PAD), 1);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_EOS), 2);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_UNK), 3);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_MASK), 4);
}

/* --- the loop ----------------------------------------------------------------------------------*/

static const char *const files[] = {"model.safetensors", "config.json", "tokenizer.json",
                                    "checkpoint-12/optimizer.safetensors",
                                    "checkpoint-12/trainer.json"};

TEST_IN_DIR(test_threads)
{
    const char *dir[3];
    for (int i = 0; i < 3; ++i) {
        recipe r = {.kind = CS_OBJ_DIVERSE_AR, .threads = i + 1, .width = 32};
        char name[24];
        (void)snprintf(name, sizeof name, "t%d", i + 1);
        dir[i] = in_dir(state, name);
        CS_AUTO_BY(free_training, training) t = make_training(&r, dir[i]);
        t.options.data.accumulate = 2;
        cs_train_result result = trained(&t);
        assert_true(result.finished && result.step == 12 && result.skipped == 0);
    }
    for (size_t f = 0; f < sizeof files / sizeof *files; ++f) {
        assert_same_file(dir[0], dir[1], files[f]);
        assert_same_file(dir[0], dir[2], files[f]);
    }
}

/* Two micro-batches of 4 are one batch of 8, up to the order of sums. */
TEST_IN_DIR(test_accumulation)
{
    double loss[2];
    for (int i = 0; i < 2; ++i) {
        recipe r = {0};
        CS_AUTO_BY(free_training, training) t =
            make_training(&r, in_dir(state, i == 0 ? "whole" : "halves"));
        t.options.data.batch = i == 0 ? 8 : 4;
        t.options.data.accumulate = i == 0 ? 1 : 2;
        t.options.steps = 3;
        loss[i] = trained(&t).loss;
    }
    /* 3 steps of float sums over some thousand terms */
    assert_true(fabs(loss[0] - loss[1]) < 1e-4);
    assert_true(loss[0] > 0);
}

/* As on a GPU: batches padded to one shape, norms and losses read at rows of the log alone. The
 * numbers are those of synchronous runs, up to the order of sums over padding. */
TEST_IN_DIR(test_asynchronous)
{
    static const cs_objective_kind kinds[] = {CS_OBJ_AR, CS_OBJ_MASKED, CS_OBJ_GVP};
    for (int i = 0; i < 6; ++i) {
        static double loss[2];
        recipe r = {.kind = kinds[i / 2]};
        training t = make_training(&r, in_dir(state, i % 2 == 0 ? "now" : "later"));
        t.backend->asynchronous = i % 2 == 1;
        t.options.intervals.log_every = 5;
        cs_train_result result = trained(&t);
        loss[i % 2] = result.loss;
        assert_int_equal(result.skipped, 0);
        assert_true(!isnan(result.eval_loss));
        free_training(&t);
        if (i % 2 == 1 && !(fabs(loss[0] - loss[1]) < 1e-4)) {
            fail_msg("objective %d: %g, later %g", (int)kinds[i / 2], loss[0], loss[1]);
        }
    }
}

TEST_IN_DIR(test_log)
{
    recipe r = {0};
    const char *dir = in_dir(state, "log");
    CS_AUTO_BY(free_training, training) t = make_training(&r, dir);
    t.options.intervals.log_every = 4;
    t.options.steps = 10;
    cs_train_result result = trained(&t);
    char path[600];
    (void)snprintf(path, sizeof path, "%s/log.csv", dir);
    AUTO_OK(cs_table, table, cs_table_read_csv(path, &table));
    /* 4, 8 by log_every, 5 and 10 by eval_every, 10 is the last */
    static const char *const step[] = {"4", "5", "8", "10"};
    assert_int_equal(table.rows, 4);
    for (int64_t i = 0; i < 4; ++i) {
        const char *const *row = (const char *const *)table.cell + i * table.columns;
        assert_string_equal(row[0], step[i]);
        bool evaluated = i % 2 == 1;
        assert_int_equal(row[cs_table_column(&table, "eval_loss")][0] != '\0', evaluated);
        double want = cs_schedule_rate(t.options.rate.schedule, t.options.rate.learning_rate, 0, 5,
                                       0, 10, atoll(step[i]));
        near(strtod(row[cs_table_column(&table, "learning_rate")], NULL), want);
        assert_string_equal(row[cs_table_column(&table, "skipped")], "0");
    }
    double last = strtod(table.cell[3 * table.columns + cs_table_column(&table, "loss")], NULL);
    assert_true(fabs(last - result.loss) < 1e-8 * result.loss);
    assert_int_equal(atoll(table.cell[3 * table.columns + 1]), result.tokens);
}

/* A fresh model's loss is that of the uniform guess: its logits have a standard deviation of
 * init_range sqrt(width) = 0.08, which the mean over more than 20 events makes 0.02, and half their
 * variance, 0.003, adds. */
TEST_IN_DIR(test_first_loss)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "first"));
    t.options.steps = 1;
    double loss = trained(&t).loss;
    if (fabs(loss - log((double)t.model.config.shape.vocab)) > 0.05) {
        fail_msg("%g is not ln %lld", loss, (long long)t.model.config.shape.vocab);
    }
}

/* So is that of linear attention, under either pooling: a first logit's standard deviation is at
 * most init_range sqrt(width) = 0.08 in texts of all positions, and half its variance adds. */
TEST_IN_DIR(test_first_loss_linear)
{
    for (int sum = 0; sum < 2; ++sum) {
        recipe r = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_LINEAR};
        CS_AUTO_BY(free_training, training) t =
            make_training(&r, in_dir(state, sum ? "sum" : "mean"));
        t.model.config.head.pooling = sum ? 0 : 2;
        OK(cs_model_randomise(&t.model, 7));
        t.options.steps = 1;
        double loss = trained(&t).loss;
        if (fabs(loss - log((double)t.model.config.shape.vocab)) > 0.05) {
            fail_msg("%g is not ln %lld", loss, (long long)t.model.config.shape.vocab);
        }
    }
}

/* --- by heart ----------------------------------------------------------------------------------*/

/* Four documents in which no token occurs twice: one visible token determines the document, and
 * with the position all of the rest, so that the best cross-entropy is 0. The bound is that of
 * giving every target a probability of 0.9. */
static void learn(void **state, recipe r, int64_t steps, double bound)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s-%s-%d", cs_objective_name(r.kind), cs_arch_name(r.arch),
                   (int)r.decoder_layers);
    r.distinct = true;
    r.documents = 4;
    r.width = 32;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, name));
    t.options.steps = steps;
    t.options.rate.learning_rate = 1e-2;
    t.options.intervals.log_every = t.options.intervals.save_every =
        t.options.intervals.eval_every = 0;
    cs_train_result result = trained(&t);
    if (!(result.loss < bound)) {
        fail_msg("%s: the loss is %g after %lld steps", name, result.loss, (long long)steps);
    }
}

TEST_IN_DIR(test_by_heart)
{
    const double bound = -log(0.9);
    static const cs_objective_kind two_stream[] = {CS_OBJ_DIVERSE_AR, CS_OBJ_OFFSET_AR,
                                                   CS_OBJ_GROUP_AR, CS_OBJ_PERMUTED_AR, CS_OBJ_GVP};
    learn(state, (recipe){.kind = CS_OBJ_AR}, 150, bound);
    learn(state, (recipe){.kind = CS_OBJ_AR, .arch = CS_ARCH_ROBERTA_PRELAYERNORM}, 150, bound);
    learn(state, (recipe){.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM}, 300, bound);
    learn(state, (recipe){.kind = CS_OBJ_VARIABLE_MASKED, .arch = CS_ARCH_BERT}, 300, bound);
    learn(
        state,
        (recipe){.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM, .decoder_layers = 1},
        300, bound);
    for (size_t i = 0; i < sizeof two_stream / sizeof *two_stream; ++i) {
        learn(state, (recipe){.kind = two_stream[i]}, 300, bound);
    }
    learn(state, (recipe){.kind = CS_OBJ_AR, .arch = CS_ARCH_LINEAR}, 300, bound);
}

/* The spectral loss of factor 2 is -sum sigma_j^2 at best, over at most as many singular values as
 * the width. Every prefix here is followed by its own token: 20 events, sigma = 1 for each, so the
 * best is -20; below -10 more than half of the spectrum has been found. */
TEST_IN_DIR(test_spectral_by_heart)
{
    learn(state, (recipe){.kind = CS_OBJ_AR, .arch = CS_ARCH_LINEAR, .loss = CS_LOSS_SPECTRAL}, 400,
          -10);
}
