/* Rows of the architectures with rotary positions. Source of keys and names: the configurations and
 * state_dict() of the classes of transformers 5.23. */
#include <string.h>

#include "io/json.h"
#include "model/arch_private.h"
#include "model/rotary.h"

/* --- keys ------------------------------------------------------------------------------------- */

/* Those that are past are cs_rotary_read's and cs_rotary_write's. */
#define ROTARY_KEYS                                                                                \
    {"rope_parameters", CS_KEY_PAST, 0, 0}, {"rope_scaling", CS_KEY_PAST, 0, 0},                   \
        {"rope_theta", CS_KEY_PAST, 0, 0},                                                         \
    {                                                                                              \
        "max_position_embeddings", CS_KEY_COUNT, CS_AT(position.longest), 0                        \
    }

const cs_arch_key cs_arch_llama_keys[] = {
    {"num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 0},
    {"head_dim", CS_KEY_INT_OR_NONE, CS_AT(shape.head_width), 0},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"rms_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-6},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 0},
    ROTARY_KEYS,
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key LLAMA_BIASES[] = {
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"mask_token_id", CS_KEY_ID, CS_AT(ids.mask), -1}, /* eurobert's */
    {"pretraining_tp", CS_KEY_PAST, 0, 0},             /* the same product in parts */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key EUROBERT_KEYS[] = {
    {"rms_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"mlp_bias", CS_KEY_BOOL, CS_AT(head.bias), 0}, /* of the logits too */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key MISTRAL_KEYS[] = {
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* use_sliding_window and the keys that depend on it are read by windows_read. */
static const cs_arch_key QWEN_KEYS[] = {
    {"use_sliding_window sliding_window max_window_layers layer_types", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key QWEN3_KEYS[] = {
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key NEOX_KEYS[] = {
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 1},
    {"use_parallel_residual", CS_KEY_BOOL, CS_AT(layer.parallel), 1},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"hidden_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 0},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 0},
    ROTARY_KEYS,
    {"rotary_pct rotary_emb_base partial_rotary_factor", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key MODERNBERT_KEYS[] = {
    {"hidden_activation", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"classifier_activation", CS_KEY_ACT, CS_AT(head.activation), 0},
    {"norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    /* files have it in addition to norm_eps; the class does not */
    {"layer_norm_eps", CS_KEY_PAST, 0, 0},
    {"norm_bias", CS_KEY_BOOL, CS_AT(layer.norm_bias), 0},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"mlp_bias", CS_KEY_BOOL, CS_AT(layer.mlp_bias), 0},
    {"classifier_bias", CS_KEY_BOOL, CS_AT(layer.dense_bias), 0},
    {"decoder_bias", CS_KEY_BOOL, CS_AT(head.bias), 1},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"mlp_dropout", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"embedding_dropout", CS_KEY_REAL, CS_AT(training.embed_dropout), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 50283},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 50281},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 50282},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    ROTARY_KEYS,
    {"global_rope_theta local_rope_theta", CS_KEY_PAST, 0, 0},
    /* modernbert_read's and modernbert_write's */
    {"layer_types global_attn_every_n_layers local_attention sliding_window", CS_KEY_PAST, 0, 0},
    /* how the same numbers are computed */
    {"deterministic_flash_attn reference_compile repad_logits_with_grad sparse_prediction "
     "sparse_pred_ignore_index",
     CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* --- which layers are local ------------------------------------------------------------------- */

static void set_local(cs_model_config *config, int64_t layer)
{
    config->attention.local[layer / 64] |= (uint64_t)1 << layer % 64;
}

/* A whole number that is not negative; null or absent: `absent`. */
static cs_status whole(const char *where, const json_t *json, const char *key, int64_t absent,
                       int64_t *out)
{
    const json_t *value = json_object_get(json, key);
    *out = value && !json_is_null(value) ? (int64_t)json_integer_value(value) : absent;
    if (value && !json_is_null(value) && (!json_is_integer(value) || *out < 0)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is not a whole number", where, key);
    }
    return CS_OK;
}

cs_status cs_layer_types_read(const char *where, const json_t *json, bool *found,
                              cs_model_config *config)
{
    const json_t *types = json_object_get(json, "layer_types");
    *found = types && !json_is_null(types);
    if (*found && (int64_t)json_array_size(types) != config->shape.layers) {
        return cs_fail(CS_ERR_INPUT, "%s: 'layer_types' names %lld layers, not %lld", where,
                       (long long)json_array_size(types), (long long)config->shape.layers);
    }
    for (int64_t l = 0; *found && l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        const char *type = json_string_value(json_array_get(types, (size_t)l));
        if (!type ||
            (strcmp(type, "full_attention") != 0 && strcmp(type, "sliding_attention") != 0)) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: 'layer_types' has '%s', neither full_attention nor "
                           "sliding_attention",
                           where, type ? type : "(not a string)");
        }
        if (strcmp(type, "sliding_attention") == 0) {
            set_local(config, l);
        }
    }
    return CS_OK;
}

static bool any_local(const cs_model_config *config)
{
    bool any = false;
    for (int64_t l = 0; l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        any = any || cs_layer_is_local(config, l);
    }
    return any;
}

static cs_status mistral_read(const char *where, const json_t *json, cs_model_config *config)
{
    for (int64_t l = 0;
         config->attention.window > 0 && l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        set_local(config, l);
    }
    return cs_rotary_read(where, json, config);
}

/* Layers from max_window_layers on where layer_types does not say which. */
static cs_status qwen_read(const char *where, const json_t *json, cs_model_config *config)
{
    int64_t window = 0, from = 0;
    bool listed = false, use = json_is_true(json_object_get(json, "use_sliding_window"));
    cs_status status = whole(where, json, "sliding_window", use ? 4096 : 0, &window);
    if (status == CS_OK) status = whole(where, json, "max_window_layers", 28, &from);
    if (status == CS_OK) status = cs_layer_types_read(where, json, &listed, config);
    for (int64_t l = from;
         status == CS_OK && use && !listed && l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        set_local(config, l);
    }
    config->attention.window = use ? window : 0;
    if (status == CS_OK && any_local(config) && config->attention.window == 0)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: 'layer_types' has sliding_attention, but no window is given", where);
    if (!any_local(config)) {
        config->attention.window = 0;
    }
    if (config->arch == CS_ARCH_QWEN3) {
        config->layer.qkv_bias = config->layer.output_bias;
    }
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

/* A local row sees half the window on each side; the causal class counts the row itself among its
 * half. */
static cs_status modernbert_read(const char *where, const json_t *json, cs_model_config *config)
{
    int64_t window = 0, half = 0, every = 0;
    bool listed = false;
    cs_status status = whole(where, json, "local_attention", 128, &window);
    if (status == CS_OK) status = whole(where, json, "sliding_window", window / 2, &half);
    if (status == CS_OK && half != window / 2)
        status =
            cs_fail(CS_ERR_INPUT, "%s: 'sliding_window' is not half of 'local_attention'", where);
    if (status == CS_OK) status = whole(where, json, "global_attn_every_n_layers", 3, &every);
    if (status == CS_OK && every == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: 'global_attn_every_n_layers' is 0", where);
    if (status == CS_OK) status = cs_layer_types_read(where, json, &listed, config);
    for (int64_t l = 0; status == CS_OK && l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        if (!listed && l % every != 0) {
            set_local(config, l);
        }
        if (listed && json_object_get(json, "global_attn_every_n_layers") &&
            cs_layer_is_local(config, l) != (l % every != 0)) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: 'global_attn_every_n_layers' and 'layer_types' disagree on layer "
                             "%lld",
                             where, (long long)l);
        }
    }
    config->attention.window = window / 2 + (cs_arch_causal(config->arch) ? 0 : 1);
    if (status == CS_OK && half == 0) /* a row that sees none, not itself either */
        status = cs_fail(CS_ERR_INPUT, "%s: 'local_attention' is %lld, not above 1", where,
                         (long long)window);
    return status == CS_OK ? cs_rotary_read(where, json, config) : status;
}

static json_t *id_of(int32_t id)
{
    return id < 0 ? json_null() : json_integer(id);
}

static void modernbert_write(const cs_model_config *config, json_t *json, cs_status *status)
{
    const int64_t half = config->attention.window - (cs_arch_causal(config->arch) ? 0 : 1);
    json_t *types = json_array();
    int64_t every = 1;
    for (int64_t l = 0; l < config->shape.layers; ++l) {
        const bool local = cs_layer_is_local(config, l);
        const char *type = local ? "sliding_attention" : "full_attention";
        if (json_array_append_new(types, json_string(type)) != 0) *status = CS_ERR_MEMORY;
        every = local && every == l ? l + 1 : every; /* the first layer behind 0 that is global */
    }
    for (int64_t l = 0; l < config->shape.layers && every > 0; ++l) {
        every = cs_layer_is_local(config, l) == (l % every != 0) ? every : 0;
    }
    cs_json_put(status, json, "layer_types", types);
    if (every > 0) { /* for transformers before layer_types */
        cs_json_put(status, json, "global_attn_every_n_layers", json_integer((json_int_t)every));
    }
    cs_json_put(status, json, "local_attention", json_integer((json_int_t)(2 * half)));
    cs_json_put(status, json, "cls_token_id",
                id_of(config->ids.bos)); /* the class's own are large */
    cs_json_put(status, json, "sep_token_id", id_of(config->ids.eos));
    cs_rotary_write(config, json, status);
}

/* The class wants a number or no key. A head of classes has no logits, so the layers' biases are
 * not written. */
static void eurobert_write(const cs_model_config *config, json_t *json, cs_status *status)
{
    cs_rotary_write(config, json, status);
    cs_json_put(status, json, "mlp_bias", json_boolean(config->layer.mlp_bias));
    if (config->ids.mask < 0) (void)json_object_del(json, "mask_token_id");
}

/* --- tensors ---------------------------------------------------------------------------------- */

const cs_arch_tensor cs_arch_llama_tensors[] = {
    {"embed.token", "embed_tokens"},
    {"layer.N.attention.norm", "layers.N.input_layernorm"},
    {"layer.N.attention.qkv", "layers.N.self_attn.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.query_norm", "layers.N.self_attn.q_norm"},
    {"layer.N.attention.key_norm", "layers.N.self_attn.k_norm"},
    {"layer.N.attention.output", "layers.N.self_attn.o_proj"},
    {"layer.N.mlp.norm", "layers.N.post_attention_layernorm"},
    {"layer.N.mlp.in", "layers.N.mlp.{gate_proj,up_proj}"},
    {"layer.N.mlp.out", "layers.N.mlp.down_proj"},
    {"final_norm", "norm"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

static const cs_arch_tensor EUROBERT_HEAD[] = {
    {"head", "/lm_head"},
    {"classifier.dense", "/dense"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

static const cs_arch_tensor NEOX_TENSORS[] = {
    {"embed.token", "embed_in"},
    {"layer.N.attention.norm", "layers.N.input_layernorm"},
    {"layer.N.attention.qkv", "%layers.N.attention.query_key_value"},
    {"layer.N.attention.output", "layers.N.attention.dense"},
    {"layer.N.mlp.norm", "layers.N.post_attention_layernorm"},
    {"layer.N.mlp.in", "layers.N.mlp.dense_h_to_4h"},
    {"layer.N.mlp.out", "layers.N.mlp.dense_4h_to_h"},
    {"final_norm", "final_layer_norm"},
    {"output", "/embed_out"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

static const cs_arch_tensor MODERNBERT_TENSORS[] = {
    {"embed.token", "embeddings.tok_embeddings"},
    {"embed.norm", "embeddings.norm"},
    {"layer.N.attention.norm", "layers.N.attn_norm"},
    {"layer.N.attention.output", "layers.N.attn.Wo"},
    {"layer.N.mlp.norm", "layers.N.mlp_norm"},
    {"layer.N.mlp.in", "layers.N.mlp.Wi"},
    {"layer.N.mlp.out", "layers.N.mlp.Wo"},
    {"final_norm", "final_norm"},
    {"head", "/decoder"},
    {"output", "/decoder"},
    {"classifier.dense", "/head.dense"},
    {"classifier.norm", "/head.norm"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

static const cs_arch_tensor MODERNBERT_ENCODER[] = {
    {"layer.N.attention.qkv", "layers.N.attn.Wqkv"},
    {"head.dense", "/head.dense"},
    {"head.norm", "/head.norm"},
    {NULL, NULL},
};

static const cs_arch_tensor MODERNBERT_DECODER[] = {
    {"layer.N.attention.qkv", "layers.N.attn.{q_proj,k_proj,v_proj}"},
    {"head.dense", "/lm_head.dense"},
    {"head.norm", "/lm_head.norm"},
    {NULL, NULL},
};

/* --- rows ------------------------------------------------------------------------------------- */

#define ROTARY(base) .position.rotary = {.theta = (base), .share = 1}
#define LLAMA_PLAIN                                                                                \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS, ROTARY(10000),                                                  \
        .layer.bias = true, .layer.eps = 1e-6, .layer.activation = CS_ACT_SILU, .layer.rms = true, \
        .layer.gated = true
#define LLAMA_ROW .prefix = "model.", .tensors = {cs_arch_llama_tensors}, .score = CS_SCORE_BARE
#define CAUSAL .head = "ForCausalLM", .causal = true
#define TRAINED_LLAMA .trained = true, .read = cs_rotary_read
#define LLAMA_LISTS cs_arch_sizes, cs_arch_llama_keys, LLAMA_BIASES

const cs_arch_row cs_arch_llama = {
    LLAMA_ROW,
    CAUSAL,
    TRAINED_LLAMA,
    .name = "llama",
    .class = "Llama",
    .plain = {LLAMA_PLAIN},
    .write = cs_rotary_write,
    .keys = {LLAMA_LISTS},
};

const cs_arch_row cs_arch_mistral = {
    LLAMA_ROW,
    CAUSAL,
    .name = "mistral",
    .class = "Mistral",
    .plain = {LLAMA_PLAIN},
    .read = mistral_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, MISTRAL_KEYS},
};

const cs_arch_row cs_arch_eurobert = {
    TRAINED_LLAMA,
    .prefix = "model.",
    .tensors = {EUROBERT_HEAD, cs_arch_llama_tensors},
    .score = CS_SCORE_DENSE,
    .pooling = {"bos", "late"},
    .name = "eurobert",
    .class = "EuroBert",
    .head = "ForMaskedLM",
    .plain = {LLAMA_PLAIN},
    .write = eurobert_write,
    .keys = {LLAMA_LISTS, EUROBERT_KEYS},
};

const cs_arch_row cs_arch_qwen2 = {
    LLAMA_ROW,
    CAUSAL,
    .name = "qwen2",
    .class = "Qwen2",
    .plain = {LLAMA_PLAIN, .layer.qkv_bias = true},
    .read = qwen_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, QWEN_KEYS},
};

const cs_arch_row cs_arch_qwen3 = {
    LLAMA_ROW,
    CAUSAL,
    .name = "qwen3",
    .class = "Qwen3",
    .plain = {LLAMA_PLAIN, .attention.head_norm = CS_HEAD_NORM_SHARED},
    .read = qwen_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, QWEN_KEYS, QWEN3_KEYS},
};

const cs_arch_row cs_arch_gpt_neox = {
    CAUSAL,
    .score = CS_SCORE_BARE,
    .name = "gpt_neox",
    .class = "GPTNeoX",
    .prefix = "gpt_neox.",
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-5,
              .layer.activation = CS_ACT_GELU_ERF,
              .position.rotary = {.theta = 10000, .share = 0.25}, .layer.parallel = true},
    .read = cs_rotary_read,
    .keys = {cs_arch_sizes, NEOX_KEYS},
    .tensors = {NEOX_TENSORS},
};

#define MODERNBERT_PLAIN                                                                           \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS, ROTARY(160000),                                                 \
        .position.local_rotary = {.theta = 10000, .share = 1}, .layer.bias = true,                 \
        .layer.eps = 1e-5, .layer.activation = CS_ACT_GELU_ERF,                                    \
        .head.activation = CS_ACT_GELU_ERF, .layer.embed_norm = true, .head.transform = true,      \
        .head.bias = true, .head.tied = true, .layer.gated = true,                                 \
        .layer.entry = CS_ENTRY_FIRST_PLAIN

#define MODERNBERT_ROW                                                                             \
    .trained = true, .prefix = "model.", .read = modernbert_read, .write = modernbert_write,       \
    .local_attention = 128, .local_every = 3

const cs_arch_row cs_arch_modernbert = {
    MODERNBERT_ROW,
    .name = "modernbert",
    .score = CS_SCORE_NORM,
    .pooling = {"cls", "cls"},
    .class = "ModernBert",
    .head = "ForMaskedLM",
    .plain = {MODERNBERT_PLAIN},
    .keys = {cs_arch_sizes, MODERNBERT_KEYS},
    .tensors = {MODERNBERT_TENSORS, MODERNBERT_ENCODER},
};

const cs_arch_row cs_arch_modernbert_decoder = {
    CAUSAL,
    MODERNBERT_ROW,
    .name = "modernbert-decoder",
    .score = CS_SCORE_NORMED,
    .class = "ModernBertDecoder",
    .plain = {MODERNBERT_PLAIN},
    .keys = {cs_arch_sizes, MODERNBERT_KEYS},
    .tensors = {MODERNBERT_TENSORS, MODERNBERT_DECODER},
};
