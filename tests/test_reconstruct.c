/* Reconstruction: the scores and the linear predictor against closed forms, what filling by groups
 * shows, and whole runs. */
#include "analysis/vision/linear_fill.h"
#include "analysis/vision/perceptual.h"
#include "analysis/vision/reconstruct.h"
#include "image/picture.h"
#include "io/file.h"
#include "io_support.h"
#include "train/model_kind.h"
#include "vit_support.h"

/* --- scores --- */

/* Windows without variance leave (2 a b + c1) / (a^2 + b^2 + c1); of one picture with itself 1; of a
 * picture and its negative about the mean, whose means are equal, (c2 - 2 v) / (c2 + 2 v) < 0. */
TEST(ssim_closed_forms)
{
    enum { H = 13, W = 12, N = H * W * 2 };
    ARRAY(float, a, N, i, 0.25F);
    ARRAY(float, b, N, i, 0.5F);
    const double c1 = 1e-4;
    assert_true(fabs(cs_ssim(a, b, H, W, 2, 1) - (0.25 + c1) / (0.3125 + c1)) < 1e-9);
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    for (int i = 0; i < N; ++i) {
        a[i] = (float)cs_rng_uniform(&rng);
        b[i] = 1 - a[i];
    }
    assert_true(fabs(cs_ssim(a, a, H, W, 2, 1) - 1) < 1e-12);
    assert_true(cs_ssim(a, b, H, W, 2, 1) < -0.7);
    assert_true(fabs(cs_ssim(a, b, H, W, 2, 1) - cs_ssim(b, a, H, W, 2, 1)) < 1e-12);
    assert_true(fabs(cs_ssim(a, a, 3, 4, 1, 1) - 1) < 1e-12); /* smaller than a window */
}

/* --- the linear predictor --- */

typedef struct {
    const float *x;
    int64_t width;
} matrix;

static cs_status read_row(void *ctx, int64_t row, float *to)
{
    const matrix *m = ctx;
    memcpy(to, m->x + row * m->width, (size_t)m->width * sizeof *to);
    return CS_OK;
}

static cs_status fit_rows(const float *x, int64_t count, int64_t width, const uint8_t *left_out,
                          int threads, cs_linear_fill *out)
{
    matrix m = {x, width};
    const cs_fill_rows rows = {read_row, &m, count, width};
    return cs_linear_fill_fit(&rows, left_out, threads, out);
}

/* Four rows of mean (1, 2), variances 1 and 4, covariance 1: E(x2 | x1) = 2 + (x1 - 1) / (1 + r 2.5). */
TEST(linear_prediction_of_two)
{
    const float rows[] = {
        2, 2 + 1 + sqrtf(3), 2, 2 + 1 - sqrtf(3), 0, 2 - 1 + sqrtf(3), 0, 2 - 1 - sqrtf(3), 9, 9};
    const uint8_t out[] = {0, 0, 0, 0, 1}, hidden[] = {0, 1}, both[] = {1, 1};
    const float x[] = {3, 100};
    const double ridge = 0.1;
    float to[2];
    AUTO_OK(cs_linear_fill, f, fit_rows(rows, 5, 2, out, 1, &f));
    assert_true(fabs(f.mean[0] - 1) < 1e-6 && fabs(f.mean[1] - 2) < 1e-6);
    assert_true(fabs(f.variance - 2.5) < 1e-6);
    OK(cs_linear_fill_of(&f, 1, &ridge, hidden, x, to));
    assert_true(to[0] == 3 && fabs((double)to[1] - (2 + 2 / 1.25)) < 1e-6);
    OK(cs_linear_fill_of(&f, 1, &ridge, both, x, to));
    assert_true(fabs((double)to[0] - 1) < 1e-6 && fabs((double)to[1] - 2) < 1e-6);
}

/* Rows of rank one are determined by one value, up to the ridge. */
TEST(linear_prediction_of_a_line)
{
    enum { N = 40, D = 6 };
    float rows[N * D], to[D];
    uint8_t hidden[D] = {0, 1, 1, 1, 1, 1};
    const double ridge = 1e-9;
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    for (int i = 0; i < N; ++i) {
        const double t = cs_rng_normal(&rng);
        for (int j = 0; j < D; ++j) {
            rows[i * D + j] = (float)(j + (j + 1) * t);
        }
    }
    for (int threads = 1; threads < 3; ++threads) {
        AUTO_OK(cs_linear_fill, f, fit_rows(rows, N, D, NULL, threads, &f));
        OK(cs_linear_fill_of(&f, 1, &ridge, hidden, rows, to));
        assert_each(j, 0, D, fabs((double)to[j] - (double)rows[j]) < 1e-3);
    }
}

/* Values that are constant change nothing, also above the width at which a covariance is formed. */
TEST(linear_prediction_of_many)
{
    enum { N = 30, D = 6, MANY = CS_LINEAR_FILL_MOST + 4 };
    float *wide = calloc(N * MANY, sizeof *wide), narrow[N * D], few[2 * D];
    float *many = calloc(2 * MANY, sizeof *many);
    uint8_t *hidden = calloc(MANY, 1), out[N] = {0};
    const double ridge[] = {1e-2, 1}, scaled[] = {1e-2 * MANY / D, 1.0 * MANY / D};
    assert_true(wide && many && hidden);
    cs_rng rng = cs_rng_at(6, CS_STREAM_TEST, 0);
    out[3] = 1;
    hidden[1] = hidden[4] = 1;
    for (int i = 0; i < N; ++i) {
        const double t = cs_rng_normal(&rng);
        for (int j = 0; j < D; ++j) {
            wide[i * MANY + j] = narrow[i * D + j] = (float)(j + t + 0.5 * cs_rng_normal(&rng));
        }
    }
    AUTO_OK(cs_linear_fill, f, fit_rows(narrow, N, D, out, 1, &f));
    AUTO_OK(cs_linear_fill, g, fit_rows(wide, N, MANY, out, 1, &g));
    assert_true(f.covariance.data && !g.covariance.data && g.sample == N - 1);
    OK(cs_linear_fill_of(&f, 2, ridge, hidden, narrow, few));
    OK(cs_linear_fill_of(&g, 2, scaled, hidden, wide, many));
    for (int k = 0; k < 2; ++k) {
        assert_each(j, 0, D, fabs((double)few[k * D + j] - (double)many[k * MANY + j]) < 1e-5);
    }
    assert_true(fabs((double)few[1] - (double)narrow[1]) > 1e-3);
    /* where more is visible than hidden, the inverse of the ridge gives the same */
    OK(cs_linear_fill_invert(ridge[0], &f));
    OK(cs_linear_fill_of(&f, 2, ridge, hidden, narrow, many));
    assert_each(j, 0, 2 * D, fabs((double)few[j] - (double)many[j]) < 1e-6);
    f.inverse_ridge = ridge[1];
    OK(cs_linear_fill_of(&f, 1, ridge + 1, hidden, narrow, many));
    assert_true(fabs((double)few[D + 1] - (double)many[1]) > 1e-3);
    assert_each(j, 0, D, fabs((double)few[j] - (double)many[j]) < 1e-6);
    free(wide);
    free(many);
    free(hidden);
}

/* --- filling --- */

static void open_reader(training *t, const picture_form *form, cs_patch_reader *reader)
{
    AUTO_OK(cs_model_kind, kind,
            cs_model_kind_of(&t->options.task, &t->model.config, CS_LOSS_SQUARED_ERROR, 2, &kind));
    cs_status status = cs_patch_reader_open(&t->model, &kind, 3, reader);
    if (form->kind == CS_OBJ_AR) {
        assert_int_equal(status, CS_ERR_USAGE);
        assert_non_null(strstr(cs_reason(), "predicts only the patch after each row"));
        cs_reason_clear();
    } else {
        OK(status);
    }
}

enum { COUNT = 5, PIXELS = PATCHES * VALUES };

static void draw_groups(int64_t groups, int32_t *group)
{
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < COUNT * PATCHES; ++i) {
        group[i] = (int32_t)cs_rng_below(&rng, groups + 1);
        group[i] = i % PATCHES <= groups ? (int32_t)(i % PATCHES) : group[i];
    }
}

/* Shown patches stay, and hidden ones do not affect predictions. Two groups are two fillings; the
 * second sees the results of the first. */
TEST(filling_by_groups)
{
    for (const picture_form *form = picture_forms; form->target != CS_TARGET_IDS; ++form) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, NULL);
        CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) r = {0};
        open_reader(&t, form, &r);
        int32_t group[COUNT * PATCHES], again[COUNT * PATCHES];
        float x[COUNT * PIXELS], once[COUNT * PIXELS], twice[COUNT * PIXELS];
        memcpy(x, t.corpus.real, sizeof x);
        draw_groups(2, group);
        if (!r.model) continue;
        memcpy(again, group, sizeof again);
        for (int64_t i = 0; i < COUNT * PATCHES; ++i) {
            again[i] = group[i] > 0;
        }
        OK(cs_patches_fill(&r, COUNT, x, NULL, NULL, again, 1, once));
        assert_each(i, 0, COUNT * PIXELS, again[i / VALUES] > 0 || once[i] == x[i]);
        ARRAY(float, y, (COUNT * PIXELS), i, again[i / VALUES] > 0 ? x[i] + 0.5F : x[i]);
        if (form->target == CS_TARGET_PIXELS) {
            OK(cs_patches_fill(&r, COUNT, y, NULL, NULL, again, 1, twice));
            assert_memory_equal(once, twice, sizeof once);
            for (int64_t i = 0; i < COUNT * PATCHES; ++i) {
                again[i] = group[i] > 1;
                if (group[i] == 1) {
                    memcpy(y + i * VALUES, once + i * VALUES, VALUES * sizeof *y);
                }
            }
            OK(cs_patches_fill(&r, COUNT, y, NULL, NULL, again, 1, once));
            OK(cs_patches_fill(&r, COUNT, x, NULL, NULL, group, 2, twice));
            assert_memory_equal(once, twice, sizeof once);
        } else {
            assert_fails(cs_patches_fill(&r, COUNT, x, NULL, NULL, group, 2, twice), CS_ERR_USAGE,
                         "one group");
        }
    }
}

/* The same of codes: hidden patches become what their likeliest codes stand for, and the second group
 * is shown the codes, or the values, of the first. */
TEST(filling_by_codes)
{
    for (const picture_form *form = picture_forms + 6; form->name; ++form) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, NULL);
        cs_patch_reader r = {0};
        open_reader(&t, form, &r);
        int32_t group[COUNT * PATCHES], id[COUNT * PATCHES];
        float x[COUNT * PIXELS], y[COUNT * PIXELS], once[COUNT * PIXELS], twice[COUNT * PIXELS];
        CS_AUTO_FREE float *values = NULL;
        const float *centre = t.model.codes->book.centre;
        OK(cs_codes_values(t.model.codes, &t.corpus, NULL, &values)); /* pictures of nothing else */
        memcpy(x, values, sizeof x);
        memcpy(y, values, sizeof y);
        memcpy(id, t.corpus.token, sizeof id);
        draw_groups(2, group);
        ARRAY(int32_t, again, (COUNT * PATCHES), i, group[i] > 0);
        if (r.model) {
            OK(cs_patches_fill(&r, COUNT, x, NULL, id, again, 1, once));
            for (int64_t i = 0; i < COUNT * PATCHES; ++i) {
                int64_t c = 0;
                while (c < CODES && memcmp(once + i * VALUES, centre + c * VALUES, 16) != 0) {
                    ++c;
                }
                assert_true(c < CODES);
                assert_true(again[i] || memcmp(once + i * VALUES, x + i * VALUES, 16) == 0);
                if (group[i] > 0) { /* hidden ones affect nothing */
                    y[i * VALUES] += 0.5F;
                    id[i] = CS_FIRST_CODE + (id[i] + 1 - CS_FIRST_CODE) % CODES;
                }
            }
            OK(cs_patches_fill(&r, COUNT, y, NULL, id, again, 1, twice));
            assert_memory_equal(once, twice, sizeof once);
            OK(cs_patches_fill(&r, COUNT, y, NULL, id, group, 2, twice));
            for (int64_t i = 0; i < COUNT * PATCHES; ++i) {
                again[i] = group[i] > 1;
                for (int32_t c = 0; c < CODES && group[i] == 1; ++c) {
                    if (memcmp(once + i * VALUES, centre + c * VALUES, 16) == 0) {
                        id[i] = CS_FIRST_CODE + c;
                        memcpy(y + i * VALUES, once + i * VALUES, 16);
                    }
                }
            }
            OK(cs_patches_fill(&r, COUNT, y, NULL, id, again, 1, once));
            assert_memory_equal(once, twice, sizeof once);
            cs_patch_reader_close(&r);
        }
    }
}

/* Iterative decoding: one step without noise is the filling of one group. Codes depend on the seed
 * and the number of the image alone. */
TEST(drawing_by_confidence)
{
    for (const picture_form *form = picture_forms + 6; form->name; ++form) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, NULL);
        cs_patch_reader r = {0};
        open_reader(&t, form, &r);
        if (!r.model) continue;
        int32_t hidden[COUNT * PATCHES], id[COUNT * PATCHES], first[COUNT * PATCHES];
        float once[COUNT * PIXELS], drawn[COUNT * PIXELS];
        double nll[COUNT], again[COUNT];
        CS_AUTO_FREE float *values = NULL;
        OK(cs_codes_values(t.model.codes, &t.corpus, NULL, &values));
        draw_groups(1, hidden);
        memcpy(id, t.corpus.token, sizeof id);
        cs_draw_options o = {.steps = 1, .seed = 3};
        OK(cs_patches_fill(&r, COUNT, values, NULL, id, hidden, 1, once));
        OK(cs_patches_draw(&r, COUNT, values, NULL, hidden, NULL, &o, id, nll, drawn));
        assert_memory_equal(once, drawn, sizeof once);
        assert_each(i, 0, COUNT * PATCHES, hidden[i] > 0 || id[i] == t.corpus.token[i]);
        assert_each(i, 0, COUNT, nll[i] > 0);
        /* the codes drawn follow from seed and number, whatever else is in the pass */
        o = (cs_draw_options){.steps = 3, .temperature = 1, .choice = 2, .seed = 3};
        const int64_t number[COUNT] = {4, 0, 9};
        memcpy(first, t.corpus.token, sizeof first);
        OK(cs_patches_draw(&r, COUNT, values, NULL, hidden, number, &o, first, nll, drawn));
        for (int64_t i = 0; i < COUNT; ++i) {
            memcpy(id, t.corpus.token, sizeof id);
            OK(cs_patches_draw(&r, 1, values + i * PIXELS, NULL, hidden + i * PATCHES, number + i,
                               &o, id + i * PATCHES, again, once));
            assert_memory_equal(id + i * PATCHES, first + i * PATCHES, PATCHES * sizeof *id);
            assert_true(fabs(again[0] - nll[i]) < 1e-4);
        }
        o.seed = 4;
        memcpy(id, t.corpus.token, sizeof id);
        OK(cs_patches_draw(&r, COUNT, values, NULL, hidden, number, &o, id, nll, drawn));
        assert_memory_not_equal(id, first, sizeof id);
        /* all patches hidden */
        assert_each(i, 0, COUNT * PATCHES, (hidden[i] = 1) == 1);
        OK(cs_patches_draw(&r, COUNT, values, NULL, hidden, NULL, &o, id, nll, drawn));
        o.steps = 0;
        assert_fails(cs_patches_draw(&r, COUNT, values, NULL, hidden, NULL, &o, id, nll, drawn),
                     CS_ERR_USAGE, "0 steps");
        cs_patch_reader_close(&r);
    }
}

/* --- whole runs --- */

static double mean_of(const cs_reconstruction *r, int filler, int score)
{
    double sum =
        SUM(i, 0, r->pictures, r->score[(i * CS_FILLERS + filler) * CS_PICTURE_SCORES + score]);
    return sum / (double)r->pictures;
}

/* The dots of `text` head the third column of a sheet. */
static void assert_heading(const char *path, const cs_images *m, const char *text)
{
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0, differ = 0;
    cs_cells like = {0};
    OK(cs_file_read(path, 1 << 20, &bytes, &size));
    AUTO_OK(cs_picture, p, cs_picture_decode(path, bytes, size, false, &p));
    OK(cs_cells_make(1, p.width / (m->width * (64 / m->width)),
                     &(cs_picture){.height = m->height, .width = m->width, .channels = p.channels},
                     &like));
    cs_cells_heading(&like, 2, text);
    assert_int_equal(like.picture.width, p.width);
    const int64_t left = p.width * 2 / 5, right = p.width * 3 / 5;
    for (int64_t y = 0; y < 11; ++y)
        for (int64_t x = left; x < right; ++x)
            differ += p.pixel[(y * p.width + x) * p.channels] !=
                      like.picture.pixel[(y * p.width + x) * p.channels];
    cs_picture_free(&like.picture);
    assert_int_equal(differ, 0);
}

/* Columns of models are headed MAE, MAGE or by the objective without its parameters. */
TEST_IN_DIR(sheets_name_the_model)
{
    static const struct {
        const char *form, *objective, *heading;
    } of[] = {
        {"encoder and decoder", "masked(mask-ratio=0.75)", "mae"},
        {"codes of codes, encoder and decoder", "variable-masked(mask-ratio=0.5:0.9)", "mage"},
        {"two streams in groups", "gvp(groups=6)", "gvp"},
        {"one stream", "masked(mask-ratio=0.6)", "masked"},
        {"one stream", NULL, "model"}};
    CS_AUTO(cs_images) m = make_pictures();
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        const picture_form *form = picture_forms;
        while (strcmp(form->name, of[i].form) != 0)
            ++form;
        char name[32];
        (void)snprintf(name, sizeof name, "run-%zu", i);
        CS_AUTO_BY(free_training, training)
        t = make_picture_training(form, 1, in_dir(state, name));
        t.options.steps = 1;
        (void)trained(&t);
        CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
        CS_AUTO(cs_reconstruction) r = {0};
        open_reader(&t, form, &reader);
        const cs_reconstruct_options o = {.mask_ratio = 0.5,
                                          .groups = 1,
                                          .limit = 2,
                                          .shown = 2,
                                          .objective = of[i].objective,
                                          .threads = 1};
        OK(cs_reconstruct(&reader, NULL, &m, &o, in_dir(state, "sheet.png"), &r));
        assert_heading(in_dir(state, "sheet.png"), &m, of[i].heading);
    }
}

TEST_IN_DIR(reconstruction_of_waves)
{
    const picture_form *form = &picture_forms[0];
    CS_AUTO(cs_images) m = make_pictures();
    CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, in_dir(state, "run"));
    t.options.steps = 600;
    t.options.data.batch = 16;
    t.options.rate.learning_rate = 1e-2;
    t.options.intervals.save_every = 0;
    (void)trained(&t);
    CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
    open_reader(&t, form, &reader);
    memset(m.held_out, 0, PICTURES); /* those that it was trained on: all are reconstructed */
    cs_reconstruct_options o = {
        .mask_ratio = 0.4, .groups = 1, .shown = 3, .seed = 1, .threads = 1};
    CS_AUTO(cs_reconstruction) one = {0}, two = {0};
    OK(cs_reconstruct(&reader, NULL, &m, &o, in_dir(state, "sheet.png"), &one));
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0, scale = 64 / (m.height > m.width ? m.height : m.width);
    OK(cs_file_read(in_dir(state, "sheet.png"), 1 << 20, &bytes, &size));
    AUTO_OK(cs_picture, picture, cs_picture_decode("sheet.png", bytes, size, false, &picture));
    assert_int_equal(picture.height, 11 + 3 * (m.height * scale + 2) - 2);
    /* ORIGINAL begins with an O: three black dots on top between white ones. */
    const uint8_t *top = picture.pixel + picture.width * picture.channels;
    assert_each(x, 0, 6, top[x * picture.channels] == (x >= 1 && x <= 3 ? 0 : 255));
    assert_int_equal(one.pictures, PICTURES);
    assert_int_equal(one.hidden, llround(0.4 * PATCHES));
    assert_true(mean_of(&one, 0, 0) < mean_of(&one, 1, 0)); /* below the mean picture's error */
    assert_true(mean_of(&one, 0, 2) > mean_of(&one, 1, 2));
    assert_true(one.there[2] && mean_of(&one, 2, 0) < mean_of(&one, 1, 0));
    for (int64_t i = 0; i < one.pictures; ++i) {
        const double *s = one.score + i * CS_FILLERS * CS_PICTURE_SCORES;
        assert_int_equal(one.picture[i], i);
        assert_true(fabs(s[1] + 10 * log10(s[0])) < 1e-9); /* peak 1 */
    }
    o.threads = 2;
    OK(cs_reconstruct(&reader, NULL, &m, &o, NULL, &two));
    assert_memory_equal(one.score, two.score,
                        (size_t)one.pictures * CS_FILLERS * CS_PICTURE_SCORES * sizeof(double));
    cs_reconstruction_free(&two);
    o.limit = 2;
    o.groups = 0; /* one by one */
    OK(cs_reconstruct(&reader, NULL, &m, &o, NULL, &two));
    assert_int_equal(two.pictures, 2);
    o.groups = one.hidden + 1;
    assert_fails(cs_reconstruct(&reader, NULL, &m, &o, NULL, &two), CS_ERR_USAGE,
                 "groups are not possible with 6 hidden");
    o.groups = 1;
    o.mask_ratio = 1;
    assert_fails(cs_reconstruct(&reader, NULL, &m, &o, NULL, &two), CS_ERR_USAGE, "mask ratio");
    o.mask_ratio = 0.5;
    m.width = SIDE / 2;
    assert_fails(cs_reconstruct(&reader, NULL, &m, &o, NULL, &two), CS_ERR_USAGE,
                 "the model reads 8 x 8");
    m.width = SIDE;
}
