/* Every golden model is written as it was read: the files that come out have the same parameters. */
#include <dirent.h>

#include "backend_ref.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "model_support.h"

static void same_values(const cs_model *a, const cs_model *b, const char *name)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int64_t i = 0; i < a->params.count; ++i) {
        const cs_param *p = &a->params.param[i], *q = &b->params.param[i];
        const int64_t items = p->rows * p->cols;
        float *x = cs_calloc(items, sizeof *x), *y = cs_calloc(items, sizeof *y);
        assert_string_equal(p->name, q->name);
        assert_int_equal(items, q->rows * q->cols);
        OK(cs_params_get(&a->params, i, CS_PARAM_VALUE, x));
        OK(cs_params_get(&b->params, i, CS_PARAM_VALUE, y));
        for (int64_t k = 0; k < items; ++k) { /* gains are stored minus 1 */
            if (!(fabsf(x[k] - y[k]) <= 1e-6F)) {
                fail_msg("%s: %s comes back other", name, p->name);
            }
        }
        cs_free(x);
        cs_free(y);
    }
}

static void come_back(void **state, const char *where)
{
    DIR *folder = opendir(where);
    assert_non_null(folder);
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        CS_AUTO_FREE char *from = cs_format("%s/%s", where, entry->d_name),
                          *config = cs_format("%s/config.json", from);
        const char *to = in_dir(state, entry->d_name);
        CS_AUTO(cs_model) model = {0}, back = {0};
        if (entry->d_name[0] == '.' || !cs_path_exists(config)) continue;
        OK(cs_model_read(from, backend, false, &model));
        OK(cs_model_write(&model, to));
        OK(cs_model_read(to, backend, false, &back));
        same_values(&model, &back, entry->d_name);
    }
    (void)closedir(folder);
}

TEST_IN_DIR(models_of_texts_come_back)
{
    come_back(state, "tests/golden/models");
}

TEST_IN_DIR(models_of_images_come_back)
{
    come_back(state, "tests/golden/pictures");
}

/* Mixtures of experts are read alone. */
TEST(experts_are_not_trained)
{
    const cs_network_options options = {
        .loss = CS_LOSS_CROSS_ENTROPY, .training = true, .batch = 1, .length = 4, .predictions = 1};
    cs_network network = {0};
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    AUTO_OK(cs_model, model, cs_model_read("tests/golden/models/mixtral", backend, false, &model));
    assert_fails(cs_network_build(&model, &options, &network), CS_ERR_USAGE,
                 "mixtral can be read, but neither trained nor fine-tuned");
    assert_fails(cs_model_config_tunes(&model.config), CS_ERR_USAGE,
                 "mixtures of experts are read, but not fine-tuned");
}

/* The images of a model of images and texts: its vision_config, and no tensor of the text tower. */
TEST_IN_DIR(towers_of_clip_come_back)
{
    const char *dir = in_dir(state, "clip");
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) model = {0}, back = {0};
    json_auto_t *config = NULL;
    OK(cs_model_read("tests/golden/pictures/clip", backend, false, &model));
    OK(cs_model_write(&model, dir));
    CS_AUTO_FREE char *path = cs_format("%s/config.json", dir);
    OK(cs_json_read(path, &config));
    json_auto_t *whole = json_pack("{s:s, s:{s:i}, s:O}", "model_type", "clip", "text_config",
                                   "hidden_size", 512, "vision_config", config);
    OK(cs_json_write(path, whole));
    OK(cs_model_read(dir, backend, false, &back));
    same_values(&model, &back, "clip");
    assert_int_equal(back.config.arch, CS_ARCH_CLIP_VISION_MODEL);
}

/* Models with the tensors of LTG-BERT: config.json, the code in the folder and what is read. NULL:
 * no code; `part`: of the reason why the model is refused. */
TEST_IN_DIR(vectors_of_ltg_bert_are_split_as_its_files_say)
{
#define OF_CODE                                                                                    \
    "\"auto_map\": {\"AutoModelForMaskedLM\": \"ltg/x--modeling_ltgbert.LtgBertForMaskedLM\"}"
    static const char heads[] = "query_pos, key_pos = pos.view(-1, self.num_heads, "
                                "2 * self.head_size).chunk(2, dim=2)\n",
                      halves[] = "query_pos = query_pos.view(-1, self.num_heads, self.head_size)\n",
                      unknown[] = "the split of the vectors of distances is unknown";
    const struct {
        const char *keys, *code, *part;
        bool by_head;
    } of[] = {
        {"\"architectures\": [\"LtgBertForMaskedLM\"]", NULL, unknown, false},
        {"\"architectures\": [\"LtgBertForMaskedLM\"]", halves, unknown, false}, /* not named */
        {OF_CODE, NULL, unknown, false},
        {OF_CODE, "class LtgBertForMaskedLM: pass\n", unknown, false},
        {OF_CODE, "query_pos.view(self.num_heads, 2 * self.head_size)\n", unknown, false},
        {OF_CODE, halves, NULL, false},
        {OF_CODE, heads, NULL, true},
        {OF_CODE ", \"model_type\": \"bert\"", heads, NULL, true},
        {"\"position_by_head\": false", NULL, NULL, false},
        {"\"position_by_head\": true", NULL, NULL, true},
        {"\"position_by_head\": null", NULL, unknown, false},
        {"\"architectures\": [\"NorbertForMaskedLM\"]", NULL, NULL, true},
        {"\"architectures\": [\"NorbertModel\"], " OF_CODE, halves, NULL, false},
        {"\"num_attention_heads\": 1", NULL, NULL, false}, /* no difference */
    };
    const char *dir = in_dir(state, "ltg-bert");
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) golden = {0};
    OK(cs_model_read("tests/golden/models/ltg-bert", backend, false, &golden));
    CS_AUTO_FREE char *path = cs_format("%s/config.json", dir),
                      *code = cs_format("%s/modeling_ltgbert.py", dir);
    OK(cs_model_write(&golden, dir));
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        CS_AUTO_FREE char *text = cs_format("{%s}", of[i].keys);
        json_auto_t *keys = json_loads(text, 0, NULL), *config = NULL;
        CS_AUTO(cs_model) model = {0};
        OK(cs_json_read("tests/golden/models/ltg-bert/config.json", &config));
        (void)json_object_del(config, "position_by_head");
        assert_int_equal(json_object_update(config, keys), 0);
        OK(cs_json_write(path, config));
        (void)remove(code);
        if (of[i].code) OK(cs_file_write(code, of[i].code, (int64_t)strlen(of[i].code)));
        if (of[i].part) {
            assert_fails(cs_model_read(dir, backend, false, &model), CS_ERR_INPUT, of[i].part);
            continue;
        }
        OK(cs_model_read(dir, backend, false, &model));
        if (model.config.arch != CS_ARCH_LTG_BERT ||
            model.config.position.distance_by_head != of[i].by_head)
            fail_msg("%s: split by head is %d", of[i].keys, !of[i].by_head);
    }
}

/* The frequencies of a file are used, rounded as they are, and written again. */
TEST_IN_DIR(frequencies_of_esm_are_those_of_the_file)
{
    const char *dir = in_dir(state, "esm");
    float value[8];
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) model = {0}, back = {0};
    OK(cs_model_read("tests/golden/models/esm", backend, false, &model));
    const int64_t i = cs_params_find(&model.params, "rotary.frequency");
    assert_true(i >= 0 && model.params.param[i].cols <= 8);
    OK(cs_params_get(&model.params, i, CS_PARAM_VALUE, value));
    value[model.params.param[i].cols - 1] = 0.0099945F;
    OK(cs_params_set(&model.params, i, CS_PARAM_VALUE, value));
    OK(cs_model_write(&model, dir));
    OK(cs_model_read(dir, backend, false, &back));
    same_values(&model, &back, "esm");
}

/* nomic_bert by the keys of the files from before the class. */
TEST(older_keys_of_nomic_bert_are_read)
{
    static const char older[] =
        "{\"model_type\": \"nomic_bert\", \"vocab_size\": 19, \"n_embd\": 8, \"n_layer\": 2, "
        "\"n_head\": 2, \"n_inner\": 12, \"activation_function\": \"swiglu\", \"qkv_proj_bias\": "
        "false, \"mlp_fc1_bias\": false, \"mlp_fc2_bias\": false, \"rotary_emb_fraction\": 1.0, "
        "\"layer_norm_epsilon\": 1e-12, \"prenorm\": false, \"rotary_emb_base\": 500, "
        "\"rotary_emb_scale_base\": null, \"max_trained_positions\": 64, "
        "\"rotary_scaling_factor\": 2}";
    const struct {
        const char *key, *value, *part; /* NULL: removed; NULL: read */
    } of[] = {
        {"causal", "false", NULL},
        {"prenorm", "true", "'prenorm' other than false"},
        {"rotary_emb_fraction", "0.5", "'rotary_emb_fraction' other than 1"},
        {"rotary_emb_fraction", NULL, "'rotary_emb_fraction' is missing"},
        {"qkv_proj_bias", NULL, "'qkv_proj_bias' is missing"},
        {"activation_function", "\"gelu\"", "'activation_function' is not"},
        {"rotary_emb_base", "-1", "'rotary_emb_base' is not a positive number"},
        {"num_experts", "8", "'num_experts' other than 0"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        json_auto_t *json = json_loads(older, 0, NULL);
        cs_model_config c;
        assert_non_null(json);
        if (of[i].value) {
            OK(cs_json_set(json, of[i].key, json_loads(of[i].value, JSON_DECODE_ANY, NULL)));
        } else {
            (void)json_object_del(json, of[i].key);
        }
        if (of[i].part) {
            assert_fails(cs_model_config_parse("config.json", json, &c), CS_ERR_INPUT, of[i].part);
            continue;
        }
        OK(cs_model_config_parse("config.json", json, &c));
        const cs_rotary *r = &c.position.rotary;
        assert_true(c.shape.width == 8 && c.shape.layers == 2 && c.shape.heads == 2);
        assert_true(c.shape.inner == 12 && c.layer.activation == CS_ACT_SILU);
        assert_true(r->scaling == CS_SCALING_DYNAMIC && r->theta > 499 && r->theta < 501);
        assert_true(r->factor > 1.9 && r->factor < 2.1 && r->original > 63 && r->original < 65);
        assert_true(c.layer.eps < 1e-11);
    }
}
