/* Hidden states: order of rows, pooling, windows, threads, masking, what is refused. Parity with
 * transformers is in test_verify_states.c. */
#include "infer/hidden_states.h"
#include "io_support.h"
#include "model_support.h"
#include "train_support.h"

/* --- collecting ------------------------------------------------------------------------------- */

enum { CAPACITY = 4096, LAYERS = 9, WIDTH = 16 };

typedef struct {
    int64_t rows, blocks, layers;
    float state[LAYERS][CAPACITY][WIDTH];
    cs_hidden_row about[CAPACITY];
} rows;

static cs_status collect(void *ctx, const cs_hidden_block *block)
{
    rows *r = ctx;
    assert_true(r->rows + block->rows <= CAPACITY && block->layers <= LAYERS &&
                block->width <= WIDTH);
    for (int64_t l = 0; l < block->layers; ++l) {
        for (int64_t i = 0; i < block->rows; ++i) {
            memcpy(r->state[l][r->rows + i], block->state[l] + i * block->width,
                   (size_t)block->width * sizeof(float));
        }
    }
    memcpy(r->about + r->rows, block->about, (size_t)block->rows * sizeof *block->about);
    r->rows += block->rows;
    r->layers = block->layers;
    r->blocks += 1;
    return CS_OK;
}

static const int64_t ALL[] = {0, 1, 2};

static rows *states_of(training *t, const cs_hidden_options *options)
{
    rows *r = test_zeros(1, sizeof *r);
    int64_t count = 0;
    cs_hidden_options o = *options;
    if (!o.layer) {
        o.layer = ALL;
        o.layers = 3;
    }
    OK(cs_hidden_states(&t->model, &t->corpus, &o, collect, r));
    OK(cs_hidden_rows(&t->model, &t->corpus, &o, &count));
    assert_int_equal(count, r->rows);
    return r;
}

/* Rows of a against rows of b: within `tolerance`, 0: bit for bit. */
static void assert_same_rows(const rows *a, const rows *b, double tolerance)
{
    assert_int_equal(a->rows, b->rows);
    for (int64_t l = 0; l < a->layers; ++l) {
        for (int64_t i = 0; i < a->rows; ++i) {
            for (int64_t j = 0; j < WIDTH; ++j) {
                double x = (double)a->state[l][i][j], y = (double)b->state[l][i][j];
                if (!(fabs(x - y) <= tolerance)) {
                    fail_msg("layer %d, row %d: %g and %g", (int)l, (int)i, x, y);
                }
            }
        }
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static const recipe MASKED = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM};
static const recipe CAUSAL = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};

TEST(rows_are_in_order)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    rows *r = states_of(&t, &(cs_hidden_options){.batch = 2});
    assert_int_equal(r->rows, t.corpus.tokens);
    assert_int_equal(r->blocks, 1);
    for (int64_t d = 0, i = 0; d < t.corpus.documents; ++d) {
        for (int64_t k = t.corpus.doc_ptr[d]; k < t.corpus.doc_ptr[d + 1]; ++k, ++i) {
            const cs_hidden_row *a = &r->about[i];
            assert_true(a->document == d && a->piece == 0 && !a->masked && !a->special);
            assert_int_equal(a->position, k - t.corpus.doc_ptr[d]);
            assert_int_equal(a->token, t.corpus.token[k]);
        }
    }
}

/* Alone or in company, with any window: the same up to the rounding of products of other shapes. */
TEST(company_does_not_matter)
{
    const recipe many = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA, .documents = 150};
    const cs_pooling pooling[] = {CS_POOL_NONE, CS_POOL_MEAN, CS_POOL_FIRST, CS_POOL_LAST};
    CS_AUTO_BY(free_training, training) t = make_training(&many, "");
    for (int p = 0; p < 4; ++p) {
        cs_hidden_options o = {.pooling = pooling[p], .split = true, .max_length = 4, .batch = 1};
        rows *alone = states_of(&t, &o); /* windows of 64 pieces: documents run across them */
        o.batch = 7;
        rows *company = states_of(&t, &o);
        t.backend->asynchronous = true; /* a device's batches keep one shape */
        rows *padded = states_of(&t, &o);
        t.backend->asynchronous = false;
        assert_true(alone->blocks > 2 && company->blocks < alone->blocks);
        assert_same_rows(alone, company, 1e-5);
        assert_same_rows(alone, padded, 1e-5);
    }
}

TEST(threads_do_not_matter)
{
    recipe r = CAUSAL;
    rows *one = NULL;
    for (int threads = 1; threads <= 3; ++threads) {
        r.threads = threads;
        CS_AUTO_BY(free_training, training) t = make_training(&r, "");
        rows *now =
            states_of(&t, &(cs_hidden_options){.masks.attention = CS_ATTENTION_CAUSAL, .batch = 5});
        one = one ? one : now;
        assert_same_rows(one, now, 0);
    }
}

/* A token changes what sees it and nothing else: bit for bit in batches of one shape. */
TEST(rows_see_what_they_may)
{
    for (int causal = 0; causal < 2; ++causal) {
        CS_AUTO_BY(free_training, training) t = make_training(causal ? &CAUSAL : &MASKED, "");
        const cs_hidden_options o = {.masks.attention =
                                         causal ? CS_ATTENTION_CAUSAL : CS_ATTENTION_BIDIRECTIONAL,
                                     .batch = 4};
        rows *before = states_of(&t, &o);
        int64_t changed = t.corpus.doc_ptr[2] + 2;
        t.corpus.token[changed] = t.corpus.token[changed] == 7 ? 8 : 7;
        rows *after = states_of(&t, &o);
        for (int64_t i = 0; i < before->rows; ++i) {
            bool sees = i >= (causal ? changed : t.corpus.doc_ptr[2]) && i < t.corpus.doc_ptr[3];
            for (int64_t l = 0; l < 3; ++l) {
                bool same =
                    memcmp(before->state[l][i], after->state[l][i], sizeof(float[WIDTH])) == 0;
                assert_true(same == (l == 0 ? i != changed : !sees));
            }
        }
    }
}

TEST(pooling_is_arithmetic)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    cs_hidden_options o = {.split = true, .max_length = 4};
    rows *all = states_of(&t, &o), *pooled[3];
    for (int p = 0; p < 3; ++p) {
        o.pooling = (cs_pooling)(CS_POOL_MEAN + p);
        pooled[p] = states_of(&t, &o);
        assert_int_equal(pooled[p]->rows, t.corpus.documents);
    }
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        int64_t first = t.corpus.doc_ptr[d], n = t.corpus.doc_ptr[d + 1] - first;
        assert_int_equal(pooled[0]->about[d].document, d);
        for (int64_t l = 0; l < 3; ++l) {
            for (int64_t j = 0; j < WIDTH; ++j) {
                double sum = SUM(i, first, first + n, (double)all->state[l][i][j]);
                /* sums in double by pieces: a rounding to float apart at most */
                assert_true(fabs(sum / (double)n - (double)pooled[0]->state[l][d][j]) < 1e-6);
                assert_true(memcmp(&all->state[l][first][j], &pooled[1]->state[l][d][j], 4) == 0);
                assert_true(
                    memcmp(&all->state[l][first + n - 1][j], &pooled[2]->state[l][d][j], 4) == 0);
            }
        }
    }
    o.pooling = CS_POOL_EACH; /* one pass, the same numbers */
    rows *each = states_of(&t, &o);
    for (int64_t l = 0; l < 9; ++l) {
        assert_each(d, 0, t.corpus.documents,
                    memcmp(each->state[l][d], pooled[l / 3]->state[l % 3][d],
                           sizeof each->state[l][d]) == 0);
    }
    o.pooling = CS_POOL_LAST; /* and of the last layer alone, behind the layers */
    o.poolings = true;
    rows *more = states_of(&t, &o);
    assert_int_equal(cs_hidden_planes(&(cs_hidden_options){.layers = 3, .poolings = true}), 6);
    for (int64_t l = 0; l < 6; ++l) {
        const rows *same = pooled[l < 3 ? 2 : l - 3];
        assert_each(d, 0, t.corpus.documents,
                    memcmp(more->state[l][d], same->state[l < 3 ? l : 2][d],
                           sizeof more->state[l][d]) == 0);
    }
}

/* Where one row of a piece is pooled, the last layer is computed for that row alone; raw states are
 * not of that network. */
TEST(one_row_of_the_last_layer)
{
    static const recipe *const of[] = {&MASKED, &CAUSAL};
    for (int m = 0; m < 2; ++m) {
        CS_AUTO_BY(free_training, training) t = make_training(of[m], "");
        for (int p = 0; p < 4; ++p) {
            cs_hidden_options o = {.split = true,
                                   .max_length = 4,
                                   .raw = p >= 2,
                                   .masks.attention =
                                       m == 0 ? CS_ATTENTION_BIDIRECTIONAL : CS_ATTENTION_CAUSAL,
                                   .pooling = p % 2 == 0 ? CS_POOL_FIRST : CS_POOL_LAST};
            rows *all = states_of(&t, &o);
            o.layer = ALL + 2;
            o.layers = 1;
            rows *alone = states_of(&t, &o);
            assert_int_equal(alone->rows, all->rows);
            assert_each(d, 0, t.corpus.documents,
                        memcmp(alone->state[0][d], all->state[2][d], sizeof all->state[2][d]) == 0);
        }
    }
}

TEST(layers_are_chosen)
{
    CS_AUTO_BY(free_training, training) t = make_training(&CAUSAL, "");
    const int64_t last[] = {2};
    rows *all = states_of(&t, &(cs_hidden_options){.masks.attention = CS_ATTENTION_CAUSAL});
    rows *normed = states_of(
        &t,
        &(cs_hidden_options){.masks.attention = CS_ATTENTION_CAUSAL, .layer = last, .layers = 1});
    rows *raw = states_of(
        &t, &(cs_hidden_options){
                .masks.attention = CS_ATTENTION_CAUSAL, .layer = last, .layers = 1, .raw = true});
    assert_memory_equal(all->state[2], normed->state[0], sizeof all->state[2]);
    for (int64_t i = 0; i < normed->rows; ++i) {
        double square = 0, mean = 0;
        for (int64_t j = 0; j < WIDTH; ++j) { /* gain 1, bias 0: rows of mean 0 and variance 1 */
            mean += (double)normed->state[0][i][j] / WIDTH;
            square += (double)normed->state[0][i][j] * (double)normed->state[0][i][j] / WIDTH;
        }
        assert_true(fabs(mean) < 1e-5 && square < 1.001 && square > 0.9);
        assert_true(memcmp(raw->state[0][i], normed->state[0][i], sizeof(float[WIDTH])) != 0);
    }
}

/* --- masking and special tokens --------------------------------------------------------------- */

/* The double next to 0.58 times 25 is below 14.5: 15 are masked, as in training. */
TEST(ratios_are_those_of_training)
{
    const recipe one = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM};
    CS_AUTO_BY(free_training, training) t = make_training(&one, "");
    const int64_t ends[] = {0, 25};
    cs_corpus text = t.corpus;
    text.documents = 1;
    text.tokens = 25;
    text.doc_ptr = (int64_t *)ends;
    t.model.config.shape.positions = 25;
    int64_t kept = 0;
    const cs_hidden_options o = {
        .layer = ALL, .layers = 3, .max_length = 25, .mask_ratio = 0.58, .drop_masked = true};
    OK(cs_hidden_rows(&t.model, &text, &o, &kept));
    assert_int_equal(kept, 10);
}

TEST(masks_are_counted)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    cs_hidden_options o = {.mask_ratio = 0.3, .mask_seed = 4};
    rows *r = states_of(&t, &o), *again = states_of(&t, &o);
    assert_same_rows(r, again, 0);
    for (int64_t d = 0; d < t.corpus.documents; ++d) {
        int64_t masked = 0, n = t.corpus.doc_ptr[d + 1] - t.corpus.doc_ptr[d];
        for (int64_t i = t.corpus.doc_ptr[d]; i < t.corpus.doc_ptr[d + 1]; ++i) {
            masked += r->about[i].masked;
            assert_int_equal(r->about[i].token, t.corpus.token[i]);
        }
        assert_int_equal(masked, llround(0.3 * (double)n));
    }
    /* the same rows as of a text that has the mask token in these places */
    for (int64_t i = 0; i < t.corpus.tokens; ++i) {
        t.corpus.token[i] = r->about[i].masked ? t.model.config.ids.mask : t.corpus.token[i];
    }
    o.mask_ratio = 0;
    rows *spelled = states_of(&t, &o);
    assert_same_rows(r, spelled, 0);
    /* dropped: they take no row, and the others keep their positions */
    o = (cs_hidden_options){.mask_ratio = 0.3, .mask_seed = 4, .drop_masked = true};
    rows *dropped = states_of(&t, &o);
    int64_t at = 0;
    for (int64_t i = 0; i < r->rows; ++i) {
        if (!r->about[i].masked) {
            assert_int_equal(dropped->about[at].document, r->about[i].document);
            assert_int_equal(dropped->about[at++].position, r->about[i].position);
        }
    }
    assert_int_equal(at, dropped->rows);
}

/* Shares of masked tokens that are kept and random: the others stay [MASK], the same ones are
 * masked, and shares of 0 change no bit (masks_are_counted has the text spelled out). */
TEST(masked_tokens_are_kept_or_random)
{
    const recipe many = {
        .kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM, .documents = 60};
    CS_AUTO_BY(free_training, training) t = make_training(&many, "");
    const cs_model_config *c = &t.model.config;
    cs_hidden_options o = {.mask_ratio = 0.5, .mask_seed = 4};
    rows *all = states_of(&t, &o);
    o.mask_keep = 0.3;
    o.mask_random = 0.3;
    rows *some = states_of(&t, &o), *again = states_of(&t, &o);
    assert_same_rows(some, again, 0);
    int64_t masked = 0, shown[3] = {0};
    const cs_replacement replacement = cs_replacement_of(c, o.mask_keep, o.mask_random);
    cs_rng rng = {0};
    for (int64_t i = 0; i < all->rows; ++i) {
        const cs_hidden_row *a = &all->about[i], *b = &some->about[i];
        if (i == 0 || b->document != b[-1].document || b->piece != b[-1].piece)
            rng = cs_rng_at(o.mask_seed, CS_STREAM_SHOWN,
                            (uint64_t)b->document << 20 | (uint64_t)b->piece);
        if (b->masked) /* as training draws it */
            assert_int_equal(b->shown, cs_replacement_draw(&replacement, &rng, b->token));
        assert_true(a->masked == b->masked && a->token == b->token);
        assert_int_equal(a->shown, a->masked ? c->ids.mask : a->token);
        masked += b->masked;
        shown[0] += b->masked && b->shown == b->token;
        shown[1] += b->masked && b->shown == c->ids.mask;
        shown[2] += b->masked && b->shown != b->token && b->shown != c->ids.mask;
        assert_true(b->masked || b->shown == b->token);
        if (b->masked && b->shown != b->token && b->shown != c->ids.mask) {
            assert_true(b->shown >= 0 && b->shown < c->shape.vocab && b->shown != c->ids.pad &&
                        b->shown != c->ids.unk && b->shown != c->ids.bos && b->shown != c->ids.eos);
        }
    }
    /* shares within five standard deviations of their binomials (a random token may be the same) */
    double n = (double)masked, five = 5 * sqrt(0.25 * n);
    assert_true(fabs((double)shown[0] - 0.3 * n) < five + 0.3 * n / 20);
    assert_true(fabs((double)shown[1] - 0.4 * n) < five && shown[2] > 0);
    /* the same states as of a text that has what is shown in these places */
    for (int64_t i = 0; i < t.corpus.tokens; ++i) {
        t.corpus.token[i] = some->about[i].shown;
    }
    rows *spelled = states_of(&t, &(cs_hidden_options){0});
    assert_same_rows(some, spelled, 0);
    /* all kept: the text as it is, the same rows distinguished; no mask token is needed */
    for (int64_t i = 0; i < t.corpus.tokens; ++i) {
        t.corpus.token[i] = some->about[i].token;
    }
    rows *plain = states_of(&t, &(cs_hidden_options){0});
    t.model.config.ids.mask = -1;
    rows *kept =
        states_of(&t, &(cs_hidden_options){.mask_ratio = 0.5, .mask_seed = 4, .mask_keep = 1});
    assert_same_rows(kept, plain, 0);
    assert_each(i, 0, kept->rows, kept->about[i].masked == all->about[i].masked);
}

TEST(special_tokens_surround_texts)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    const int32_t before[] = {0}, after[] = {2, 2};
    const cs_hidden_options o = {
        .max_length = 6, .split = true, .around = {before, after, 1, 2}, .mask_ratio = 0.5};
    rows *r = states_of(&t, &o);
    for (int64_t i = 0; i < r->rows; ++i) {
        const cs_hidden_row *a = &r->about[i];
        int64_t end = i + 1;
        while (end < r->rows && r->about[end].position > 0) {
            ++end;
        }
        assert_true(a->position < 6);
        assert_int_equal(a->special, a->position == 0 || end - i <= 2);
        assert_true(!(a->special && a->masked));
        assert_true(!a->special || a->token == (a->position == 0 ? 0 : 2));
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

TEST(bad_options)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    const int64_t far[] = {3}, twice[] = {1, 1};
    const int32_t around[16] = {0};
    const uint8_t none[64] = {0};
    const struct {
        cs_hidden_options o;
        cs_status code;
        const char *part;
    } bad[] = {
        {{.layer = far, .layers = 1}, CS_ERR_USAGE, "layer 3 is not in 0..2"},
        {{.layer = twice, .layers = 2}, CS_ERR_USAGE, "layer 1 does not come after"},
        {{.layer = ALL}, CS_ERR_USAGE, "no layer"},
        {{.layer = ALL, .layers = 3, .max_length = 10}, CS_ERR_USAGE, "length 10 is not in 1..9"},
        {{.layer = ALL, .layers = 3, .batch = -1}, CS_ERR_USAGE, "batch -1"},
        {{.layer = ALL, .layers = 3, .mask_ratio = 1}, CS_ERR_USAGE, "mask ratio 1"},
        {{.layer = ALL, .layers = 3, .mask_ratio = NAN}, CS_ERR_USAGE, "mask ratio nan"},
        {{.layer = ALL, .layers = 3, .mask_ratio = 0.1, .mask_keep = 0.6, .mask_random = 0.5},
         CS_ERR_USAGE,
         "kept, 0.6, and random, 0.5,"},
        {{.layer = ALL, .layers = 3, .mask_ratio = 0.1, .mask_keep = -0.1},
         CS_ERR_USAGE,
         "kept, -0.1"},
        {{.layer = ALL, .layers = 3, .mask_ratio = 0.1, .mask_random = 0.1, .drop_masked = true},
         CS_ERR_USAGE,
         "be neither kept nor random"},
        {{.layer = ALL, .layers = 3, .around = {around, NULL, 9, 0}}, CS_ERR_USAGE, "no space"},
        {{.layer = ALL, .layers = 3, .keep = none}, CS_ERR_INPUT, "no document"},
    };
    rows *r = test_zeros(1, sizeof *r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_hidden_states(&t.model, &t.corpus, &bad[i].o, collect, r), bad[i].code,
                     bad[i].part);
    }
    const cs_hidden_options masked = {.layer = ALL, .layers = 3, .mask_ratio = 0.1};
    t.model.config.ids.mask = -1;
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &masked, collect, r), CS_ERR_USAGE,
                 "no mask token");
    const cs_hidden_options plain = {.layer = ALL, .layers = 3};
    t.corpus.token[t.corpus.doc_ptr[3] + 1] = (int32_t)t.model.config.shape.vocab;
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &plain, collect, r), CS_ERR_INPUT,
                 "document 3: token 29 at position 1 is not in 0..28");
    free_training(&t);
    const recipe linear = {.kind = CS_OBJ_AR, .arch = CS_ARCH_LINEAR};
    t = make_training(&linear, "");
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &plain, collect, r), CS_ERR_USAGE,
                 "linear has no hidden states");
}

TEST(not_a_number)
{
    CS_AUTO_BY(free_training, training) t = make_training(&CAUSAL, "");
    int64_t number = cs_params_find(&t.model.params, "layer.1.mlp.out.bias");
    float bias[WIDTH] = {[3] = NAN};
    rows *r = test_zeros(1, sizeof *r);
    OK(cs_params_set(&t.model.params, number, CS_PARAM_VALUE, bias));
    const cs_hidden_options o = {.layer = ALL, .layers = 3, .masks.attention = CS_ATTENTION_CAUSAL};
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &o, collect, r), CS_ERR_INPUT,
                 "layer 2, document 6, piece 0, position 0: a state is not a number");
    assert_int_equal(r->rows, 0);
}

static cs_status stop(void *ctx, const cs_hidden_block *block)
{
    (void)ctx;
    (void)block;
    return cs_fail(CS_ERR_IO, "enough");
}

TEST(visitor_stops_the_walk)
{
    CS_AUTO_BY(free_training, training) t = make_training(&CAUSAL, "");
    const cs_hidden_options o = {.layer = ALL, .layers = 3};
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &o, stop, NULL), CS_ERR_IO, "enough");
}

static training held; /* by the function below */

static cs_status walk_once(const char *path)
{
    (void)path;
    static rows r;
    r.rows = 0;
    const cs_hidden_options o = {.layer = ALL, .layers = 3, .pooling = CS_POOL_MEAN};
    return cs_hidden_states(&held.model, &held.corpus, &o, collect, &r);
}

TEST(allocations)
{
    held = make_training(&MASKED, "");
    fail_each_allocation(walk_once, "");
    free_training(&held);
}
