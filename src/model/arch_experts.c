/* Rows of mixtures of experts. Source of keys and names: the configurations and the files of the
 * classes of transformers 5.24. They are read on a CPU, and neither trained nor fine-tuned. */
#include "model/arch_private.h"
#include "model/rotary.h"

static const cs_arch_key MIXTRAL_KEYS[] = {
    {"intermediate_size", CS_KEY_INT, CS_AT(experts.inner), 14336},
    {"num_local_experts", CS_KEY_INT, CS_AT(experts.count), 8},
    {"num_experts_per_tok", CS_KEY_INT, CS_AT(experts.chosen), 2},
    {"num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 8},
    {"rms_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 0},
    {"num_experts", CS_KEY_PAST, 0, 0}, /* experts_read */
    {"output_router_logits router_aux_loss_coef router_jitter_noise", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key QWEN3_MOE_KEYS[] = {
    {"moe_intermediate_size", CS_KEY_INT, CS_AT(experts.inner), 768},
    {"num_experts", CS_KEY_INT, CS_AT(experts.count), 128},
    {"num_experts_per_tok", CS_KEY_INT, CS_AT(experts.chosen), 8},
    {"norm_topk_prob", CS_KEY_BOOL, CS_AT(experts.normalised), 0},
    {"num_key_value_heads", CS_KEY_INT_OR_NONE, CS_AT(shape.kv_heads), 4},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 0},
    {"attention_bias", CS_KEY_BOOL, CS_AT(layer.output_bias), 0},
    {"sliding_window", CS_KEY_INT_OR_NONE, CS_AT(attention.window), 4096},
    /* qwen3_moe_read; the class has no max_window_layers */
    {"use_sliding_window max_window_layers decoder_sparse_step mlp_only_layers", CS_KEY_PAST, 0, 0},
    {"num_local_experts", CS_KEY_PAST, 0, 0}, /* experts_read */
    {"output_router_logits router_aux_loss_coef", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor MIXTRAL_TENSORS[] = {
    {"layer.N.mlp.router", "layers.N.block_sparse_moe.gate"},
    {"layer.N.mlp.expert.N.in", "layers.N.block_sparse_moe.experts.N.{w1,w3}"},
    {"layer.N.mlp.expert.N.out", "layers.N.block_sparse_moe.experts.N.w2"},
    {NULL, NULL},
};

static const cs_arch_tensor QWEN3_MOE_TENSORS[] = {
    {"layer.N.mlp.router", "layers.N.mlp.gate"},
    {"layer.N.mlp.expert.N.in", "layers.N.mlp.experts.N.{gate_proj,up_proj}"},
    {"layer.N.mlp.expert.N.out", "layers.N.mlp.experts.N.down_proj"},
    {NULL, NULL},
};

bool cs_layer_mixes(const cs_model_config *config, int64_t layer)
{
    return config->experts.count > 0 && !(config->experts.single[layer / 64] >> layer % 64 & 1);
}

/* Counts in range; a window is that of all layers. */
static cs_status experts_read(const char *where, const json_t *json, cs_model_config *config)
{
    enum { MOST = 1 << 12 };
    const cs_model_experts *x = &config->experts;
    const json_t *one = json_object_get(json, "num_experts"),
                 *other = json_object_get(json, "num_local_experts");
    if (one && other && !json_equal(one, other)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'num_experts' and 'num_local_experts' differ", where);
    }
    if (one || other) { /* two names of one key */
        config->experts.count = (int64_t)json_integer_value(one ? one : other);
    }
    if (x->count < 1 || x->count > MOST || x->chosen < 1 || x->chosen > x->count || x->inner < 1 ||
        x->inner > 1 << 24 || config->shape.layers > CS_MOST_LAYERS) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %lld of %lld experts with %lld units are not 1 .. %lld of at most %d",
                       where, (long long)x->chosen, (long long)x->count, (long long)x->inner,
                       (long long)x->count, MOST);
    }
    for (int64_t l = 0; config->attention.window > 0 && l < config->shape.layers; ++l) {
        config->attention.local[l / 64] |= (uint64_t)1 << l % 64;
    }
    return cs_rotary_read(where, json, config);
}

/* Layers with one mlp: those listed, and of each `step` layers all except the last. */
static cs_status qwen3_moe_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *listed = json_object_get(json, "mlp_only_layers"),
                 *every = json_object_get(json, "decoder_sparse_step"), *layer;
    const int64_t step = every ? (int64_t)json_integer_value(every) : 1;
    size_t i;
    if (every && (!json_is_integer(every) || step < 1)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'decoder_sparse_step' is not a whole number above 0",
                       where);
    }
    if (listed && !json_is_null(listed) && !json_is_array(listed)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'mlp_only_layers' is not a list", where);
    }
    for (int64_t l = 0; l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        bool single = (l + 1) % step != 0;
        json_array_foreach((json_t *)(uintptr_t)listed, i, layer)
        {
            single = single || (json_is_integer(layer) && json_integer_value(layer) == l);
        }
        config->experts.single[l / 64] |= (uint64_t)single << l % 64;
    }
    if (!json_is_true(json_object_get(json, "use_sliding_window"))) {
        config->attention.window = 0;
    }
    return experts_read(where, json, config);
}

#define EXPERTS_ROW                                                                                \
    .prefix = "model.", .score = CS_SCORE_BARE, .head = "ForCausalLM", .causal = true
#define EXPERTS_PLAIN(base)                                                                        \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS,                                                                 \
        .position.rotary = {.theta = (base), .share = 1}, .layer.bias = true, .layer.eps = 1e-6,   \
        .layer.activation = CS_ACT_SILU, .layer.rms = true, .layer.gated = true

const cs_arch_row cs_arch_mixtral = {
    EXPERTS_ROW,
    .name = "mixtral",
    .class = "Mixtral",
    .plain = {EXPERTS_PLAIN(1e6), .experts.normalised = true},
    .read = experts_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, MIXTRAL_KEYS},
    .tensors = {MIXTRAL_TENSORS, cs_arch_llama_tensors},
};

const cs_arch_row cs_arch_qwen3_moe = {
    EXPERTS_ROW,
    .name = "qwen3_moe",
    .class = "Qwen3Moe",
    .plain = {EXPERTS_PLAIN(10000), .attention.head_norm = CS_HEAD_NORM_SHARED},
    .read = qwen3_moe_read,
    .keys = {cs_arch_sizes, cs_arch_llama_keys, QWEN3_MOE_KEYS},
    .tensors = {QWEN3_MOE_TENSORS, cs_arch_llama_tensors},
};
