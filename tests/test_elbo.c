/* The bound of a masked model drawn in any order, against all orders of small texts: its mean over
 * draws is the exact one, which is above the exact -log p; one token is exact; the number of masked
 * tokens. */
#include "model/pass.h"
#include "model_support.h"
#include "perplexity_support.h"
#include "plan_support.h"

enum { S = 3, SETS = 1 << S, TEXT_OF_3 = 0, TEXT_OF_9 = 6 };

/* -log p(x_k | the tokens of the set) of a document's first S tokens: by passes of one plan each. */
static void table_of(training *t, const int32_t *token, double nll[SETS][S])
{
    const int64_t vocab = t->model.config.shape.vocab;
    cs_task task = {.objective = plan_objective("masked(mask-ratio=0.5)")};
    cs_network_options sizes = {.form = CS_FORM_SINGLE,
                                .loss = CS_LOSS_CROSS_ENTROPY,
                                .batch = 1,
                                .length = S,
                                .predictions = S};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    CS_AUTO_FREE float *logits = cs_alloc(S * vocab, sizeof *logits);
    assert_non_null(logits);
    OK(cs_pass_open(&t->model, &sizes, &pass));
    AUTO_OK(cs_plan, plan, cs_plan_init(&plan, S));
    for (unsigned set = 0; set + 1 < SETS; ++set) {
        const cs_example example = {.token = token, .length = S};
        plan.groups = 1;
        for (int k = 0; k < S; ++k) {
            plan.group[k] = !(set >> k & 1);
            plan.weight[k] = plan.group[k];
        }
        cs_batch_free(&pass.batch);
        OK(cs_batch_of_plans(&(cs_batch_order){&task, &t->model.config, 0, 0, NULL}, &plan,
                             &example, 1, &pass.batch));
        OK(cs_pass_forward(&pass, 1, (cs_run_key){0}));
        OK(cs_run_get_f32(pass.run, pass.network.loss.logits, logits));
        for (int64_t e = 0; e < pass.batch.events; ++e) {
            double sum = SUM(v, 0, vocab, exp((double)logits[e * vocab + v]));
            nll[set][pass.batch.loss.place[e]] =
                log(sum) - (double)logits[e * vocab + pass.batch.loss.target[e]];
        }
    }
}

/* Over all orders, behind the first `given` tokens of each: the mean of -log p, and -log of the mean p
 * given those (their mean over what is given). */
static void all_orders(double nll[SETS][S], int given, double *bound, double *exact)
{
    static const int order[6][S] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double p[S] = {0}; /* by the given token; all in the first where there is none */
    *bound = 0;
    for (int i = 0; i < 6; ++i) {
        double sum = 0;
        unsigned set = 0;
        for (int j = 0; j < S; ++j) {
            sum += j < given ? 0 : nll[set][order[i][j]];
            set |= 1U << order[i][j];
        }
        *bound += sum / 6;
        p[given ? order[i][0] : 0] += exp(-sum) / (given ? 2 : 6);
    }
    *exact = 0;
    for (int k = 0; k < (given ? S : 1); ++k) {
        *exact -= log(p[k]) / (given ? S : 1);
    }
}

/* Of a text of three tokens, 400 draws of 2 masks: their mean within five of their standard errors of the
 * exact bound, which is not below the likelihood. */
TEST(the_mean_over_draws_is_the_bound_of_all_orders)
{
    enum { SEEDS = 400 };
    for (int given = 0; given < 2; ++given) {
        CS_AUTO_BY(free_training, training) t = sharp_case_of(1);
        uint8_t keep[64] = {0};
        double nll[SETS][S], bound, exact, sum = 0, squares = 0;
        keep[TEXT_OF_3] = 1;
        assert_int_equal(t.corpus.doc_ptr[1], S);
        table_of(&t, t.corpus.token, nll);
        all_orders(nll, given, &bound, &exact);
        assert_true(bound > exact + 1e-3);
        cs_perplexity_options o = perplexity_options_of(1);
        o.ask = CS_ASK_ELBO;
        o.from_nothing = given == 0;
        o.keep = keep;
        o.positions = 2;
        for (o.seed = 1; o.seed <= SEEDS; ++o.seed) {
            CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
            const double total = p.nll * (S - given);
            sum += total;
            squares += total * total;
        }
        const double mean = sum / SEEDS, se = sqrt((squares / SEEDS - mean * mean) / SEEDS);
        assert_true(se > 1e-4 && fabs(mean - bound) < 5 * se);
    }
}

/* A text of one token has one order: the bound is its -log p, by append as by elbo. */
TEST(one_token_is_exact)
{
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(1);
    cs_perplexity_options o = perplexity_options_of(1);
    o.from_nothing = true;
    o.max_length = 1;
    CS_AUTO(cs_perplexity) exact = perplexity_of(&t, &o);
    o.ask = CS_ASK_ELBO;
    CS_AUTO(cs_perplexity) bound = perplexity_of(&t, &o);
    assert_true(fabs(exact.nll - bound.nll) < 1e-6); /* float losses in another order of batches */
    assert_int_equal(bound.tokens, 4 * exact.tokens);
}

/* As many masks as a text has tokens, stratified: one of each number, so that a uniform model predicts
 * 1 + .. + N tokens and its bound is exact; the same bits with other threads. */
TEST(masks_are_stratified)
{
    double first = 0;
    for (int threads = 1; threads < 3; ++threads) {
        recipe r = perplexity_cases[1].recipe;
        r.threads = threads;
        CS_AUTO_BY(free_training, training) t = make_training(&r, "");
        uint8_t keep[64] = {0};
        keep[TEXT_OF_9] = 1;
        cs_perplexity_options o = perplexity_options_of(1);
        o.ask = CS_ASK_ELBO;
        o.keep = keep;
        o.positions = 8;
        CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
        assert_int_equal(p.tokens, 36); /* 1 + .. + 8: one of nine is given */
        assert_true(threads == 1 || p.nll == first);
        first = p.nll;
        cs_perplexity_free(&p);
        set_all_parameters(&t, 0);
        p = perplexity_of(&t, &o);
        assert_true(fabs(p.nll - log((double)t.model.config.shape.vocab)) < 1e-6);
    }
}

TEST(others_have_no_bound)
{
    const int cases[] = {0, 4, 6, 9};
    for (int i = 0; i < 4; ++i) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(cases[i]);
        cs_perplexity_options o = perplexity_options_of(cases[i]);
        cs_perplexity p;
        o.ask = CS_ASK_ELBO;
        assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &p), CS_ERR_USAGE,
                     "cannot be evaluated by elbo");
    }
}
