/* Pictures in patches from corpus to files: rows and targets of every form, what a prediction may
 * depend on, bits for threads and resumed runs, augmentation. */
#include "analysis/vision/patch_values.h"
#include "base/threads.h"
#include "image/augment.h"
#include "infer/document_pieces.h"
#include "io/json.h"
#include "io_support.h"
#include "model/arch_private.h"
#include "model/pass.h"
#include "text/labelled_text.h"
#include "vit_support.h"

/* --- rows --- */

static cs_batch batch_of(const training *t, int64_t count)
{
    cs_example example[PICTURES];
    cs_batch b = {0};
    for (int64_t i = 0; i < count; ++i) {
        const float *real = t->corpus.real;
        example[i] = (cs_example){t->corpus.token + i * PATCHES, PATCHES, i,
                                  real ? real + i * PATCHES * VALUES : NULL, NULL};
    }
    OK(cs_batch_build(&(cs_batch_order){&t->options.task, &t->model.config, 5, 1, NULL}, example,
                      count, &b));
    return b;
}

/* Of ids, codes behind the two tokens that are none. */
static void check_codes(const training *t, const cs_batch *b)
{
    assert_int_equal(b->loss.goal_width, 0);
    for (int64_t r = 0; r < b->events; ++r) {
        const int32_t id = t->corpus.token[b->loss.example[r] * PATCHES + b->loss.place[r]];
        assert_in_range(id, CS_FIRST_CODE, CS_FIRST_CODE + CODES - 1);
        assert_int_equal(b->loss.target[r], id);
    }
}

/* Targets are the values of the patch, raw or (x - m) / sqrt(v + 1e-6); weights count values. */
static void check_targets(const training *t, const cs_batch *b)
{
    double weights = 0;
    assert_int_equal(b->loss.goal_width, VALUES);
    for (int64_t r = 0; r < b->events; ++r) {
        const float *x =
            t->corpus.real + (b->loss.example[r] * PATCHES + b->loss.place[r]) * VALUES;
        double m = SUM(j, 0, VALUES, (double)x[j] / VALUES);
        double v = SUM(j, 0, VALUES, ((double)x[j] - m) * ((double)x[j] - m) / (VALUES - 1));
        bool raw = t->model.config.head.target == CS_TARGET_PIXELS;
        for (int j = 0; j < VALUES; ++j) {
            double want = raw ? (double)x[j] : ((double)x[j] - m) / sqrt(v + 1e-6);
            assert_true(fabs(b->loss.goal[r * VALUES + j] - want) < 1e-9);
        }
        weights += b->loss.weight[r] * VALUES;
    }
    assert_true(fabs(b->loss.weight_sum - weights) < 1e-9);
}

TEST(rows_and_targets)
{
    for (const picture_form *form = picture_forms; form->name; ++form) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, NULL);
        CS_AUTO(cs_batch) b = batch_of(&t, 3);
        const cs_model_config *c = &t.model.config;
        bool hides = form->decoder || (form->two_stream && form->kind == CS_OBJ_MASKED);
        int64_t hidden = llround(0.4 * PATCHES);
        assert_int_equal(b.length, 1 + PATCHES - (hides ? hidden : 0));
        for (int64_t s = 0; s < 3; ++s) { /* the class token, at the first position, seen by all */
            int64_t first = s * b.length;
            assert_int_equal(b.token[first], c->ids.bos);
            assert_int_equal(b.position[first], 0);
            assert_int_equal(b.vis[first], 0);
            assert_true(form->reads_codes ? !b.real.row : b.real.row[first] == -1);
        }
        for (int64_t i = 0; i < 3 * b.length; ++i) {
            if (!form->reads_codes && b.real.row[i] >= 0) { /* a patch sits one behind its place */
                const float *x = b.real.values + i * VALUES;
                int64_t k = b.position[i] - 1, s = i / b.length;
                assert_memory_equal(x, t.corpus.real + (s * PATCHES + k) * VALUES,
                                    VALUES * sizeof *x);
            }
        }
        (form->target == CS_TARGET_IDS ? check_codes : check_targets)(&t, &b);
        assert_true(b.events > 0);
    }
}

/* --- what a prediction may see --- */

static void predict(training *t, cs_pass *pass, float *out)
{
    cs_batch_free(&pass->batch);
    pass->batch = batch_of(t, 2);
    OK(cs_pass_forward(pass, 1, (cs_run_key){0}));
    OK(cs_run_get_f32(pass->run, pass->network.loss.logits, out));
}

/* Whether the values of place k of example 0 are shown to the prediction of row r: of a mask those
 * that nothing predicts; of groups those before, which the same batch says by its plan. */
static bool shown_to(const cs_batch *b, const picture_form *form, int64_t r, int64_t k)
{
    if (form->kind == CS_OBJ_AR) {
        return k < b->loss.place[r];
    }
    if (form->kind == CS_OBJ_GVP) {
        return b->vis[1 + k] <= b->query.lim[b->loss.predict[r]];
    }
    for (int64_t q = 0; q < b->events; ++q) {
        if (b->loss.example[q] == 0 && b->loss.place[q] == k) {
            return false;
        }
    }
    return true;
}

/* Another patch of picture 0, in value or code; twice: the first again. */
static void change(training *t, int64_t k)
{
    if (t->corpus.real) {
        t->corpus.real[k * VALUES] *= -1;
    } else {
        t->corpus.token[k] = CS_FIRST_CODE + ((t->corpus.token[k] - CS_FIRST_CODE) ^ 1);
    }
}

TEST(hidden_patches_move_nothing)
{
    for (const picture_form *form = picture_forms; form->name; ++form) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, NULL);
        cs_network_options sizes = {.loss = t.options.loss};
        CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
        enum { MOST = CS_FIRST_CODE + CODES };
        const int64_t width = form->target == CS_TARGET_IDS ? MOST : VALUES;
        float before[2 * PATCHES * MOST], after[2 * PATCHES * MOST];
        int64_t moved = 0, still = 0;
        OK(cs_task_sizes(&t.options.task, &t.model.config, 2, PATCHES, &sizes));
        OK(cs_pass_open(&t.model, &sizes, &pass));
        predict(&t, &pass, before);
        for (int64_t k = 0; k < PATCHES; ++k) {
            change(&t, k);
            predict(&t, &pass, after);
            change(&t, k);
            for (int64_t r = 0; r < pass.batch.events; ++r) {
                bool same = memcmp(before + r * width, after + r * width,
                                   (size_t)width * sizeof *before) == 0;
                bool shown = pass.batch.loss.example[r] == 0 && shown_to(&pass.batch, form, r, k);
                if (same == shown) {
                    fail_msg("%s: patch %d, %s, %s prediction %d", form->name, (int)k,
                             shown ? "shown" : "hidden", same ? "leaves" : "moves", (int)r);
                }
                moved += !same;
                still += same;
            }
        }
        assert_true(moved > 0 && still > 0);
    }
}

/* --- bits --- */

static const char *const files[] = {
    "model.safetensors", "config.json", "checkpoint-12/model.safetensors",
    "checkpoint-12/optimizer.safetensors", "checkpoint-12/trainer.json"};

/* A run of `steps` under augmentation, which may go on from shorter ones. */
static void run_to(const picture_form *form, int threads, const char *dir, int64_t steps)
{
    const cs_augment augment = {0.5, 1.2, true};
    CS_AUTO(cs_images) m = make_pictures();
    CS_AUTO_BY(free_training, training) t = make_picture_training(form, threads, dir);
    cs_patch_view view;
    OK(cs_patch_view_make(&m, PATCH, NULL, &t.model.processor, &augment, 7, &view));
    if (form->target != CS_TARGET_IDS) {
        t.options.data.view =
            (cs_train_view){.take = cs_patch_view_take, .ctx = &view, .what = "area 0.5"};
    }
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.steps = steps;
    t.options.start.resume = true;
    t.options.rate.learning_rate = 1e-2;
    assert_true(isfinite(trained(&t).loss));
}

TEST_IN_DIR(threads_and_resume)
{
    for (const picture_form *form = picture_forms; form->name; ++form) {
        CS_AUTO_FREE char *a = cs_strdup(in_dir(state, form->name)), *b = cs_format("%s2", a),
                          *c = cs_format("%s3", a);
        assert_true(a && b && c);
        run_to(form, 1, a, 12);
        run_to(form, 2, b, 12);
        run_to(form, 1, c, 5);
        run_to(form, 2, c, 12);
        for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
            assert_same_file(a, b, files[i]);
            assert_same_file(a, c, files[i]);
        }
    }
}

/* A run of other augmentation, or of other pixels, is not this one's. */
TEST_IN_DIR(another_run)
{
    const picture_form *form = &picture_forms[0];
    const char *dir = in_dir(state, "run");
    cs_train_result result = {0};
    run_to(form, 1, dir, 5);
    CS_AUTO_BY(free_training, training) t = make_picture_training(form, 1, dir);
    t.options.start.resume = true;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.rate.learning_rate = 1e-2;
    assert_fails(cs_train(&t.model, &t.corpus, NULL, &t.options, &result), CS_ERR_USAGE,
                 "augmentation");
    t.corpus.real[3] += 0.5F;
    assert_fails(cs_train(&t.model, &t.corpus, NULL, &t.options, &result), CS_ERR_INPUT,
                 "a run with inputs: corpus \"");
}

/* --- learning, files, sines --- */

/* A few patches determine a wave: the error must fall to half the variance of the values, 0.5 (100
 * / 255)^2 = 0.077, of normalised ones (n - 1) / n = 0.75; of codes to 0.9 log CODES. */
TEST_IN_DIR(learns_waves)
{
    for (const picture_form *form = picture_forms; form->name; ++form) {
        CS_AUTO_BY(free_training, training) t =
            make_picture_training(form, 1, in_dir(state, form->name));
        t.options.steps = 600;
        t.options.data.batch = 16;
        t.options.rate.learning_rate = 1e-2;
        t.options.intervals.save_every = 0;
        cs_train_result r = trained(&t);
        double bound = form->target == CS_TARGET_PIXELS ? 0.038
                       : form->target == CS_TARGET_IDS  ? log(CODES) * 0.9
                                                        : 0.6;
        if (!(r.loss < bound)) {
            fail_msg("%s: loss %g", form->name, r.loss);
        }
        AUTO_OK(cs_model, back, cs_model_read(t.options.dir, t.backend, false, &back));
        assert_int_equal(back.config.head.target, form->target);
        assert_int_equal(back.config.shape.positions, PATCHES + 1);
        assert_int_equal(back.params.count, t.model.params.count);
        for (int64_t i = 0; i < back.params.count; ++i) {
            const int64_t n = back.params.param[i].rows * back.params.param[i].cols;
            float x[2048], y[2048];
            assert_true(n <= 2048);
            OK(cs_params_get(&t.model.params, i, CS_PARAM_VALUE, x));
            OK(cs_params_get(&back.params, i, CS_PARAM_VALUE, y));
            assert_memory_equal(x, y, (size_t)n * sizeof *x);
        }
        assert_int_equal(back.codes != NULL, form->target == CS_TARGET_IDS);
        if (back.codes) {
            assert_int_equal(back.codes->patch, PATCH);
            assert_memory_equal(back.codes->book.centre, t.model.codes->book.centre,
                                CODES * VALUES * sizeof(float));
        }
    }
}

/* Codes of other patches than the model's, or of another number, and files of none. */
TEST_IN_DIR(bad_codes)
{
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[6], 1, NULL);
    const char *dir = in_dir(state, "m"), *path = in_dir(state, "m/codes.safetensors");
    CS_AUTO(cs_images) m = make_pictures();
    cs_model back = {0};
    cs_corpus corpus = {0};
    OK(cs_model_write(&t.model, dir));
    t.model.codes->book.codes -= 1;
    OK(cs_codes_write(t.model.codes, path));
    assert_fails(cs_model_read(dir, t.backend, false, &back), CS_ERR_INPUT,
                 "3 codes of patches of side 2 do not match the model, with 6 ids");
    t.model.codes->book.centre[5] = NAN;
    OK(cs_codes_write(t.model.codes, path));
    assert_fails(cs_model_read(dir, t.backend, false, &back), CS_ERR_INPUT,
                 "code 1: value 1 is not finite");
    FILE *none = fopen(path, "w");
    assert_true(none && fputs("none", none) >= 0 && fclose(none) == 0);
    assert_fails(cs_model_read(dir, t.backend, false, &back), CS_ERR_INPUT, "codes.safetensors");
    cs_codes_free(&t.model.codes);
    t.model.config.shape.real_width = 0;
    assert_fails(cs_model_pictures(&t.model, &m, 1, &corpus), CS_ERR_USAGE, "no codes.safetensors");
    t.model.config.head.target = CS_TARGET_PIXELS;
    assert_fails(cs_model_config_check(&t.model.config), CS_ERR_USAGE, "positions of 0 values");
}

TEST(sines_of_the_plane)
{
    cs_model_config c = {.picture.height = 4,
                         .picture.width = 6,
                         .picture.patch = 2,
                         .picture.channels = 1,
                         .arch = CS_ARCH_VIT};
    float table[7 * 8];
    OK(cs_model_config_pictures(&c));
    assert_int_equal(c.shape.positions, 7);
    OK(cs_position_waves(&c, 8, table));
    assert_each(j, 0, 8, table[j] == 0);
    const float *last = table + 6 * 8; /* row 1, column 2; rates 1 and 1/100 */
    const double want[] = {sin(2), sin(0.02), cos(2), cos(0.02),
                           sin(1), sin(0.01), cos(1), cos(0.01)};
    assert_each(j, 0, 8, fabs((double)last[j] - want[j]) < 1e-6);
}

/* --- orders --- */

/* Of the patches in a sequence, with what a place reads and its sines. */
TEST(orders_of_patches)
{
    char list[CS_ORDER_SIZE] = "";
    const char *const name[] = {"hilbert", "squares:2", "random:7", list};
    for (int k = PATCHES; k > 0; --k) {
        (void)snprintf(list + strlen(list), 8, "%s%d", k < PATCHES ? "," : "", k - 1);
    }
    CS_AUTO(cs_images) m = make_pictures();
    for (size_t o = 0; o < sizeof name / sizeof *name; ++o) {
        CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[1], 1, NULL);
        cs_model_config c = t.model.config, back;
        CS_AUTO_FREE int32_t *order = NULL;
        float rows[(PATCHES + 1) * 16], table[(PATCHES + 1) * 16];
        OK(cs_position_waves(&c, c.shape.width, rows));
        (void)snprintf(c.picture.order, sizeof c.picture.order, "%s", name[o]);
        OK(cs_model_order(&c, &order));
        OK(cs_position_waves(&c, c.shape.width, table));
        t.model.config = c;
        AUTO_OK(cs_corpus, corpus, cs_model_pictures(&t.model, &m, 1, &corpus));
        int moved = 0;
        for (int k = 0; k < PATCHES; ++k) {
            moved += order[k] != k;
            assert_memory_equal(table + (k + 1) * 16, rows + (order[k] + 1) * 16, 64);
            assert_memory_equal(corpus.real + (PATCHES + k) * VALUES,
                                t.corpus.real + (PATCHES + order[k]) * VALUES,
                                VALUES * sizeof(float));
        }
        assert_true(moved >= PATCHES / 2);
        json_auto_t *json = cs_model_config_json(&c);
        OK(cs_model_config_parse("config.json", json, &back));
        assert_string_equal(back.picture.order, name[o]);
    }
}

/* A network of all patches to all does not know the order: with the sines of their places in the plane
 * it fills hidden patches as it does along rows. Floats are summed in another order. */
TEST(an_order_alone_changes_nothing)
{
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[0], 1, NULL);
    cs_model_kind kind = {.kind = CS_KIND_MASKED,
                          .attention = CS_ATTENTION_BIDIRECTIONAL,
                          .pretrained = CS_ATTENTION_BIDIRECTIONAL};
    float made[2][2 * PATCHES * VALUES];
    ARRAY(int32_t, group, (2 * PATCHES), k, k % 5 < 2 ? 0 : 1 + k % 3);
    for (int o = 0; o < 2; ++o) {
        cs_model_config c = t.model.config;
        CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
        c.picture.sinusoidal = true;
        (void)snprintf(c.picture.order, sizeof c.picture.order, "%s", o ? "hilbert" : "");
        AUTO_OK(cs_model, model, cs_model_init(&c, t.backend, false, &model));
        OK(cs_model_randomise(&model, 4));
        OK(cs_patch_reader_open(&model, &kind, 2, &reader));
        OK(cs_patches_fill(&reader, 2, t.corpus.real, NULL, NULL, group, 3, made[o]));
    }
    assert_each(i, 0, 2 * PATCHES * VALUES, fabs((double)made[0][i] - (double)made[1][i]) < 1e-5);
}

/* Without a length a text is cut at 512 tokens and a picture is not. */
TEST(pictures_are_read_whole)
{
    cs_model_config c = {.shape.positions = 1025, .picture.patch = 2};
    int64_t length = 0, batch = 0;
    OK(cs_pieces_limits(&c, 1, &length, &batch));
    assert_int_equal(length, 1025);
    c.picture.patch = length = 0;
    OK(cs_pieces_limits(&c, 1, &length, &batch));
    assert_int_equal(length, 512);
}

/* --- labelled sides --- */

TEST(sides_of_pictures)
{
    CS_AUTO(cs_images) m = make_pictures();
    cs_corpus all = {0}, train = {0}, test = {0};
    cs_labelled_text a = {0}, b = {0};
    OK(cs_images_patches(&m, PATCH, NULL, NULL, 0, &all));
    OK(cs_labelled_side(&all, 0, 0, NULL, &a, &train));
    OK(cs_labelled_side(&all, 1, 5, &a, &b, &test));
    assert_int_equal(train.documents, 3 * PICTURES / 4);
    assert_int_equal(a.count, train.documents);
    assert_int_equal(test.documents, 5);
    assert_string_equal(a.class_name[0], "along"); /* byte order; the corpus has "down" first */
    for (int64_t d = 0; d < 5; ++d) {              /* pictures 3, 7, ...: all of class "along" */
        assert_true(b.value[d] == 0);
        assert_memory_equal(test.real + d * PATCHES * VALUES,
                            all.real + (4 * d + 3) * PATCHES * VALUES,
                            PATCHES * VALUES * sizeof *all.real);
    }
    cs_corpus_free(&test);
    cs_labelled_text_free(&b);
    all.label[3] = -1;
    assert_fails(cs_labelled_side(&all, 1, 0, &a, &b, &test), CS_ERR_INPUT, "expected a label");
    cs_corpus_free(&all);
    cs_corpus_free(&train);
    cs_labelled_text_free(&a);
}

/* --- refusals --- */

TEST(what_does_not_fit)
{
    cs_model_config c = {
        .picture.height = 6, .picture.width = 8, .picture.patch = 4, .picture.channels = 1};
    assert_fails(cs_model_config_pictures(&c), CS_ERR_USAGE, "patch size 4 does not divide");
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[2], 1, NULL);
    cs_model_config d = t.model.config;
    d.decoder.width = 18;
    assert_fails(cs_model_config_check(&d), CS_ERR_USAGE, "width that is a multiple of 4, not 18");
    d = t.model.config;
    d.shape.positions += 1;
    assert_fails(cs_model_config_check(&d), CS_ERR_USAGE, "positions");
    d = t.model.config;
    d.decoder.attention = CS_DECODER_CAUSAL_CROSS;
    assert_fails(cs_task_check(&t.options.task, &d), CS_ERR_USAGE, "reads real rows");
    d = t.model.config;
    (void)snprintf(d.picture.order, sizeof d.picture.order, "spiral");
    assert_fails(cs_model_config_check(&d), CS_ERR_USAGE, "order \"spiral\"");
    t.options.task.objective = cs_objective_default(CS_OBJ_AR);
    assert_fails(cs_task_check(&t.options.task, &t.model.config), CS_ERR_USAGE, "masked");
}
