/* Schedules of objectives: their text, the phase of each step, what is refused; a run whose first phase is
 * the run of that objective, to the bit, whose checkpoints say their phase, and which goes on across a
 * change to the same bytes. */
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "plan/spec.h"
#include "train/model_kind.h"
#include "train/phases.h"
#include "train_support.h"

static cs_phases phases_of(const char *text)
{
    cs_phases p = {0};
    assert_true(cs_phases_are(text));
    OK(cs_phases_read(text, &p));
    return p;
}

/* Described, it is read back as the same. */
TEST(texts_are_read_and_described)
{
    static const char *const texts[] = {"ar until 0.4, masked(mask-ratio=0.4)",
                                        "ar for 4, masked(mask-ratio=0.15) for 8",
                                        "multi-token(t=3) for 1, ar for 1, multi-token(t=5) for 2"};
    for (int i = 0; i < 3; ++i) {
        CS_AUTO(cs_phases) p = phases_of(texts[i]);
        assert_int_equal(p.ahead, i == 2 ? 5 : 0);
        assert_int_equal(p.heads[0], i == 2 ? 3 : 0);
        CS_AUTO_FREE char *text = cs_phases_describe(&p);
        assert_string_equal(text, texts[i]);
    }
    CS_AUTO(cs_phases) p = phases_of("mix:1*ar+3*mntp(mask-ratio=0.5) until 0.5, masked");
    CS_AUTO_FREE char *text = cs_phases_describe(&p);
    CS_AUTO(cs_phases) again = phases_of(text);
    CS_AUTO_FREE char *same = cs_phases_describe(&again);
    assert_string_equal(text, same);
    assert_non_null(strstr(text, "masked(mask-ratio=0.15)")); /* the value of training */
    assert_int_equal(p.objective[0].kind, CS_OBJ_MIX);
}

TEST(steps_have_phases)
{
    CS_AUTO(cs_phases) p = phases_of("ar until 0.25, masked until 0.5, ar");
    for (int64_t n = 1; n <= 12; ++n) {
        assert_int_equal(cs_phases_at(&p, 12, n), n <= 3 ? 0 : n <= 6 ? 1 : 2);
    }
    assert_int_equal(cs_phases_at(&p, 0, 0), 0);
    assert_int_equal(cs_phases_at(&p, 1, 1), 1); /* a phase of no step is left out */
    cs_phases_free(&p);
    p = phases_of("ar for 2, masked for 3");
    for (int64_t n = 1; n <= 20; ++n) {
        assert_int_equal(cs_phases_at(&p, 12, n), (n - 1) % 5 >= 2);
    }
}

static void assert_reached(const char *text, int64_t steps, int mask)
{
    CS_AUTO(cs_phases) p = phases_of(text);
    assert_each(i, 0, p.count, cs_phases_reached(&p, steps, i) == (mask >> i & 1));
}

/* The bits of the phases that have a step. */
TEST(a_phase_without_a_step_is_reported)
{
    assert_reached("ar until 0.001, masked", 10, 2);
    assert_reached("ar until 0.5, masked until 0.501, ar", 10, 5);
    assert_reached("ar until 0.999, masked", 10, 1);
    assert_reached("ar until 0.4, masked", 10, 3);
    assert_reached("ar for 99999999999, masked for 1", 10, 1);
    assert_reached("ar for 9, masked for 1", 10, 3);
    assert_reached("ar for 2, masked for 8, ar for 1", 10, 3);
}

TEST(what_is_no_schedule_is_refused)
{
    static const test_refusal cases[] = {
        {"ar until 1.5, masked",
         "phase 1: \"until 1.5\": not a share of the steps between 0 and 1"},
        {"ar until 0.5", "phase 1: the last phase lasts to the end"},
        {"ar until 0.5, masked until 0.4, ar",
         "phase 2: until 0.4 is not after the end of the phase before it, 0.5"},
        {"ar, masked until 0.5", "phase 1: it needs \"until SHARE\""},
        {"ar until 0.5, masked for 3",
         "phase 2: \"until\" and \"for\" cannot be combined; alternating"},
        {"ar for 2, masked", "phase 2: \"until\" and \"for\""},
        {"ar for 0, masked for 1", "\"for 0\": not a number of steps"},
        {"ar for 1.5, masked for 1", "\"for 1.5\": not a number of steps"},
        {"ar until 0.5, maskd", "phase 2: unknown objective"},
        {"ar until 0.5, multi-tokens", "phase 2: unknown objective"},
        {"multi-token until 0.5, diverse-ar(t=2)", "phase 2: diverse-ar and multi-token"},
        {"ar until 0.5, mix:1*ar+1*multi-token",
         "phase 2: multi-token cannot be part of a mixture"},
        {"ar until 0.5, masked(mask-ratio=2)", "phase 2: "},
        {"ar until 0.5,", "phase 2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_phases p = {0};
        assert_fails(cs_phases_read(cases[i].text, &p), CS_ERR_USAGE, cases[i].reason);
        assert_int_equal(p.count, 0);
    }
    cs_objective o;
    assert_fails(cs_objective_parse("ar until 0.4, masked", &o), CS_ERR_USAGE,
                 "a schedule of objectives, which only training accepts, since");
}

/* Forms, and shares of masked tokens that nobody reads. */
TEST(phases_share_a_network)
{
    const recipe r = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    cs_network_options sizes = {0};
    CS_AUTO(cs_phases) p = phases_of("ar until 0.5, diverse-ar");
    assert_fails(
        cs_phases_sizes(&p, &t.options.task, &t.model.config, 4, 9, &sizes), CS_ERR_USAGE,
        "phase 2: diverse-ar is read in two streams, but the phases before it in one stream");
    cs_phases_free(&p);
    p = phases_of("ar until 0.5, masked(mask-ratio=0.4)");
    t.options.task.keep = 0.5;
    OK(cs_phases_sizes(&p, &t.options.task, &t.model.config, 4, 9, &sizes));
    assert_int_equal(sizes.predictions, 4 * 8); /* those of ar: more than masked ones */
    assert_true(cs_phases_task(&p, 0, &t.options.task, &t.model.config).keep == 0);
    assert_true(cs_phases_task(&p, 1, &t.options.task, &t.model.config).keep == 0.5);
    cs_phases_free(&p);
    p = phases_of("ar until 0.5, prefix-lm");
    assert_fails(cs_phases_sizes(&p, &t.options.task, &t.model.config, 4, 9, &sizes), CS_ERR_USAGE,
                 "no phase reads a masked token");
}

/* 12 steps; checkpoints after 4, 8 and 12. */
static void run(const char *text, const char *dir, bool resume, int64_t steps, int threads)
{
    const recipe r = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2, .threads = threads};
    const int64_t kept[] = {4, 8, 12};
    CS_AUTO_BY(free_training, training) t = make_training(&r, dir);
    CS_AUTO(cs_phases) p = {0};
    if (text) {
        p = phases_of(text);
        t.options.phases = &p;
    }
    t.options.start.resume = resume;
    t.options.intervals.keep = (cs_train_steps){3, kept};
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.steps = steps;
    (void)trained(&t);
}

static void expect_kind(const char *dir, int64_t step, cs_kind kind, const char *spec)
{
    char folder[600];
    (void)snprintf(folder, sizeof folder, "%s/checkpoint-%lld", dir, (long long)step);
    const cs_model_config config = {.arch = CS_ARCH_GPT2};
    AUTO_OK(cs_model_kind, got, read_kind(step > 0 ? folder : dir, &config, &got));
    assert_int_equal(got.kind, kind);
    assert_string_equal(got.spec, spec);
}

/* Up to the change ar is ar, to the bit; behind it another. Each checkpoint is a model of its phase. */
TEST_IN_DIR(a_run_has_the_phase_of_each_step)
{
    char ar[512], both[512], masked[64] = "masked(mask-ratio=0.4)";
    (void)snprintf(ar, sizeof ar, "%s", in_dir(state, "ar"));
    (void)snprintf(both, sizeof both, "%s", in_dir(state, "both"));
    run(NULL, ar, false, 12, 1);
    run("ar until 0.6, masked(mask-ratio=0.4)", both, false, 12, 1); /* until step 7 */
    assert_same_file(ar, both, "checkpoint-4/model.safetensors");
    assert_same_file(ar, both, "checkpoint-4/optimizer.safetensors");
    int64_t n = 0, m = 0;
    CS_AUTO_FREE char *x = bytes_of(in_dir(state, "ar/checkpoint-8/model.safetensors"), &n),
                      *y = bytes_of(in_dir(state, "both/checkpoint-8/model.safetensors"), &m);
    assert_true(n == m && memcmp(x, y, (size_t)n) != 0);
    expect_kind(both, 4, CS_KIND_CAUSAL, "ar");
    expect_kind(both, 8, CS_KIND_MASKED, masked);
    expect_kind(both, 0, CS_KIND_MASKED, masked);
}

static void copy_first(const char *from, const char *to, int64_t step)
{
    char command[2400];
    (void)snprintf(command, sizeof command, "mkdir %s && cp -r %s/checkpoint-%lld %s/log.csv %s",
                   to, from, (long long)step, from, to);
    assert_int_equal(system(command), 0); /* NOLINT: folders of the test */
}

/* From the checkpoint before the change, and from one behind it, with other threads. */
TEST_IN_DIR(resuming_across_a_change_gives_the_same_bytes)
{
    static const char *const texts[] = {"ar until 0.6, masked(mask-ratio=0.4)",
                                        "ar for 3, mntp(mask-ratio=0.4) for 2"};
    static const char *const files[] = {"model.safetensors", "config.json",
                                        "checkpoint-12/optimizer.safetensors",
                                        "checkpoint-12/trainer.json"};
    for (int i = 0; i < 4; ++i) {
        char whole[512], torn[512], name[16];
        (void)snprintf(name, sizeof name, "whole%d", i);
        (void)snprintf(whole, sizeof whole, "%s", in_dir(state, name));
        (void)snprintf(name, sizeof name, "torn%d", i);
        (void)snprintf(torn, sizeof torn, "%s", in_dir(state, name));
        run(texts[i / 2], whole, false, 12, 1);
        copy_first(whole, torn, i % 2 ? 8 : 4);
        run(texts[i / 2], torn, true, 12, 2);
        for (int f = 0; f < 4; ++f) {
            assert_same_file(whole, torn, files[f]);
        }
    }
}

static cs_status resumed(const char *text, const char *dir, int64_t steps)
{
    const recipe r = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    CS_AUTO_BY(free_training, training) t = make_training(&r, dir);
    CS_AUTO(cs_phases) p = phases_of(text);
    cs_train_result result;
    t.options.phases = &p;
    t.options.start.resume = true;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.steps = steps;
    cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
    return status;
}

/* More steps move the end of a share, not a turn. */
TEST_IN_DIR(other_schedules_and_lengths_are_refused)
{
    char share[512], turns[512];
    (void)snprintf(share, sizeof share, "%s", in_dir(state, "share"));
    (void)snprintf(turns, sizeof turns, "%s", in_dir(state, "turns"));
    run("ar until 0.5, masked(mask-ratio=0.4)", share, false, 8, 1);
    run("ar for 3, masked(mask-ratio=0.4) for 2", turns, false, 8, 1);
    assert_fails(resumed("ar until 0.25, masked(mask-ratio=0.4)", share, 8), CS_ERR_USAGE,
                 "--objective");
    assert_fails(resumed("ar until 0.5, masked(mask-ratio=0.4)", share, 12), CS_ERR_USAGE,
                 "phases \"until\" a share");
    OK(resumed("ar for 3, masked(mask-ratio=0.4) for 2", turns, 12));
    run("ar for 3, masked(mask-ratio=0.4) for 2", share, false, 12, 1);
    assert_same_file(share, turns, "model.safetensors");
}
