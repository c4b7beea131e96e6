/* Rows: t5 and its kin, of two stacks (Raffel et al. 2020). Source of keys and names: the
 * configurations and state_dict() of the classes of transformers 5.24.
 *
 * mt5 never scales what the output matrix reads; each layer of umt5 has a table of relative
 * positions. */
#include <math.h>
#include <string.h>

#include "io/json.h"
#include "model/arch_private.h"

static const cs_arch_key T5_KEYS[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"d_model", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"d_kv", CS_KEY_COUNT, CS_AT(shape.head_width), 64},
    {"d_ff", CS_KEY_INT, CS_AT(shape.inner), NAN},
    {"num_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"num_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"hidden_size", CS_KEY_ALIAS, CS_AT(shape.width), 0},
    {"num_hidden_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"num_attention_heads", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"head_dim", CS_KEY_ALIAS, CS_AT(shape.head_width), 0},
    {"relative_attention_num_buckets", CS_KEY_INT, CS_AT(position.relative_buckets), 32},
    {"relative_attention_max_distance", CS_KEY_INT, CS_AT(position.relative_distance), 128},
    {"dropout_rate", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"layer_norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-6},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 1},
    /* t5_read */
    {"feed_forward_proj dense_act_fn is_gated_act", CS_KEY_PAST, 0, 0},
    /* of the decoder: t5_decoder, and whether the file has one and an output matrix */
    {"is_encoder_decoder", CS_KEY_BOOL, CS_AT(decoder.stack), 1},
    {"num_decoder_layers", CS_KEY_INT_OR_NONE, CS_AT(decoder.layers), 0},
    {"initializer_factor", CS_KEY_PAST, 0, 0}, /* of training */
    {"n_positions", CS_KEY_PAST, 0, 0},        /* a length */
    {NULL, CS_KEY_PAST, 0, 0},
};

#define SCALED                                                                                     \
    {"scale_decoder_outputs", CS_KEY_PAST, 0, 0},                                                  \
    {                                                                                              \
        "tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1                                    \
    }

static const cs_arch_key T5_OUTPUT[] = {
    {"decoder_start_token_id", CS_KEY_ID, CS_AT(decoder.start), -1},
    SCALED,
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key MT5_OUTPUT[] = {
    {"decoder_start_token_id", CS_KEY_ID, CS_AT(decoder.start), 0},
    {"tie_word_embeddings", CS_KEY_PAST, 0, 0}, /* always */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key UMT5_OUTPUT[] = {
    {"decoder_start_token_id", CS_KEY_ID, CS_AT(decoder.start), 0},
    SCALED,
    {NULL, CS_KEY_PAST, 0, 0},
};

/* The rows that the output matrix reads are divided by the root of the width unless the config says
 * scale_decoder_outputs false or, as files from before that key, tie_word_embeddings false. */
static cs_status t5_decoder(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *scaled = json_object_get(json, "scale_decoder_outputs");
    cs_decoder_config *d = &config->decoder;
    if (cs_arch_knows(config->arch, "scale_decoder_outputs") && scaled &&
        !json_is_boolean(scaled)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'scale_decoder_outputs' is neither true nor false",
                       where);
    }
    if (!d->stack) {
        *d = (cs_decoder_config){0};
        return CS_OK;
    }
    d->layers = d->layers != 0 ? d->layers : config->shape.layers;
    d->width = config->shape.width;
    d->heads = config->shape.heads;
    d->inner = config->shape.inner;
    d->attention = CS_DECODER_CAUSAL_CROSS;
    if (cs_arch_knows(config->arch, "scale_decoder_outputs") && config->shape.width > 0 &&
        (scaled ? json_is_true(scaled) : config->head.tied)) {
        config->head.scale = 1 / sqrt((double)config->shape.width);
    }
    return CS_OK;
}

/* feed_forward_proj is an activation or "gated-" and one, whose gelu is the tanh form. The two keys
 * that follow from it must agree with it. */
static cs_status t5_read(const char *where, const json_t *json, cs_model_config *config)
{
    static const char gated[] = "gated-";
    const char *key = "feed_forward_proj";
    const json_t *form = json_object_get(json, key), *gate = json_object_get(json, "is_gated_act"),
                 *dense = json_object_get(json, "dense_act_fn");
    const char *act = form ? json_string_value(form) : config->layer.gated ? "gated-gelu" : "relu";
    if (!act) return cs_activation_read(where, key, form, &config->layer.activation);
    config->layer.gated = strncmp(act, gated, sizeof gated - 1) == 0;
    act += config->layer.gated ? sizeof gated - 1 : 0;
    act = config->layer.gated && strcmp(act, "gelu") == 0 ? "gelu_new" : act;
    json_auto_t *name = json_string(act);
    cs_status status =
        name ? cs_activation_read(where, key, name, &config->layer.activation) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        ((gate && json_is_true(gate) != config->layer.gated) ||
         (dense && (!json_is_string(dense) || strcmp(json_string_value(dense), act) != 0))))
        status = cs_fail(CS_ERR_INPUT, "%s: 'is_gated_act' and 'dense_act_fn' contradict '%s'",
                         where, key);
    config->head.absent = true; /* the encoder */
    return status == CS_OK ? t5_decoder(where, json, config) : status;
}

#define BLOCK "encoder.block.N.layer."
#define DECODER "decoder.block.N.layer."
static const cs_arch_tensor T5_TENSORS[] = {
    {"embed.token", "shared"},
    {"relative", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    {"layer.N.attention.norm", BLOCK "0.layer_norm"},
    {"layer.N.attention.qkv", BLOCK "0.SelfAttention.{q,k,v}"},
    {"layer.N.attention.output", BLOCK "0.SelfAttention.o"},
    {"layer.N.mlp.norm", BLOCK "1.layer_norm"},
    {"layer.N.mlp.in", BLOCK "1.DenseReluDense.{wi_0,wi_1}"},
    {"layer.N.mlp.in", BLOCK "1.DenseReluDense.wi"},
    {"layer.N.mlp.out", BLOCK "1.DenseReluDense.wo"},
    {"final_norm", "encoder.final_layer_norm"},
    {"decoder.relative", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    {"decoder.layer.N.attention.norm", DECODER "0.layer_norm"},
    {"decoder.layer.N.attention.qkv", DECODER "0.SelfAttention.{q,k,v}"},
    {"decoder.layer.N.attention.output", DECODER "0.SelfAttention.o"},
    {"decoder.layer.N.cross.norm", DECODER "1.layer_norm"},
    {"decoder.layer.N.cross.query", DECODER "1.EncDecAttention.q"},
    {"decoder.layer.N.cross.kv", DECODER "1.EncDecAttention.{k,v}"},
    {"decoder.layer.N.cross.output", DECODER "1.EncDecAttention.o"},
    {"decoder.layer.N.mlp.norm", DECODER "2.layer_norm"},
    {"decoder.layer.N.mlp.in", DECODER "2.DenseReluDense.{wi_0,wi_1}"},
    {"decoder.layer.N.mlp.in", DECODER "2.DenseReluDense.wi"},
    {"decoder.layer.N.mlp.out", DECODER "2.DenseReluDense.wo"},
    {"decoder.norm", "decoder.final_layer_norm"},
    {"output", "/lm_head"},
    {NULL, NULL},
};

static const cs_arch_tensor UMT5_TENSORS[] = {
    {"layer.N.relative", BLOCK "0.SelfAttention.relative_attention_bias"},
    {"decoder.layer.N.relative", DECODER "0.SelfAttention.relative_attention_bias"},
    {NULL, NULL},
};

#define STACKS                                                                                     \
    .score = CS_SCORE_BARE, .head = "ForConditionalGeneration", .body = "EncoderModel",            \
    .prefix = "", .drop_embed = true, .read = t5_read,                                             \
    .past = {"decoder.embed_tokens.", "encoder.embed_tokens.", /* the next is never read */        \
             "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias."}
#define STACKS_PLAIN                                                                               \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.bias = true, .layer.eps = 1e-6, .head.tied = true,       \
                                   .layer.rms = true, .attention.score_width = 1

const cs_arch_row cs_arch_t5 = {
    STACKS,
    .name = "t5",
    .class = "T5",
    .plain = {STACKS_PLAIN, .layer.activation = CS_ACT_RELU},
    .keys = {T5_KEYS, T5_OUTPUT},
    .tensors = {T5_TENSORS},
};

const cs_arch_row cs_arch_mt5 = {
    STACKS,
    .name = "mt5",
    .class = "MT5",
    .plain = {STACKS_PLAIN, .layer.activation = CS_ACT_GELU_TANH, .layer.gated = true},
    .keys = {T5_KEYS, MT5_OUTPUT},
    .tensors = {T5_TENSORS},
};

const cs_arch_row cs_arch_umt5 = {
    STACKS,
    .name = "umt5",
    .class = "UMT5",
    .plain = {STACKS_PLAIN, .layer.activation = CS_ACT_GELU_TANH, .layer.gated = true,
              .position.relative_tables = CS_RELATIVE_EACH},
    .keys = {T5_KEYS, UMT5_OUTPUT},
    .tensors = {UMT5_TENSORS, T5_TENSORS},
};
