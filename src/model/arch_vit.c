/* Rows: Vision Transformers, norms before the sublayers (Dosovitskiy et al. 2021), and the masked
 * autoencoder of one (He et al. 2022). Source of keys and names: the configurations and
 * state_dict() of the classes of transformers 5.23.
 *
 * Limits: pictures that are not square have no class. What ViTModel lacks (the head that predicts
 * values, rows of codes) is written to its files under "cospec.". */
#include <math.h>

#include "base/auto.h"
#include "base/enum_names.h"
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
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key VIT_MORE[] = {
    {"qkv_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"encoder_stride pooler_output_size pooler_act", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key MAE_KEYS[] = {
    {"qkv_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
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

#define VIT_PLAIN VIT_PLAIN_OF(2)
#define VIT_PLAIN_OF(tokens)                                                                       \
    CS_ARCH_BIASES, .training.init_range = 0.02, .head.pooling = 2, .layer.eps = 1e-12,            \
                    .layer.activation = CS_ACT_GELU_ERF, .head.tied = true, .shape.vocab = tokens, \
                    .ids.bos = 0, .ids.mask = 1, .ids.pad = -1, .ids.eos = -1, .ids.unk = -1
#define VIT_ROW                                                                                    \
    .trained = true, .pictures = true, .begins = 1, .drop_embed = true, .prefix = "vit.",          \
    .score = CS_SCORE_BIAS

const cs_arch_row cs_arch_vit = {
    VIT_ROW,
    .token = {"embeddings.cls_token", "embeddings.mask_token"},
    .name = "vit",
    .class = "ViT",
    .head = "Model",
    .plain = {VIT_PLAIN},
    .read = vit_read,
    .keys = {VIT_KEYS, VIT_MORE},
    .tensors = {VIT_TENSORS},
};

const cs_arch_row cs_arch_vit_mae = {
    VIT_ROW,
    .token = {"embeddings.cls_token"},
    .name = "vit_mae",
    .class = "ViTMAE",
    .head = "ForPreTraining",
    .plain = {VIT_PLAIN, .picture.sinusoidal = true},
    .read = mae_read,
    .keys = {VIT_KEYS, MAE_KEYS},
    .tensors = {VIT_TENSORS, MAE_TENSORS, MAE_TENSORS_5},
};

/* --- classes that are read alone -------------------------------------------------------------- */

static cs_status tower_read(const char *where, const json_t *json, cs_model_config *config)
{
    config->head.absent = true;
    config->shape.vocab = 2 + config->picture.registers;
    return vit_read(where, json, config);
}

/* Units by mlp_ratio and, gated, two thirds of them, a multiple of 8 (the class's sum). */
static cs_status dinov2_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *ratio = json_object_get(json, "mlp_ratio");
    config->layer.gated = json_is_true(json_object_get(json, "use_swiglu_ffn"));
    config->shape.inner =
        (int64_t)((double)config->shape.width * (ratio ? json_number_value(ratio) : 4));
    if (config->layer.gated) {
        config->layer.activation = CS_ACT_SILU;
        config->shape.inner = ((int64_t)((double)config->shape.inner * 2 / 3) + 7) / 8 * 8;
    }
    return tower_read(where, json, config);
}

static const cs_arch_key TOWER_KEYS[] = {
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), 768},
    {"num_hidden_layers", CS_KEY_INT, CS_AT(shape.layers), 12},
    {"num_attention_heads", CS_KEY_INT, CS_AT(shape.heads), 12},
    {"intermediate_size", CS_KEY_INT, CS_AT(shape.inner), 3072},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"attention_dropout", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"image_size", CS_KEY_INT, CS_AT(picture.height), 224},
    {"num_channels", CS_KEY_INT, CS_AT(picture.channels), 3},
    {"initializer_factor projection_dim vision_use_head", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key CLIP_KEYS[] = {
    {"patch_size", CS_KEY_INT, CS_AT(picture.patch), 32},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key SIGLIP_KEYS[] = {
    {"patch_size", CS_KEY_INT, CS_AT(picture.patch), 16},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-6},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key DINOV2_KEYS[] = {
    {"qkv_bias", CS_KEY_BOOL, CS_AT(layer.qkv_bias), 1},
    {"patch_size", CS_KEY_INT, CS_AT(picture.patch), 14},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-6},
    {"mlp_ratio use_swiglu_ffn", CS_KEY_PAST, 0, 0}, /* dinov2_read */
    /* how factors begin, and outputs of a backbone */
    {"layerscale_value drop_path_rate use_mask_token apply_layernorm reshape_hidden_states "
     "out_features out_indices stage_names intermediate_size",
     CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key REGISTER_KEYS[] = {
    {"patch_size", CS_KEY_INT, CS_AT(picture.patch), 16},
    {"num_register_tokens", CS_KEY_INT, CS_AT(picture.registers), 4},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_tensor TOWER_TENSORS[] = {
    {"embed.position", "embeddings.position_embedding"},
    {"embed.real", "#embeddings.patch_embedding"},
    {"embed.norm", "pre_layrnorm"},
    {"layer.N.attention.norm", "encoder.layers.N.layer_norm1"},
    {"layer.N.attention.qkv", "encoder.layers.N.self_attn.{q_proj,k_proj,v_proj}"},
    {"layer.N.attention.output", "encoder.layers.N.self_attn.out_proj"},
    {"layer.N.mlp.norm", "encoder.layers.N.layer_norm2"},
    {"layer.N.mlp.in", "encoder.layers.N.mlp.fc1"},
    {"layer.N.mlp.out", "encoder.layers.N.mlp.fc2"},
    {"final_norm", "post_layernorm"},
    {NULL, NULL},
};

static const cs_arch_tensor DINOV2_TENSORS[] = {
    {"layer.N.attention.norm", "encoder.layer.N.norm1"},
    {"layer.N.attention.factor", "!encoder.layer.N.layer_scale1.lambda1"},
    {"layer.N.mlp.norm", "encoder.layer.N.norm2"},
    {"layer.N.mlp.factor", "!encoder.layer.N.layer_scale2.lambda1"},
    {"layer.N.mlp.in", "encoder.layer.N.mlp.fc1"},
    {"layer.N.mlp.in", "encoder.layer.N.mlp.weights_in"},
    {"layer.N.mlp.out", "encoder.layer.N.mlp.fc2"},
    {"layer.N.mlp.out", "encoder.layer.N.mlp.weights_out"},
    {NULL, NULL},
};

#define READ_ROW .pictures = true, .drop_embed = true, .head = "Model", .score = CS_SCORE_BIAS

const cs_arch_row cs_arch_deit = {
    READ_ROW,
    .name = "deit",
    .class = "DeiT",
    .prefix = "deit.",
    .begins = 2,
    .token = {"embeddings.cls_token", "embeddings.mask_token", "embeddings.distillation_token"},
    .plain = {VIT_PLAIN_OF(3)},
    .read = vit_read,
    .keys = {VIT_KEYS, VIT_MORE},
    .tensors = {VIT_TENSORS},
};

const cs_arch_row cs_arch_ijepa = {
    READ_ROW,
    .name = "ijepa",
    .class = "IJepa",
    .prefix = "ijepa.",
    .plain = {VIT_PLAIN_OF(2)},
    .read = tower_read,
    .keys = {VIT_KEYS, VIT_MORE},
    .tensors = {VIT_TENSORS},
};

const cs_arch_row cs_arch_clip_vision_model = {
    READ_ROW,
    .name = "clip_vision_model",
    .class = "CLIPVision",
    .prefix = "vision_model.",
    .begins = 1,
    .plain_patches = true,
    .past = {"text_model.", "text_projection.", "visual_projection.", "logit_scale"},
    .token = {".embeddings.class_embedding"},
    .plain = {VIT_PLAIN_OF(2), .layer.embed_norm = true, .head.norm = true},
    .read = tower_read,
    .keys = {TOWER_KEYS, CLIP_KEYS},
    .tensors = {TOWER_TENSORS},
};

const cs_arch_row cs_arch_siglip_vision_model = {
    READ_ROW,
    .name = "siglip_vision_model",
    .class = "SiglipVision",
    .prefix = "vision_model.",
    .past = {"head.", "vision_model.head.", "text_model.", "logit_"},
    .plain = {VIT_PLAIN_OF(2)},
    .read = tower_read,
    .keys = {TOWER_KEYS, SIGLIP_KEYS},
    .tensors = {TOWER_TENSORS},
};

const cs_arch_row cs_arch_dinov2_with_registers = {
    READ_ROW,
    .name = "dinov2_with_registers",
    .class = "Dinov2WithRegisters",
    .prefix = "dinov2_with_registers.",
    .begins = 1,
    .token = {"embeddings.cls_token", "!embeddings.mask_token", "embeddings.register_tokens"},
    .plain = {VIT_PLAIN_OF(2), .scale.layer = true},
    .read = dinov2_read,
    .keys = {VIT_KEYS, DINOV2_KEYS, REGISTER_KEYS},
    .tensors = {DINOV2_TENSORS, VIT_TENSORS},
};

const cs_arch_row cs_arch_dinov2 = {
    READ_ROW,
    .name = "dinov2",
    .class = "Dinov2",
    .prefix = "dinov2.",
    .begins = 1,
    .token = {"embeddings.cls_token", "!embeddings.mask_token"},
    .plain = {VIT_PLAIN_OF(2), .scale.layer = true},
    .read = dinov2_read,
    .keys = {VIT_KEYS, DINOV2_KEYS},
    .tensors = {DINOV2_TENSORS, VIT_TENSORS},
};

static const cs_arch_key BEIT_KEYS[] = {
    {"use_mean_pooling", CS_KEY_BOOL, CS_AT(head.norm), 1},
    /* beit_read */
    {"use_absolute_position_embeddings use_relative_position_bias "
     "use_shared_relative_position_bias layer_scale_init_value",
     CS_KEY_PAST, 0, 0},
    /* heads, a backbone, and training */
    {"vocab_size use_mask_token drop_path_rate pool_scales use_auxiliary_head "
     "auxiliary_loss_weight auxiliary_channels auxiliary_num_convs auxiliary_concat_input "
     "semantic_loss_ignore_index add_fpn reshape_hidden_states out_features out_indices "
     "stage_names segmentation_indices",
     CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Without a mean over patches the norm is that of the states; with it that of the pooler or, in
 * models that predict codes, that of their head. */
#define RELATIVE "relative_position_bias.relative_position_bias_table"
static const cs_arch_tensor BEIT_TENSORS[] = {
    {"relative", "!encoder." RELATIVE},
    {"layer.N.relative", "!encoder.layer.N.attention.attention." RELATIVE},
    {"layer.N.attention.factor", "!encoder.layer.N.lambda_1"},
    {"layer.N.mlp.factor", "!encoder.layer.N.lambda_2"},
    {"final_norm", "/beit.pooler.layernorm"},
    {"final_norm", "/layernorm"},
    {NULL, NULL},
};

static cs_status setting(const char *where, const json_t *json, const cs_arch_key *key, double *out)
{
    const json_t *value = json_object_get(json, key->key);
    *out = key->absent;
    return value ? cs_config_value(where, key, value, out) : CS_OK;
}

/* Which tables of positions there are, and whether columns have factors. */
static cs_status beit_read(const char *where, const json_t *json, cs_model_config *config)
{
    static const cs_arch_key own[] = {
        {"use_absolute_position_embeddings", CS_KEY_BOOL, 0, 0},
        {"use_relative_position_bias", CS_KEY_BOOL, 0, 0},
        {"use_shared_relative_position_bias", CS_KEY_BOOL, 0, 0},
        {"layer_scale_init_value", CS_KEY_REAL, 0, 0.1},
    };
    enum { PLACES, EACH, SHARED, FACTOR, OWN };
    double x[OWN];
    cs_status status = vit_read(where, json, config);
    for (int i = 0; i < OWN && status == CS_OK; ++i) {
        status = setting(where, json, &own[i], &x[i]);
    }
    if (status != CS_OK) return status;
    config->head.absent = true;
    config->shape.vocab = 2;
    config->picture.no_table = !(x[PLACES] > 0);
    config->scale.layer = x[FACTOR] > 0;
    config->position.relative_buckets = x[EACH] > 0 || x[SHARED] > 0 ? cs_plane_buckets(config) : 0;
    config->position.relative_tables = !(x[EACH] > 0)  ? CS_RELATIVE_ONE
                                       : x[SHARED] > 0 ? CS_RELATIVE_BOTH
                                                       : CS_RELATIVE_EACH;
    return CS_OK;
}

const cs_arch_row cs_arch_beit = {
    READ_ROW,
    .name = "beit",
    .class = "Beit",
    .prefix = "beit.",
    .begins = 1,
    .keyless = true,
    .token = {"embeddings.cls_token", "embeddings.mask_token"},
    .plain = {VIT_PLAIN_OF(2)},
    .read = beit_read,
    .keys = {VIT_KEYS, BEIT_KEYS},
    .tensors = {BEIT_TENSORS, VIT_TENSORS},
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
