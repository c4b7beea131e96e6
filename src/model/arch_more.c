/* Rows: the other encoders of BERT's kind, and decoders with learned positions, rotary positions of
 * part of a head, ALiBi, capped scores. Source of keys and names: the configurations and
 * state_dict() of the classes of transformers 5.23. */
#include <math.h>
#include <string.h>

#include "model/arch_private.h"
#include "model/rotary.h"

/* --- encoders --------------------------------------------------------------------------------- */

static const cs_arch_key DISTILBERT_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"max_position_embeddings", CS_KEY_INT, CS_AT(shape.positions), 512},
    {"dim", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"n_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"n_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"hidden_size", CS_KEY_ALIAS, CS_AT(shape.width), 0},
    {"num_hidden_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"num_attention_heads", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"hidden_dim", CS_KEY_INT, CS_AT(shape.inner), NAN},
    {"activation", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"dropout", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"sinusoidal_pos_embds", CS_KEY_PAST, 0, 0}, /* how the table began */
    {"qa_dropout seq_classif_dropout", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor DISTILBERT_TENSORS[] = {
    {"embed.token", "embeddings.word_embeddings"},
    {"embed.position", "embeddings.position_embeddings"},
    {"embed.norm", "embeddings.LayerNorm"},
    {"layer.N.attention.qkv", "transformer.layer.N.attention.{q_lin,k_lin,v_lin}"},
    {"layer.N.attention.output", "transformer.layer.N.attention.out_lin"},
    {"layer.N.attention.norm", "transformer.layer.N.sa_layer_norm"},
    {"layer.N.mlp.in", "transformer.layer.N.ffn.lin1"},
    {"layer.N.mlp.out", "transformer.layer.N.ffn.lin2"},
    {"layer.N.mlp.norm", "transformer.layer.N.output_layer_norm"},
    {"head.dense", "/vocab_transform"},
    {"head.norm", "/vocab_layer_norm"},
    {"head", "/vocab_projector"},
    {"output", "/vocab_projector"},
    {"classifier.dense", "/pre_classifier"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

#define ENCODER_HEAD                                                                               \
    .layer.post_norm = true, .layer.embed_norm = true, .head.transform = true, .head.bias = true,  \
    .head.tied = true

const cs_arch_row cs_arch_distilbert = {
    .name = "distilbert",
    .class = "DistilBert",
    .score = CS_SCORE_RELU,
    .head = "ForMaskedLM",
    .prefix = "distilbert.",
    .head_follows = true,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, ENCODER_HEAD, .layer.eps = 1e-12,
              .layer.activation = CS_ACT_GELU_ERF},
    .keys = {DISTILBERT_KEYS},
    .tensors = {DISTILBERT_TENSORS},
};

static const cs_arch_key ELECTRA_KEYS[] = {
    {"embedding_size", CS_KEY_COUNT, CS_AT(shape.embed_width), 128},
    {"is_decoder", CS_KEY_PAST, 0, 0}, /* cs_model_kind_read */
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Without a projection where the tables have the width. */
static cs_status electra_read(const char *where, const json_t *json, cs_model_config *config)
{
    (void)where;
    (void)json;
    if (config->shape.embed_width == config->shape.width) {
        config->shape.embed_width = 0;
    }
    return CS_OK;
}

static const cs_arch_tensor ELECTRA_TENSORS[] = {
    {"embed.project", "embeddings_project"},
    {"head.dense", "/generator_predictions.dense"},
    {"head.norm", "/generator_predictions.LayerNorm"},
    {"head", "/generator_lm_head"},
    {"output", "/generator_lm_head"},
    {"classifier.dense", "/classifier.dense"},
    {"classifier.output", "/classifier.out_proj"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_electra = {
    .name = "electra",
    .places = true,
    .class = "Electra",
    .score = CS_SCORE_GELU,
    .head = "ForMaskedLM",
    .prefix = "electra.",
    .states_alone = true,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, ENCODER_HEAD, .layer.eps = 1e-12,
              .shape.token_types = 2, .layer.activation = CS_ACT_GELU_ERF,
              .head.activation = CS_ACT_GELU_ERF},
    .read = electra_read,
    .keys = {cs_arch_sizes, cs_arch_encoder_keys, ELECTRA_KEYS},
    .tensors = {cs_arch_encoder_tensors, ELECTRA_TENSORS},
};

static const cs_arch_key ALBERT_KEYS[] = {
    {"embedding_size", CS_KEY_COUNT, CS_AT(shape.embed_width), 128},
    {"num_hidden_groups", CS_KEY_COUNT, CS_AT(shape.groups), 1},
    {"inner_group_num", CS_KEY_ONLY, 0, 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 2},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 3},
    {"down_scale_factor gap_size net_structure_type num_memory_blocks", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

#define GROUP "encoder.albert_layer_groups.N.albert_layers.0."
static const cs_arch_tensor ALBERT_TENSORS[] = {
    {"embed.token", "embeddings.word_embeddings"},
    {"embed.position", "embeddings.position_embeddings"},
    {"embed.type", "embeddings.token_type_embeddings"},
    {"embed.norm", "embeddings.LayerNorm"},
    {"embed.project", "encoder.embedding_hidden_mapping_in"},
    {"layer.N.attention.qkv", GROUP "attention.{query,key,value}"},
    {"layer.N.attention.distance", GROUP "attention.distance_embedding"},
    {"layer.N.attention.output", GROUP "attention.dense"},
    {"layer.N.attention.norm", GROUP "attention.LayerNorm"},
    {"layer.N.mlp.in", GROUP "ffn"},
    {"layer.N.mlp.out", GROUP "ffn_output"},
    {"layer.N.mlp.norm", GROUP "full_layer_layer_norm"},
    {"head.dense", "/predictions.dense"},
    {"head.norm", "/predictions.LayerNorm"},
    {"head", "/predictions"},
    {"output", "/predictions.decoder"},
    {"classifier.dense", "pooler"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_albert = {
    .name = "albert",
    .places = true,
    .class = "Albert",
    .score = CS_SCORE_POOLER,
    .head = "ForMaskedLM",
    .prefix = "albert.",
    .head_follows = true,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, ENCODER_HEAD, .layer.eps = 1e-12,
              .shape.token_types = 2, .layer.activation = CS_ACT_GELU_TANH,
              .position.distance_unscaled = true},
    .keys = {cs_arch_sizes, cs_arch_encoder_keys, ALBERT_KEYS},
    .tensors = {ALBERT_TENSORS},
};

/* --- decoders --------------------------------------------------------------------------------- */

static const cs_arch_key OPT_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"num_hidden_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"num_attention_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"ffn_dim", CS_KEY_INT, CS_AT(shape.inner), NAN},
    {"max_position_embeddings", CS_KEY_INT, CS_AT(shape.positions), 2048},
    {"activation_function", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"enable_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"enable_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 1},
    {"enable_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 1},
    {"do_layer_norm_before", CS_KEY_PAST, 0, 0}, /* opt_read */
    {"word_embed_proj_dim", CS_KEY_COUNT, CS_AT(shape.embed_width), 0},
    {"layer_norm_elementwise_affine", CS_KEY_ONLY, 0, 1},
    {"_remove_final_layer_norm", CS_KEY_ONLY, 0, 0},
    {"dropout", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"init_std", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"layerdrop", CS_KEY_PAST, 0, 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 2},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {NULL, CS_KEY_PAST, 0, 0},
};

static cs_status opt_read(const char *where, const json_t *json, cs_model_config *config)
{
    config->layer.post_norm = json_is_false(json_object_get(json, "do_layer_norm_before"));
    if (config->shape.embed_width != 0 && config->shape.embed_width != config->shape.width) {
        return cs_config_way_round(
            cs_fail(CS_ERR_INPUT,
                    "%s: 'word_embed_proj_dim' other than 'hidden_size' is not supported", where));
    }
    config->shape.embed_width = 0;
    return CS_OK;
}

static const cs_arch_tensor OPT_TENSORS[] = {
    {"embed.token", "decoder.embed_tokens"},
    {"embed.position", "decoder.embed_positions"},
    {"layer.N.attention.norm", "decoder.layers.N.self_attn_layer_norm"},
    {"layer.N.attention.qkv", "decoder.layers.N.self_attn.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.output", "decoder.layers.N.self_attn.out_proj"},
    {"layer.N.mlp.norm", "decoder.layers.N.final_layer_norm"},
    {"layer.N.mlp.in", "decoder.layers.N.fc1"},
    {"layer.N.mlp.out", "decoder.layers.N.fc2"},
    {"final_norm", "decoder.final_layer_norm"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

#define CAUSAL .head = "ForCausalLM", .causal = true, .score = CS_SCORE_BARE

const cs_arch_row cs_arch_opt = {
    CAUSAL,
    .name = "opt",
    .class = "OPT",
    .prefix = "model.",
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-5,
              .layer.activation = CS_ACT_RELU, .head.tied = true, .position.offset = 2},
    .read = opt_read,
    .keys = {OPT_KEYS},
    .tensors = {OPT_TENSORS},
};

static const cs_arch_key GEMMA2_KEYS[] = {
    {"hidden_activation", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 2},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 1},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"query_pre_attn_scalar", CS_KEY_POSITIVE, CS_AT(attention.score_width), 256},
    {"attn_logit_softcapping", CS_KEY_REAL_OR_NONE, CS_AT(attention.score_cap), 50},
    {"final_logit_softcapping", CS_KEY_REAL_OR_NONE, CS_AT(head.logit_cap), 30},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    {"layer_types", CS_KEY_PAST, 0, 0}, /* gemma2_read */
    {"use_bidirectional_attention", CS_KEY_ONLY, 0, 0},
    {"cache_implementation", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Every second layer from the first on is local where layer_types does not say which. The class
 * passes by hidden_act, which its files have too. */
static cs_status gemma2_read(const char *where, const json_t *json, cs_model_config *config)
{
    bool listed = false;
    if (!json_object_get(json, "hidden_activation")) {
        config->layer.activation = CS_ACT_GELU_TANH;
    }
    config->scale.embed = sqrt((double)config->shape.width);
    cs_status status = cs_layer_types_read(where, json, &listed, config);
    for (int64_t l = 0; status == CS_OK && !listed && l < config->shape.layers; l += 2) {
        config->attention.local[l / 64 % (CS_MOST_LAYERS / 64)] |= (uint64_t)1 << l % 64;
    }
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

static const cs_arch_tensor GEMMA2_TENSORS[] = {
    {"layer.N.attention.post", "layers.N.post_attention_layernorm"},
    {"layer.N.mlp.norm", "layers.N.pre_feedforward_layernorm"},
    {"layer.N.mlp.post", "layers.N.post_feedforward_layernorm"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_gemma2 = {
    CAUSAL,
    .name = "gemma2",
    .class = "Gemma2",
    .prefix = "model.",
    .plain = {CS_ARCH_USUAL, CS_ARCH_NO_IDS, .position.rotary = {.theta = 10000, .share = 1},
              .layer.bias = true, .layer.eps = 1e-6, .layer.activation = CS_ACT_GELU_TANH,
              .layer.rms = true, .layer.gated = true, .layer.sandwich = true,
              .layer.gain_from_one = true, .head.tied = true},
    .read = gemma2_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, GEMMA2_KEYS},
    .tensors = {GEMMA2_TENSORS, cs_arch_llama_tensors},
};

static const cs_arch_key PHI_KEYS[] = {
    {"num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 0},
    {"head_dim", CS_KEY_INT_OR_NONE, CS_AT(shape.head_width), 0},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"qk_layernorm", CS_KEY_ONLY, 0, 0},
    {"resid_pdrop", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"embd_pdrop", CS_KEY_REAL, CS_AT(training.embed_dropout), 0},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 0},
    {"rope_parameters rope_scaling rope_theta partial_rotary_factor", CS_KEY_PAST, 0, 0},
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(position.longest), 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor PHI_TENSORS[] = {
    {"embed.token", "embed_tokens"},
    {"layer.N.attention.norm", "layers.N.input_layernorm"},
    {"layer.N.attention.qkv", "layers.N.self_attn.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.output", "layers.N.self_attn.dense"},
    {"layer.N.mlp.in", "layers.N.mlp.fc1"},
    {"layer.N.mlp.out", "layers.N.mlp.fc2"},
    {"final_norm", "final_layernorm"},
    {"head", "/lm_head"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

#define SIDE_BY_SIDE                                                                               \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS,                                                                 \
        .layer.bias = true, .layer.mlp_bias = true, .layer.norm_bias = true, .layer.eps = 1e-5,    \
        .layer.activation = CS_ACT_GELU_TANH, .layer.parallel = true, .layer.one_norm = true,      \
        .head.bias = true

const cs_arch_row cs_arch_phi = {
    CAUSAL,
    .name = "phi",
    .class = "Phi",
    .prefix = "model.",
    .plain = {SIDE_BY_SIDE, .layer.qkv_bias = true, .layer.output_bias = true,
              .position.rotary = {.theta = 10000, .share = 0.5}},
    .read = cs_rotary_read,
    .keys = {cs_arch_sizes, PHI_KEYS},
    .tensors = {PHI_TENSORS},
};

static const cs_arch_key GPTJ_KEYS[] = {
    {"rotary_dim", CS_KEY_PAST, 0, 0}, /* gptj_read */
    {"rotary", CS_KEY_ONLY, 0, 1},
    {NULL, CS_KEY_PAST, 0, 0},
};

static cs_status gptj_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *value = json_object_get(json, "rotary_dim");
    int64_t columns = value ? (int64_t)json_integer_value(value) : 64;
    if (columns < 1 || columns > 1 << 16 || config->shape.heads < 1) {
        return cs_fail(CS_ERR_INPUT, "%s: 'rotary_dim' is not a positive whole number", where);
    }
    if (config->shape.positions < 1) {
        return cs_fail(CS_ERR_INPUT, "%s: 'n_positions' is %lld, not above 0", where,
                       (long long)config->shape.positions);
    }
    /* of a half more, so that its product with the width of a head is not rounded below */
    config->position.rotary.share = ((double)columns + 0.5) / (double)cs_head_width(config);
    config->position.rotary.attention = config->position.rotary.factor = 1;
    config->shape.positions = 0; /* a length, no table */
    config->head.tied = json_is_true(json_object_get(json, "tie_word_embeddings"));
    return CS_OK;
}

static const cs_arch_tensor GPTJ_TENSORS[] = {
    {"embed.token", "wte"},
    {"layer.N.attention.norm", "h.N.ln_1"},
    {"layer.N.attention.qkv", "h.N.attn.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.output", "h.N.attn.out_proj"},
    {"layer.N.mlp.in", "h.N.mlp.fc_in"},
    {"layer.N.mlp.out", "h.N.mlp.fc_out"},
    {"final_norm", "ln_f"},
    {"head", "/lm_head"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_gptj = {
    CAUSAL,
    .name = "gptj",
    .class = "GPTJ",
    .prefix = "transformer.",
    .plain = {SIDE_BY_SIDE, .position.rotary_interleaved = true,
              .position.rotary = {.theta = 10000}},
    .read = gptj_read,
    .keys = {cs_arch_gpt2_keys, GPTJ_KEYS},
    .tensors = {GPTJ_TENSORS},
};

static const cs_arch_key BLOOM_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), 0},
    {"n_embed", CS_KEY_ALIAS, CS_AT(shape.width), 0},
    {"n_layer", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"n_head", CS_KEY_INT, CS_AT(shape.heads), 0},
    {"num_attention_heads", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"num_hidden_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"layer_norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"hidden_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"apply_residual_connection_post_layernorm", CS_KEY_ONLY, 0, 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pretraining_tp", CS_KEY_PAST, 0, 0}, /* bloom_read */
    {"slow_but_exact seq_length skip_bias_add skip_bias_add_qkv attention_softmax_in_fp32 "
     "masked_softmax_fusion bias_dropout_fusion",
     CS_KEY_PAST, 0, 0},
    {"offset_alibi", CS_KEY_PAST, 0, 0}, /* all scores of a row alike */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor BLOOM_TENSORS[] = {
    {"embed.token", "word_embeddings"},
    {"embed.norm", "word_embeddings_layernorm"},
    {"layer.N.attention.norm", "h.N.input_layernorm"},
    {"layer.N.attention.qkv", "%h.N.self_attention.query_key_value"},
    {"layer.N.attention.output", "h.N.self_attention.dense"},
    {"layer.N.mlp.norm", "h.N.post_attention_layernorm"},
    {"layer.N.mlp.in", "h.N.mlp.dense_h_to_4h"},
    {"layer.N.mlp.out", "h.N.mlp.dense_4h_to_h"},
    {"final_norm", "ln_f"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

/* With both keys the class multiplies in parts and leaves two biases of a layer out. */
static cs_status bloom_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_int_t parts = json_integer_value(json_object_get(json, "pretraining_tp"));
    (void)config;
    return parts > 1 && json_is_true(json_object_get(json, "slow_but_exact"))
               ? cs_config_way_round(
                     cs_fail(CS_ERR_INPUT,
                             "%s: 'slow_but_exact' true with 'pretraining_tp' %lld is not "
                             "supported: transformers omits biases then",
                             where, (long long)parts))
               : CS_OK;
}

const cs_arch_row cs_arch_bloom = {
    CAUSAL,
    .name = "bloom",
    .class = "Bloom",
    .prefix = "transformer.",
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-5,
              .layer.activation = CS_ACT_GELU_TANH, .head.tied = true, .layer.embed_norm = true,
              .attention.alibi = true},
    .read = bloom_read,
    .keys = {BLOOM_KEYS},
    .tensors = {BLOOM_TENSORS},
};
