/* model: presets, sound configurations, config.json both ways. */
#include "io/json.h"
#include "model/huggingface.h"
#include "model_support.h"

/* --- names and presets ------------------------------------------------------------------------ */

TEST(test_presets)
{
    static const char *const preset[] = {"1m", "4m", "small", "base", "cramming", "large", NULL};
    for (const char *const *name = preset; *name; ++name) {
        cs_model_config config = {.shape.vocab = 1000};
        OK(cs_model_preset(*name, &config));
        for (int arch = 0; arch < CS_ARCH_LINEAR; ++arch) {
            cs_model_config_default((cs_arch)arch, &config);
            OK(cs_model_config_check(&config));
            assert_true(cs_model_config_exchangeable(&config));
        }
    }
    cs_model_config config = {0};
    OK(cs_model_preset("cramming", &config));
    assert_int_equal(config.shape.layers, 16);
    assert_int_equal(config.shape.width, 768);
    OK(cs_model_preset("large", &config));
    assert_int_equal(config.shape.layers, 24);
    assert_int_equal(config.shape.width, 1024);
    assert_fails(cs_model_preset("huge", &config), CS_ERR_USAGE, "unknown model size 'huge'");
}

TEST(test_names)
{
    for (int arch = 0; arch < CS_ARCH_COUNT; ++arch) {
        cs_arch found;
        OK(cs_arch_by_name(cs_arch_name((cs_arch)arch), &found));
        assert_int_equal(found, arch);
    }
    cs_arch found;
    assert_fails(cs_arch_by_name("xlnet", &found), CS_ERR_USAGE, "unknown architecture 'xlnet'");
}

/* --- checks ----------------------------------------------------------------------------------- */

static const model_case roberta = {"roberta", CS_FORM_MAE, CS_ARCH_ROBERTA, CS_LOSS_NONE, NULL};
static const model_case linear = {"linear", CS_FORM_LINEAR, CS_ARCH_LINEAR, CS_LOSS_NONE, NULL};

#define REFUSES(what, member, value, part)                                                         \
    do {                                                                                           \
        cs_model_config bad = case_config(&(what), false);                                         \
        OK(cs_model_config_check(&bad));                                                           \
        bad.member = value;                                                                        \
        assert_fails(cs_model_config_check(&bad), CS_ERR_USAGE, part);                             \
    } while (0)

/* transformers keeps the norm of distances where relative_attention is false and reads it nowhere. */
TEST(a_norm_of_no_distances_is_passed)
{
    const cs_model_config c = {.arch = CS_ARCH_DEBERTA_V2};
    assert_true(cs_hf_ignored(&c, "deberta.encoder.LayerNorm.weight"));
    assert_true(cs_hf_ignored(&c, "encoder.LayerNorm.bias"));
    assert_false(cs_hf_ignored(&c, "deberta.encoder.layer.0.output.LayerNorm.weight"));
}

TEST(test_checks)
{
    REFUSES(roberta, shape.vocab, 0, "vocabulary 0 is not in [1, ");
    REFUSES(roberta, shape.heads, 3, "3 heads do not divide width 8");
    REFUSES(roberta, shape.heads, 1025, "heads 1025 is not in [1, 1024]");
    cs_model_config wide = case_config(&roberta, false);
    wide.shape.width = 1024;
    wide.shape.heads = 128;
    OK(cs_model_config_check(&wide));
    REFUSES(roberta, shape.layers, 0, "layers 0");
    REFUSES(roberta, shape.inner, -1, "inner width -1");
    REFUSES(roberta, shape.positions, -1, "positions -1");
    REFUSES(roberta, training.dropout, 1, "dropout 1 is not in [0, ");
    REFUSES(roberta, training.attention_dropout, -0.5, "attention dropout -0.5");
    REFUSES(roberta, training.embed_dropout, 2, "embedding dropout 2");
    REFUSES(roberta, layer.eps, 0, "norm epsilon 0");
    REFUSES(roberta, training.init_range, 0, "initial range 0");
    REFUSES(roberta, position.relative_buckets, 7, "relative buckets 7");
    REFUSES(roberta, position.relative_buckets, 32, "relative distance 0");
    REFUSES(roberta, ids.mask, 11, "mask token 11 is not in [-1, 10]");
    REFUSES(roberta, ids.pad, -1, "needs a padding token");
    REFUSES(roberta, position.offset, 0, "positions of roberta start at row 2, not 0");
    REFUSES(roberta, decoder.heads, 3, "3 decoder heads");
    REFUSES(roberta, decoder.inner, 0, "decoder inner width 0");
    REFUSES(roberta, layer.activation, (cs_activation)9, "unknown activation number 9");
    REFUSES(roberta, arch, (cs_arch)99, "unknown architecture number 99");
    REFUSES(roberta, decoder.attention, (cs_decoder_attention)9, "unknown decoder attention");
    REFUSES(linear, shape.layers, 2, "1 layer, not 2");
    REFUSES(linear, head.tied, true, "has no tied output");
    REFUSES(linear, training.dropout, 0.1, "has no dropout");
    REFUSES(linear, attention.query_vector, true, "has no query vector");
    REFUSES(linear, head.pooling, -1, "pooling power -1");
}

/* --- config.json ------------------------------------------------------------------------------ */

static void assert_same(const cs_model_config *a, const cs_model_config *b, const char *name)
{
    json_auto_t *x = cs_model_config_json(a), *y = cs_model_config_json(b);
    assert_non_null(x);
    assert_non_null(y);
    if (!json_equal(x, y)) {
        fail_msg("%s: settings are lost", name);
    }
    assert_int_equal(a->arch, b->arch);
    assert_int_equal(a->layer.activation, b->layer.activation);
    assert_int_equal(a->shape.positions, b->shape.positions);
    assert_int_equal(a->position.offset, b->position.offset);
    assert_int_equal(a->layer.post_norm, b->layer.post_norm);
    assert_int_equal(a->layer.bias, b->layer.bias);
    assert_int_equal(a->head.tied, b->head.tied);
    assert_int_equal(a->position.relative_buckets, b->position.relative_buckets);
    assert_int_equal(a->attention.query_vector, b->attention.query_vector);
    assert_int_equal(a->shape.token_types, b->shape.token_types);
    assert_int_equal(a->decoder.layers, b->decoder.layers);
    assert_int_equal(a->decoder.attention, b->decoder.attention);
    assert_int_equal(a->ids.mask, b->ids.mask);
    assert_int_equal(a->head.classes, b->head.classes);
    assert_int_equal(a->head.readout, b->head.readout);
    assert_true(a->training.embed_dropout == b->training.embed_dropout &&
                a->training.dropout == b->training.dropout);
    assert_true(a->head.pooling == b->head.pooling && a->layer.eps == b->layer.eps);
    assert_true(same_parts(a, b) && a->position.rotary.theta == b->position.rotary.theta);
    assert_true(a->position.local_rotary.theta == b->position.local_rotary.theta);
}

static void check_round_trip(const model_case *cases)
{
    for (const model_case *what = cases; what->name; ++what) {
        for (int variant = 0; variant < 3; ++variant) {
            cs_model_config config = case_config(what, variant == 1), back;
            if (variant == 2) {
                config.layer.activation = CS_ACT_TANH;
                config.layer.eps = 1e-7;
                cs_model_config_ids(&config, (cs_special_ids){3, 4, 5, 6, 7});
            }
            json_auto_t *json = cs_model_config_json(&config);
            assert_non_null(json);
            OK(cs_model_config_parse("config.json", json, &back));
            assert_same(&config, &back, what->name);
        }
    }
}

/* The settings that the class's head reads are in its own keys; what it cannot read is refused. */
TEST(test_pooling_of_the_class)
{
    const model_case what = {"", CS_FORM_SINGLE, CS_ARCH_EUROBERT, CS_LOSS_CROSS_ENTROPY, NULL};
    const cs_model_config encoder = case_config(&what, false);
    for (int mean = 0; mean < 2; ++mean) {
        cs_model_config config =
            cs_model_config_classifier(&encoder, 3, mean ? CS_READ_MEAN : CS_READ_FIRST);
        json_auto_t *json = cs_model_config_json(&config);
        assert_non_null(json);
        assert_true(cs_model_config_exchangeable(&config));
        assert_string_equal(json_string_value(json_object_get(json, "classifier_pooling")),
                            mean ? "mean" : "bos");
        OK(cs_json_set(json, "classifier_pooling", json_string("late")));
        assert_fails(cs_model_config_parse("c", json, &config), CS_ERR_INPUT,
                     "c: 'classifier_pooling' is 'late', not bos or mean");
        (void)json_object_del(json, "classifier_pooling"); /* the class's own is late */
        assert_fails(cs_model_config_parse("c", json, &config), CS_ERR_INPUT, "is 'late', not");
    }
}

TEST(test_round_trip)
{
    check_round_trip(model_cases);
    check_round_trip(classifier_cases);
}

static json_t *json_of(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json) {
        fail_msg("%s", error.text);
    }
    return json;
}

/* As the class writes it: rows of the position table, ids, absent keys. */
TEST(test_foreign_files)
{
    cs_model_config config;
    json_auto_t *json = json_of(
        "{\"model_type\": \"gpt2\", \"vocab_size\": 100, \"n_positions\": 16, \"n_embd\": 8,"
        " \"n_layer\": 2, \"n_head\": 2, \"n_inner\": null, \"use_cache\": true}");
    OK(cs_model_config_parse("f", json, &config));
    json_decref(json);
    assert_int_equal(config.shape.inner, 32);
    assert_int_equal(config.shape.positions, 16);
    assert_int_equal(config.ids.bos, -1); /* 50256 is not among 100 tokens */
    assert_int_equal(config.layer.activation, CS_ACT_GELU_TANH);
    assert_true(config.layer.eps == 1e-5 && config.training.dropout == 0.1 && config.head.tied);
    json = json_of("{\"model_type\": \"roberta-prelayernorm\", \"vocab_size\": 100,"
                   " \"max_position_embeddings\": 18, \"hidden_size\": 8, \"num_hidden_layers\": 1,"
                   " \"num_attention_heads\": 2, \"intermediate_size\": 12, \"pad_token_id\": 1}");
    OK(cs_model_config_parse("f", json, &config));
    assert_int_equal(config.shape.positions, 16);
    assert_int_equal(config.position.offset, 2);
    assert_int_equal(config.shape.token_types, 2);
    assert_int_equal(config.layer.activation, CS_ACT_GELU_ERF);
    assert_true(config.layer.eps == 1e-12 && config.training.embed_dropout == 0.1);
    json_auto_t *written = cs_model_config_json(&config);
    assert_non_null(written);
    assert_int_equal(json_integer_value(json_object_get(written, "max_position_embeddings")), 18);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(written, "architectures"), 0)),
        "RobertaPreLayerNormForMaskedLM");
    assert_null(json_object_get(written, "cospec"));
}

/* A model that no class computes has its own type. */
TEST(test_own_type)
{
    cs_model_config config = case_config(&roberta, false);
    for (int own = 0; own < 2; ++own) {
        config.position.relative_buckets = own ? 8 : 0;
        config.position.relative_distance = own ? 4 : 0;
        json_auto_t *json = cs_model_config_json(&config);
        assert_non_null(json);
        assert_string_equal(json_string_value(json_object_get(json, "model_type")),
                            own ? "cospec" : "roberta");
        assert_int_equal(json_object_get(json, "architectures") != NULL, !own);
    }
}

/* A class that computes other attention than that of training is not named; what says is_decoder is causal
 * in its class too. Read back, all are the same. */
TEST(a_class_is_named_for_its_attention)
{
    const struct {
        cs_arch arch;
        const char *attention, *class; /* NULL: none */
    } rule[] = {{CS_ARCH_GPT2, "causal", "GPT2LMHeadModel"},
                {CS_ARCH_GPT2, "bidirectional", NULL},
                {CS_ARCH_GPT2, "plan", NULL},
                {CS_ARCH_LLAMA, "bidirectional", NULL},
                {CS_ARCH_BERT, "bidirectional", "BertForMaskedLM"},
                {CS_ARCH_BERT, "causal", "BertLMHeadModel"},
                {CS_ARCH_BERT, "plan", NULL},
                {CS_ARCH_ROBERTA, "causal", "RobertaForCausalLM"},
                {CS_ARCH_ROBERTA_PRELAYERNORM, "causal", "RobertaPreLayerNormForCausalLM"},
                {CS_ARCH_EUROBERT, "causal", NULL},
                {CS_ARCH_EUROBERT, "bidirectional", "EuroBertForMaskedLM"},
                {CS_ARCH_MODERNBERT, "causal", NULL}};
    for (size_t i = 0; i < sizeof rule / sizeof *rule; ++i) {
        for (int classes = 0; classes <= 3; classes += 3) {
            cs_model_config config = {.shape.vocab = 9,
                                      .shape.width = 8,
                                      .shape.layers = 2,
                                      .shape.heads = 2,
                                      .shape.inner = 16,
                                      .shape.positions = 10};
            cs_model_config back;
            cs_model_config_default(rule[i].arch, &config);
            config.ids.pad = 0;
            config = classes
                         ? cs_model_config_classifier(&config, classes, cs_readout_of(rule[i].arch))
                         : config;
            json_auto_t *trained = json_pack("{s:s}", "attention", rule[i].attention),
                        *json = cs_model_config_json_of(&config, NULL, trained);
            assert_non_null(json);
            const char *class =
                json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
            assert_string_equal(json_string_value(json_object_get(json, "model_type")),
                                rule[i].class ? cs_arch_name(rule[i].arch) : "cospec");
            assert_true(!class == !rule[i].class);
            assert_true(!class || classes > 0 || strcmp(class, rule[i].class) == 0);
            assert_int_equal(json_is_true(json_object_get(json, "is_decoder")),
                             rule[i].class && strcmp(rule[i].attention, "causal") == 0 &&
                                 !cs_arch_causal(rule[i].arch));
            assert_ptr_equal(json_object_get(json_object_get(json, "cospec"), "trained"), trained);
            OK(cs_model_config_parse("config.json", json, &back));
            json_auto_t *one = cs_model_config_json(&config), *two = cs_model_config_json(&back);
            assert_true(json_equal(one, two) && back.head.classes == config.head.classes &&
                        back.head.readout == config.head.readout && back.arch == config.arch);
        }
    }
}

static void assert_refused(const char *key, json_t *value, const char *part)
{
    cs_model_config config = case_config(&roberta, false), out;
    json_auto_t *json = cs_model_config_json(&config);
    assert_non_null(json);
    if (value) {
        assert_int_equal(json_object_set_new(json, key, value), 0);
    } else {
        assert_int_equal(json_object_del(json, key), 0);
    }
    if (strcmp(key, "model_type") == 0) (void)json_object_del(json, "architectures");
    assert_fails(cs_model_config_parse("dir/config.json", json, &out), CS_ERR_INPUT, part);
}

/* A refusal names the part, not a setting of it; whether an encoder is causal is decided by
 * is_causal. */
TEST(test_refused_together)
{
    cs_model_config out;
    json_auto_t *json = NULL;
    OK(cs_json_read("tests/golden/models/deberta-v2/config.json", &json));
    OK(cs_json_set(json, "conv_act", json_string("gelu")));
    OK(cs_json_set(json, "conv_kernel_size", json_integer(3)));
    assert_fails(cs_model_config_parse("f", json, &out), CS_ERR_INPUT,
                 "'conv_kernel_size' other than 0");
    json_decref(json);
    OK(cs_json_read("tests/golden/models/bert/config.json", &json));
    OK(cs_json_set(json, "is_decoder", json_true()));
    OK(cs_model_config_parse("f", json, &out));
    OK(cs_json_set(json, "is_causal", json_false()));
    assert_fails(cs_model_config_parse("f", json, &out), CS_ERR_INPUT,
                 "'is_causal' other than true");
}

/* A type that nobody else has: the class decides, and the head of its code is left out. */
TEST(classes_of_unknown_types)
{
    static const struct {
        const char *type, *class;
        cs_arch arch; /* CS_ARCH_COUNT: refused */
        const char *reason;
    } cases[] = {{"gpt_neox_reward_model", "GPTNeoXRewardModel", CS_ARCH_GPT_NEOX, NULL},
                 {"my_own", "LlamaForCausalLM", CS_ARCH_LLAMA, NULL},
                 {NULL, "GPTNeoXForCausalLM", CS_ARCH_GPT_NEOX, NULL},
                 {"gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM", CS_ARCH_COUNT,
                  "f: unknown architecture"},
                 {"qwen2_moe", "Qwen2MoeForCausalLM", CS_ARCH_COUNT, "f: unknown architecture"},
                 {"my_own", "cospecModel", CS_ARCH_COUNT, "f: unknown architecture"},
                 {"bart", "BartModel", CS_ARCH_COUNT, "f: unknown architecture"},
                 {"mamba", "LlamaForCausalLM", CS_ARCH_COUNT, "'mamba' needs parts"},
                 {"longformer", "RobertaModel", CS_ARCH_COUNT, "'longformer' needs parts"},
                 {"swin", "ViTModel", CS_ARCH_COUNT, "'swin' needs parts"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_model_config out;
        json_auto_t *json =
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:[s]}", "vocab_size", 50, "hidden_size", 16,
                      "num_hidden_layers", 1, "num_attention_heads", 2, "intermediate_size", 16,
                      "max_position_embeddings", 32, "architectures", cases[i].class);
        if (cases[i].type) OK(cs_json_set(json, "model_type", json_string(cases[i].type)));
        if (cases[i].arch == CS_ARCH_COUNT) {
            assert_fails(cs_model_config_parse("f", json, &out), CS_ERR_INPUT, cases[i].reason);
        } else {
            OK(cs_model_config_parse("f", json, &out));
            assert_int_equal(out.arch, cases[i].arch);
        }
    }
}

TEST(test_refused_files)
{
    assert_refused("model_type", json_string("xlnet"),
                   "dir/config.json: unknown architecture 'xlnet'");
    assert_refused("model_type", json_string("xlnet"), "(rows x width): cospec rank");
    assert_refused("model_type", json_string("bart"), "qwen3_moe). Export the hidden states");
    assert_refused("model_type", json_string("gpt_oss"), "not supported: attention sinks, clamped");
    assert_refused("model_type", json_string("mamba"), "not supported: a state-space model");
    assert_refused("model_type", json_string("longformer"), "sliding attention with global tokens");
    assert_refused("model_type", json_string("swin"), "attention in windows and merging of");
    assert_refused("model_type", json_string("gpt-neox"), "did you mean gpt_neox? Export");
    assert_refused("model_type", json_string("linear"), "'linear' is not a model_type");
    assert_refused("model_type", NULL, "'model_type' is missing");
    assert_refused("hidden_act", json_string("mish"), "unknown 'hidden_act' 'mish'");
    assert_refused("hidden_act", json_integer(3), "unknown 'hidden_act' 3");
    assert_refused("hidden_size", NULL, "'hidden_size' is missing");
    assert_refused("hidden_size", json_string("8"), "'hidden_size' is not a whole number: \"8\"");
    assert_refused("hidden_size", json_null(), "'hidden_size' is null");
    assert_refused("hidden_size", json_integer(INT64_MAX), "'hidden_size' is 9.2");
    assert_refused("num_attention_heads", json_integer(5), "5 heads do not divide width 8");
    assert_refused("tie_word_embeddings", json_integer(1), "is not a boolean");
    assert_refused("pad_token_id", json_null(), "needs a padding token");
    assert_refused("max_position_embeddings", json_integer(2),
                   "no positions are left after the padding");
    assert_refused("position_embedding_type", json_string("relative"),
                   "'position_embedding_type' is 'relative', not absolute, relative_key or");
    assert_refused("add_cross_attention", json_true(), "'add_cross_attention' other than false");
    assert_refused("quantization_config", json_pack("{s:i}", "bits", 8),
                   "architecture roberta with 'quantization_config' is not supported");
    assert_refused("cospec", json_pack("{s:i}", "colour", 8), "unknown setting 'colour'");
    assert_refused("cospec", json_integer(1), "'cospec' is not an object");
    assert_refused("cospec", json_pack("{s:s}", "decoder_attention", "none"),
                   "'decoder_attention' is not self");
    cs_model_config out;
    json_auto_t *array = json_array();
    assert_fails(cs_model_config_parse("f", array, &out), CS_ERR_INPUT, "f: not a JSON object");
}

/* A key that another architecture reads refuses no file. */
TEST(keys_of_other_architectures_are_named)
{
    static const struct {
        const char *model, *key, *value;
    } fine[] = {{"roberta", "scale_attn_weights", "2"},
                {"llama", "local_rope_theta", "7"},
                {"bert", "head_dim", "3"},
                {"opt", "intermediate_size", "7"},
                {"distilbert", "intermediate_size", "7"},
                {"qwen2", "attention_bias", "true"},
                {"llama", "is_llama_config", "true"},
                {"llama", "transformers.js_config", "{\"dtype\": 1}"},
                {"llama", "unsloth_version", "\"1\""},
                {"llama", "_commit_hash", "\"a\""},
                {"bert", "model_max_length", "5"}};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; ++i) {
        char path[256];
        json_auto_t *config = NULL;
        cs_model_config was, out;
        CS_AUTO_FREE char *names = NULL;
        assert_true(
            snprintf(path, sizeof path, "tests/golden/models/%s/config.json", fine[i].model) > 0);
        OK(cs_json_read(path, &config));
        OK(cs_model_config_parse(path, config, &was));
        OK(cs_json_set(config, fine[i].key, json_loads(fine[i].value, JSON_DECODE_ANY, NULL)));
        OK(cs_model_config_parse(path, config, &out));
        assert_memory_equal(&was, &out, sizeof out);
        OK(cs_config_unread(config, out.arch, &names));
        assert_non_null(names);
        assert_string_equal(names, fine[i].key);
    }
    /* Other names of what the file says already. */
    json_auto_t *config = NULL;
    cs_model_config out;
    OK(cs_json_read("tests/golden/models/gpt2/config.json", &config));
    OK(cs_json_set(config, "hidden_size", json_integer(10)));
    OK(cs_json_set(config, "num_attention_heads", json_integer(2)));
    OK(cs_model_config_parse("c", config, &out));
}

/* ModernBERT's published file has it, and transformers 4 then takes the base of the other layers. */
TEST(null_local_base_is_the_global_one)
{
    json_auto_t *config = NULL;
    cs_model_config out;
    OK(cs_json_read("tests/golden/models/modernbert/config.json", &config));
    assert_int_equal(json_object_del(config, "rope_parameters"), 0);
    OK(cs_json_set(config, "global_rope_theta", json_real(77)));
    OK(cs_model_config_parse("c", config, &out));
    assert_true(out.position.rotary.theta == 77 && out.position.local_rotary.theta == 10000);
    OK(cs_json_set(config, "local_rope_theta", json_null()));
    OK(cs_model_config_parse("c", config, &out));
    assert_true(out.position.rotary.theta == 77 && out.position.local_rotary.theta == 77);
}

/* BLOOM in parts leaves biases out; either key alone does nothing. */
TEST(bloom_in_exact_parts_is_refused)
{
    json_auto_t *config = NULL;
    cs_model_config out;
    OK(cs_json_read("tests/golden/models/bloom/config.json", &config));
    OK(cs_json_set(config, "slow_but_exact", json_true()));
    OK(cs_model_config_parse("c", config, &out));
    OK(cs_json_set(config, "pretraining_tp", json_integer(2)));
    assert_fails(cs_model_config_parse("c", config, &out), CS_ERR_INPUT,
                 "'slow_but_exact' true with 'pretraining_tp' 2");
    OK(cs_json_set(config, "slow_but_exact", json_false()));
    OK(cs_model_config_parse("c", config, &out));
}
