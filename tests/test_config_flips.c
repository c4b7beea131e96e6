/* No key of config.json is passed over in models of pictures and in the layer of linear attention: another
 * value gives other outputs or a refusal (of other architectures: test_architectures.c). */
#include "analysis/vision/patch_values.h"
#include "flip_support.h"
#include "infer/hidden_states.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "model/pass.h"
#include "model_support.h"
#include "train/model_kind.h"
#include "vit_support.h"

#define FOLDER "tests/golden/pictures/"
enum { N = 2, EDGE = 8, MOST = 1 << 14, ROWS = 5 };

/* --- what a model says ------------------------------------------------------------------------ */

typedef struct {
    int64_t count;
    double value[MOST];
} said;

static void say(said *s, double x)
{
    assert_true(s->count < MOST);
    s->value[s->count++] = x;
}

static cs_status keep(void *ctx, const cs_hidden_block *b)
{
    for (int64_t l = 0; l < b->layers; ++l) {
        for (int64_t i = 0; i < b->rows * b->width; ++i) {
            say(ctx, (double)b->state[l][i]);
        }
    }
    return CS_OK;
}

/* Two pictures in patches of the model. */
static cs_status patches_of(int64_t patch, cs_corpus *out)
{
    static uint8_t pixel[N * EDGE * EDGE * 3], held[N];
    int32_t label[N] = {-1, -1};
    const cs_images m = {.name = (char[]){"g"},
                         .path = (char[]){"g"},
                         .count = N,
                         .height = EDGE,
                         .width = EDGE,
                         .channels = 3,
                         .pixel = pixel,
                         .label = label,
                         .held_out = held};
    for (int i = 0; i < N * EDGE * EDGE * 3; ++i) {
        pixel[i] = (uint8_t)(i * 37 % 251);
    }
    return cs_images_patches(&m, patch, NULL, NULL, 0, out);
}

/* All states, and with a decoder the values of patches that are hidden; what is predicted of them. */
static cs_status ask_pictures(cs_model *model, const char *dir, said *s)
{
    const cs_model_config *c = &model->config;
    CS_AUTO(cs_corpus) corpus = {0};
    CS_AUTO(cs_model_kind) kind = {0};
    cs_status status = cs_model_config_sees(c, "g", EDGE, EDGE, 3);
    if (status == CS_OK) status = patches_of(c->picture.patch, &corpus);
    if (status == CS_OK && c->decoder.layers == 0) {
        const int64_t layer[] = {0, 1, 2};
        const cs_hidden_options o = {.layer = layer,
                                     .layers = 3,
                                     .masks.attention = CS_ATTENTION_BIDIRECTIONAL,
                                     .around = {.before = &c->ids.bos, .befores = 1}};
        status = cs_hidden_states(model, &corpus, &o, keep, s);
    } else if (status == CS_OK && (status = cs_model_kind_read(dir, model, &kind)) == CS_OK) {
        CS_AUTO_BY(cs_patch_reader_close, cs_patch_reader) reader = {0};
        const int64_t values = corpus.tokens * corpus.real_width;
        float *to = test_zeros(values, sizeof *to);
        memset(to, 0, (size_t)values * sizeof *to);
        ARRAY(int32_t, group, corpus.tokens, i, i % 3 > 0);
        status = cs_patch_reader_open(model, &kind, 1, &reader);
        if (status == CS_OK)
            status = cs_patches_fill(&reader, N, corpus.real, NULL, NULL, group, 1, to);
        for (int64_t i = 0; i < values && status == CS_OK; ++i) {
            say(s, (double)to[i]);
        }
    }
    say(s, (double)c->head.target);
    return status;
}

/* Logits of a query that sees two rows, and of one that sees all. */
static cs_status ask_linear(cs_model *model, const char *dir, said *s)
{
    const cs_network_options sizes = {
        .form = CS_FORM_LINEAR, .batch = 1, .length = ROWS, .queries = 2, .predictions = 2};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    (void)dir;
    cs_status status = cs_pass_open(model, &sizes, &pass);
    if (status == CS_OK) status = cs_pass_begin(&pass, 1, ROWS, 2);
    for (int32_t i = 0; i < ROWS && status == CS_OK; ++i) {
        cs_batch_content(&pass.batch, &model->config, 0, i, i % 3 + 2, i, i);
    }
    for (int32_t q = 0; q < 2 && status == CS_OK; ++q) {
        cs_batch_query(&pass.batch, q, -1, q ? ROWS : 1);
        cs_batch_predict(&pass.batch, q, -1, 0, 0, 0);
    }
    if (status == CS_OK) status = cs_pass_forward(&pass, 1, (cs_run_key){0});
    double *z = status == CS_OK ? test_zeros(2 * model->config.shape.vocab, sizeof *z) : NULL;
    if (status == CS_OK) status = cs_run_get(pass.run, pass.network.loss.logits, z);
    for (int64_t i = 0; i < 2 * model->config.shape.vocab && status == CS_OK; ++i) {
        say(s, z[i]);
    }
    return status;
}

typedef cs_status (*asking)(cs_model *model, const char *dir, said *s);

/* CS_OK: it has a result. */
static cs_status answers(const char *dir, asking ask, said *s)
{
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) model = {0};
    s->count = 0;
    cs_status status = cs_model_read(dir, backend, false, &model);
    if (status == CS_OK) status = ask(&model, dir, s);
    return status;
}

static const char *in_folder(const char *dir)
{
    static char path[512];
    assert_true(snprintf(path, sizeof path, "%s/config.json", dir) < (int)sizeof path);
    return path;
}

/* --- another value of every key --------------------------------------------------------------- */

/* Keys that the model has no part for: of pictures masks of training and the pooler; a layer of linear
 * attention has no mlp and no norm. */
static bool is_idle(bool linear, const char *key)
{
    static const char *const idle[] = {
        "encoder_stride", "mask_ratio", "pooler_act",   "pooler_output_size",
        "id2label",       "label2id",   "problem_type", "trained",
        "mask_id",        "unk_id"};
    static const char *const none[] = {"hidden_act", "intermediate_size", "layer_norm_eps"};
    bool found = ANY(i, 0, sizeof idle / sizeof *idle, strcmp(key, idle[i]) == 0);
    for (size_t i = 0; linear && i < sizeof none / sizeof *none; ++i) {
        found = found || strcmp(key, none[i]) == 0;
    }
    return found;
}

static bool matters(const char *dir, const json_t *config, asking ask, const said *before)
{
    static said after;
    OK(cs_json_write(in_folder(dir), config));
    const bool other =
        answers(dir, ask, &after) != CS_OK || after.count != before->count ||
        memcmp(after.value, before->value, (size_t)after.count * sizeof *after.value) != 0;
    cs_reason_clear();
    return other;
}

/* Every key of `object`, which is the configuration or what is under "cospec". Returns how many. */
static int flip_all(const char *name, const char *dir, json_t *config, bool inner, asking ask,
                    const said *before)
{
    json_t *object = inner ? json_object_get(config, "cospec") : config;
    const char *key;
    json_t *value;
    int keys = 0;
    json_object_foreach(object, key, value)
    {
        /* where the class is named, another type is noted and not read */
        const bool named =
            strcmp(key, "model_type") == 0 && json_object_get(config, "architectures");
        if (named || flip_is_free(key) || is_idle(ask == ask_linear, key) ||
            strcmp(key, "cospec") == 0) {
            continue;
        }
        json_auto_t *other = json_deep_copy(config);
        OK(cs_json_set(inner ? json_object_get(other, "cospec") : other, key, flip_of(key, value)));
        if (!matters(dir, other, ask, before)) {
            fail_msg("%s: another value of '%s' changes nothing", name, key);
        }
        ++keys;
    }
    return keys;
}

static int flip_model(const char *name, const char *dir, asking ask)
{
    static said before, again;
    json_auto_t *config = NULL;
    OK(cs_json_read(in_folder(dir), &config));
    OK(answers(dir, ask, &before));
    OK(answers(dir, ask, &again));
    assert_true(before.count > 10 && before.count == again.count);
    assert_memory_equal(before.value, again.value, (size_t)before.count * sizeof *before.value);
    int keys = flip_all(name, dir, config, false, ask, &before);
    keys += flip_all(name, dir, config, true, ask, &before);
    json_auto_t *unknown = json_copy(config);
    OK(cs_json_set(unknown, "memory_heads", json_integer(2)));
    assert_false(matters(dir, unknown, ask, &before));
    return keys;
}

static void copy(const char *from, const char *to, const char *name)
{
    CS_AUTO_FREE char *source = cs_format("%s/%s", from, name),
                      *target = cs_format("%s/%s", to, name), *bytes = NULL;
    int64_t size = 0;
    assert_true(source && target);
    OK(cs_file_read(source, 1 << 20, &bytes, &size));
    OK(cs_file_write(target, bytes, size));
}

TEST_IN_DIR(of_pictures)
{
    static const char *const name[] = {"vit", "vit-switched", "classifier", "mae"};
    for (int i = 0; i < 4; ++i) {
        const char *dir = in_dir(state, name[i]);
        CS_AUTO_FREE char *golden = cs_format(FOLDER "%s", name[i]);
        assert_non_null(golden);
        OK(cs_dir_make(dir));
        copy(golden, dir, "config.json");
        copy(golden, dir, "model.safetensors");
        assert_true(flip_model(name[i], dir, ask_pictures) >= 10);
    }
}

TEST_IN_DIR(of_linear_attention)
{
    for (int variant = 0; variant < 2; ++variant) {
        const model_case what = {"", CS_FORM_LINEAR, CS_ARCH_LINEAR, CS_LOSS_NONE, NULL};
        cs_model_config config = case_config(&what, false);
        const char *dir = in_dir(state, variant ? "sum" : "mean");
        config.head.pooling = variant ? 0 : 2;
        config.shape.positions = variant ? 0 : config.shape.positions;
        AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
        AUTO_OK(cs_model, model, cs_model_init(&config, backend, false, &model));
        OK(cs_model_randomise(&model, 3));
        OK(cs_model_write(&model, dir));
        assert_true(flip_model(variant ? "linear, sum" : "linear", dir, ask_linear) >= 6);
    }
}
