/* Rows: decoders after GPT-2 with local layers (gpt_neo) or few heads of keys (gpt_bigcode), and
 * falcon. Source of keys and names: the configurations and state_dict() of the classes of
 * transformers 5.24.
 *
 * Limit: falcon with ALiBi is refused; its class rounds the slopes to bfloat16. */
#include <math.h>
#include <string.h>

#include "model/arch_private.h"
#include "model/rotary.h"

#define DECODER                                                                                    \
    .head = "ForCausalLM", .causal = true, .score = CS_SCORE_BARE, .prefix = "transformer."
#define BIASES CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .head.tied = true, .layer.eps = 1e-5

/* --- gpt_neo ---------------------------------------------------------------------------------- */

static const cs_arch_key NEO_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(shape.positions), 2048},
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"num_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"num_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"num_hidden_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"num_attention_heads", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"intermediate_size", CS_KEY_INT, CS_AT(shape.inner), 0},
    {"window_size", CS_KEY_COUNT, CS_AT(attention.window), 256},
    {"activation_function", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"resid_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"embed_dropout", CS_KEY_REAL, CS_AT(training.embed_dropout), 0},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 50256},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 50256},
    {"attention_types", CS_KEY_PAST, 0, 0},  /* neo_read */
    {"attention_layers", CS_KEY_PAST, 0, 0}, /* what follows from them */
    {NULL, CS_KEY_PAST, 0, 0},
};

/* attention_types has parts [[TYPE, ...], TIMES], TYPE global or local; absent: [["global",
 * "local"], 12]. */
static cs_status neo_read(const char *where, const json_t *json, cs_model_config *config)
{
    json_auto_t *usual = json_pack("[[[s, s], i]]", "global", "local", 12);
    const json_t *given = json_object_get(json, "attention_types");
    const json_t *parts = !given || json_is_null(given) ? usual : given;
    int64_t l = 0;
    bool any = false, known = true;
    for (size_t p = 0; p < json_array_size(parts); ++p) {
        const json_t *types = json_array_get(json_array_get(parts, p), 0),
                     *times = json_array_get(json_array_get(parts, p), 1);
        const int64_t all = (int64_t)json_integer_value(times) * (int64_t)json_array_size(types);
        for (int64_t i = 0; i < all && l < CS_MOST_LAYERS; ++i, ++l) {
            const char *type =
                json_string_value(json_array_get(types, (size_t)i % json_array_size(types)));
            const bool local = type && strcmp(type, "local") == 0;
            known = known && (local || (type && strcmp(type, "global") == 0));
            if (local) config->attention.local[l / 64] |= (uint64_t)1 << l % 64;
            any = any || local;
        }
    }
    if (!usual) return CS_ERR_MEMORY;
    if (!known || l != config->shape.layers) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'attention_types' is not a list of global and local for %lld layers",
                       where, (long long)config->shape.layers);
    }
    config->attention.window = any ? config->attention.window : 0;
    return CS_OK;
}

#define LAYER "h.N."
static const cs_arch_tensor NEO_TENSORS[] = {
    {"embed.token", "wte"},
    {"embed.position", "wpe"},
    {"layer.N.attention.norm", LAYER "ln_1"},
    {"layer.N.attention.qkv", LAYER "attn.attention.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.output", LAYER "attn.attention.out_proj"},
    {"layer.N.mlp.norm", LAYER "ln_2"},
    {"layer.N.mlp.in", LAYER "mlp.c_fc"},
    {"layer.N.mlp.out", LAYER "mlp.c_proj"},
    {"final_norm", "ln_f"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_gpt_neo = {
    DECODER,
    .name = "gpt_neo",
    .class = "GPTNeo",
    .plain = {CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.bias = true, .layer.output_bias = true,
              .layer.mlp_bias = true, .layer.norm_bias = true, .head.tied = true, .layer.eps = 1e-5,
              .layer.activation = CS_ACT_GELU_TANH, .attention.score_width = 1},
    .read = neo_read,
    .keys = {NEO_KEYS},
    .tensors = {NEO_TENSORS},
};

/* --- gpt_bigcode ------------------------------------------------------------------------------ */

static const cs_arch_key BIGCODE_KEYS[] = {
    {"multi_query scale_attn_weights", CS_KEY_PAST, 0, 0}, /* bigcode_read */
    {"attention_softmax_in_fp32 scale_attention_softmax_in_fp32", CS_KEY_PAST, 0, 0},
    {"num_key_value_heads", CS_KEY_PAST, 0, 0}, /* what follows from multi_query */
    {NULL, CS_KEY_PAST, 0, 0},
};

static cs_status bigcode_read(const char *where, const json_t *json, cs_model_config *config)
{
    (void)where;
    config->shape.kv_heads = json_is_false(json_object_get(json, "multi_query")) ? 0 : 1;
    config->attention.score_width =
        json_is_false(json_object_get(json, "scale_attn_weights")) ? 1 : 0;
    return CS_OK;
}

static const cs_arch_tensor BIGCODE_TENSORS[] = {
    {"layer.N.attention.qkv", "%" LAYER "attn.c_attn"},
    {"layer.N.attention.output", LAYER "attn.c_proj"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_gpt_bigcode = {
    DECODER,
    .name = "gpt_bigcode",
    .class = "GPTBigCode",
    .plain = {BIASES, .layer.activation = CS_ACT_GELU_TANH},
    .read = bigcode_read,
    .keys = {cs_arch_gpt2_keys, BIGCODE_KEYS},
    .tensors = {BIGCODE_TENSORS, NEO_TENSORS},
};

/* --- falcon ----------------------------------------------------------------------------------- */

static const cs_arch_key FALCON_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"num_hidden_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"num_attention_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"num_kv_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 0}, /* falcon_read */
    {"ffn_hidden_size", CS_KEY_INT, CS_AT(shape.inner), 0},
    {"activation", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"parallel_attn", CS_KEY_BOOL, CS_AT(layer.parallel), 1},
    {"new_decoder_architecture multi_query num_ln_in_parallel_attn", CS_KEY_PAST, 0, 0},
    {"alibi", CS_KEY_ONLY, 0, 0},
    {"hidden_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 11},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 11},
    {"rope_parameters rope_scaling rope_theta", CS_KEY_PAST, 0, 0},
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(position.longest), 2048},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* The new architecture has groups of queries and, unless it says 1, a norm for each parallel
 * sublayer; the old one keys for each head or one for all. */
static cs_status falcon_read(const char *where, const json_t *json, cs_model_config *config)
{
    const bool newer = json_is_true(json_object_get(json, "new_decoder_architecture")),
               single = !newer && !json_is_false(json_object_get(json, "multi_query"));
    const json_t *norms = json_object_get(json, "num_ln_in_parallel_attn");
    const bool two = norms && !json_is_null(norms) ? json_integer_value(norms) == 2 : newer;
    if (two != newer && (two || json_integer_value(norms) != 1)) {
        return cs_config_way_round(cs_fail(
            CS_ERR_INPUT, "%s: 'num_ln_in_parallel_attn' does not fit the architecture", where));
    }
    if (newer && !config->layer.parallel) {
        return cs_config_way_round(cs_fail(
            CS_ERR_INPUT,
            "%s: 'parallel_attn' false with 'new_decoder_architecture' is not supported", where));
    }
    config->layer.one_norm = config->layer.parallel && !two;
    config->shape.kv_heads = single ? 1 : newer ? config->shape.kv_heads : 0;
    return cs_rotary_read(where, json, config);
}

static const cs_arch_tensor FALCON_TENSORS[] = {
    {"embed.token", "word_embeddings"},
    {"layer.N.attention.norm", LAYER "input_layernorm"},
    {"layer.N.attention.norm", LAYER "ln_attn"},
    {"layer.N.attention.qkv", "%" LAYER "self_attention.query_key_value"},
    {"layer.N.attention.output", LAYER "self_attention.dense"},
    {"layer.N.mlp.norm", LAYER "post_attention_layernorm"},
    {"layer.N.mlp.norm", LAYER "ln_mlp"},
    {"layer.N.mlp.in", LAYER "mlp.dense_h_to_4h"},
    {"layer.N.mlp.out", LAYER "mlp.dense_4h_to_h"},
    {"final_norm", "ln_f"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_falcon = {
    DECODER,
    .name = "falcon",
    .class = "Falcon",
    .plain = {CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.bias = true, .layer.norm_bias = true,
              .head.tied = true, .layer.eps = 1e-5, .layer.activation = CS_ACT_GELU_ERF,
              .position.rotary = {.theta = 10000, .share = 1}},
    .read = falcon_read,
    .keys = {FALCON_KEYS},
    .tensors = {FALCON_TENSORS},
};
