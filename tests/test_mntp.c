/* mntp: its events against all plans, by hand and as those of masked; its kernel and toy spectrum in
 * closed form; what a prediction must not see, in bits; one network with ar, to the bits of ar where it
 * is all of the mixture; how such models are asked. */
#include "context_support.h"
#include "io_support.h"
#include "mix_support.h"
#include "model/pass.h"
#include "perplexity_support.h"
#include "plan/kernel.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "toy_support.h"

static const char *const MIXED = "mix:1*ar+2*mntp(mask-ratio=0.4)";

/* --- the distribution --- */

TEST(events_are_those_of_all_plans)
{
    const char *const specs[] = {"mntp(mask-ratio=0.5)", "mntp(unmasked=2)"};
    for (int i = 0; i < 2; ++i) {
        cs_objective o = plan_objective(specs[i]);
        plan_compare_variants(o, 3, (const double[]){1, 1});
    }
}

/* s = 4, two unmasked: {0, i} i = 1..3 predict the two others, 1/6 each. With a begin token: masked. */
TEST(the_first_token_is_given)
{
    static double table[PLAN_CELLS];
    cs_objective o = plan_objective("mntp(unmasked=2)");
    plan_table_of(&o, 4, table);
    int events = 0;
    for (unsigned i = 0; i < PLAN_CELLS; ++i) {
        const unsigned set = i / PLAN_LONGEST;
        events += table[i] > 0;
        assert_true(table[i] == 0 || (set & 1 && fabs(table[i] * 6 - 1) < 1e-14));
    }
    assert_int_equal(events, 6);
    o.empty_prefix = CS_PREFIX_SHARED;
    plan_assert_as_by_hand(&o, 6, "masked(unmasked=2)");
    assert_int_equal(cs_objective_shape(&o), CS_PAIRS_INVARIANT);
}

/* R = diag 1 / (n (s-1)), off it (n-1) / (n (s-1) (s-2)), none of it at the first position: that of
 * masked at length s - 1. */
TEST(its_kernel_is_closed)
{
    enum { S = 12, N = 5 };
    double r[S * S];
    cs_objective o = plan_objective("mntp(unmasked=7)");
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, S, &pairs));
    OK(cs_kernel_of_pairs(&pairs, r));
    for (int k = 0; k < S; ++k) {
        for (int l = 0; l < S; ++l) {
            const double expected = k == 0 || l == 0 ? 0
                                    : k == l         ? 1.0 / (N * (S - 1))
                                                     : (N - 1.0) / (N * (S - 1) * (S - 2));
            assert_true(fabs(r[k * S + l] - expected) < 1e-14);
        }
    }
    plan_compare_kernel(MIXED);
}

/* 1 and s - 2 times sqrt((m-1) / ((s-m)(s-2))) a class: masked at length s - 1 with m - 1 unmasked, and
 * a text of the class that is never empty. Against the reduction and all contents. */
TEST(its_toy_spectrum_is_closed)
{
    enum { S = 6, CLASSES = 2 };
    for (int m = 2; m < S; ++m) {
        char spec[32];
        (void)snprintf(spec, sizeof spec, "mntp(unmasked=%d)", m);
        cs_toy toy = toy_of(spec, CLASSES, S, 2);
        CS_AUTO(cs_toy_spectrum) reduced = toy_run(cs_toy_reduce, &toy),
                                 all = toy_run(toy_enumerate, &toy);
        const double sigma = sqrt((m - 1.0) / ((S - m) * (S - 2.0)));
        const bool ones = S - m == 1;
        expect_spectra_agree(&reduced, &all);
        assert_int_equal(reduced.values, ones ? 1 : 2);
        assert_true(fabs(reduced.sigma[0] - 1) < toy_agreement);
        assert_int_equal(reduced.multiplicity[0], ones ? CLASSES * (S - 1) : CLASSES);
        if (!ones) {
            assert_true(fabs(reduced.sigma[1] - sigma) < toy_agreement);
            assert_int_equal(reduced.multiplicity[1], CLASSES * (S - 2));
        }
    }
}

TEST(it_mixes)
{
    static const mixture m = {.spec = "mix:1*ar+3*mntp(mask-ratio=0.4)",
                              .part = {"ar", "mntp:mask-ratio=0.4"},
                              .share = {0.25, 0.75}};
    CS_AUTO(cs_plan_file) file = {0};
    plan_compare_variants(plan_held("mix:0.3*prefix-lm+0.7*mntp(mask-ratio=0.4)", &file), 3,
                          (const double[]){7, 7});
    for (int given = 0; given < 2; ++given) {
        mix_check(&m, "nearest:2", given > 0, 7);
        mix_check(&m, "each:2", given > 0, 7);
    }
    context_check("mix:1*group-ar(t=2)+1*mntp(unmasked=2)", 3, 7);
    expect_reduction_exact("mix:1*ar+1*mntp(unmasked=10)", 2);
}

/* --- a network -------------------------------------------------------------------------------- */

/* A small model under an objective, and a pass that holds any text of six tokens. */
typedef struct {
    training t;
    cs_plan_file file;
    cs_pass pass;
    float *logits;
} subject;

static void open_subject(const char *spec, cs_empty_prefix empty, subject *s)
{
    const recipe r = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    *s = (subject){.t = make_training(&r, "")};
    s->t.options.task.objective = plan_held(spec, &s->file);
    s->t.options.task.objective.empty_prefix = empty;
    cs_network_options sizes = {.loss = CS_LOSS_CROSS_ENTROPY};
    OK(cs_task_sizes(&s->t.options.task, &s->t.model.config, 1, 6, &sizes));
    OK(cs_pass_open(&s->t.model, &sizes, &s->pass));
    s->logits = cs_alloc(6 * s->t.model.config.shape.vocab, sizeof *s->logits);
    assert_non_null(s->logits);
}

static void close_subject(subject *s)
{
    cs_free(s->logits);
    cs_pass_close(&s->pass);
    cs_plan_file_free(&s->file);
    free_training(&s->t);
}

/* Logits of all loss rows of a text under the plan of a step. */
static void ask(subject *s, const int32_t *token, int64_t step)
{
    const cs_example example = {.token = token, .length = 6};
    cs_batch_free(&s->pass.batch);
    OK(cs_batch_build(&(cs_batch_order){&s->t.options.task, &s->t.model.config, 3, step, NULL},
                      &example, 1, &s->pass.batch));
    OK(cs_batch_load(&s->pass.batch, &s->pass.network, 1, NULL, (cs_run_key){0}, s->pass.run));
    OK(cs_run_forward(s->pass.run));
    OK(cs_run_get_f32(s->pass.run, s->pass.network.loss.logits, s->logits));
}

/* The token at place i is another one: no bit of its prediction changes, and some other prediction
 * does. By plans that mask (one token of each is given at least) and by those of ar. */
TEST(a_prediction_never_sees_its_token)
{
    const char *const specs[] = {"mntp(mask-ratio=0.5)", MIXED};
    for (int n = 0; n < 4; ++n) {
        CS_AUTO_BY(close_subject, subject) s = {0};
        open_subject(specs[n / 2], n % 2 ? CS_PREFIX_SHARED : CS_PREFIX_NONE, &s);
        const int64_t vocab = s.t.model.config.shape.vocab;
        int masked = 0, causal = 0, moved = 0;
        for (int64_t step = 0; step < 12; ++step) {
            int32_t token[6] = {7, 8, 9, 10, 11, 12}, place[6];
            float own[6 * 64];
            ask(&s, token, step);
            const int64_t events = s.pass.batch.events;
            assert_true(events >= 1 && events <= 6 && vocab <= 64);
            memcpy(own, s.logits, (size_t)(events * vocab) * sizeof *own);
            memcpy(place, s.pass.batch.loss.place, (size_t)events * sizeof *place);
            bool shows =
                ANY(i, 0, s.pass.batch.length, s.pass.batch.token[i] == s.t.model.config.ids.mask);
            masked += shows;
            causal += !shows;
            for (int64_t e = 0; e < events; ++e) {
                /* row i predicts token i + 1, behind a begin token i */
                assert_int_equal(s.pass.batch.loss.predict[e], place[e] - 1 + n % 2);
                token[place[e]] += 9;
                ask(&s, token, step);
                for (int64_t f = 0; f < events; ++f) {
                    const bool same = memcmp(own + f * vocab, s.logits + f * vocab,
                                             (size_t)vocab * sizeof *own) == 0;
                    assert_true(same || (f != e && !shows));
                    moved += !same;
                }
                token[place[e]] -= 9;
            }
        }
        assert_true(masked > 0 && (causal > 0) == (n >= 2) && (moved > 0) == (n >= 2));
    }
}

/* A given token reaches every prediction of its plan, on either side. */
TEST(a_prediction_sees_both_sides)
{
    CS_AUTO_BY(close_subject, subject) s = {0};
    open_subject("mntp(unmasked=5)", CS_PREFIX_NONE, &s);
    const int64_t vocab = s.t.model.config.shape.vocab;
    float own[64];
    for (int64_t step = 0; step < 8; ++step) {
        int32_t token[6] = {7, 8, 9, 10, 11, 12};
        ask(&s, token, step);
        memcpy(own, s.logits, (size_t)vocab * sizeof *own);
        for (int i = 0; i < 6; ++i) {
            token[i] += 9;
            ask(&s, token, step);
            const bool same = memcmp(own, s.logits, (size_t)vocab * sizeof *own) == 0;
            assert_true(same == (i == s.pass.batch.loss.place[0]));
            token[i] -= 9;
        }
    }
}

/* Where the share of mntp is 0 the mixture trains what ar trains, to the bit. */
TEST_IN_DIR(all_of_ar_is_ar)
{
    const recipe r = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    for (int mixed = 0; mixed < 3; ++mixed) {
        CS_AUTO_BY(free_training, training) t =
            make_training(&r, in_dir(state, mixed == 0   ? "ar"
                                            : mixed == 1 ? "mix"
                                                         : "half"));
        CS_AUTO(cs_plan_file) file = {0};
        if (mixed) {
            t.options.task.objective =
                plan_held(mixed == 1 ? "mix:1*ar+(s-s)*mntp(mask-ratio=0.4)" : MIXED, &file);
        }
        (void)trained(&t);
    }
    CS_AUTO_FREE char *ar = cs_strdup(in_dir(state, "ar")), *mix = cs_strdup(in_dir(state, "mix"));
    int64_t n = 0, m = 0;
    assert_same_file(ar, mix, "model.safetensors");
    CS_AUTO_FREE char *x = bytes_of(in_dir(state, "ar/model.safetensors"), &n),
                      *y = bytes_of(in_dir(state, "half/model.safetensors"), &m);
    assert_true(n == m && memcmp(x, y, (size_t)n) != 0);
}

/* With a begin token a masked text takes a row more than it has tokens. */
TEST(a_begin_token_needs_a_position)
{
    cs_model_config config = {
        .arch = CS_ARCH_GPT2, .shape.positions = 6, .shape.vocab = 9, .ids.bos = 1, .ids.mask = 2};
    cs_task task = {.objective = plan_objective("mntp(mask-ratio=0.5)")};
    cs_network_options sizes = {0};
    OK(cs_task_sizes(&task, &config, 1, 6, &sizes));
    assert_int_equal(sizes.length, 6);
    task.objective.empty_prefix = CS_PREFIX_SHARED;
    assert_fails(cs_task_sizes(&task, &config, 1, 6, &sizes), CS_ERR_USAGE,
                 "length 6 exceeds the 6 positions");
    OK(cs_task_sizes(&task, &config, 1, 5, &sizes));
    assert_int_equal(sizes.length, 6);
    config.ids.mask = -1;
    assert_fails(cs_task_sizes(&task, &config, 1, 5, &sizes), CS_ERR_USAGE, "no mask token");
}

TEST(its_kind_decides_how_it_is_evaluated)
{
    const struct {
        const char *spec;
        cs_kind kind;
        int asks;
    } cases[] = {{"mntp(mask-ratio=0.5)", CS_KIND_MNTP, 3},
                 {"mix:1*mntp(unmasked=1)+1*mntp(unmasked=2)", CS_KIND_MNTP, 3},
                 {"mix:1*ar+1*mntp(unmasked=1)", CS_KIND_HYBRID, 4},
                 {"mix:1*ar+1*prefix-lm", CS_KIND_CAUSAL, 1}};
    const cs_model_config config = {.arch = CS_ARCH_GPT2};
    for (int i = 0; i < 4; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        const cs_task task = {.objective = plan_held(cases[i].spec, &file)};
        cs_ask ways[CS_ASKS];
        AUTO_OK(cs_model_kind, kind,
                cs_model_kind_of(&task, &config, CS_LOSS_CROSS_ENTROPY, 1, &kind));
        assert_int_equal(kind.kind, cases[i].kind);
        assert_int_equal(kind.attention, i < 3 ? CS_ATTENTION_BIDIRECTIONAL : CS_ATTENTION_PLAN);
        assert_int_equal(cs_asks_of(kind.kind, ways), cases[i].asks);
    }
}

/* Behind a begin token the same model reads the same pieces either way, of the given length; the
 * mask needs a row more, and has none where a piece would take all positions. */
TEST(a_given_length_gives_the_same_pieces)
{
    CS_AUTO_BY(close_subject, subject) s = {0};
    open_subject("mix:1*ar+1*mntp(unmasked=5)", CS_PREFIX_SHARED, &s);
    const int64_t positions = s.t.model.config.shape.positions, length[] = {3, positions, 0};
    for (int i = 0; i < 3; ++i) {
        const cs_perplexity_options o = {
            .kind = CS_KIND_HYBRID, .from_nothing = true, .max_length = length[i], .split = true};
        cs_perplexity_options prefix = o, masks = o;
        prefix.ask = CS_ASK_PREFIX;
        masks.ask = CS_ASK_REMAINING;
        CS_AUTO(cs_perplexity) p = perplexity_of(&s.t, &prefix), q = perplexity_of(&s.t, &masks);
        assert_int_equal(p.tokens, q.tokens);
        if (i == 0) {
            assert_int_equal(p.lengths, 3);
            assert_int_equal(q.lengths, 3);
            assert_memory_equal(p.tokens_at, q.tokens_at, 3 * sizeof *p.tokens_at);
        } else {
            assert_true(p.lengths <= positions && q.lengths <= positions - 1);
        }
    }
}

/* One mask anywhere is the pseudo-perplexity: the trainer's evaluation of all such plans, by the mean
 * over them, here of one text after another. */
TEST(pseudo_is_the_mean_over_single_masks)
{
    for (int begins = 0; begins < 2; ++begins) {
        CS_AUTO_BY(close_subject, subject) s = {0};
        open_subject("mntp(unmasked=5)", begins ? CS_PREFIX_SHARED : CS_PREFIX_NONE, &s);
        const int64_t vocab = s.t.model.config.shape.vocab;
        uint8_t keep[64] = {0, 0, 0, 1}; /* of six tokens */
        const cs_perplexity_options o = {
            .kind = CS_KIND_MNTP, .ask = CS_ASK_PSEUDO, .from_nothing = begins > 0, .keep = keep};
        CS_AUTO(cs_perplexity) p = perplexity_of(&s.t, &o);
        unsigned seen = 0;
        double sum = 0;
        for (int64_t step = 0; step < 100; ++step) {
            ask(&s, s.t.corpus.token + s.t.corpus.doc_ptr[3], step);
            const int64_t place = s.pass.batch.loss.place[0];
            double total = SUM(v, 0, vocab, exp((double)s.logits[v]));
            sum +=
                seen >> place & 1 ? 0 : log(total) - (double)s.logits[s.pass.batch.loss.target[0]];
            seen |= 1U << place;
        }
        assert_int_equal(seen, begins ? 63 : 62);
        assert_true(fabs(p.nll * (5 + begins) - sum) < 1e-5); /* float losses of about 3 */
        assert_int_equal(p.tokens, 5 + begins);
    }
}
