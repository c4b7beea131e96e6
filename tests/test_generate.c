/* Texts drawn from models: their frequencies are the models' own likelihoods, in every kind and order;
 * greedy is what perplexity scores highest; the same bits for any threads and company; what is refused. */
#include "infer/generate.h"
#include "model/pass.h"
#include "perplexity_support.h"
#include "plan_support.h"

enum { PROMPT = 9, DRAWS = 4000 };

static const int32_t prompt[] = {PROMPT, 12, 7};
static cs_special_tokens special; /* of all texts */

static cs_generate_options options_of(int i, cs_reveal order, int64_t count, int64_t length)
{
    return (cs_generate_options){.kind = perplexity_cases[i].kind,
                                 .content = CS_ATTENTION_PLAN,
                                 .order = order,
                                 .count = count,
                                 .length = length,
                                 .prompt = prompt,
                                 .prompt_length = 1,
                                 .temperature = 1,
                                 .top_p = 1,
                                 .batch = 64,
                                 .around = special,
                                 .seed = 3};
}

static cs_generated drawn(training *t, const cs_generate_options *o)
{
    cs_generated g = {0};
    OK(cs_generate(&t->model, o, &g));
    return g;
}

/* nll of the last token of a text by perplexity: from the prefix, under the case's ask. */
static double scored(training *t, int i, const int32_t *token, int64_t length)
{
    int64_t ends[] = {0, length};
    int32_t text[8];
    uint8_t held[1] = {0};
    cs_corpus one = t->corpus;
    memcpy(text, token, (size_t)length * sizeof *token);
    one.documents = 1;
    one.tokens = length;
    one.token = text;
    one.doc_ptr = ends;
    one.held_out = held;
    cs_perplexity_options o = perplexity_options_of(i);
    o.around = special;
    AUTO_OK(cs_perplexity, p, cs_perplexity_of(&t->model, &one, &o, &p));
    const double nll = p.nll_at[length - 1];
    return nll;
}

/* Kinds that draw from the left as perplexity asks: causal, two-stream with causal content, mntp and
 * hybrid. masked models in perplexity's case 2: [MASK] at all that remain, as here. */
static const struct {
    int number;
    cs_attention content;
} lefts[] = {{0, CS_ATTENTION_CAUSAL},
             {2, CS_ATTENTION_BIDIRECTIONAL},
             {4, CS_ATTENTION_CAUSAL},
             {10, CS_ATTENTION_BIDIRECTIONAL},
             {11, CS_ATTENTION_BIDIRECTIONAL}};
enum { LEFTS = sizeof lefts / sizeof *lefts };

/* -log p of perplexity, of every token in place of the last one of two. */
static void distribution_of(training *t, int i, double p[64])
{
    double sum = 0;
    for (int64_t v = 0; v < t->model.config.shape.vocab; ++v) {
        const int32_t token[2] = {PROMPT, (int32_t)v};
        p[v] = exp(-scored(t, i, token, 2));
        sum += p[v];
    }
    assert_true(fabs(sum - 1) < 1e-5);
}

/* Pearson's statistic, cells of fewer than 10 expected draws put together; a chi-square of f degrees of
 * freedom exceeds f + 2 sqrt(f x) + 2 x with probability below e^-x (Laurent, Massart 2000), x = 20. */
static void expect_distribution(int64_t cells, const double *p, const int64_t *seen)
{
    double statistic = 0, used = 0, rare = 0, rare_seen = 0;
    for (int64_t v = 0; v < cells; ++v) {
        const double expected = p[v] * DRAWS, off = (double)seen[v] - expected;
        if (expected >= 10) {
            statistic += off * off / expected;
            used += 1;
        } else {
            rare += expected;
            rare_seen += (double)seen[v];
        }
    }
    if (rare >= 10) {
        statistic += (rare_seen - rare) * (rare_seen - rare) / rare;
        used += 1;
    }
    assert_true(used >= 3);
    const double f = used - 1, x = 20;
    if (!(statistic <= f + 2 * sqrt(f * x) + 2 * x)) {
        fail_msg("chi-square %g with %g degrees of freedom", statistic, f);
    }
}

TEST(frequencies_are_likelihoods)
{
    for (int n = 0; n < LEFTS; ++n) {
        const int i = lefts[n].number;
        CS_AUTO_BY(free_training, training) t = sharp_case_of(i);
        const int64_t vocab = t.model.config.shape.vocab;
        double p[64], warm[64], sum = 0;
        int64_t seen[64] = {0};
        distribution_of(&t, i, p);
        cs_generate_options o = options_of(i, CS_REVEAL_LEFT, DRAWS, 2);
        o.content = lefts[n].content;
        CS_AUTO(cs_generated) g = drawn(&t, &o);
        for (int64_t k = 0; k < DRAWS; ++k) {
            const int32_t v = g.token[2 * k + 1];
            assert_true(g.token[2 * k] == PROMPT && v >= 0 && v < vocab && g.place[k] == 1);
            assert_true(fabs(g.nll[k] + log(p[v])) < 1e-4); /* float losses of up to 10 */
            ++seen[v];
        }
        expect_distribution(vocab, p, seen);
        cs_generated_free(&g);
        /* a temperature of 2: square roots, normalised */
        for (int64_t v = 0; v < vocab; ++v) {
            warm[v] = sqrt(p[v]);
            sum += warm[v];
        }
        for (int64_t v = 0; v < vocab; ++v) {
            warm[v] /= sum;
        }
        memset(seen, 0, sizeof seen);
        o.temperature = 2;
        g = drawn(&t, &o);
        for (int64_t k = 0; k < DRAWS; ++k) {
            ++seen[g.token[2 * k + 1]];
        }
        expect_distribution(vocab, warm, seen);
    }
}

/* Between the same ids perplexity scores what is drawn, and without them otherwise; a causal model goes on
 * from those before a text. */
TEST(ids_surround_a_text)
{
    static const int32_t before[] = {5, 8}, after[] = {6};
    for (int n = 0; n < LEFTS; ++n) {
        const int i = lefts[n].number;
        CS_AUTO_BY(free_training, training) t = sharp_case_of(i);
        CS_AUTO(cs_generated) g = {0};
        special = (cs_special_tokens){before, after, 2, 1};
        cs_generate_options o = options_of(i, CS_REVEAL_LEFT, 20, 2);
        o.content = lefts[n].content;
        if (o.kind == CS_KIND_TWO_STREAM) {
            assert_fails(cs_generate(&t.model, &o, &g), CS_ERR_USAGE,
                         "do not support special tokens");
        } else {
            g = drawn(&t, &o);
            for (int64_t k = 0; k < g.count; ++k) {
                const double want = scored(&t, i, g.token + 2 * k, 2);
                assert_true(fabs(g.nll[k] - want) < 1e-4); /* float losses of up to 10 */
                special = (cs_special_tokens){0};
                assert_true(fabs(g.nll[k] - scored(&t, i, g.token + 2 * k, 2)) > 1e-4);
                special = o.around;
            }
            cs_generated_free(&g);
            o.prompt_length = 0;
            g = drawn(&t, &o);
        }
        special = (cs_special_tokens){0};
    }
}

/* The fewest tokens that reach the share, with their probabilities. */
TEST(nuclei_are_the_likeliest_tokens)
{
    CS_AUTO_BY(free_training, training) t = sharp_case_of(0);
    const int64_t vocab = t.model.config.shape.vocab;
    double p[64], whole = 0, least = 1;
    int64_t seen[64] = {0};
    distribution_of(&t, 0, p);
    cs_generate_options o = options_of(0, CS_REVEAL_LEFT, DRAWS, 2);
    o.top_p = 0.5;
    CS_AUTO(cs_generated) g = drawn(&t, &o);
    for (int64_t k = 0; k < DRAWS; ++k) {
        ++seen[g.token[2 * k + 1]];
    }
    for (int64_t v = 0; v < vocab; ++v) {
        double above = SUM(u, 0, vocab, p[u] > p[v] ? p[u] : 0);
        assert_true((seen[v] > 0) <= (above < o.top_p));
        whole += above < o.top_p ? p[v] : 0;
        least = above < o.top_p && p[v] < least ? p[v] : least;
        p[v] = above < o.top_p ? p[v] : 0;
    }
    assert_true(whole >= o.top_p && whole - least < o.top_p);
    for (int64_t v = 0; v < vocab; ++v) {
        p[v] /= whole;
    }
    expect_distribution(vocab, p, seen);
}

/* Each token of a greedy text is that which perplexity scores highest behind the prefix. Masked
 * models see the number of [MASK]s after it, so their last token alone is compared. */
TEST(greedy_is_the_argmax_of_scores)
{
    for (int n = 0; n < LEFTS; ++n) {
        const int i = lefts[n].number;
        const bool masks = perplexity_cases[i].ask != CS_ASK_PREFIX;
        CS_AUTO_BY(free_training, training) t = sharp_case_of(i);
        cs_generate_options o = options_of(i, CS_REVEAL_LEFT, 1, 6);
        o.content = lefts[n].content;
        o.prompt_length = 3;
        o.temperature = 0;
        CS_AUTO(cs_generated) g = drawn(&t, &o);
        for (int64_t k = masks ? 5 : 3; k < 6; ++k) {
            double best = INFINITY;
            int32_t text[6], argmax = -1;
            memcpy(text, g.token, sizeof text);
            for (int32_t v = 0; v < t.model.config.shape.vocab; ++v) {
                text[k] = v;
                const double nll = scored(&t, i, text, k + 1);
                argmax = nll < best ? v : argmax;
                best = nll < best ? nll : best;
            }
            assert_int_equal(g.token[k], argmax);
        }
    }
}

/* p(v at the place | the shown tokens of three, [MASK] at the others) of a masked model, by training's own
 * rows. */
static void asked(training *t, const int32_t token[3], unsigned shown, int place, double *p)
{
    const int64_t vocab = t->model.config.shape.vocab;
    const cs_task task = {.objective = plan_objective("masked(mask-ratio=0.5)")};
    const cs_network_options sizes = {.form = CS_FORM_SINGLE,
                                      .loss = CS_LOSS_CROSS_ENTROPY,
                                      .batch = 1,
                                      .length = 3,
                                      .predictions = 3};
    const cs_example example = {.token = token, .length = 3};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    float z[3 * 64];
    double sum = 0;
    OK(cs_pass_open(&t->model, &sizes, &pass));
    AUTO_OK(cs_plan, plan, cs_plan_init(&plan, 3));
    plan.groups = 1;
    for (int k = 0; k < 3; ++k) {
        plan.group[k] = !(shown >> k & 1);
        plan.weight[k] = plan.group[k];
    }
    OK(cs_batch_of_plans(&(cs_batch_order){&task, &t->model.config, 0, 0, NULL}, &plan, &example, 1,
                         &pass.batch));
    OK(cs_pass_forward(&pass, 1, (cs_run_key){0}));
    OK(cs_run_get_f32(pass.run, pass.network.loss.logits, z));
    for (int64_t e = 0; e < pass.batch.events; ++e) {
        for (int64_t v = 0; v < vocab && pass.batch.loss.place[e] == place; ++v) {
            p[v] = exp((double)z[e * vocab + v]);
            sum += p[v];
        }
    }
    for (int64_t v = 0; v < vocab; ++v) {
        p[v] /= sum;
    }
}

/* Two tokens behind a prompt: p(a, b) = (p(a) p(b | a) + p(b) p(a | b)) / 2, over all pairs. */
TEST(random_order_has_the_distribution_of_all_orders)
{
    static double distribution[64 * 64];
    static int64_t seen[64 * 64];
    CS_AUTO_BY(free_training, training) t = sharp_case_of(1);
    const int64_t vocab = t.model.config.shape.vocab;
    memset(seen, 0, sizeof seen);
    memset(distribution, 0, sizeof distribution);
    for (int place = 1; place < 3; ++place) { /* the one that comes first */
        double first[64], second[64];
        int32_t token[3] = {PROMPT, 0, 0};
        asked(&t, token, 1, place, first);
        for (int32_t v = 0; v < vocab; ++v) {
            token[place] = v;
            asked(&t, token, 1U | 1U << place, 3 - place, second);
            for (int64_t u = 0; u < vocab; ++u) {
                distribution[place == 1 ? v * vocab + u : u * vocab + v] +=
                    first[v] * second[u] / 2;
            }
        }
    }
    cs_generate_options o = options_of(1, CS_REVEAL_RANDOM, DRAWS, 3);
    CS_AUTO(cs_generated) g = drawn(&t, &o);
    for (int64_t k = 0; k < DRAWS; ++k) {
        ++seen[g.token[3 * k + 1] * vocab + g.token[3 * k + 2]];
    }
    expect_distribution(vocab * vocab, distribution, seen);
    o.count = 5; /* the same texts, however many are drawn */
    CS_AUTO(cs_generated) few = drawn(&t, &o);
    assert_memory_equal(few.token, g.token, 15 * sizeof *g.token);
}

/* The place whose likeliest token has the larger probability comes first; greedy takes that token. */
TEST(confidence_takes_the_surest_place)
{
    CS_AUTO_BY(free_training, training) t = sharp_case_of(1);
    double most[3] = {0}, p[64];
    int32_t likeliest[3] = {0}, token[3] = {PROMPT, 0, 0};
    for (int place = 1; place < 3; ++place) {
        asked(&t, token, 1, place, p);
        for (int32_t v = 0; v < t.model.config.shape.vocab; ++v) {
            likeliest[place] = p[v] > most[place] ? v : likeliest[place];
            most[place] = p[v] > most[place] ? p[v] : most[place];
        }
    }
    cs_generate_options o = options_of(1, CS_REVEAL_CONFIDENCE, 1, 3);
    o.temperature = 0;
    CS_AUTO(cs_generated) g = drawn(&t, &o);
    const int first = most[2] > most[1] ? 2 : 1;
    assert_int_equal(g.place[0], first);
    assert_int_equal(g.token[first], likeliest[first]);
    token[first] = likeliest[first];
    asked(&t, token, 1U | 1U << first, 3 - first, p);
    assert_true(fabs(g.nll[0] + log(most[first]) + log(p[g.token[3 - first]])) < 1e-4);
}

/* Any threads: the same bits; every kind and order. */
TEST(threads_do_not_matter)
{
    for (int i = 0; i < PERPLEXITY_CASES; ++i) {
        for (int order = 0; order < 3; ++order) {
            const bool two = perplexity_cases[i].kind == CS_KIND_TWO_STREAM;
            cs_generate_options o = options_of(i, (cs_reveal)order, 20, 6);
            bool takes = cs_generate_check(o.kind, o.content, o.order) == CS_OK;
            cs_reason_clear();
            cs_generated g[2] = {{0}};
            for (int threads = 1; takes && threads < 3; ++threads) {
                recipe r = perplexity_cases[i].recipe;
                r.threads = threads;
                CS_AUTO_BY(free_training, training) t = make_training(&r, "");
                o.from_nothing = !two;
                g[threads - 1] = drawn(&t, &o);
            }
            if (takes) {
                assert_memory_equal(g[0].token, g[1].token, 120 * sizeof *g[0].token);
                assert_memory_equal(g[0].nll, g[1].nll, 20 * sizeof *g[0].nll);
                assert_memory_equal(g[0].place, g[1].place, 100 * sizeof *g[0].place);
            }
            cs_generated_free(&g[0]);
            cs_generated_free(&g[1]);
        }
    }
}

TEST(what_cannot_be_drawn_is_refused)
{
    const struct {
        int number;
        cs_generate_options change; /* members that are not 0 */
        const char *reason;
    } cases[] = {
        {0, {.order = CS_REVEAL_RANDOM}, "only from left to right"},
        {0, {.length = 10}, "length 10 exceeds the 9 positions"},
        {0, {.length = 9, .from_nothing = true}, "length 9 and a begin token exceeds"},
        {0, {.length = 1}, "with a prompt of 1"},
        {0, {.temperature = -1}, "temperature -1"},
        {0, {.top_p = 1.5}, "top-p 1.5"},
        {5, {0}, "linear models"},
        {6, {0}, "mae-lm models"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(cases[c].number);
        cs_generate_options o = options_of(cases[c].number, cases[c].change.order, 1, 5);
        cs_generated g = {0};
        o.length = cases[c].change.length ? cases[c].change.length : o.length;
        o.temperature = cases[c].change.temperature != 0 ? cases[c].change.temperature : 1;
        o.top_p = cases[c].change.top_p != 0 ? cases[c].change.top_p : 1;
        o.from_nothing = cases[c].change.from_nothing;
        assert_fails(cs_generate(&t.model, &o, &g), CS_ERR_USAGE, cases[c].reason);
    }
    const int needs_prompt[] = {0, 4, 9, 11};
    for (int n = 0; n < 4; ++n) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(needs_prompt[n]);
        cs_generate_options o = options_of(needs_prompt[n], CS_REVEAL_LEFT, 1, 5);
        cs_generated g = {0};
        o.prompt_length = 0;
        assert_fails(cs_generate(&t.model, &o, &g), CS_ERR_USAGE, "give a prompt");
        o.prompt_length = 1;
        o.prompt = &(int32_t){1000};
        assert_fails(cs_generate(&t.model, &o, &g), CS_ERR_INPUT,
                     "token 1000 at position 0 of the prompt");
        t.model.config.ids.mask = -1;
        o.prompt = prompt;
        if (n == 2) {
            assert_fails(cs_generate(&t.model, &o, &g), CS_ERR_USAGE, "no mask token");
        }
    }
}
