/* Perplexity: models whose likelihood is known, the trainer's evaluation, prefixes that must not
 * see further, the jackknife against models left out by hand, what is refused. */
#include "io_support.h"
#include "model_support.h"
#include "perplexity_support.h"

/* All parameters 0: every token has probability 1 / V, whatever is asked. */
TEST(uniform_models)
{
    for (int i = 0; i < PERPLEXITY_CASES; ++i) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(i);
        set_all_parameters(&t, 0);
        cs_perplexity_options o = perplexity_options_of(i);
        CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
        double expected = log((double)t.model.config.shape.vocab);
        int64_t tokens = t.corpus.tokens - (o.ask == CS_ASK_PSEUDO ? 0 : t.corpus.documents);
        assert_true(fabs(p.nll - expected) < 1e-6);
        assert_true(p.se < 1e-6);
        assert_int_equal(p.tokens, tokens);
        assert_int_equal(p.documents, t.corpus.documents);
        assert_int_equal(p.pieces, t.corpus.documents);
        for (int64_t k = 0, left = tokens; k < p.lengths; ++k) {
            int64_t longer = 0;
            for (int64_t d = 0; d < t.corpus.documents; ++d) {
                longer += t.corpus.doc_ptr[d + 1] - t.corpus.doc_ptr[d] > k;
            }
            longer = k == 0 && o.ask != CS_ASK_PSEUDO ? 0 : longer;
            assert_int_equal(p.tokens_at[k], longer);
            assert_true(longer > 0 ? fabs(p.nll_at[k] - expected) < 1e-6 : isnan(p.nll_at[k]));
            left -= longer;
            assert_true(k + 1 < p.lengths || left == 0);
        }
        assert_true(isnan(p.bits_per_byte));
    }
}

/* The trainer's own evaluation on the held-out documents is ln perplexity: for ar, and for plans
 * whose groups are single tokens, which are asked as ar is. */
TEST_IN_DIR(agrees_with_the_trainer)
{
    const recipe recipes[] = {{.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2},
                              {.kind = CS_OBJ_GROUP_AR, .arch = CS_ARCH_ROBERTA_PRELAYERNORM},
                              {.kind = CS_OBJ_OFFSET_AR, .arch = CS_ARCH_GPT2},
                              {.kind = CS_OBJ_AR, .arch = CS_ARCH_LINEAR}};
    const cs_kind kinds[] = {CS_KIND_CAUSAL, CS_KIND_TWO_STREAM, CS_KIND_TWO_STREAM,
                             CS_KIND_LINEAR};
    for (int i = 0; i < 4; ++i) {
        for (int nothing = 0; nothing < 2; ++nothing) {
            CS_AUTO_BY(free_training, training) t =
                make_training(&recipes[i], in_dir(state, nothing ? "b" : "a"));
            t.options.task.objective.t = 1;
            t.options.task.objective.offset_value = 1;
            t.options.task.objective.empty_prefix = nothing ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
            t.options.intervals.eval_batches = 1000;
            t.options.intervals.save_every = 0;
            cs_train_result result = trained(&t);
            const cs_perplexity_options o = {.kind = kinds[i],
                                             .split = true,
                                             .ask = CS_ASK_PREFIX,
                                             .from_nothing = nothing,
                                             .keep = t.corpus.held_out};
            CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
            /* both sum float losses of about 3 in double; the batches have other shapes */
            assert_true(fabs(p.nll - result.eval_loss) < 1e-5);
            assert_true(result.eval_loss > 0.5 && p.tokens > 10);
            assert_int_equal(p.tokens_at[0], nothing ? p.documents : 0);
        }
        io_dir_remove(state);
        assert_int_equal(io_dir_make(state), 0);
    }
}

/* One text alone; the tokens from k + 1 on are changed: what was predicted before them stays, bit
 * for bit. */
TEST(prefixes_see_no_further)
{
    for (int i = 0; i < PERPLEXITY_CASES; ++i) {
        if (perplexity_cases[i].ask == CS_ASK_PSEUDO) {
            continue;
        }
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(i);
        uint8_t keep[64] = {0};
        int64_t d = 6, first = t.corpus.doc_ptr[d]; /* nine tokens */
        keep[d] = 1;
        cs_perplexity_options o = perplexity_options_of(i);
        o.keep = keep;
        CS_AUTO(cs_perplexity) before = perplexity_of(&t, &o);
        t.corpus.token[first + 5] = t.corpus.token[first + 5] == 9 ? 10 : 9;
        CS_AUTO(cs_perplexity) after = perplexity_of(&t, &o);
        assert_int_equal(before.tokens, 8);
        assert_each(k, 1, 5, memcmp(&before.nll_at[k], &after.nll_at[k], sizeof(double)) == 0);
        int64_t moved =
            COUNT(k, 5, 9, memcmp(&before.nll_at[k], &after.nll_at[k], sizeof(double)) != 0);
        assert_true(moved >= 3); /* the target itself, and those that see it */
        assert_true(isnan(before.se) && before.blocks == 1);
    }
}

/* Batches and threads: the same numbers up to rounding, the same bits. */
TEST(company_does_not_matter)
{
    for (int i = 0; i < PERPLEXITY_CASES; ++i) {
        CS_AUTO(cs_perplexity) first = {0};
        for (int threads = 1; threads < 3; ++threads) {
            recipe r = perplexity_cases[i].recipe;
            r.threads = threads;
            CS_AUTO_BY(free_training, training) t = make_training(&r, "");
            cs_perplexity_options o = perplexity_options_of(i);
            cs_perplexity p = perplexity_of(&t, &o);
            if (threads == 1) {
                first = p;
                o.batch = 16;
                CS_AUTO(cs_perplexity) other = perplexity_of(&t, &o);
                assert_true(fabs(other.nll - p.nll) < 1e-6);
                assert_true(fabs(other.se - p.se) < 1e-6);
                cs_perplexity_free(&other);
                t.backend->asynchronous = true; /* a device's batches keep one shape */
                other = perplexity_of(&t, &o);
                t.backend->asynchronous = false;
                assert_true(fabs(other.nll - p.nll) < 1e-6);
            } else {
                assert_memory_equal(&p.nll, &first.nll, sizeof p.nll);
                assert_memory_equal(&p.se, &first.se, sizeof p.se);
                cs_perplexity_free(&p);
            }
        }
    }
}

/* Each block of documents left out by hand. */
TEST(jackknife)
{
    enum { BLOCKS = 4, DOCUMENTS = 20 };
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(0);
    cs_perplexity_options o = perplexity_options_of(0);
    o.blocks = BLOCKS;
    o.seed = 11;
    CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
    double theta[BLOCKS], mean = 0, squares = 0;
    assert_int_equal(p.blocks, BLOCKS);
    for (int b = 0; b < BLOCKS; ++b) {
        uint8_t keep[DOCUMENTS];
        for (int64_t d = 0; d < DOCUMENTS; ++d) {
            cs_rng rng = cs_rng_at(o.seed, CS_STREAM_SPLIT, (uint64_t)d);
            keep[d] = cs_rng_below(&rng, BLOCKS) != b;
        }
        o.keep = keep;
        CS_AUTO(cs_perplexity) part = perplexity_of(&t, &o);
        theta[b] = part.nll;
        mean += part.nll / BLOCKS;
    }
    squares += SUM(b, 0, BLOCKS, (theta[b] - mean) * (theta[b] - mean));
    assert_true(fabs(p.se - sqrt(squares * (BLOCKS - 1) / BLOCKS)) < 1e-6);
    assert_true(p.se > 1e-5);
}

/* A unigram of hand-counted tokens; held-out documents and tokens out of range. */
TEST(unigrams)
{
    int32_t token[] = {0, 1, 1, 2, 3};
    int64_t ends[] = {0, 3, 5};
    uint8_t held_out[] = {0, 1};
    cs_corpus c = {
        .documents = 2, .tokens = 5, .token = token, .doc_ptr = ends, .held_out = held_out};
    double nats[4];
    const double count[] = {1, 2, 0, 0};
    OK(cs_unigram_of(&c, 4, nats));
    assert_each(v, 0, 4, fabs(nats[v] + log((count[v] + 1) / (3 + 4))) < 1e-15);
    token[1] = 4;
    assert_int_equal(cs_unigram_of(&c, 4, nats), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "document 0: token 4 is not in 0..3");
    cs_reason_clear();
    held_out[0] = 1;
    assert_fails(cs_unigram_of(&c, 4, nats), CS_ERR_INPUT, "all are held out");
}

/* For a model of equal probabilities the reference is the mean over the chosen tokens, by hand, at
 * every k too; a reference that is the model itself differs from it by nothing, without error, for
 * all positions and for some; and the paired error is that of the differences alone. */
TEST(reference)
{
    enum { MOST = 64 };
    for (int i = 0; i < PERPLEXITY_CASES; ++i) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(i);
        double nats[MOST], total = 0;
        int64_t vocab = t.model.config.shape.vocab, tokens = 0;
        assert_true(vocab <= MOST);
        set_all_parameters(&t, 0);
        for (int64_t v = 0; v < vocab; ++v) {
            nats[v] = 1 + 0.25 * (double)(v % 5);
        }
        cs_perplexity_options o = perplexity_options_of(i);
        o.reference = nats;
        CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
        for (int64_t k = 0; k < p.lengths; ++k) {
            double sum = 0;
            for (int64_t d = 0; d < t.corpus.documents && p.tokens_at[k] > 0; ++d) {
                int64_t at = t.corpus.doc_ptr[d] + k;
                sum += at < t.corpus.doc_ptr[d + 1] ? nats[t.corpus.token[at]] : 0;
            }
            total += sum;
            tokens += p.tokens_at[k];
            assert_true(p.tokens_at[k] > 0
                            ? fabs(p.reference.nll_at[k] - sum / (double)p.tokens_at[k]) < 1e-9
                            : isnan(p.reference.nll_at[k]));
        }
        assert_true(fabs(p.reference.nll - total / (double)tokens) < 1e-9);
        assert_true(fabs(p.difference.nll - (p.nll - p.reference.nll)) < 1e-9);
        assert_true(p.reference.se > 1e-4 && fabs(p.difference.se - p.reference.se) < 1e-5);
        cs_perplexity_free(&p);
        for (int64_t v = 0; v < vocab; ++v) {
            nats[v] = log((double)vocab);
        }
        o.positions = o.ask == CS_ASK_PREFIX ? 0 : 2;
        p = perplexity_of(&t, &o);
        assert_true(fabs(p.difference.nll) < 1e-6 && p.difference.se < 1e-6);
        cs_perplexity_free(&p);
        o.reference = NULL;
        p = perplexity_of(&t, &o);
        assert_true(isnan(p.reference.nll) && isnan(p.difference.se) && !p.reference.nll_at);
    }
}

TEST(bytes_and_pieces)
{
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(0);
    int64_t expected = 0, pieces = 0, tokens = 0;
    ARRAY(int32_t, bytes, 64, v, v + 1);
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        int64_t first = t.corpus.doc_ptr[d], n = t.corpus.doc_ptr[d + 1] - first;
        for (int64_t at = 0; at < n; at += 4) {
            pieces += n - at >= 2;
            for (int64_t k = at + 1; k < n && k < at + 4; ++k) {
                expected += bytes[t.corpus.token[first + k]];
                ++tokens;
            }
        }
    }
    cs_perplexity_options o = perplexity_options_of(0);
    o.max_length = 4;
    o.token_bytes = bytes;
    CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
    assert_int_equal(p.pieces, pieces);
    assert_int_equal(p.tokens, tokens);
    assert_int_equal(p.bytes, expected);
    assert_int_equal(p.lengths, 4);
    double bits = p.nll * (double)p.tokens / log(2.0) / (double)expected;
    assert_true(fabs(p.bits_per_byte - bits) < 1e-12 && p.bits_se > 0);
}

TEST(some_positions)
{
    for (int i = 1; i < PERPLEXITY_CASES; ++i) {
        if (perplexity_cases[i].ask == CS_ASK_PREFIX) {
            continue;
        }
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(i);
        cs_perplexity_options o = perplexity_options_of(i);
        o.positions = 2;
        o.seed = 3;
        CS_AUTO(cs_perplexity) p = perplexity_of(&t, &o);
        assert_int_equal(p.tokens, 2 * t.corpus.documents); /* of 3 tokens or more */
        o.positions = 1000;
        CS_AUTO(cs_perplexity) all = perplexity_of(&t, &o);
        o.positions = 0;
        CS_AUTO(cs_perplexity) same = perplexity_of(&t, &o);
        assert_true(all.tokens == same.tokens && all.tokens > p.tokens);
        assert_memory_equal(&all.nll, &same.nll, sizeof all.nll);
        assert_memory_equal(&all.se, &same.se, sizeof all.se);
        assert_memory_equal(all.tokens_at, same.tokens_at,
                            (size_t)all.lengths * sizeof *all.tokens_at);
    }
}

/* Masks up to the piece's length are those of a fill to that length; more masks are another input.
 */
TEST(filling)
{
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(2);
    uint8_t keep[64] = {[3] = 1}; /* six tokens */
    cs_perplexity_options o = perplexity_options_of(2);
    o.keep = keep;
    CS_AUTO(cs_perplexity) own = perplexity_of(&t, &o);
    o.fill_length = 6;
    CS_AUTO(cs_perplexity) same = perplexity_of(&t, &o);
    o.fill_length = 9;
    CS_AUTO(cs_perplexity) longer = perplexity_of(&t, &o);
    assert_int_equal(own.tokens, 5);
    assert_memory_equal(&own.nll, &same.nll, sizeof own.nll);
    assert_true(longer.nll > own.nll || longer.nll < own.nll);
}

TEST(bad_options)
{
    const uint8_t none[64] = {0};
    const int32_t around[16] = {0};
    const struct {
        int which;
        cs_perplexity_options o;
        cs_status code;
        const char *part;
    } bad[] = {
        {0, {.ask = CS_ASK_APPEND}, CS_ERR_USAGE, "a causal model cannot be evaluated by append"},
        {1, {.kind = CS_KIND_MASKED}, CS_ERR_USAGE, "cannot be evaluated by prefix"},
        {0, {.max_length = 10}, CS_ERR_USAGE, "length 10 is not in 1..9"},
        {0, {.batch = -2}, CS_ERR_USAGE, "batch -2"},
        {0, {.fill_length = 12}, CS_ERR_USAGE, "the longest length with masks, 12"},
        {0, {.max_length = 1}, CS_ERR_INPUT, "nothing to predict"},
        {0, {.keep = none}, CS_ERR_INPUT, "nothing to predict"},
        {0, {.around = {around, NULL, 9, 0}}, CS_ERR_USAGE, "no space"},
        {0, {.kind = CS_KIND_TWO_STREAM}, CS_ERR_USAGE, "no query vector"},
        {0, {.kind = CS_KIND_MAE, .ask = CS_ASK_APPEND}, CS_ERR_USAGE, "no decoder"},
        {6,
         {.kind = CS_KIND_MAE, .ask = CS_ASK_APPEND, .around = {around, NULL, 1, 0}},
         CS_ERR_USAGE,
         "do not support special tokens"},
        {6,
         {.kind = CS_KIND_MAE, .ask = CS_ASK_APPEND, .delta = 1.5},
         CS_ERR_USAGE,
         "share 1.5 of masks"},
        {5, {.kind = CS_KIND_CAUSAL}, CS_ERR_USAGE, "linear"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        CS_AUTO_BY(free_training, training) t = perplexity_case_of(bad[i].which);
        cs_perplexity p = {0};
        assert_fails(cs_perplexity_of(&t.model, &t.corpus, &bad[i].o, &p), bad[i].code,
                     bad[i].part);
        assert_null(p.nll_at);
    }
}

TEST(bad_models)
{
    cs_perplexity p = {0};
    CS_AUTO_BY(free_training, training) t = perplexity_case_of(1);
    cs_perplexity_options o = perplexity_options_of(1);
    t.model.config.ids.mask = -1;
    assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &p), CS_ERR_USAGE, "no mask token");
    free_training(&t);
    t = perplexity_case_of(0);
    o = perplexity_options_of(0);
    t.corpus.token[t.corpus.doc_ptr[2] + 3] = -5;
    assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &p), CS_ERR_INPUT,
                 "document 2: token -5 at position 3");
    t.corpus.token[t.corpus.doc_ptr[2] + 3] = 5;
    t.model.config.ids.bos = -1;
    o.from_nothing = true;
    assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &p), CS_ERR_USAGE, "no begin token");
    o.from_nothing = false;
    set_all_parameters(&t, NAN);
    assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &p), CS_ERR_INPUT,
                 "log-probability is not a number");
}

static training held; /* by the function below */

static cs_status ask_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_perplexity) p = {0};
    static const double nats[1 << 10] = {0};
    assert_true(held.model.config.shape.vocab <= 1 << 10);
    const cs_perplexity_options o = {.kind = CS_KIND_CAUSAL, .reference = nats};
    cs_status status = cs_perplexity_of(&held.model, &held.corpus, &o, &p);
    return status;
}

TEST(allocations)
{
    held = perplexity_case_of(0);
    fail_each_allocation(ask_once, "");
    free_training(&held);
}
