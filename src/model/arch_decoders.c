/* Rows: decoders with rotary positions that differ from llama or gpt_neox by one part. Source of
 * keys and names: the configurations and state_dict() of the classes of transformers 5.24.
 *
 * Limits: queries and keys are not clipped (olmo), and norms of them with separate modules for each
 * head are not read (stablelm). */
#include <math.h>
#include <string.h>

#include "model/arch_private.h"
#include "model/rotary.h"

/* --- keys ------------------------------------------------------------------------------------- */

static const cs_arch_key DECODER_KEYS[] = {
    {"num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 0},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 0},
    {"rope_parameters rope_scaling rope_theta", CS_KEY_PAST, 0, 0},
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(position.longest), 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

#define BIAS_OF_ATTENTION(absent)                                                                  \
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), absent},                                \
    {                                                                                              \
        "attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), absent                            \
    }
#define HEAD_DIM                                                                                   \
    {                                                                                              \
        "head_dim", CS_KEY_INT_OR_NONE, CS_AT(shape.head_width), 0                                 \
    }
#define RMS_EPS(absent)                                                                            \
    {                                                                                              \
        "rms_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), absent                                      \
    }
#define TIED                                                                                       \
    {                                                                                              \
        "tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1                                    \
    }
#define KEY_HEADS(absent)                                                                          \
    {                                                                                              \
        "num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), absent                   \
    }
#define DROPOUT                                                                                    \
    {                                                                                              \
        "attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0                     \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, CS_KEY_PAST, 0, 0                                                                    \
    }

static const cs_arch_key GEMMA_KEYS[] = {
    DROPOUT,
    {"head_dim", CS_KEY_COUNT, CS_AT(shape.head_width), 256},
    KEY_HEADS(16),
    RMS_EPS(1e-6),
    TIED,
    BIAS_OF_ATTENTION(0),
    {"use_bidirectional_attention", CS_KEY_ONLY, 0, 0},
    {"cache_implementation", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key GEMMA3_KEYS[] = {
    {"hidden_activation", CS_KEY_ACT, CS_AT(layer.activation), 0},
    KEY_HEADS(4),
    {"query_pre_attn_scalar", CS_KEY_POSITIVE, CS_AT(attention.score_width), 256},
    {"attn_logit_softcapping", CS_KEY_ONLY, 0, 0}, /* the class passes it by, others cap */
    {"final_logit_softcapping", CS_KEY_REAL_OR_NONE, CS_AT(head.logit_cap), 0},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    {"layer_types sliding_window_pattern _sliding_window_pattern", CS_KEY_PAST, 0, 0},
    {"rope_local_base_freq", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key STARCODER2_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    KEY_HEADS(2),
    TIED,
    {"norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 1},
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 1},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 0},
    {"residual_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"embedding_dropout", CS_KEY_REAL, CS_AT(training.embed_dropout), 0},
    END,
};

static const cs_arch_key STABLELM_KEYS[] = {
    DROPOUT,
    KEY_HEADS(32),
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"use_qkv_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"use_parallel_residual", CS_KEY_BOOL, CS_AT(layer.parallel), 0},
    {"use_parallel_residual", CS_KEY_BOOL, CS_AT(layer.one_norm), 0},
    {"qk_layernorm", CS_KEY_ONLY, 0, 0},
    {"hidden_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"partial_rotary_factor", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key ARCEE_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    RMS_EPS(1e-5),
    BIAS_OF_ATTENTION(0),
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    END,
};

static const cs_arch_key NEMOTRON_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    BIAS_OF_ATTENTION(0),
    {"norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"partial_rotary_factor", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key OLMO_KEYS[] = {
    DROPOUT, HEAD_DIM, BIAS_OF_ATTENTION(0), {"clip_qkv", CS_KEY_ONLY, 0, 0}, END,
};

static const cs_arch_key OLMO2_KEYS[] = {
    DROPOUT, HEAD_DIM, RMS_EPS(1e-5), BIAS_OF_ATTENTION(0), END,
};

static const cs_arch_key OLMO3_KEYS[] = {
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    {"layer_types", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key EXAONE4_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    KEY_HEADS(32),
    RMS_EPS(1e-5),
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    {"layer_types sliding_window_pattern", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key SMOLLM3_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    KEY_HEADS(4),
    RMS_EPS(1e-6),
    TIED,
    BIAS_OF_ATTENTION(0),
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 0},
    {"use_sliding_window layer_types no_rope_layers no_rope_layer_interval", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key GRANITE_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    RMS_EPS(1e-6),
    BIAS_OF_ATTENTION(0),
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"embedding_multiplier", CS_KEY_POSITIVE, CS_AT(scale.embed), 1},
    {"residual_multiplier", CS_KEY_POSITIVE, CS_AT(scale.residual), 1},
    {"attention_multiplier", CS_KEY_POSITIVE, CS_AT(attention.score_width), 1}, /* granite_read */
    {"logits_scaling", CS_KEY_POSITIVE, CS_AT(head.scale), 1},
    END,
};

static const cs_arch_key COHERE_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    TIED,
    BIAS_OF_ATTENTION(0),
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"logit_scale", CS_KEY_POSITIVE, CS_AT(head.scale), 0.0625},
    {"use_qk_norm", CS_KEY_PAST, 0, 0}, /* cohere_read */
    END,
};

static const cs_arch_key GLM4_KEYS[] = {
    DROPOUT,
    {"head_dim", CS_KEY_COUNT, CS_AT(shape.head_width), 128},
    KEY_HEADS(2),
    RMS_EPS(1.5625e-7),
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"partial_rotary_factor", CS_KEY_PAST, 0, 0},
    END,
};

static const cs_arch_key ERNIE_KEYS[] = {
    {"head_dim", CS_KEY_INT_OR_NONE, CS_AT(shape.head_width), 128},
    KEY_HEADS(2),
    RMS_EPS(1e-5),
    TIED,
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"use_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    END,
};

static const cs_arch_key PHI3_KEYS[] = {
    DROPOUT,
    HEAD_DIM,
    RMS_EPS(1e-5),
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 0},
    {"resid_pdrop", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"embd_pdrop", CS_KEY_REAL, CS_AT(training.embed_dropout), 0},
    {"partial_rotary_factor original_max_position_embeddings", CS_KEY_PAST, 0, 0},
    END,
};

/* --- settings beyond the keys ----------------------------------------------------------------- */

static void set_bit(uint64_t *bits, int64_t layer)
{
    bits[layer / 64] |= (uint64_t)1 << layer % 64;
}

static int64_t layers_of(const cs_model_config *config)
{
    return config->shape.layers < CS_MOST_LAYERS ? config->shape.layers : CS_MOST_LAYERS;
}

/* Layers that layer_types names, or without it all except every `every`-th (0: none is local); and
 * their window. */
static cs_status local_layers(const char *where, const json_t *json, int64_t every,
                              cs_model_config *config)
{
    bool listed = false, any = false;
    cs_status status = cs_layer_types_read(where, json, &listed, config);
    for (int64_t l = 0; l < layers_of(config) && status == CS_OK; ++l) {
        if (!listed && every > 0 && (l + 1) % every != 0) {
            set_bit(config->attention.local, l);
        }
        any = any || cs_layer_is_local(config, l);
    }
    if (status == CS_OK && any && config->attention.window == 0)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: 'layer_types' has sliding_attention, but no window is given", where);
    if (!any) {
        config->attention.window = 0;
    }
    return status;
}

/* A whole number above 0; null or absent: `absent`. */
static cs_status count_at(const char *where, const json_t *json, const char *key, int64_t absent,
                          int64_t *out)
{
    const json_t *value = json_object_get(json, key);
    const bool given = value && !json_is_null(value);
    *out = given ? (int64_t)json_integer_value(value) : absent;
    return !given || (json_is_integer(value) && *out > 0)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: '%s' is not a whole number above 0", where, key);
}

static cs_status gemma_read(const char *where, const json_t *json, cs_model_config *config)
{
    const char *act = json_string_value(json_object_get(json, "hidden_act"));
    config->scale.embed = sqrt((double)config->shape.width);
    if (act && strcmp(act, "gelu") == 0) {
        config->layer.activation = CS_ACT_GELU_TANH; /* what the class makes of it */
    }
    return cs_rotary_read(where, json, config);
}

static cs_status gemma3_read(const char *where, const json_t *json, cs_model_config *config)
{
    const char *key = json_object_get(json, "sliding_window_pattern") ? "sliding_window_pattern"
                                                                      : "_sliding_window_pattern";
    int64_t every = 0;
    config->scale.embed = sqrt((double)config->shape.width);
    if (!json_object_get(json, "hidden_activation")) { /* the class passes by hidden_act */
        config->layer.activation = CS_ACT_GELU_TANH;
    }
    cs_status status = count_at(where, json, key, 6, &every);
    if (status == CS_OK) status = local_layers(where, json, every, config);
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

/* Every layer is local if there is a window. */
static cs_status windowed_read(const char *where, const json_t *json, cs_model_config *config)
{
    for (int64_t l = 0; config->attention.window > 0 && l < layers_of(config); ++l) {
        set_bit(config->attention.local, l);
    }
    return cs_rotary_read(where, json, config);
}

static cs_status olmo3_read(const char *where, const json_t *json, cs_model_config *config)
{
    const cs_status status = local_layers(where, json, 4, config);
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

/* Layers that are not local have no rotary positions if there is a window. */
static cs_status exaone4_read(const char *where, const json_t *json, cs_model_config *config)
{
    const bool windowed = config->attention.window > 0;
    int64_t every = 0;
    cs_status status =
        windowed ? count_at(where, json, "sliding_window_pattern", 4, &every) : CS_OK;
    if (status == CS_OK) status = local_layers(where, json, every, config);
    for (int64_t l = 0; status == CS_OK && windowed && l < layers_of(config); ++l) {
        if (!cs_layer_is_local(config, l)) set_bit(config->position.unturned, l);
    }
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

/* no_rope_layers says 1 for a layer with rotary positions. Without layer_types those without them
 * are local, if windows are in use. */
static cs_status smollm3_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *turns = json_object_get(json, "no_rope_layers"),
                 *types = json_object_get(json, "layer_types");
    const bool use = json_is_true(json_object_get(json, "use_sliding_window")),
               listed = turns && !json_is_null(turns);
    int64_t every = 0;
    cs_status status = count_at(where, json, "no_rope_layer_interval", 4, &every);
    if (status == CS_OK && listed && (int64_t)json_array_size(turns) != config->shape.layers)
        status = cs_fail(CS_ERR_INPUT, "%s: 'no_rope_layers' names %lld layers, not %lld", where,
                         (long long)json_array_size(turns), (long long)config->shape.layers);
    for (int64_t l = 0; status == CS_OK && l < layers_of(config); ++l) {
        const json_t *turn = json_array_get(turns, (size_t)l);
        if (listed ? json_integer_value(turn) == 0 : (l + 1) % every == 0) {
            set_bit(config->position.unturned, l);
            if (use && config->attention.window > 0 && (!types || json_is_null(types))) {
                set_bit(config->attention.local, l);
            }
        }
    }
    if (status == CS_OK) status = local_layers(where, json, 0, config);
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

/* Factors under the keys of reciprocals and of their squares. */
static cs_status granite_read(const char *where, const json_t *json, cs_model_config *config)
{
    config->attention.score_width =
        1 / (config->attention.score_width * config->attention.score_width);
    config->head.scale = 1 / config->head.scale;
    return cs_rotary_read(where, json, config);
}

static cs_status cohere_read(const char *where, const json_t *json, cs_model_config *config)
{
    config->attention.head_norm =
        json_is_true(json_object_get(json, "use_qk_norm")) ? CS_HEAD_NORM_EACH : CS_HEAD_NORM_NONE;
    return cs_rotary_read(where, json, config);
}

/* --- tensors ---------------------------------------------------------------------------------- */

static const cs_arch_tensor GEMMA3_TENSORS[] = {
    {"layer.N.attention.post", "layers.N.post_attention_layernorm"},
    {"layer.N.mlp.norm", "layers.N.pre_feedforward_layernorm"},
    {"layer.N.mlp.post", "layers.N.post_feedforward_layernorm"},
    {NULL, NULL},
};

static const cs_arch_tensor OLMO2_TENSORS[] = {
    {"layer.N.attention.post", "layers.N.post_attention_layernorm"},
    {"layer.N.mlp.post", "layers.N.post_feedforward_layernorm"},
    {NULL, NULL},
};

static const cs_arch_tensor GLM4_TENSORS[] = {
    {"layer.N.attention.post", "layers.N.post_self_attn_layernorm"},
    {"layer.N.mlp.post", "layers.N.post_mlp_layernorm"},
    {"layer.N.mlp.in", "layers.N.mlp.gate_up_proj"},
    {NULL, NULL},
};

static const cs_arch_tensor PHI3_TENSORS[] = {
    {"layer.N.attention.qkv", "layers.N.self_attn.qkv_proj"},
    {"layer.N.mlp.in", "layers.N.mlp.gate_up_proj"},
    {NULL, NULL},
};

static const cs_arch_tensor STARCODER2_TENSORS[] = {
    {"layer.N.mlp.in", "layers.N.mlp.c_fc"},
    {"layer.N.mlp.out", "layers.N.mlp.c_proj"},
    {NULL, NULL},
};

static const cs_arch_tensor UNGATED_TENSORS[] = {
    {"layer.N.mlp.in", "layers.N.mlp.up_proj"},
    {NULL, NULL},
};

static const cs_arch_tensor COHERE_TENSORS[] = {
    {"layer.N.attention.query_norm", "@layers.N.self_attn.q_norm"},
    {"layer.N.attention.key_norm", "@layers.N.self_attn.k_norm"},
    {NULL, NULL},
};

/* --- rows ------------------------------------------------------------------------------------- */

#define DECODER .head = "ForCausalLM", .causal = true, .score = CS_SCORE_BARE, .prefix = "model."
#define PLAIN(base, part)                                                                          \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS, .position.rotary = {.theta = (base), .share = (part)},          \
                                   .layer.bias = true, .layer.eps = 1e-5
#define SILU .layer.activation = CS_ACT_SILU
#define RMS PLAIN(10000, 1), .layer.rms = true, .layer.gated = true
#define LISTS cs_arch_sizes, DECODER_KEYS

const cs_arch_row cs_arch_gemma = {
    DECODER,
    .name = "gemma",
    .class = "Gemma",
    .plain = {RMS, .layer.activation = CS_ACT_GELU_TANH, .layer.gain_from_one = true,
              .head.tied = true},
    .read = gemma_read,
    .keys = {LISTS, GEMMA_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_gemma3_text = {
    DECODER,
    .name = "gemma3_text",
    .class = "Gemma3",
    .scales_full = true,
    .plain = {PLAIN(1e6, 1), .position.local_rotary = {.theta = 10000, .share = 1},
              .layer.rms = true, .layer.gated = true, .layer.activation = CS_ACT_GELU_TANH,
              .layer.gain_from_one = true, .layer.sandwich = true,
              .attention.head_norm = CS_HEAD_NORM_SHARED, .head.tied = true},
    .read = gemma3_read,
    .keys = {cs_arch_sizes, DECODER_KEYS, GEMMA_KEYS, GEMMA3_KEYS},
    .tensors = {GEMMA3_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_starcoder2 = {
    DECODER,
    .name = "starcoder2",
    .class = "Starcoder2",
    .plain = {PLAIN(10000, 1), .layer.activation = CS_ACT_GELU_TANH, .layer.norm_bias = true,
              .head.tied = true},
    .read = windowed_read,
    .keys = {LISTS, STARCODER2_KEYS},
    .tensors = {STARCODER2_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_stablelm = {
    DECODER,
    .name = "stablelm",
    .class = "StableLm",
    .plain = {SILU, PLAIN(10000, 0.25), .layer.gated = true, .layer.norm_bias = true},
    .read = cs_rotary_read,
    .keys = {LISTS, STABLELM_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_arcee = {
    DECODER,
    .name = "arcee",
    .class = "Arcee",
    .plain = {PLAIN(10000, 1), .layer.rms = true, .layer.activation = CS_ACT_RELU2},
    .read = cs_rotary_read,
    .keys = {LISTS, ARCEE_KEYS},
    .tensors = {UNGATED_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_nemotron = {
    DECODER,
    .name = "nemotron",
    .class = "Nemotron",
    .plain = {PLAIN(10000, 0.5), .layer.norm_bias = true, .layer.gain_from_one = true,
              .layer.activation = CS_ACT_RELU2},
    .read = cs_rotary_read,
    .keys = {LISTS, NEMOTRON_KEYS},
    .tensors = {UNGATED_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_olmo = {
    DECODER,
    .name = "olmo",
    .class = "Olmo",
    .plain = {SILU, PLAIN(10000, 1), .layer.gated = true, .layer.no_gain = true},
    .read = cs_rotary_read,
    .keys = {LISTS, OLMO_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

#define AFTER                                                                                      \
    SILU, .layer.rms = true, .layer.gated = true, .layer.entry = CS_ENTRY_PLAIN,                   \
          .layer.sandwich = true

const cs_arch_row cs_arch_olmo2 = {
    DECODER,
    .name = "olmo2",
    .class = "Olmo2",
    .plain = {PLAIN(10000, 1), AFTER, .attention.head_norm = CS_HEAD_NORM_WHOLE},
    .read = cs_rotary_read,
    .keys = {LISTS, OLMO2_KEYS},
    .tensors = {OLMO2_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_olmo3 = {
    DECODER,
    .name = "olmo3",
    .class = "Olmo3",
    .scales_full = true,
    .plain = {PLAIN(500000, 1), AFTER, .position.local_rotary = {.theta = 500000, .share = 1},
              .attention.head_norm = CS_HEAD_NORM_WHOLE},
    .read = olmo3_read,
    .keys = {cs_arch_sizes, DECODER_KEYS, OLMO2_KEYS, OLMO3_KEYS},
    .tensors = {OLMO2_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_exaone4 = {
    DECODER,
    .name = "exaone4",
    .class = "Exaone4",
    .plain = {PLAIN(10000, 1), AFTER, .attention.head_norm = CS_HEAD_NORM_SHARED},
    .read = exaone4_read,
    .keys = {LISTS, EXAONE4_KEYS},
    .tensors = {OLMO2_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_smollm3 = {
    DECODER,
    .name = "smollm3",
    .class = "SmolLM3",
    .plain = {SILU, PLAIN(2e6, 1), .layer.rms = true, .layer.gated = true, .head.tied = true},
    .read = smollm3_read,
    .keys = {LISTS, SMOLLM3_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_granite = {
    DECODER,
    .name = "granite",
    .class = "Granite",
    .plain = {SILU, RMS},
    .read = granite_read,
    .keys = {LISTS, GRANITE_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_cohere = {
    DECODER,
    .name = "cohere",
    .class = "Cohere",
    .plain = {SILU, PLAIN(500000, 1), .position.rotary_interleaved = true, .layer.gated = true,
              .layer.parallel = true, .layer.one_norm = true, .head.tied = true},
    .read = cohere_read,
    .keys = {LISTS, COHERE_KEYS},
    .tensors = {COHERE_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_glm4 = {
    DECODER,
    .name = "glm4",
    .class = "Glm4",
    .plain = {SILU, PLAIN(10000, 0.5), .position.rotary_interleaved = true, .layer.rms = true,
              .layer.gated = true, .layer.sandwich = true},
    .read = cs_rotary_read,
    .keys = {LISTS, GLM4_KEYS},
    .tensors = {GLM4_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_ernie4_5 = {
    DECODER,
    .name = "ernie4_5",
    .class = "Ernie4_5",
    .plain = {SILU, PLAIN(500000, 1), .position.rotary_interleaved = true, .layer.rms = true,
              .layer.gated = true, .head.tied = true},
    .read = cs_rotary_read,
    .keys = {LISTS, ERNIE_KEYS},
    .tensors = {cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_phi3 = {
    DECODER,
    .name = "phi3",
    .class = "Phi3",
    .plain = {SILU, RMS},
    .read = windowed_read,
    .keys = {LISTS, PHI3_KEYS},
    .tensors = {PHI3_TENSORS, cs_arch_llama_tensors},
};
