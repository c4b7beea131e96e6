/* The representation study of MAE-LM: planted states through the same sums, the gap's jackknife
 * against plain recomputation, sets of rows of a model against its states, what is refused. The
 * statements are in test_lemma_21.c. */
#include "io_support.h"
#include "mask_rank_support.h"
#include "model_support.h"

/* --- planted states -----------------------------------------------------------------------------
 */

/* [MASK] rows orthogonal to the others: all of them outside, every angle 90 degrees; the ranks are
 * those of 4, 2 and 4 + 2 directions. */
TEST(orthogonal_rows)
{
    CS_AUTO_FREE planted *p = plant();
    cs_mask_rank_options o = options_of(false);
    axes(p, 5, 2);
    AUTO_OK(cs_mask_rank, r, study(p, p, &o, &r));
    const cs_mask_layer *l = &r.layer[0];
    const cs_containment *c = &l->containment;
    assert_true(l->contained && c->real == 4 && c->mask == 2 && c->rank == 4);
    near(c->value[CS_CONTAIN_OUTSIDE], 1, 1e-14);
    near(c->value[CS_CONTAIN_OUTSIDE_REAL], 0, 1e-14);
    near(c->value[CS_CONTAIN_LARGEST], 90, 1e-12);
    near(c->value[CS_CONTAIN_MEDIAN], 90, 1e-12);
    near(c->value[CS_CONTAIN_COSINE], 0, 1e-14);
    near(c->exact, 1, 1e-14);
    assert_true(c->exact_error < 1e-6);
    for (int m = 0; m < CS_CONTAIN_MEASURES; ++m) {
        near(c->se[m], 0, 1e-12);
    }
    near(l->rank[CS_SET_MASK_ONLY].value[CS_RANK_NUMERICAL], 2, 0);
    near(l->rank[CS_SET_MASK_ONLY].value[CS_RANK_ENTROPY], 2, 1e-12);
    near(l->rank[CS_SET_REAL_ONLY].value[CS_RANK_ENTROPY], 4, 1e-12);
    near(l->rank[CS_SET_WITH_MASK].value[CS_RANK_NUMERICAL], 6, 0);
    /* shares 4 x 0.2 (real), 2 x 0.1: rank_tau 5, all but the last */
    near(l->rank[CS_SET_WITH_MASK].value[CS_RANK_TAU], 5, 0);
    assert_int_equal(l->rank[CS_SET_MASK_ONLY].rows, DOCUMENTS * MASKS);
    assert_int_equal(l->rank[CS_SET_REAL_SAMPLE].rows, DOCUMENTS * MASKS);
    assert_int_equal(l->rank[CS_SET_REAL_ONLY].rows, DOCUMENTS * (ROWS - MASKS));
    assert_int_equal(l->rank[CS_SET_WITH_MASK].rows, DOCUMENTS * ROWS);
    assert_true(l->rank[CS_SET_REAL_SAMPLE].value[CS_RANK_NUMERICAL] <= 4);
    for (int m = 0; m < CS_RANK_MEASURES; ++m) { /* the same rows on both sides */
        assert_true(l->gap[m] == 0 || isnan(l->gap[m]));
    }
}

/* [MASK] rows inside: nothing outside, angles 0. At 45 degrees: half outside. */
TEST(contained_rows)
{
    CS_AUTO_FREE planted *p = plant();
    cs_mask_rank_options o = options_of(false);
    axes(p, 1, 2);
    AUTO_OK(cs_mask_rank, r, study(p, p, &o, &r));
    const cs_containment *c = &r.layer[0].containment;
    near(c->value[CS_CONTAIN_OUTSIDE], 0, 1e-14);
    near(c->value[CS_CONTAIN_LARGEST], 0, 1e-6);
    near(c->value[CS_CONTAIN_COSINE], 1, 1e-14);
    near(c->exact, 0, 1e-14);
    cs_mask_rank_free(&r);
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        if (p->about[i].masked) {
            float *x = row_of(p, i);
            memset(x, 0, WIDTH * sizeof *x);
            x[0] = x[6] = 1;
        }
    }
    OK(study(p, p, &o, &r));
    c = &r.layer[0].containment;
    near(c->value[CS_CONTAIN_OUTSIDE], 0.5, 1e-14);
    near(c->value[CS_CONTAIN_LARGEST], 45, 1e-12);
    near(c->value[CS_CONTAIN_COSINE], 0.5, 1e-14);
    near(c->exact, 0.5, 1e-14);
}

/* Rows that are masked but show another token are real ones. */
TEST(shown_tokens_decide)
{
    CS_AUTO_FREE planted *p = plant();
    cs_mask_rank_options o = options_of(false);
    axes(p, 5, 2);
    for (int i = 0; i < DOCUMENTS * ROWS; i += ROWS) {
        p->about[i].shown = 7; /* the first masked row of each document */
    }
    AUTO_OK(cs_mask_rank, r, study(p, p, &o, &r));
    assert_int_equal(r.layer[0].rank[CS_SET_MASK_ONLY].rows, DOCUMENTS);
    assert_int_equal(r.layer[0].rank[CS_SET_REAL_ONLY].rows, DOCUMENTS * (ROWS - 1));
    assert_int_equal(r.layer[0].rank[CS_SET_REAL_SAMPLE].rows, DOCUMENTS);
}

/* --- the gap's error ----------------------------------------------------------------------------
 */

static planted *random_rows(uint64_t index, double power)
{
    planted *p = plant();
    cs_rng rng = cs_rng_at(8, CS_STREAM_TEST, index);
    for (int i = 0; i < DOCUMENTS * ROWS * WIDTH; ++i) {
        p->state[i] = (float)(cs_rng_normal(&rng) * pow(i % WIDTH + 1, -power));
    }
    return p;
}

/* Values of the rows in no document of a block (-1: all). */
static void plain_ranks(planted *p, int without, bool drop, double value[CS_RANK_MEASURES])
{
    int32_t group[DOCUMENTS * ROWS];
    const cs_gram_options wide = {.wide = true};
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        bool out = p->block[p->about[i].document] == without || (drop && p->about[i].masked);
        group[i] = out ? -1 : 0;
    }
    const cs_rows rows = cs_rows_of_f32(DOCUMENTS * ROWS, WIDTH, p->state, "planted");
    AUTO_OK(cs_gram, g, cs_gram_init(WIDTH, 1, &wide, &g));
    OK(cs_gram_add(&g, &rows, group, &wide));
    AUTO_OK(cs_effective_rank, r,
            cs_effective_rank_of(&g, &(cs_rank_options){.tau = 0.9, .eps = -1}, &r));
    memcpy(value, r.value, sizeof r.value);
}

TEST(gap_has_its_own_error)
{
    for (int encoder_only = 0; encoder_only < 2; ++encoder_only) {
        CS_AUTO_FREE planted *a = random_rows(0, 0.5), *b = random_rows(1, 1);
        cs_mask_rank_options o = options_of(encoder_only);
        double with[CS_RANK_MEASURES], without[CS_RANK_MEASURES];
        double left[BLOCKS][CS_RANK_MEASURES];
        AUTO_OK(cs_mask_rank, r, study(a, b, &o, &r));
        for (int k = 0; k < BLOCKS; ++k) {
            plain_ranks(a, k, encoder_only, with);
            plain_ranks(b, k, encoder_only, without);
            for (int m = 0; m < CS_RANK_MEASURES; ++m) {
                left[k][m] = with[m] - without[m];
            }
        }
        plain_ranks(a, -1, encoder_only, with);
        plain_ranks(b, -1, encoder_only, without);
        for (int m = 0; m < CS_RANK_DECAY; ++m) { /* too few values for the exponent */
            int of = m == CS_RANK_TAU ? CS_RANK_TAU_INTERPOLATED : m;
            double mean = SUM(k, 0, BLOCKS, left[k][of] / BLOCKS);
            double sum = SUM(k, 0, BLOCKS, (left[k][of] - mean) * (left[k][of] - mean));
            near(r.layer[0].gap[m], with[m] - without[m], 1e-10);
            if (m != CS_RANK_NUMERICAL) {
                near(r.layer[0].gap_se[m], sqrt(sum * (BLOCKS - 1) / BLOCKS), 1e-10);
                assert_true(r.layer[0].gap_se[m] > 0);
            } else {
                assert_true(isnan(r.layer[0].gap_se[m]));
            }
        }
        const double *in = r.layer[0].rank[cs_mask_rank_with(&r)].part_out,
                     *out = r.layer[0].rank[cs_mask_rank_without(&r)].part_out;
        double mean = 0, sum = 0; /* parts are blocks here: both ranks corrected without each */
        mean += SUM(k, 0, BLOCKS, (in[k] - out[k]) / BLOCKS);
        sum += SUM(k, 0, BLOCKS, (in[k] - out[k] - mean) * (in[k] - out[k] - mean));
        const double bias = r.layer[0].rank[cs_mask_rank_with(&r)].bias_left -
                            r.layer[0].rank[cs_mask_rank_without(&r)].bias_left;
        near(r.layer[0].gap_se[CS_RANK_TAU_CORRECTED],
             sqrt(sum * (BLOCKS - 1) / BLOCKS + bias * bias), 1e-10);
    }
}

/* --- models -------------------------------------------------------------------------------------
 */

static const recipe MAE = {
    .kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM, .decoder_layers = 1};

typedef struct {
    cs_gram *gram;       /* 3 */
    bool drop;           /* masked rows left out */
    const uint8_t *rare; /* rows of tokens for which it is not `wanted` left out */
    bool wanted;
} direct;

static cs_status take_direct(void *ctx, const cs_hidden_block *block)
{
    direct *d = ctx;
    CS_AUTO_FREE int32_t *group = cs_alloc(block->rows, sizeof *group);
    assert_non_null(group);
    for (int64_t i = 0; i < block->rows; ++i) {
        const cs_hidden_row *a = &block->about[i];
        bool out = (d->drop && a->masked) || (d->rare && (d->rare[a->token] != 0) != d->wanted);
        group[i] = out ? -1 : 0;
    }
    for (int64_t l = 0; l < block->layers; ++l) {
        const cs_rows rows = cs_rows_of_f32(block->rows, block->width, block->state[l], "states");
        OK(cs_gram_add(&d->gram[l], &rows, group, &(cs_gram_options){.wide = true}));
    }
    return CS_OK;
}

/* Ranks of the states that cs_hidden_states gives, against a set of the study. */
static void same_ranks_of(training *t, cs_hidden_options o, direct d, const cs_mask_rank *r,
                          cs_mask_set set)
{
    cs_gram gram[3] = {{0}};
    d.gram = gram;
    for (int l = 0; l < 3; ++l) {
        OK(cs_gram_init(16, 1, &(cs_gram_options){.wide = true}, &gram[l]));
    }
    OK(cs_hidden_states(&t->model, &t->corpus, &o, take_direct, &d));
    for (int l = 0; l < 3; ++l) {
        AUTO_OK(cs_effective_rank, want,
                cs_effective_rank_of(&gram[l], &(cs_rank_options){.tau = 0.9, .eps = -1}, &want));
        const cs_effective_rank *got = &r->layer[l].rank[set];
        assert_true(r->layer[l].has[set] && got->rows == want.rows);
        for (int m = 0; m < CS_RANK_DECAY; ++m) {
            near(got->value[m], want.value[m], 1e-8 * want.value[m]);
        }
        cs_gram_free(&gram[l]);
    }
}

static void same_ranks(training *t, cs_hidden_options o, bool drop, const cs_mask_rank *r,
                       cs_mask_set set)
{
    same_ranks_of(t, o, (direct){.drop = drop}, r, set);
}

TEST(sets_of_a_masked_model)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED_RECIPE, "");
    cs_mask_rank_options o = model_options(false);
    AUTO_OK(cs_mask_rank, r, cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    cs_hidden_options plain = {.layer = ALL_LAYERS, .layers = 3}, masked = o.hidden;
    same_ranks(&t, masked, false, &r, CS_SET_WITH_MASK);
    same_ranks(&t, masked, true, &r, CS_SET_REAL_ONLY);
    same_ranks(&t, plain, false, &r, CS_SET_WITHOUT_MASK);
    assert_true(!r.layer[0].has[CS_SET_DROPPED] && r.layer[2].contained);
    /* position 0 of no offset has few values: [MASK] rows of layer 0 are one vector and positions
     */
    assert_true(r.layer[0].rank[CS_SET_MASK_ONLY].value[CS_RANK_NUMERICAL] <= 9 + 1);
    /* the same bits for any number of threads */
    o.gram.threads = o.rank.threads = 3;
    AUTO_OK(cs_mask_rank, again, cs_mask_rank_of(&t.model, &t.corpus, &o, &again));
    assert_each(l, 0, 3, memcmp(r.layer[l].gap, again.layer[l].gap, sizeof r.layer[l].gap) == 0);
    assert_each(l, 0, 3,
                memcmp(r.layer[l].gap_se, again.layer[l].gap_se, sizeof r.layer[l].gap_se) == 0);
    assert_each(l, 0, 3,
                memcmp(r.layer[l].containment.value, again.layer[l].containment.value,
                       sizeof r.layer[l].containment.value) == 0);
    cs_mask_rank_free(&again);
    /* BERT's masking: fewer [MASK]s of as many masked tokens */
    o.hidden.mask_keep = o.hidden.mask_random = 0.2;
    OK(cs_mask_rank_of(&t.model, &t.corpus, &o, &again));
    assert_true(again.layer[0].rank[CS_SET_MASK_ONLY].rows <
                r.layer[0].rank[CS_SET_MASK_ONLY].rows);
    assert_int_equal(again.layer[0].rank[CS_SET_WITH_MASK].rows, t.corpus.tokens);
    same_ranks(&t, o.hidden, false, &again, CS_SET_WITH_MASK);
    same_ranks(&t, plain, false, &again, CS_SET_WITHOUT_MASK);
}

TEST(sets_of_an_encoder)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MAE, "");
    cs_mask_rank_options o = model_options(true);
    t.model.config.ids.mask = -1; /* its encoder needs none */
    AUTO_OK(cs_mask_rank, r, cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    cs_hidden_options plain = {.layer = ALL_LAYERS, .layers = 3}, dropped = o.hidden,
                      kept = o.hidden;
    dropped.drop_masked = true;
    kept.mask_keep = 1;
    same_ranks(&t, dropped, false, &r, CS_SET_DROPPED);
    same_ranks(&t, kept, true, &r, CS_SET_WITHOUT_KEPT);
    same_ranks(&t, plain, false, &r, CS_SET_WITHOUT_MASK);
    assert_true(!r.layer[0].has[CS_SET_WITH_MASK] && !r.layer[0].contained);
    near(r.layer[0].gap[CS_RANK_ENTROPY], 0, 0); /* embeddings do not see what is dropped */
    assert_true(r.layer[2].gap[CS_RANK_ENTROPY] != 0);
}

/* Rare tokens: rows apart by their token, of a model of any kind; those around a text are none. */
TEST(sets_of_rare_tokens)
{
    const recipe causal = {.kind = CS_OBJ_AR};
    CS_AUTO_BY(free_training, training) t = make_training(&causal, "");
    cs_mask_rank_options o = model_options(false);
    const cs_hidden_options plain = {.layer = ALL_LAYERS, .layers = 3};
    cs_mask_rank r = {0};
    uint8_t *rare = test_zeros(t.model.config.shape.vocab, 1);
    int64_t rows = 0;
    for (int32_t v = 0; v < t.model.config.shape.vocab; ++v) {
        rare[v] = v % 5 == 0 || v < 5;
    }
    for (int64_t i = 0; i < t.corpus.tokens; ++i) {
        rows += rare[t.corpus.token[i]];
    }
    o.rare = rare;
    o.hidden.mask_ratio = NAN; /* nothing is masked */
    t.model.config.ids.mask = -1;
    OK(cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    same_ranks(&t, plain, false, &r, CS_SET_WITHOUT_MASK);
    same_ranks_of(&t, plain, (direct){.rare = rare, .wanted = true}, &r, CS_SET_RARE_ONLY);
    same_ranks_of(&t, plain, (direct){.rare = rare}, &r, CS_SET_OTHERS);
    assert_int_equal(r.layer[0].rank[CS_SET_RARE_ONLY].rows, rows);
    assert_true(!r.layer[0].has[CS_SET_MASK_ONLY] && r.layer[1].contained);
    cs_mask_rank_free(&r);
    memset(rare, 1, (size_t)t.model.config.shape.vocab);
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_INPUT, "every row");
    memset(rare, 0, (size_t)t.model.config.shape.vocab);
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_INPUT, "no row");
}

/* Planted: rare rows lie across the others, [MASK] or not; the gap is that of as many rows. */
TEST(rare_rows_lie_outside)
{
    static const uint8_t rare[] = {0, 1};
    CS_AUTO_FREE planted *p = plant();
    cs_mask_rank_options o = options_of(false);
    CS_AUTO_BY(cs_mask_rank_end, cs_mask_rank_sums) *sums = NULL;
    axes(p, 4, 2);
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        p->about[i].token = p->about[i].masked;
        p->about[i].masked = false;
        p->about[i].special = i % ROWS == ROWS - 1; /* of no text: never rare */
    }
    o.rare = rare;
    OK(cs_mask_rank_begin(WIDTH, MASK_ID, p->block, &o, &sums));
    OK(hand_on(p, false, cs_mask_rank_take_masked, sums));
    AUTO_OK(cs_mask_rank, r, cs_mask_rank_finish(sums, &r));
    const cs_mask_layer *l = &r.layer[0];
    assert_int_equal(l->rank[CS_SET_RARE_ONLY].rows, DOCUMENTS * MASKS);
    assert_int_equal(l->rank[CS_SET_OTHERS_SAMPLE].rows, DOCUMENTS * MASKS);
    near(l->rank[CS_SET_RARE_ONLY].value[CS_RANK_NUMERICAL], 2, 0);
    near(l->rank[CS_SET_OTHERS].value[CS_RANK_NUMERICAL], 4, 0);
    near(l->rank[CS_SET_WITHOUT_MASK].value[CS_RANK_NUMERICAL], 6, 0);
    near(l->containment.value[CS_CONTAIN_OUTSIDE], 1, 1e-14);
    near(l->gap[CS_RANK_ENTROPY],
         l->rank[CS_SET_RARE_ONLY].value[CS_RANK_ENTROPY] -
             l->rank[CS_SET_OTHERS_SAMPLE].value[CS_RANK_ENTROPY],
         0);
    cs_mask_rank_free(&r);
    cs_mask_rank_end(&sums);
    /* fewer others than rare ones in a piece: no gap */
    for (int i = 0; i < ROWS; ++i) {
        p->about[i].token = i > 1;
    }
    OK(cs_mask_rank_begin(WIDTH, MASK_ID, p->block, &o, &sums));
    OK(hand_on(p, false, cs_mask_rank_take_masked, sums));
    OK(cs_mask_rank_finish(sums, &r));
    assert_true(isnan(r.layer[0].gap[CS_RANK_ENTROPY]));
}

/* --- errors -------------------------------------------------------------------------------------
 */

TEST(bad_input)
{
    training t = make_training(&MASKED_RECIPE, "");
    cs_mask_rank r = {0};
    static const double ratio[] = {0, 1, -0.1, NAN};
    for (size_t i = 0; i < sizeof ratio / sizeof *ratio; ++i) {
        cs_mask_rank_options o = model_options(false);
        o.hidden.mask_ratio = ratio[i];
        assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_USAGE, "mask ratio");
    }
    cs_mask_rank_options o = model_options(false);
    o.blocks = 21;
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_USAGE,
                 "21 blocks are not possible with 20 documents");
    o = model_options(false);
    o.rank.tau = 2;
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_USAGE,
                 "layer 0: with-mask: tau 2");
    o = model_options(false);
    o.hidden.max_length = 1; /* pieces of one token: none can be masked */
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_INPUT, "no token is masked");
    o = model_options(false);
    t.model.config.ids.mask = -1;
    assert_fails(cs_mask_rank_of(&t.model, &t.corpus, &o, &r), CS_ERR_USAGE, "no mask token");
    free_training(&t);
    /* texts of unequal length */
    CS_AUTO_FREE planted *p = random_rows(0, 1);
    o = options_of(false);
    cs_mask_rank_sums *sums = NULL;
    OK(cs_mask_rank_begin(WIDTH, MASK_ID, p->block, &o, &sums));
    OK(hand_on(p, false, cs_mask_rank_take_masked, sums));
    OK(hand_on(p, true, cs_mask_rank_take_plain, sums));
    assert_fails(cs_mask_rank_finish(sums, &r), CS_ERR_INPUT,
                 "120 rows with-mask, but 96 without-mask; the texts must be the same");
    cs_mask_rank_end(&sums);
    /* rows of zeros span nothing */
    CS_AUTO_FREE planted *zero = plant();
    assert_fails(study(zero, zero, &o, &r), CS_ERR_INPUT, "span no subspace");
}

static training held;
static cs_status study_once(const char *path)
{
    CS_AUTO(cs_mask_rank) r = {0};
    cs_mask_rank_options o = model_options(path[0] == 'e');
    o.blocks = 2;
    o.gram.threads = o.rank.threads = 1;
    cs_status status = cs_mask_rank_of(&held.model, &held.corpus, &o, &r);
    return status;
}

TEST(allocations)
{
    held = make_training(&MASKED_RECIPE, "");
    fail_each_allocation(study_once, "");
    fail_each_allocation(study_once, "encoder");
    free_training(&held);
}
