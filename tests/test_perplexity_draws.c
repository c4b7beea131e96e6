/* Perplexity from a few positions a piece: weights of what is drawn, and their errors. */
#include "model_support.h"
#include "perplexity_support.h"

/* All parameters 0 but the bias of the logits: the loss of a token, log sum exp - its bias, is that
 * of no context. Pieces of few tokens hold the likeliest one alone. */
static void prepare_losses(training *t, double *loss)
{
    int64_t vocab = t->model.config.shape.vocab;
    float bias[64];
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        bias[v] = v == 9 ? 3.0F : 0.25F * (float)(v % 7);
        sum += exp((double)bias[v]);
    }
    for (int64_t v = 0; v < vocab; ++v) {
        loss[v] = log(sum) - (double)bias[v];
    }
    set_all_parameters(t, 0);
    int64_t number = cs_params_find(&t->model.params, "head.bias");
    assert_true(number >= 0);
    OK(cs_params_set(&t->model.params, number, CS_PARAM_VALUE, bias));
    for (int64_t d = 0; d < t->corpus.documents; ++d) {
        int64_t first = t->corpus.doc_ptr[d], end = t->corpus.doc_ptr[d + 1];
        for (int64_t i = first; i < end && end - first <= 5; ++i) {
            t->corpus.token[i] = 9;
        }
    }
}

/* Over all positions: the mean loss; the variance of its estimate from two drawn a document,
 * sum_d N_d^2 (1 - n_d / N_d) S_d^2 / n_d / N^2 (stratified sampling without replacement); what
 * the mean of drawn losses without weights would estimate. */
static void expect_of_two(const cs_corpus *c, const double *loss, int64_t first, double *mean,
                          double *variance, double *unweighted)
{
    double all = 0, total = 0, drawn = 0, drawn_total = 0;
    *variance = 0;
    for (int64_t d = 0; d < c->documents; ++d) {
        int64_t from = c->doc_ptr[d] + first, end = c->doc_ptr[d + 1];
        double n = (double)(end - from), sum = 0, squares = 0, taken = n < 2 ? n : 2;
        sum += SUM(i, from, end, loss[c->token[i]]);
        for (int64_t i = from; i < end; ++i) {
            squares += pow(loss[c->token[i]] - sum / n, 2);
        }
        *variance += n > 2 ? n * n * (1 - taken / n) * squares / (n - 1) / taken : 0;
        all += n;
        total += sum;
        drawn += taken;
        drawn_total += taken * sum / n;
    }
    *mean = total / all;
    *variance /= all * all;
    *unweighted = drawn_total / drawn;
}

/* The mean over draws is the number of all positions, within five standard deviations of it; so
 * narrow that draws without weights would be found out. */
TEST(draws_are_weighted)
{
    enum { SEEDS = 200 };
    ARRAY(int32_t, bytes, 64, v, 2);
    for (int i = 1; i < PERPLEXITY_CASES; ++i) {
        if (perplexity_cases[i].ask == CS_ASK_PREFIX) {
            continue;
        }
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(i);
        double loss[64], mean, variance, unweighted, got = 0;
        prepare_losses(&t, loss);
        expect_of_two(&t.corpus, loss, perplexity_cases[i].ask == CS_ASK_PSEUDO ? 0 : 1, &mean,
                      &variance, &unweighted);
        cs_perplexity_options o = perplexity_options_of(i);
        o.batch = 16;
        o.token_bytes = bytes;
        CS_AUTO(cs_perplexity) all = perplexity_of(&t, &o);
        assert_true(fabs(all.nll - mean) < 1e-6);
        o.positions = 2;
        for (o.seed = 1; o.seed <= SEEDS; ++o.seed) {
            CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
            got += p.nll / SEEDS;
            assert_true(fabs(p.bits_per_byte - p.nll / (2 * log(2.0))) < 1e-12);
            assert_int_equal(p.bytes, 2 * p.tokens);
        }
        double bound = 5 * sqrt(variance / SEEDS) + 1e-6; /* float losses */
        assert_true(fabs(unweighted - mean) > 2 * bound);
        assert_true(fabs(got - mean) < bound);
    }
}

/* Losses of two pieces of a block each, drawn ones times the tokens that they stand for; the
 * jackknife leaves out these sums. */
TEST(errors_are_weighted)
{
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(1);
    double loss[64], sum = 0, all = 0, mean[2] = {0};
    prepare_losses(&t, loss);
    int64_t pick[2] = {-1, -1}; /* a short document, a long one, of other blocks */
    cs_perplexity_options o = perplexity_options_of(1);
    o.positions = 1;
    o.blocks = 2;
    o.seed = 5;
    uint8_t keep[64] = {0};
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        int64_t n = t.corpus.doc_ptr[d + 1] - t.corpus.doc_ptr[d];
        cs_rng rng = cs_rng_at(o.seed, CS_STREAM_SPLIT, (uint64_t)d);
        int64_t block = cs_rng_below(&rng, 2);
        if ((block == 0 && n <= 5) || (block == 1 && n > 5)) {
            pick[block] = d;
        }
    }
    assert_true(pick[0] >= 0 && pick[1] >= 0);
    for (int b = 0; b < 2; ++b) { /* one token all over: whichever is drawn */
        int64_t first = t.corpus.doc_ptr[pick[b]], end = t.corpus.doc_ptr[pick[b] + 1];
        for (int64_t i = first; i < end; ++i) {
            t.corpus.token[i] = b == 0 ? 9 : 8;
        }
        keep[pick[b]] = 1;
        mean[b] = loss[b == 0 ? 9 : 8];
        sum += (double)(end - first - 1) * mean[b];
        all += (double)(end - first - 1);
    }
    o.keep = keep;
    CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
    assert_int_equal(p.tokens, 2);
    assert_true(fabs(p.nll - sum / all) < 1e-6);
    /* theta without a block is the other's mean: se^2 = 1/2 2 ((m_0 - m_1) / 2)^2 */
    assert_true(fabs(p.se - fabs(mean[0] - mean[1]) / 2) < 1e-6);
}
