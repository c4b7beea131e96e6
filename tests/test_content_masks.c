/* The rows that content rows see when a trained model is read: attention masks, the plans they come
 * from, and states and losses that are means over the draws. */
#include "infer/hidden_states.h"
#include "model/pass.h"
#include "model_support.h"
#include "perplexity_support.h"
#include "plan/content_masks.h"
#include "plan_support.h"

enum { N = 8, DRAWS = 3, WIDTH = 16 };

TEST(fixed_masks)
{
    int32_t rank[N];
    const cs_content_masks all = {0}, causal = {.attention = CS_ATTENTION_CAUSAL};
    OK(cs_content_ranks(&all, 3, 0, N, rank));
    assert_each(i, 0, N, rank[i] == 0);
    OK(cs_content_ranks(&causal, 3, 0, N, rank));
    assert_each(i, 0, N, rank[i] == i);
    assert_int_equal(cs_content_draws(&causal), 1);
}

/* Groups of 2 after a first one of 1 or 2: every draw is one of the two plans, both come up, and
 * the same draw is the same plan. */
TEST(plans_are_drawn)
{
    const cs_objective objective = plan_objective("group-ar:t=2");
    const cs_content_masks m = {
        .attention = CS_ATTENTION_PLAN, .objective = &objective, .draws = 40, .seed = 5};
    int first[3] = {0};
    assert_int_equal(cs_content_draws(&m), 40);
    for (int64_t d = 0; d < 40; ++d) {
        int32_t rank[N], again[N];
        OK(cs_content_ranks(&m, 7, d, N, rank));
        OK(cs_content_ranks(&m, 7, d, N, again));
        assert_memory_equal(rank, again, sizeof rank);
        int t = rank[0] == rank[1] ? 2 : 1;
        ++first[t];
        assert_each(i, 0, N, rank[i] == (rank[0] + (i < t ? 0 : (i - t) / 2 + 1)));
    }
    assert_true(first[1] > 5 && first[2] > 5);
    int32_t one[1];
    OK(cs_content_ranks(&m, 7, 0, 1, one)); /* no plan of one token: it sees itself */
    assert_int_equal(one[0], 0);
}

/* --- states ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t rows;
    float state[512][WIDTH];
} kept;

static cs_status keep(void *ctx, const cs_hidden_block *b)
{
    kept *k = ctx;
    memcpy(k->state[k->rows], b->state[0], (size_t)(b->rows * b->width) * sizeof(float));
    k->rows += b->rows;
    return CS_OK;
}

/* The last layer of document d under one draw, by a separate pass. */
static void one_draw(training *t, const cs_content_masks *m, int64_t d, int64_t draw, float *out)
{
    const int64_t at = t->corpus.doc_ptr[d], n = t->corpus.doc_ptr[d + 1] - at;
    const cs_network_options sizes = {.form = CS_FORM_SINGLE, .batch = 1, .length = n};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    int32_t rank[64];
    OK(cs_pass_open(&t->model, &sizes, &pass));
    OK(cs_pass_begin(&pass, 1, n, 0));
    OK(cs_content_ranks(m, (uint64_t)d << 20, draw, n, rank));
    for (int64_t i = 0; i < n; ++i) {
        cs_batch_content(&pass.batch, &t->model.config, 0, i, t->corpus.token[at + i], i, rank[i]);
    }
    OK(cs_pass_forward(&pass, 1, (cs_run_key){0}));
    OK(cs_run_get_f32(pass.run, pass.network.top, out));
}

TEST(states_are_means_over_draws)
{
    const int64_t last = 2;
    CS_AUTO_BY(free_training, training) t =
        make_training(&(recipe){.kind = CS_OBJ_GVP, .arch = CS_ARCH_GPT2}, "");
    cs_hidden_options o = {.layer = &last,
                           .layers = 1,
                           .batch = 3,
                           .masks = {.attention = CS_ATTENTION_PLAN,
                                     .objective = &t.options.task.objective,
                                     .draws = DRAWS,
                                     .seed = 9}};
    kept *rows = test_zeros(1, sizeof *rows), *pooled = test_zeros(1, sizeof *pooled);
    OK(cs_hidden_states(&t.model, &t.corpus, &o, keep, rows));
    o.pooling = CS_POOL_MEAN;
    OK(cs_hidden_states(&t.model, &t.corpus, &o, keep, pooled));
    int64_t differ = 0;
    for (int64_t d = 0, row = 0; d < t.corpus.documents; ++d) {
        const int64_t n = t.corpus.doc_ptr[d + 1] - t.corpus.doc_ptr[d];
        float draw[DRAWS][64][WIDTH];
        for (int64_t k = 0; k < DRAWS; ++k) {
            one_draw(&t, &o.masks, d, k, draw[k][0]);
        }
        differ += memcmp(draw[0], draw[1], (size_t)n * sizeof draw[0][0]) != 0;
        for (int j = 0; j < WIDTH; ++j) {
            double mean = 0;
            for (int64_t i = 0; i < n; ++i) {
                double x = SUM(k, 0, DRAWS, (double)draw[k][i][j] / DRAWS);
                /* 2 DRAWS roundings of numbers of order 1 */
                assert_true(fabs(x - (double)rows->state[row + i][j]) < 4 * DRAWS * 0x1p-22);
                mean += x / (double)n;
            }
            assert_true(fabs(mean - (double)pooled->state[d][j]) < 4 * DRAWS * 0x1p-22);
        }
        row += n;
    }
    assert_true(differ > 0);
}

/* --- losses ----------------------------------------------------------------------------------- */

/* Causal content asked a token at a time is causal content asked at once; other masks give other
 * numbers; the mean over draws of plans lies between what single draws give. */
TEST(prefixes_under_masks)
{
    CS_AUTO_BY(free_training, training) t =
        make_training(&(recipe){.kind = CS_OBJ_GVP, .arch = CS_ARCH_GPT2}, "");
    cs_perplexity_options o = {
        .kind = CS_KIND_TWO_STREAM, .ask = CS_ASK_PREFIX, .batch = 3, .split = true};
    cs_content_masks m = {.attention = CS_ATTENTION_CAUSAL};
    CS_AUTO(cs_perplexity) once = perplexity_of(&t, &o);
    o.content = &m;
    CS_AUTO(cs_perplexity) each = perplexity_of(&t, &o);
    assert_true(fabs(once.nll - each.nll) < 1e-6);
    assert_int_equal(once.tokens, each.tokens);
    assert_each(k, 1, once.lengths, fabs(once.nll_at[k] - each.nll_at[k]) < 1e-5);
    m.attention = CS_ATTENTION_BIDIRECTIONAL;
    CS_AUTO(cs_perplexity) full = perplexity_of(&t, &o);
    assert_true(fabs(full.nll - once.nll) > 1e-6);
    /* A prefix of one token is the same under any masks. */
    assert_true(fabs(full.nll_at[1] - once.nll_at[1]) < 1e-5);
    m = (cs_content_masks){
        .attention = CS_ATTENTION_PLAN, .objective = &t.options.task.objective, .draws = 2};
    CS_AUTO(cs_perplexity) plan = perplexity_of(&t, &o);
    assert_int_equal(plan.tokens, once.tokens);
    assert_true(fabs(plan.nll - once.nll) > 1e-7 && fabs(plan.nll_at[1] - once.nll_at[1]) < 1e-5);
    cs_perplexity refused;
    o.kind = CS_KIND_CAUSAL;
    t.model.config.ids.bos = 1;
    assert_fails(cs_perplexity_of(&t.model, &t.corpus, &o, &refused), CS_ERR_USAGE, "two-stream");
}
