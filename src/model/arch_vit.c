/* Rows: Vision Transformers, norms before the sublayers (Dosovitskiy et al. 2021), and the masked
 * autoencoder of one (He et al. 2022). Source of keys and names: the configurations and
 * state_dict() of the classes of transformers 5.23.
 *
 * Limits: pictures that are not square have no class. What ViTModel lacks (the head that predicts
 * values, rows of codes) is written to its files under "cospec.". */
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "model/arch_private.h"

static const cs_arch_key VIT_KEYS[] = {
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), 768},
    {"num_hidden_layers", CS_KEY_INT, CS_AT(shape.layers), 12},
    {"num_attention_heads", CS_KEY_INT, CS_AT(shape.heads), 12},
    {"intermediate_size", CS_KEY_INT, CS_AT(shape.inner), 3072},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-12},
    {"image_size", CS_KEY_INT, CS_AT(picture.height), 224},
    {"patch_size", CS_KEY_INT, CS_AT(picture.patch), 16},
    {"num_channels", CS_KEY_INT, CS_AT(picture.channels), 3},
    {"qkv_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key VIT_PAST[] = {
    {"encoder_stride pooler_output_size pooler_act", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key MAE_KEYS[] = {
    {"decoder_hidden_size", CS_KEY_INT, CS_AT(decoder.width), 512},
    {"decoder_num_hidden_layers", CS_KEY_INT, CS_AT(decoder.layers), 8},
    {"decoder_num_attention_heads", CS_KEY_INT, CS_AT(decoder.heads), 16},
    {"decoder_intermediate_size", CS_KEY_INT, CS_AT(decoder.inner), 2048},
    {"mask_ratio", CS_KEY_PAST, 0, 0},
    {"norm_pix_loss", CS_KEY_PAST, 0, 0}, /* read below */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor VIT_TENSORS[] = {
    {"embed.position", "=embeddings.position_embeddings"},
    {"embed.real", "#embeddings.patch_embeddings.projection"},
    {"layer.N.attention.norm", "encoder.layer.N.layernorm_before"},
    {"layer.N.attention.qkv", "encoder.layer.N.attention.attention.{query,key,value}"},
    {"layer.N.attention.output", "encoder.layer.N.attention.output.dense"},
    {"layer.N.mlp.norm", "encoder.layer.N.layernorm_after"},
    {"layer.N.mlp.in", "encoder.layer.N.intermediate.dense"},
    {"layer.N.mlp.out", "encoder.layer.N.output.dense"},
    {"final_norm", "layernorm"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

#define DECODER "/decoder.decoder_layers.N."
static const cs_arch_tensor MAE_TENSORS[] = {
    {"decoder.project", "/decoder.decoder_embed"},
    {"decoder.mask", "/=decoder.mask_token"},
    {"decoder.position", "/=decoder.decoder_pos_embed"},
    {"decoder.layer.N.attention.norm", DECODER "layernorm_before"},
    {"decoder.layer.N.attention.qkv", DECODER "attention.attention.{query,key,value}"},
    {"decoder.layer.N.attention.output", DECODER "attention.output.dense"},
    {"decoder.layer.N.mlp.norm", DECODER "layernorm_after"},
    {"decoder.layer.N.mlp.in", DECODER "intermediate.dense"},
    {"decoder.layer.N.mlp.out", DECODER "output.dense"},
    {"decoder.norm", "/decoder.decoder_norm"},
    {"pixel", "/decoder.decoder_pred"},
    {NULL, NULL},
};

/* The names of transformers 5 for the decoder's layers; it reads both. */
#define DECODER_5 "/decoder.decoder_encoder.layer.N."
static const cs_arch_tensor MAE_TENSORS_5[] = {
    {"decoder.layer.N.attention.norm", DECODER_5 "layernorm_before"},
    {"decoder.layer.N.attention.qkv", DECODER_5 "attention.attention.{query,key,value}"},
    {"decoder.layer.N.attention.output", DECODER_5 "attention.output.dense"},
    {"decoder.layer.N.mlp.norm", DECODER_5 "layernorm_after"},
    {"decoder.layer.N.mlp.in", DECODER_5 "intermediate.dense"},
    {"decoder.layer.N.mlp.out", DECODER_5 "output.dense"},
    {NULL, NULL},
};

/* Sizes that follow; the width of pictures is their height unless our settings say another. */
static cs_status vit_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *width = json_object_get(json_object_get(json, "cospec"), "image_width");
    config->picture.width =
        json_is_integer(width) ? (int64_t)json_integer_value(width) : config->picture.height;
    return cs_blame(cs_model_config_pictures(config), "%s", where);
}

static cs_status mae_read(const char *where, const json_t *json, cs_model_config *config)
{
    config->picture.sinusoidal = true;
    config->head.target = json_is_true(json_object_get(json, "norm_pix_loss"))
                              ? CS_TARGET_NORMALISED
                              : CS_TARGET_PIXELS;
    return vit_read(where, json, config);
}

#define VIT_PLAIN                                                                                  \
    CS_ARCH_BIASES, .training.init_range = 0.02, .head.pooling = 2, .layer.eps = 1e-12,            \
                    .layer.activation = CS_ACT_GELU_ERF, .head.tied = true, .shape.vocab = 2,      \
                    .ids.bos = 0, .ids.mask = 1, .ids.pad = -1, .ids.eos = -1, .ids.unk = -1
#define VIT_ROW                                                                                    \
    .trained = true, .pictures = true, .drop_embed = true, .prefix = "vit.", .score = CS_SCORE_BIAS

const cs_arch_row cs_arch_vit = {
    VIT_ROW,
    .name = "vit",
    .class = "ViT",
    .head = "Model",
    .plain = {VIT_PLAIN},
    .read = vit_read,
    .keys = {VIT_KEYS, VIT_PAST},
    .tensors = {VIT_TENSORS},
};

const cs_arch_row cs_arch_vit_mae = {
    VIT_ROW,
    .name = "vit_mae",
    .class = "ViTMAE",
    .head = "ForPreTraining",
    .plain = {VIT_PLAIN, .picture.sinusoidal = true},
    .read = mae_read,
    .keys = {VIT_KEYS, MAE_KEYS},
    .tensors = {VIT_TENSORS, MAE_TENSORS, MAE_TENSORS_5},
};

cs_status cs_position_waves(const cs_model_config *config, int64_t width, float *out)
{
    CS_AUTO_FREE int32_t *order = NULL;
    cs_status status = cs_model_order(config, &order);
    if (status != CS_OK) return status;
    const int64_t columns = config->picture.width / config->picture.patch, n = width / 4;
    for (int64_t j = 0; j < width; ++j) {
        out[j] = 0;
    }
    for (int64_t k = 0; k < config->shape.positions - 1; ++k) {
        const int64_t t = order ? order[k] : k;
        const double place[] = {(double)(t % columns), (double)(t / columns)};
        for (int64_t j = 0; j < width; ++j) {
            const double angle = place[j / (2 * n)] * pow(1e4, -(double)(j % n) / (double)n);
            out[(k + 1) * width + j] = (float)(j / n % 2 == 0 ? sin(angle) : cos(angle));
        }
    }
    return CS_OK;
}
