/* Every architecture that is read, against transformers: golden models with random weights, some
 * with every optional part the other way round (tests/oracle/make_reference.py writes them, with
 * states computed in double). And no key of their config.json is passed over: another value gives
 * other states or a refusal. */
#include <dirent.h>

#include "backend_ref.h"
#include "flip_support.h"
#include "infer/verify_states.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "model_support.h"
#include "train/model_kind.h"

#define MODELS "tests/golden/models/"

enum { MOST = 32, NAME = 64, PATH = 512 };

/* Those that have this file. */
static int names_of(const char *has, char name[][NAME], int most)
{
    DIR *dir = opendir(MODELS);
    int count = 0;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[PATH];
        assert_true(snprintf(path, sizeof path, MODELS "%s/%s", entry->d_name, has) > 0);
        FILE *file = fopen(path, "rb");
        if (file) {
            assert_true(count < most && strlen(entry->d_name) < NAME);
            assert_true(snprintf(name[count++], NAME, "%s", entry->d_name) > 0);
            (void)fclose(file);
        }
    }
    (void)closedir(dir);
    return count;
}

/* A model's differences from a reference, of its decoder or without. */
static int verify_stack(cs_model *model, const char *dir, const char *file, bool decoder,
                        cs_state_difference d[MOST], double rounding[MOST])
{
    char path[PATH];
    cs_model_kind kind;
    cs_npz *reference = NULL;
    int count = 0;
    assert_true(snprintf(path, sizeof path, "%s/%s", dir, file) > 0);
    OK(cs_model_kind_read(dir, model, &kind));
    OK(cs_npz_open(path, 0, &reference));
    AUTO_OK(cs_array, array,
            cs_npz_read(reference, decoder ? "decoder_rounding" : "rounding", &array));
    assert_true(array.size <= MOST);
    for (int64_t i = 0; i < array.size; ++i)
        rounding[i] = cs_array_f64(&array, i);
    const cs_verify_options options = {.causal = kind.attention == CS_ATTENTION_CAUSAL,
                                       .decoder = decoder};
    OK(cs_verify_states(model, reference, &options, d, &count));
    cs_npz_close(reference);
    return count;
}

static int verify(cs_model *model, const char *dir, const char *file, cs_state_difference d[MOST],
                  double rounding[MOST])
{
    return verify_stack(model, dir, file, false, d, rounding);
}

/* Within the tolerance of verify_states.h for float states against exact ones or, where random
 * weights amplify rounding, 5 times what the class itself loses in float32: exp of the fast backend
 * is exact to 3e-7 (tensor/cpu_math_private.h), 5 roundings. */
static double excess(const cs_model *model, const cs_state_difference *d, const double *rounding)
{
    const cs_model_config *c = &model->config;
    double m = (double)(c->shape.width > c->shape.inner ? c->shape.width : c->shape.inner);
    double derived = 8.0 * (double)(d->layer + 1) * sqrt(m) * 0x1p-24 * d->scale;
    return d->max / fmax(derived, 5 * rounding[d->layer]);
}

static void agrees(const char *name, cs_status (*open)(cs_backend **), const char *file)
{
    char dir[PATH];
    cs_state_difference d[MOST];
    double rounding[MOST];
    assert_true(snprintf(dir, sizeof dir, MODELS "%s", name) > 0);
    AUTO_OK(cs_backend, *backend, open(&backend));
    AUTO_OK(cs_model, model, cs_model_read(dir, backend, false, &model));
    int count = verify(&model, dir, file, d, rounding);
    int64_t all = model.config.shape.layers + (model.config.head.absent ? 1 : 2);
    assert_int_equal(count, strcmp(file, "long.npz") == 0 ? 1 : all);
    assert_true(strcmp(name, "t5-switched") != 0 || d[count - 1].ok); /* 600 keys a row */
    for (int i = 0; i < count; ++i) {
        if (!(excess(&model, &d[i], rounding) <= 1)) {
            fail_msg("%s, %s on %s: layer %d differs by %g, %g times the tolerance", name, file,
                     backend->name, (int)d[i].layer, d[i].max, excess(&model, &d[i], rounding));
        }
    }
}

static cs_status open_cpu(cs_backend **out)
{
    return cs_backend_cpu(1, out);
}

/* Both stacks: every layer of the decoder over 19 and 600 rows (one text of one row), padded on either
 * side as the encoder's text is, and the logits; tied and not, gated and not. */
TEST(decoders_agree_with_transformers)
{
    static const char *const name[] = {"t5-switched", "t5-untied"};
    static const char *const file[] = {"reference.npz", "long.npz"};
    for (int i = 0; i < 6; ++i) {
        char dir[PATH];
        CS_AUTO(cs_backend) *backend = NULL;
        CS_AUTO(cs_model) model = {0};
        cs_state_difference d[MOST];
        double rounding[MOST];
        assert_true(snprintf(dir, sizeof dir, MODELS "%s", name[i % 2]) > 0);
        OK(i < 4 ? open_cpu(&backend) : cs_backend_ref(&backend));
        OK(i < 2 ? cs_model_read_streamed(dir, backend, &model)
                 : cs_model_read(dir, backend, false, &model));
        assert_int_equal(model.config.decoder.layers, 2 + i % 2);
        int count = verify_stack(&model, dir, file[i >= 2 && i < 4], true, d, rounding);
        assert_int_equal(count, model.config.decoder.layers + 2);
        for (int l = 0; l < count; ++l) {
            if (!(d[l].max <= fmax(d[l].tolerance, 5 * rounding[l]))) {
                fail_msg("%s, decoder on %s: layer %d differs by %g, tolerance %g", name[i % 2],
                         backend->name, (int)d[l].layer, d[l].max, d[l].tolerance);
            }
            assert_true(d[l].scale > 1e-2 && d[l].items > 0);
        }
    }
}

/* 1, 11, 13 and 17 tokens, padded on either side, all layers and logits; 600 tokens. */
TEST(agree_with_transformers)
{
    static char name[128][NAME];
    const int count = names_of("long.npz", name, 128);
    assert_true(count >= 17);
    for (int i = 0; i < count; ++i) {
        agrees(name[i], open_cpu, "reference.npz");
        agrees(name[i], open_cpu, "long.npz");
        agrees(name[i], cs_backend_ref, "reference.npz");
    }
}

/* Every architecture with its weights left in the file: no other state or logit, and no matrix that
 * stays. */
TEST(streamed_weights_are_the_same)
{
    static char name[128][NAME];
    const int count = names_of("long.npz", name, 128);
    assert_true(count >= 17);
    for (int i = 0; i < count; ++i) {
        char dir[PATH];
        cs_model model[2] = {{.trained = NULL}};
        cs_state_difference d[2][MOST] = {{{.layer = 0}}};
        double rounding[MOST];
        assert_true(snprintf(dir, sizeof dir, MODELS "%s", name[i]) > 0);
        AUTO_OK(cs_backend, *backend, open_cpu(&backend));
        OK(cs_model_read(dir, backend, false, &model[0]));
        OK(cs_model_read_streamed(dir, backend, &model[1]));
        assert_null(model[0].params.place);
        assert_each(m, 0, 2, verify(&model[m], dir, "reference.npz", d[m], rounding) > 1);
        if (memcmp(d[0], d[1], sizeof d[0]) != 0) {
            fail_msg("%s: streamed weights give other states", name[i]);
        }
        for (int64_t p = 0; p < model[1].params.count; ++p) {
            const cs_param *param = &model[1].params.param[p];
            assert_int_equal(model[1].params.place[p].values == NULL,
                             param->rows > 1 && !param->constant);
        }
        cs_model_free(&model[0]);
        cs_model_free(&model[1]);
    }
}

/* --- no key is passed over -------------------------------------------------------------------- */

/* Settings that neither this configuration nor its class reads: a length without a table and
 * without dynamic scaling, a window that is off, the mask of a class that is causal anyway. */
static bool is_idle(const char *name, const json_t *config, const char *key)
{
    const json_t *window = json_object_get(config, "use_sliding_window");
    static const char idle[] = ",mt5 tie_word_embeddings,smollm3 use_sliding_window,"
                               "gpt_bigcode num_key_value_heads,falcon multi_query,"
                               "esm max_position_embeddings,esm rope_theta," /* inv_freq is used */
                               "electra-switched tie_word_embeddings,";      /* which has no head */
    char pair[2 * NAME];
    assert_true(snprintf(pair, sizeof pair, ",%s %s,", name, key) > 0);
    if (strstr(idle, pair)) return true;
    return (strcmp(key, "max_position_embeddings") == 0 &&
            json_object_get(config, "rope_parameters") && !strstr(name, "dynamic")) ||
           (strcmp(key, "n_positions") == 0 && strncmp(name, "gptj", 4) == 0) ||
           (strstr(key, "sliding_window") && json_is_false(window)) || /* no layer is local */
           (strcmp(key, "tie_word_embeddings") == 0 && strncmp(name, "t5", 2) != 0 &&
            json_is_false(json_object_get(config, key))) || /* the matrix of the file is used */
           (strcmp(key, "is_decoder") == 0 && strncmp(name, "gpt_neox", 8) == 0) ||
           strcmp(key, "decoder_start_token_id") == 0 || /* the references' ids are shifted */
           (strcmp(name, "t5") == 0 && strcmp(key, "is_decoder") != 0 && /* its file has none */
            (strstr(key, "decoder") || strcmp(key, "tie_word_embeddings") == 0));
}

/* Whether a stack's states or logits are other than the reference's, or refused. */
static bool departs(cs_model *model, cs_npz *reference, bool causal, bool decoder)
{
    const char *name = decoder ? "decoder_rounding" : "rounding";
    const cs_verify_options options = {.causal = causal, .decoder = decoder};
    cs_state_difference d[MOST];
    double rounding[MOST];
    CS_AUTO(cs_array) array = {0};
    bool changed = false;
    int count = 0;
    cs_status status = cs_verify_states(model, reference, &options, d, &count);
    if (cs_npz_has(reference, name)) {
        OK(cs_npz_read(reference, name, &array));
    }
    for (int i = 0; i < count; ++i) {
        bool other = array.size > 0 && d[i].layer >= array.size; /* of layers */
        rounding[d[i].layer] = other || array.size == 0 ? 0 : cs_array_f64(&array, d[i].layer);
        changed = changed || other || excess(model, &d[i], rounding) > 1;
    }
    return status != CS_OK || changed;
}

/* Whether a directory with this config.json is refused or gives other states than the reference. */
static bool matters(const char *dir, const char *golden, const json_t *config)
{
    char path[PATH];
    AUTO_OK(cs_backend, *backend, open_cpu(&backend));
    CS_AUTO(cs_model) model = {0};
    bool changed = true;
    assert_true(snprintf(path, sizeof path, "%s/config.json", dir) > 0);
    OK(cs_json_write(path, config));
    if (cs_model_read(dir, backend, false, &model) == CS_OK) {
        cs_npz *reference = NULL;
        cs_model_kind kind;
        assert_true(snprintf(path, sizeof path, "%s/reference.npz", golden) > 0);
        OK(cs_npz_open(path, 0, &reference));
        OK(cs_model_kind_read(dir, &model, &kind));
        const bool causal = kind.attention == CS_ATTENTION_CAUSAL;
        changed =
            departs(&model, reference, causal, false) ||
            (cs_npz_has(reference, "decoder_logits") && departs(&model, reference, causal, true));
        cs_npz_close(reference);
    }
    cs_reason_clear();
    return changed;
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char buffer[4096];
    assert_true(in && out);
    for (size_t n = fread(buffer, 1, sizeof buffer, in); n > 0;
         n = fread(buffer, 1, sizeof buffer, in)) {
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    }
    assert_int_equal(fclose(in) | fclose(out), 0);
}

TEST_IN_DIR(no_key_is_passed_over)
{
    static char name[128][NAME];
    const int count = names_of("reference.npz", name, 128);
    int keys = 0;
    for (int i = 0; i < count; ++i) {
        char golden[PATH], from[PATH], to[PATH];
        const char *dir = in_dir(state, "model");
        json_auto_t *config = NULL;
        const char *key;
        json_t *value;
        assert_true(snprintf(golden, sizeof golden, MODELS "%s", name[i]) > 0);
        assert_true(snprintf(from, sizeof from, MODELS "%s/model.safetensors", name[i]) > 0);
        assert_true(snprintf(to, sizeof to, "%s/model.safetensors", dir) > 0);
        OK(cs_dir_make(dir));
        copy_file(from, to);
        assert_true(snprintf(from, sizeof from, MODELS "%s/config.json", name[i]) > 0);
        OK(cs_json_read(from, &config));
        assert_false(matters(dir, golden, config));
        json_object_foreach(config, key, value)
        {
            json_auto_t *other = json_copy(config);
            OK(cs_json_set(other, key, flip_of(key, value)));
            if (strcmp(key, "model_type") == 0) (void)json_object_del(other, "architectures");
            const bool idle = is_idle(name[i], config, key);
            if (!flip_is_free(key) && !idle && !matters(dir, golden, other)) {
                fail_msg("%s: another value of '%s' changes nothing", name[i], key);
            }
            keys += !flip_is_free(key);
        }
        json_auto_t *unknown = json_copy(config);
        OK(cs_json_set(unknown, "memory_heads", json_integer(2)));
        assert_false(matters(dir, golden, unknown));
        CS_AUTO_FREE char *unread = NULL;
        cs_model_config read;
        OK(cs_model_config_parse(golden, unknown, &read));
        OK(cs_config_unread(unknown, read.arch, &unread));
        assert_string_equal(unread, "memory_heads");
    }
    assert_true(keys > 10 * count);
}

/* --- published files ----------------------------------------------------------------------------- */

/* Configurations with the keys that published ones have change no state (tests/oracle/published_parity.py:
 * neither do they for transformers). */
TEST_IN_DIR(published_configurations_load)
{
    json_t *published = NULL, *entry, *name;
    size_t i, k;
    OK(cs_json_read("tests/golden/published_configs.json", &published));
    assert_true(json_array_size(published) >= 43);
    json_array_foreach(published, i, entry)
    {
        char golden[PATH], from[PATH], to[PATH];
        const char *dir = in_dir(state, "model"),
                   *model = json_string_value(json_object_get(entry, "model"));
        json_auto_t *config = NULL;
        assert_true(snprintf(golden, sizeof golden, MODELS "%s", model) > 0);
        assert_true(snprintf(from, sizeof from, MODELS "%s/model.safetensors", model) > 0);
        assert_true(snprintf(to, sizeof to, "%s/model.safetensors", dir) > 0);
        OK(cs_dir_make(dir));
        copy_file(from, to);
        assert_true(snprintf(from, sizeof from, MODELS "%s/config.json", model) > 0);
        OK(cs_json_read(from, &config));
        json_array_foreach(json_object_get(entry, "without"), k, name)
        {
            (void)json_object_del(config, json_string_value(name));
        }
        assert_int_equal(json_object_update(config, json_object_get(entry, "config")), 0);
        if (matters(dir, golden, config)) {
            fail_msg("%s is refused, or another model",
                     json_string_value(json_object_get(entry, "name")));
        }
    }
    json_decref(published);
}

/* --- what is refused -------------------------------------------------------------------------- */

/* A device without the parts takes the models that need none of them, and no other. */
TEST(devices_without_the_parts_refuse)
{
    static const char *const basic[] = {"albert", "camembert",   "distilbert", "electra",
                                        "opt",    "xlm-roberta", "mpnet"};
    static char name[128][NAME];
    const int count = names_of("long.npz", name, 128);
    int taken = 0;
    AUTO_OK(cs_backend, *backend, open_cpu(&backend));
    backend->basic = true;
    for (int i = 0; i < count; ++i) {
        char dir[PATH];
        CS_AUTO(cs_model) model = {0};
        bool is_basic = false;
        for (size_t b = 0; b < sizeof basic / sizeof *basic && !strstr(name[i], "relative"); ++b) {
            is_basic = is_basic || strncmp(name[i], basic[b], strlen(basic[b])) == 0;
        }
        assert_true(snprintf(dir, sizeof dir, MODELS "%s", name[i]) > 0);
        if (is_basic) {
            OK(cs_model_read(dir, backend, false, &model));
        } else {
            assert_fails(cs_model_read(dir, backend, false, &model), CS_ERR_DEVICE,
                         "does not run on cpu; give --device cpu");
        }
        taken += is_basic;
    }
    assert_int_equal(taken, 11);
}

TEST(training_is_refused)
{
    const cs_network_options options = {
        .loss = CS_LOSS_CROSS_ENTROPY, .training = true, .batch = 1, .length = 4, .predictions = 1};
    cs_network network = {0};
    AUTO_OK(cs_backend, *backend, open_cpu(&backend));
    AUTO_OK(cs_model, model, cs_model_read(MODELS "qwen3", backend, false, &model));
    assert_fails(cs_network_build(&model, &options, &network), CS_ERR_USAGE,
                 "architecture qwen3 can be read and fine-tuned, but not trained");
    cs_model_free(&model);
    OK(cs_model_read(MODELS "bert-relative-key", backend, false, &model));
    cs_network_options longer = options;
    longer.training = false;
    longer.length = 641;
    assert_fails(cs_network_build(&model, &longer, &network), CS_ERR_USAGE,
                 "sequences of 641 tokens are too long for a model of 640 distances");
    cs_model_free(&model);
    OK(cs_model_read(MODELS "electra-switched", backend, false, &model));
    cs_network_options predicts = options;
    predicts.training = false;
    assert_fails(cs_network_build(&model, &predicts, &network), CS_ERR_USAGE,
                 "(electra) has no head that predicts tokens");
    cs_model_free(&model);
    OK(cs_model_read(MODELS "t5-untied", backend, false, &model));
    assert_fails(cs_network_build(&model, &options, &network), CS_ERR_USAGE,
                 "architecture t5 can be read and fine-tuned, but not trained");
    assert_fails(cs_network_build(&model, &predicts, &network), CS_ERR_USAGE,
                 "the encoder of the model (t5) does not predict tokens");
    predicts.form = CS_FORM_MAE;
    predicts.decoder_length = 4;
    predicts.training = true;
    assert_fails(cs_network_build(&model, &predicts, &network), CS_ERR_USAGE,
                 "architecture t5 can be read and fine-tuned, but not trained");
}

/* A golden configuration with one key set to this JSON value. */
TEST(bad_configurations_are_refused)
{
    static const struct {
        const char *model, *key, *value, *part;
    } bad[] = {
        {"llama", "rope_parameters", "{\"rope_type\": \"ntk\", \"factor\": 2.0}",
         "config.json: unknown rotary scaling 'ntk'"},
        {"phi3", "rope_scaling",
         "{\"type\": \"su\", \"short_factor\": [2], \"long_factor\": [2, 3]}", "2 frequencies"},
        {"llama", "rope_parameters", "{\"rope_type\": \"yarn\"}", "'yarn' needs 'factor'"},
        {"llama", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 2, \"beta_fast\": 3}",
         "'beta_fast' is not a key of rotary scaling 'linear'"},
        {"llama", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": -2}",
         "'factor' is not a positive number"},
        {"llama", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 0.75}",
         "'partial_rotary_factor' is 0.75, but architecture llama does not support it"},
        {"gpt_neox", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 0.2}",
         "rotary positions of base 100 on a fraction 3 of the 16 columns"},
        {"gpt_neox", "rope_theta", "77", "'rope_theta' is 77, but architecture gpt_neox reads"},
        {"modernbert", "rope_parameters", "{\"rope_theta\": 100}",
         "positions that depend on their type"},
        {"modernbert", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}",
         "'rope_scaling' does not have the form for architectures"},
        {"llama", "rope_scaling", "{\"full_attention\": {\"rope_theta\": 7}}",
         "'rope_scaling' does not"},
        /* in place of rope_parameters, which are there and good */
        {"llama", "rope_scaling", "{\"type\": \"su\", \"factor\": 2}",
         "unknown rotary scaling 'su'"},
        {"llama", "is_causal", "false", "'is_causal' other than true"},
        {"gpt2", "is_causal", "null", "'is_causal' other than true"},
        {"bloom", "causal_mask", "false", "'causal_mask' other than true"},
        {"modernbert", "is_causal", "true", "'is_causal' other than false"},
        {"t5", "is_causal", "true", "architecture t5 with 'is_causal' is not supported"},
        {"eurobert", "is_decoder", "true", "'is_decoder' other than false"},
        {"albert", "is_decoder", "true", "'is_decoder' other than false"},
        {"qwen3", "tie_last_hidden_states", "false", "'tie_last_hidden_states' other than true"},
        {"llama", "max_position_embeddings", "0", "'max_position_embeddings' is 0, not above 0"},
        {"llama", "head_dim", "0", "'head_dim' is 0, not above 0"},
        {"llama", "num_key_value_heads", "0", "'num_key_value_heads' is 0, not above 0"},
        {"gemma2", "final_logit_softcapping", "-1", "'final_logit_softcapping' is -1, not above 0"},
        {"gemma2", "attn_logit_softcapping", "0.0", "'attn_logit_softcapping' is 0, not above 0"},
        {"gemma2", "query_pre_attn_scalar", "0", "'query_pre_attn_scalar' is 0, not above 0"},
        {"gemma2", "sliding_window", "0", "'sliding_window' is 0, not above 0"},
        {"modernbert", "local_attention", "1", "'local_attention' is 1, not above 1"},
        {"modernbert", "classifier_pooling", "\"foo\"", "'classifier_pooling' is 'foo', not cls"},
        {"eurobert", "classifier_pooling", "\"foo\"", "'classifier_pooling' is 'foo', not bos"},
        {"bloom", "num_attention_heads", "4",
         "'num_attention_heads' is 4, but under its other name 2"},
        {"gptj", "rotary", "false", "'rotary' other than true"},
        {"llama", "eos_token_id", "[\"a\"]", "'eos_token_id' is not a whole number"},
        {"llama", "quantization_config", "{\"bits\": 4}",
         "architecture llama with 'quantization_config' is not supported. Export the hidden "
         "states as .npy"},
        {"bert", "pruned_heads", "{\"0\": [1]}", "architecture bert with 'pruned_heads'"},
        {"llama", "transformers_weights", "\"other.bin\"", "llama with 'transformers_weights'"},
        {"bert", "is_decoder", "2", "'is_decoder' is not a boolean"},
        {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "other than false"},
        {"gpt2", "scale_attn_weights", "false", "other than true is not supported: false"},
        {"gpt2", "hidden_size", "9", "'hidden_size' is 9, but under its other name"},
        {"t5", "head_dim", "3", "'head_dim' is 3, but under its other name"},
        {"distilbert", "num_hidden_layers", "9", "is 9, but under its other name"},
        {"gpt_neox", "head_dim", "3", "'head_dim' is 3, but by the other keys it is"},
        {"modernbert", "head_dim", "3", "'head_dim' is 3, but by the other keys it is"},
        {"deberta-v2", "attention_head_size", "3", "is 3, but by the other keys it is"},
        {"deberta-v2", "embedding_size", "3", "'embedding_size' is 3, but by the other keys it"},
        {"modernbert", "rope_theta", "77", "'rope_theta' is 77, but architecture modernbert reads"},
        {"llama", "num_key_value_heads", "3",
         "config.json: 'num_key_value_heads': 4 heads are not a multiple of 3 key-value heads"},
        {"llama", "hidden_size", "0", "config.json: 'hidden_size': width 0 is not in [1, 65536]"},
        {"gpt2", "n_layer", "0", "config.json: 'n_layer': layers 0 is not in [1, "},
        {"llama", "rms_norm_eps", "-1", "config.json: 'rms_norm_eps': norm epsilon -1 is not in"},
        {"llama", "pad_token_id", "500",
         "config.json: 'pad_token_id': padding token 500 is not in"},
        {"llama", "initializer_range", "-3", "config.json: 'initializer_range': initial range -3"},
        {"gpt2", "n_head", "3", "config.json: 'n_head': 3 heads do not divide width"},
        {"bloom", "n_layer", "0", "config.json: 'n_layer': layers 0 is not in"},
        {"t5-switched", "num_decoder_layers", "65",
         "'num_decoder_layers': decoder layers 65 is not in"},
        {"roberta", "max_position_embeddings", "2", "'max_position_embeddings' is 2: no positions"},
        {"llama", "intermediate_size", "0", "'intermediate_size': inner width 0 is not in [1, "},
        {"gpt2", "n_inner", "0", "'n_inner': inner width 0 is not in [1, "},
        {"llama", "hidden_act", "null", "config.json: unknown 'hidden_act' null"},
        {"gemma2", "hidden_activation", "null", "config.json: unknown 'hidden_activation' null"},
        {"t5", "feed_forward_proj", "null", "unknown 'feed_forward_proj' null"},
        {"llama", "head_dim", "-2", "'head_dim' is -2, not above 0"},
        {"qwen2", "layer_types", "[\"full_attention\"]", "'layer_types' names 1 layer, not 3"},
        {"qwen2", "layer_types", "[\"full_attention\", \"none\", \"full_attention\"]",
         "'layer_types' has 'none'"},
        {"mistral", "sliding_window", "-1", "'sliding_window' is -1, not above 0"},
        {"bert", "position_embedding_type", "\"rotary\"",
         "is 'rotary', not absolute, relative_key"},
        {"bloom", "position_embedding_type", "\"relative_key\"", "position_embedding_type"},
        {"modernbert", "sliding_window", "7", "'sliding_window' is not half of"},
        {"albert", "inner_group_num", "2", "'inner_group_num' other than 1"},
        {"albert", "num_hidden_groups", "0", "'num_hidden_groups' is 0, not above 0"},
        {"electra", "embedding_size", "0", "'embedding_size' is 0, not above 0"},
        {"albert", "num_hidden_groups", "9", "9 groups of 3 layers"},
        {"opt", "word_embed_proj_dim", "4", "'word_embed_proj_dim' other than"},
        {"opt", "layer_norm_elementwise_affine", "false", "other than true"},
        {"gemma2", "use_bidirectional_attention", "true", "other than false"},
        {"gptj", "n_positions", "0", "'n_positions' is 0, not above 0"},
        {"opt", "word_embed_proj_dim", "0", "'word_embed_proj_dim' is 0, not above 0"},
        {"t5", "d_kv", "0", "'d_kv' is 0, not above 0"},
        {"deberta-v2", "max_position_embeddings", "-1", "is -1, not above 0"},
        {"gptj", "rotary_dim", "\"4\"", "'rotary_dim' is not a positive whole number"},
        {"deberta-v2", "conv_kernel_size", "3", "'conv_kernel_size' other than 0"},
        {"deberta-v2", "pos_att_type", "[\"p2p\"]", "'pos_att_type' has 'p2p'"},
        {"deberta-v2", "norm_rel_ebd", "\"other\"", "neither none nor layer_norm"},
        {"t5", "is_gated_act", "true", "contradict 'feed_forward_proj'"},
        {"t5", "feed_forward_proj", "\"gated-mish\"", "unknown 'feed_forward_proj' 'mish'"},
        {"bloom", "apply_residual_connection_post_layernorm", "true", "other than false"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char path[PATH];
        json_auto_t *config = NULL;
        cs_model_config out;
        assert_true(snprintf(path, sizeof path, MODELS "%s/config.json", bad[i].model) > 0);
        OK(cs_json_read(path, &config));
        OK(cs_model_config_parse(path, config, &out));
        OK(cs_json_set(config, bad[i].key, json_loads(bad[i].value, JSON_DECODE_ANY, NULL)));
        assert_fails(cs_model_config_parse(path, config, &out), CS_ERR_INPUT, bad[i].part);
    }
}

/* A configuration that was read comes back as a class of transformers, and under a head of classes
 * too; one that is read only comes back by the file's own keys. */
static void comes_back(const cs_model_config *was, json_t *source, const char *name)
{
    cs_model_config back;
    const char *arch = cs_arch_name(was->arch);
    const bool headed = was->head.classes > 0, /* bare: no class has a head of classes */
        bare = strstr(arch, "t5") || !strcmp(arch, "gpt_bert") || !strcmp(arch, "ltg-bert");
    json_auto_t *config = cs_model_config_json_of(was, source, NULL);
    assert_non_null(config);
    assert_true(cs_model_config_exchangeable(was) == !(bare && headed));
    assert_string_equal(json_string_value(json_object_get(config, "model_type")), arch);
    OK(cs_model_config_parse(name, config, &back));
    if (!same_parts(was, &back) || !same_positions(was, &back) ||
        was->head.classes != back.head.classes || was->head.readout != back.head.readout ||
        was->position.distance_span != back.position.distance_span ||
        (headed && back.head.absent)) {
        fail_msg("%s comes back another", name);
    }
}

/* Rotary scalings, windows, vectors of distances and heads included. */
TEST(what_is_read_is_written)
{
    static char name[128][NAME];
    const int count = names_of("long.npz", name, 128);
    int written = 0;
    for (int i = 0; i < count; ++i) {
        char path[PATH];
        json_auto_t *config = NULL;
        cs_model_config was;
        assert_true(snprintf(path, sizeof path, MODELS "%s/config.json", name[i]) > 0);
        OK(cs_json_read(path, &config));
        OK(cs_model_config_parse(path, config, &was));
        const bool trained = cs_arch_trained(was.arch) == CS_OK;
        cs_reason_clear();
        comes_back(&was, trained ? NULL : config, name[i]);
        was = cs_model_config_classifier(&was, 3, cs_readout_of(was.arch));
        comes_back(&was, trained ? NULL : config, name[i]);
        written += trained ? 1 : 0;
    }
    assert_int_equal(written, 15);
}

/* A model that is read and written again has the states and logits of the class that made the
 * golden file. */
TEST_IN_DIR(written_models_are_the_same)
{
    static char name[128][NAME];
    const int count = names_of("long.npz", name, 128);
    for (int i = 0; i < count; ++i) {
        char golden[PATH];
        const char *dir = in_dir(state, name[i]);
        cs_state_difference d[MOST];
        double rounding[MOST];
        assert_true(snprintf(golden, sizeof golden, MODELS "%s", name[i]) > 0);
        AUTO_OK(cs_backend, *backend, open_cpu(&backend));
        AUTO_OK(cs_model, model, cs_model_read(golden, backend, false, &model));
        OK(cs_model_write(&model, dir));
        cs_model_free(&model);
        OK(cs_model_read(dir, backend, false, &model));
        const int layers = verify(&model, golden, "reference.npz", d, rounding);
        for (int l = 0; l < layers; ++l) {
            if (!(excess(&model, &d[l], rounding) <= 1)) {
                fail_msg("%s, written: layer %d differs by %g", name[i], (int)d[l].layer, d[l].max);
            }
        }
    }
}
