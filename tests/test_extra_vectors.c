/* Extra vectors of pictures (y_extra): a model with W that reads y is one without whose class token is its
 * own plus W y, in every command's path; their files; sides of a corpus keep them. */
#include "analysis/vision/patch_values.h"
#include "infer/hidden_states.h"
#include "io/npy.h"
#include "io_support.h"
#include "vit_support.h"

enum { WIDE = 3, WIDTH = 16, ROWS = 2 * (PATCHES + 1) };

/* The projected vectors are added as floats before the class token and not to it. */
static const double TOLERANCE = 1e-5;

static float *of_param(const cs_model *model, const char *name)
{
    const int64_t i = cs_params_find(&model->params, name);
    float *value =
        test_zeros(model->params.param[i].rows * model->params.param[i].cols, sizeof *value);
    OK(cs_params_get(&model->params, i, CS_PARAM_VALUE, value));
    return value;
}

/* Two pictures that differ in their vectors alone. */
static cs_images make_two(void)
{
    cs_images all = make_pictures(), m = {0};
    OK(cs_images_side(&all, -1, 2, &m));
    memcpy(m.pixel + SIDE * SIDE, m.pixel, SIDE * SIDE);
    m.extra_width = WIDE;
    m.extra = cs_alloc(2 * WIDE, sizeof *m.extra);
    assert_non_null(m.extra);
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    for (int i = 0; i < 2 * WIDE; ++i) {
        m.extra[i] = (float)cs_rng_normal(&rng);
    }
    cs_images_free(&all);
    return m;
}

/* The same network without vectors, its class token that of a picture of `with`. */
static cs_model without(const cs_model *with, cs_backend *backend, const float *y)
{
    cs_model_config c = with->config;
    cs_model made = {0};
    c.shape.extra_width = 0;
    OK(cs_model_init(&c, backend, false, &made));
    for (int64_t i = 0; i < made.params.count; ++i) {
        const char *name = made.params.param[i].name;
        float *value = of_param(with, name);
        if (strcmp(name, "embed.token") == 0) {
            const float *w = of_param(with, "embed.extra.weight");
            for (int j = 0; j < WIDTH; ++j) {
                for (int k = 0; k < WIDE; ++k) {
                    value[j] += w[j * WIDE + k] * y[k];
                }
            }
        }
        OK(cs_params_set(&made.params, i, CS_PARAM_VALUE, value));
    }
    return made;
}

static cs_status keep(void *ctx, const cs_hidden_block *b)
{
    float **to = ctx;
    memcpy(*to, b->state[0], (size_t)(b->rows * b->width) * sizeof **to);
    *to += b->rows * b->width;
    return CS_OK;
}

static void states_of(cs_model *model, const cs_images *m, float *to)
{
    static const int64_t last = 2;
    AUTO_OK(cs_corpus, patches, cs_model_pictures(model, m, 1, &patches));
    const cs_hidden_options o = {.layer = &last,
                                 .layers = 1,
                                 .masks = {.attention = CS_ATTENTION_BIDIRECTIONAL},
                                 .around = {.before = &model->config.ids.bos, .befores = 1}};
    OK(cs_hidden_states(model, &patches, &o, keep, &to));
}

/* The predictions of half of the patches. */
static void fill(cs_model *model, const cs_images *m, bool two_stream, float *to)
{
    const cs_model_kind kind = {.kind = two_stream                         ? CS_KIND_TWO_STREAM
                                        : model->config.decoder.layers > 0 ? CS_KIND_MAE
                                                                           : CS_KIND_MASKED,
                                .attention = CS_ATTENTION_BIDIRECTIONAL,
                                .query_position = two_stream ? "on" : NULL};
    CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
    ARRAY(int32_t, group, (2 * PATCHES), k, k % 2);
    AUTO_OK(cs_corpus, patches, cs_model_pictures(model, m, 1, &patches));
    OK(cs_patch_reader_open(model, &kind, 2, &reader));
    OK(cs_patches_fill(&reader, 2, patches.real, m->extra, NULL, group, 1, to));
}

static double farthest(int64_t n, const float *a, const float *b)
{
    double most = LARGEST(i, 0, n, fabs((double)a[i] - (double)b[i]));
    return most;
}

TEST(vectors_move_the_class_token)
{
    static const int forms[] = {0, 3, 2}; /* one stream, two, encoder and decoder */
    for (int f = 0; f < 3; ++f) {
        const bool two = picture_forms[forms[f]].two_stream;
        CS_AUTO_BY(free_training, training) t =
            make_picture_training(&picture_forms[forms[f]], 1, NULL);
        CS_AUTO(cs_images) m = make_two();
        cs_model_config c = t.model.config;
        float ours[ROWS * WIDTH], theirs[ROWS * WIDTH];
        float filled[2 * PATCHES * VALUES], refilled[2 * PATCHES * VALUES];
        c.shape.extra_width = WIDE;
        AUTO_OK(cs_model, model, cs_model_init(&c, t.backend, false, &model));
        OK(cs_model_randomise(&model, 3));
        states_of(&model, &m, ours);
        fill(&model, &m, two, filled);
        const int64_t one = ROWS / 2 * WIDTH, values = PATCHES * VALUES;
        assert_true(farthest(one, ours, ours + one) > 1e-3);
        for (int i = 0; i < 2; ++i) {
            CS_AUTO(cs_model) plain = without(&model, t.backend, m.extra + i * WIDE);
            cs_images bare = m;
            bare.extra = NULL;
            bare.extra_width = 0;
            states_of(&plain, &bare, theirs);
            assert_true(farthest(one, ours + i * one, theirs + i * one) < TOLERANCE);
            fill(&plain, &bare, two, refilled);
            assert_true(farthest(values, filled + i * values, refilled + i * values) < TOLERANCE);
        }
        assert_true(farthest(values, filled, filled + values) > 1e-6);
    }
}

TEST(vectors_are_requested)
{
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[0], 1, NULL);
    CS_AUTO(cs_images) m = make_two();
    cs_corpus patches = {0};
    assert_fails(cs_model_pictures(&t.model, &m, 1, &patches), CS_ERR_USAGE,
                 "waves: extra vectors have 3 values, but the model reads 0");
}

TEST_IN_DIR(files_of_vectors)
{
    CS_AUTO(cs_images) m = make_pictures(), part = {0};
    ARRAY(double, y, (PICTURES * 2), i, i * 0.5);
    OK(cs_npy_write(in_dir(state, "y.npy"), CS_F64, 2, (int64_t[]){PICTURES, 2}, y));
    OK(cs_images_extra(in_dir(state, "y.npy"), &m));
    assert_true(m.extra_width == 2 && m.extra[5] == 2.5F);
    OK(cs_images_side(&m, 1, 0, &part));
    for (int64_t k = 0; k < part.count; ++k) { /* every fourth picture */
        assert_true(part.extra[2 * k + 1] == (float)y[2 * (4 * k + 3) + 1]);
    }
    OK(cs_npy_write(in_dir(state, "few.npy"), CS_F64, 2, (int64_t[]){PICTURES - 1, 2}, y));
    assert_fails(cs_images_extra(in_dir(state, "few.npy"), &m), CS_ERR_INPUT,
                 "few.npy: 23 rows, but 24 pictures in waves");
    y[7] = (double)NAN;
    OK(cs_npy_write(in_dir(state, "nan.npy"), CS_F64, 2, (int64_t[]){PICTURES, 2}, y));
    assert_fails(cs_images_extra(in_dir(state, "nan.npy"), &m), CS_ERR_INPUT,
                 "nan.npy: row 3, column 1: value nan");
}
