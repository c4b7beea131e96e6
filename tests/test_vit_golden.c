/* Hugging Face's classes of pictures: files of transformers with random weights, and what it computes of
 * some pictures (tests/oracle/pictures_parity.py --golden). */
#include "analysis/vision/patch_values.h"
#include "analysis/vision/perceptual.h"
#include "infer/hidden_states.h"
#include "io/json.h"
#include "io/npz.h"
#include "io_support.h"
#include "vit_support.h"

#define FOLDER "tests/golden/pictures/"
enum {
    N = 3,
    EDGE = 8,
    GRID = 16,
    WIDTH = 16,
    LAYERS = 3,
    OF_PATCH = 12,
    ROWS = N * (GRID + 1),
    MOST_ROWS = N * (GRID + 3)
};
static const double TOLERANCE = 1e-5; /* float against double; values are of order one to ten */

typedef struct {
    cs_backend *backend;
    cs_model model;
    cs_corpus corpus;
    cs_npz *reference;
} world;

static void numbers(world *w, const char *name, int64_t count, double *to)
{
    AUTO_OK(cs_array, array, cs_npz_read(w->reference, name, &array));
    assert_int_equal(array.size, count);
    for (int64_t i = 0; i < count; ++i) {
        to[i] = cs_array_f64(&array, i);
    }
}

static void world_open_of(world *w, const char *name)
{
    static double pixels[N * EDGE * EDGE * 3];
    CS_AUTO_FREE char *dir = cs_format(FOLDER "%s", name),
                      *path = cs_format("%s/reference.npz", dir);
    uint8_t pixel[N * EDGE * EDGE * 3], held[N] = {0};
    int32_t label[N] = {-1, -1, -1};
    cs_images m = {.name = (char[]){"g"},
                   .path = (char[]){"g"},
                   .count = N,
                   .height = EDGE,
                   .width = EDGE,
                   .channels = 3,
                   .pixel = pixel,
                   .label = label,
                   .held_out = held};
    *w = (world){0};
    assert_true(dir && path);
    OK(cs_backend_cpu(1, &w->backend));
    OK(cs_model_read(dir, w->backend, false, &w->model));
    OK(cs_npz_open(path, 0, &w->reference));
    numbers(w, "pixels", N * EDGE * EDGE * 3, pixels);
    for (int i = 0; i < N * EDGE * EDGE * 3; ++i) {
        pixel[i] = (uint8_t)pixels[i];
    }
    OK(cs_images_patches(&m, 2, NULL, NULL, 0, &w->corpus));
}

static void world_free(world *w)
{
    cs_npz_close(w->reference);
    cs_corpus_free(&w->corpus);
    cs_model_free(&w->model);
    cs_backend_free(&w->backend);
}

typedef struct {
    int64_t rows;
    float state[LAYERS][MOST_ROWS][WIDTH];
} kept;

static cs_status keep(void *ctx, const cs_hidden_block *b)
{
    kept *k = ctx;
    for (int64_t l = 0; l < b->layers; ++l) {
        memcpy(k->state[l][k->rows], b->state[l], (size_t)(b->rows * b->width) * sizeof(float));
    }
    k->rows += b->rows;
    return CS_OK;
}

static void check_states(const char *name)
{
    static const int64_t layer[] = {0, 1, 2};
    static kept ours;
    static double theirs[LAYERS * MOST_ROWS * WIDTH];
    static const int32_t before[] = {0, 2, 3};
    CS_AUTO(world) w = {0};
    world_open_of(&w, name);
    const int64_t extra = cs_model_config_extra(&w.model.config), rows = N * (GRID + extra);
    const cs_hidden_options o = {.layer = layer,
                                 .layers = LAYERS,
                                 .masks.attention = CS_ATTENTION_BIDIRECTIONAL,
                                 .around = {.before = before, .befores = extra}};
    memset(&ours, 0, sizeof ours);
    OK(cs_hidden_states(&w.model, &w.corpus, &o, keep, &ours));
    assert_int_equal(ours.rows, rows);
    numbers(&w, "states", LAYERS * rows * WIDTH, theirs);
    for (int64_t i = 0; i < LAYERS * rows * WIDTH; ++i) {
        const int64_t l = i / (rows * WIDTH), r = i / WIDTH % rows;
        const double mine = (double)ours.state[l][r][i % WIDTH];
        if (!(fabs(mine - theirs[i]) < TOLERANCE)) {
            fail_msg("%s, layer %d: %g, not %g", name, (int)l, mine, theirs[i]);
        }
    }
}

TEST(states)
{
    check_states("vit");
    check_states("vit-switched");
    check_states("classifier");
}

/* A token of distillation, none at all, no bias and a norm of what is read, factors of columns, and
 * relative positions in the plane by a table of all layers, tables of each, or both; and bodies of
 * classes with heads that are not read. */
TEST(states_of_other_classes)
{
    static const char *const name[] = {"deit",
                                       "ijepa",
                                       "clip",
                                       "siglip",
                                       "dinov2",
                                       "registers",
                                       "beit",
                                       "beit-shared",
                                       "beit-each",
                                       "deit-teacher",
                                       "ijepa-classes",
                                       "dinov2-classes",
                                       "registers-classes"};
    assert_each(i, 0, 13, (check_states(name[i]), true));
}

/* A GPU refuses distances in the plane, whatever the model's other parts are. */
TEST(gpus_refuse_beit)
{
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) model = {0};
    backend->basic = true;
    assert_fails(cs_model_read(FOLDER "beit-shared", backend, false, &model), CS_ERR_DEVICE,
                 "does not run on cpu; give --device cpu");
}

/* The config.json of microsoft/beit-base-patch16-224, in the sizes of the golden model, and settings
 * that are refused. */
TEST(beit_published)
{
    static const char published[] =
        "{'add_fpn': false, 'architectures': ['BeitForImageClassification'],"
        " 'attention_probs_dropout_prob': 0.0, 'auxiliary_channels': 256,"
        " 'auxiliary_concat_input': false, 'auxiliary_loss_weight': 0.4, 'auxiliary_num_convs': 1,"
        " 'drop_path_rate': 0.1, 'hidden_act': 'gelu', 'hidden_dropout_prob': 0.0,"
        " 'hidden_size': 16, 'id2label': {'0': 'tench', '1': 'goldfish'}, 'image_size': 8,"
        " 'initializer_range': 0.02, 'intermediate_size': 8, 'layer_norm_eps': 1e-06,"
        " 'layer_scale_init_value': 0.1, 'model_type': 'beit', 'num_attention_heads': 2,"
        " 'num_channels': 3, 'num_hidden_layers': 2, 'out_indices': [3, 5, 7, 11],"
        " 'patch_size': 2, 'pool_scales': [1, 2, 3, 6], 'semantic_loss_ignore_index': 255,"
        " 'torch_dtype': 'float32', 'transformers_version': '4.11.0.dev0',"
        " 'use_absolute_position_embeddings': false, 'use_auxiliary_head': true,"
        " 'use_mask_token': false, 'use_mean_pooling': true, 'use_relative_position_bias': true,"
        " 'use_shared_relative_position_bias': false, 'vocab_size': 8192}";
    char text[sizeof published];
    cs_model_config read, golden;
    CS_AUTO_FREE char *unread = NULL;
    json_auto_t *ours = NULL;
    for (size_t i = 0; i < sizeof published; ++i) {
        text[i] = (char)(published[i] == '\'' ? '"' : published[i]);
    }
    json_auto_t *theirs = json_loads(text, 0, NULL);
    assert_non_null(theirs);
    OK(cs_json_read(FOLDER "beit-each/config.json", &ours));
    OK(cs_model_config_parse("published", theirs, &read));
    OK(cs_model_config_parse("golden", ours, &golden));
    OK(cs_config_unread(theirs, CS_ARCH_BEIT, &unread));
    assert_null(unread);
    json_auto_t *a = cs_model_config_json(&read), *b = cs_model_config_json(&golden);
    assert_true(json_equal(a, b));
    assert_int_equal(read.position.relative_buckets, 7 * 7 + 3);
    OK(cs_json_set(theirs, "layer_scale_init_value", json_string("x")));
    assert_fails(cs_model_config_parse("f", theirs, &read), CS_ERR_INPUT, "layer_scale_init_value");
    OK(cs_json_set(theirs, "layer_scale_init_value", json_integer(0)));
    OK(cs_json_set(theirs, "use_relative_position_bias", json_integer(1)));
    assert_fails(cs_model_config_parse("f", theirs, &read), CS_ERR_INPUT,
                 "'use_relative_position_bias' is not a boolean");
    OK(cs_json_set(theirs, "use_relative_position_bias", json_false()));
    OK(cs_json_set(theirs, "image_size", json_pack("[i,i]", 8, 8)));
    assert_fails(cs_model_config_parse("f", theirs, &read), CS_ERR_INPUT, "image_size");
}

/* Outputs of the class token's last state. */
TEST(classes)
{
    enum { CLASSES = 3 };
    float weight[CLASSES * WIDTH], bias[CLASSES];
    double states[LAYERS * ROWS * WIDTH], logits[N * CLASSES];
    CS_AUTO(world) w = {0};
    world_open_of(&w, "classifier");
    const cs_params *p = &w.model.params;
    assert_int_equal(w.model.config.head.classes, CLASSES);
    OK(cs_params_get(p, cs_params_find(p, "classifier.output.weight"), CS_PARAM_VALUE, weight));
    OK(cs_params_get(p, cs_params_find(p, "classifier.output.bias"), CS_PARAM_VALUE, bias));
    numbers(&w, "states", LAYERS * ROWS * WIDTH, states);
    numbers(&w, "logits", N * CLASSES, logits);
    const double *last = states + 2 * ROWS * WIDTH;
    for (int i = 0; i < N * CLASSES; ++i) {
        double sum = (double)bias[i % CLASSES];
        sum += SUM(j, 0, WIDTH,
                   (double)weight[i % CLASSES * WIDTH + j] *
                       last[(int64_t)(i / CLASSES) * (GRID + 1) * WIDTH + j]);
        assert_true(fabs(sum - logits[i]) < TOLERANCE);
    }
}

/* The predictions of hidden patches, under the masks that transformers drew. */
TEST(masked_autoencoder)
{
    static double hidden[N * GRID], theirs[N * GRID * OF_PATCH];
    static float ours[N * GRID * OF_PATCH];
    int32_t group[N * GRID];
    CS_AUTO(world) w = {0};
    world_open_of(&w, "mae");
    CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
    int64_t checked = 0;
    assert_int_equal(w.model.config.head.target, CS_TARGET_PIXELS);
    assert_true(w.model.config.picture.sinusoidal);
    AUTO_OK(cs_model_kind, kind, cs_model_kind_read(FOLDER "mae", &w.model, &kind));
    OK(cs_patch_reader_open(&w.model, &kind, 2, &reader));
    numbers(&w, "hidden", N * GRID, hidden);
    numbers(&w, "predicted", N * GRID * OF_PATCH, theirs);
    for (int i = 0; i < N * GRID; ++i) {
        group[i] = hidden[i] > 0;
    }
    OK(cs_patches_fill(&reader, N, w.corpus.real, NULL, NULL, group, 1, ours));
    for (int64_t i = 0; i < (int64_t)N * GRID * OF_PATCH; ++i) {
        if (group[i / OF_PATCH] > 0) {
            ++checked;
            assert_true(fabs((double)ours[i] - theirs[i]) < TOLERANCE);
        }
    }
    assert_int_equal(checked, N * 12 * OF_PATCH);
}

/* The perceptual distance of the pictures from one another, by numpy of transformers' states: those of the
 * patches after layers 1 and 2 over their norms, mean of squared distances. Unit states err by at most
 * TOLERANCE over norms that are above 1. */
TEST(perceptual_distances)
{
    enum { PICTURE = EDGE * EDGE * 3, PAIRS = 4 };
    static const int first[PAIRS] = {0, 0, 1, 2}, second[PAIRS] = {1, 2, 2, 2};
    static const double wanted[PAIRS] = {0.175370788, 0.300347273, 0.464587001, 0};
    static double pixels[N * PICTURE];
    static float a[PAIRS * PICTURE], b[PAIRS * PICTURE];
    double distance[PAIRS];
    CS_AUTO(world) w = {0};
    CS_AUTO(cs_model_text) t = {.dir = FOLDER "classifier"};
    cs_images like = {
        .name = (char[]){"g"}, .path = (char[]){"g"}, .height = EDGE, .width = EDGE, .channels = 3};
    world_open_of(&w, "classifier");
    numbers(&w, "pixels", N * PICTURE, pixels);
    OK(cs_backend_cpu(1, &t.backend));
    OK(cs_model_text_read(t.dir, &t));
    for (int i = 0; i < PAIRS * PICTURE; ++i) {
        a[i] = (float)(pixels[first[i / PICTURE] * PICTURE + i % PICTURE] / 255);
        b[i] = (float)(pixels[second[i / PICTURE] * PICTURE + i % PICTURE] / 255);
    }
    OK(cs_perceptual(&t, &like, PAIRS, a, b, 1, distance));
    assert_each(k, 0, PAIRS, fabs(distance[k] - wanted[k]) < 4 * TOLERANCE);
    assert_true(distance[3] == 0);
    like.width = 4;
    assert_fails(cs_perceptual(&t, &like, PAIRS, a, b, 1, distance), CS_ERR_USAGE,
                 "pictures are 8 x 4 x 3");
    cs_model_text_free(&t);
    t = (cs_model_text){.dir = FOLDER "vit"};
    OK(cs_backend_cpu(1, &t.backend));
    OK(cs_model_text_read(t.dir, &t));
    assert_fails(cs_perceptual_check(&t, &like), CS_ERR_USAGE, "vit does not classify pictures");
}
