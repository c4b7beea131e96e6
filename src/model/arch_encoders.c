/* Rows: mpnet, whose encoder has one table of relative positions in addition to learned ones,
 * nomic_bert, BERT with rotary positions and gated units, and esm, with token dropout. Source of keys and names: the
 * configurations and state_dict() of the classes of transformers 5.24. */
#include <math.h>
#include <string.h>

#include "model/arch_private.h"
#include "model/rotary.h"

static const cs_arch_key MPNET_KEYS[] = {
    /* the class has 32 buckets whatever the file says, and a table with the rows of the file */
    {"relative_attention_num_buckets", CS_KEY_INT, CS_AT(position.relative_buckets), 32},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 0},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key ENCODER_KEYS[] = {
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(shape.positions), 512},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-12},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Positions start after row 1 of their table, whatever the padding token is. */
static cs_status mpnet_read(const char *where, const json_t *json, cs_model_config *config)
{
    (void)json;
    config->position.relative_distance = 128;
    config->shape.positions -= config->position.offset;
    if (config->position.relative_buckets != 32) {
        return cs_config_way_round(
            cs_fail(CS_ERR_INPUT,
                    "%s: 'relative_attention_num_buckets' other than 32 is not supported", where));
    }
    return config->shape.positions > 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: 'max_position_embeddings' is not above 2", where);
}

static const cs_arch_tensor MPNET_TENSORS[] = {
    {"relative", "encoder.relative_attention_bias"},
    {"layer.N.attention.qkv", "encoder.layer.N.attention.attn.{q,k,v}"},
    {"layer.N.attention.output", "encoder.layer.N.attention.attn.o"},
    {"layer.N.attention.norm", "encoder.layer.N.attention.LayerNorm"},
    {"head.dense", "/lm_head.dense"},
    {"head.norm", "/lm_head.layer_norm"},
    {"head", "/lm_head"},
    {"output", "/lm_head.decoder"},
    {"classifier.dense", "/classifier.dense"},
    {"classifier.output", "/classifier.out_proj"},
    {NULL, NULL},
};

#define HEAD                                                                                       \
    .layer.post_norm = true, .layer.embed_norm = true, .head.transform = true, .head.bias = true,  \
    .head.tied = true, .head.activation = CS_ACT_GELU_ERF

const cs_arch_row cs_arch_mpnet = {
    .name = "mpnet",
    .class = "MPNet",
    .head = "ForMaskedLM",
    .prefix = "mpnet.",
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, HEAD, .layer.eps = 1e-12,
              .layer.activation = CS_ACT_GELU_ERF, .position.offset = 2},
    .read = mpnet_read,
    .keys = {cs_arch_sizes, ENCODER_KEYS, MPNET_KEYS},
    .tensors = {MPNET_TENSORS, cs_arch_encoder_tensors},
};

static const cs_arch_key NOMIC_KEYS[] = {
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(position.longest), 2048},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-12},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0},
    {"type_vocab_size", CS_KEY_COUNT, CS_AT(shape.token_types), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"head_dim", CS_KEY_INT_OR_NONE, CS_AT(shape.head_width), 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"rope_parameters rope_scaling rope_theta", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key NOMIC_SIZES[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"hidden_size", CS_KEY_COUNT, CS_AT(shape.width), 0},
    {"num_hidden_layers", CS_KEY_COUNT, CS_AT(shape.layers), 0},
    {"num_attention_heads", CS_KEY_COUNT, CS_AT(shape.heads), 0},
    {"intermediate_size", CS_KEY_COUNT, CS_AT(shape.inner), 0},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Of files from before the class, whose own code has the keys of GPT-2 and of flash-attn. */
static const cs_arch_key NOMIC_OLDER_KEYS[] = {
    {"n_embd", CS_KEY_ALIAS, CS_AT(shape.width), 0},
    {"n_layer", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"n_head", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"n_inner", CS_KEY_ALIAS, CS_AT(shape.inner), 0},
    {"rotary_emb_fraction", CS_KEY_ONLY, 0, 1},
    {"qkv_proj_bias", CS_KEY_ONLY, 0, 0},
    {"mlp_fc1_bias", CS_KEY_ONLY, 0, 0},
    {"mlp_fc2_bias", CS_KEY_ONLY, 0, 0},
    {"prenorm", CS_KEY_ONLY, 0, 0},
    {"parallel_block", CS_KEY_ONLY, 0, 0},
    {"use_rms_norm", CS_KEY_ONLY, 0, 0},
    {"causal", CS_KEY_ONLY, 0, 0},
    {"rotary_emb_interleaved", CS_KEY_ONLY, 0, 0},
    {"rotary_emb_scale_base", CS_KEY_ONLY, 0, 0},
    {"num_experts", CS_KEY_ONLY, 0, 0},
    /* nomic_read; the others do not affect states */
    {"activation_function layer_norm_epsilon rotary_emb_base rotary_scaling_factor "
     "max_trained_positions n_positions attn_pdrop embd_pdrop resid_pdrop dense_seq_output "
     "fused_bias_fc fused_dropout_add_ln use_flash_attn use_xentropy pad_vocab_size_multiple "
     "parallel_block_tied_norm reorder_and_upcast_attn scale_attn_by_inverse_layer_idx "
     "scale_attn_weights",
     CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* A number above 0 of older files; absent or null: `usual`. */
static cs_status older_number(const char *where, const json_t *json, const char *key, double usual,
                              double *out)
{
    const cs_arch_key f = {key, CS_KEY_POSITIVE, 0, usual};
    const json_t *value = json_object_get(json, key);
    *out = usual;
    return value && !json_is_null(value) ? cs_config_value(where, &f, value, out) : CS_OK;
}

/* Older files name settings by other keys; those of the class come first. Their code has other
 * defaults, so that a file has to name what we cannot do otherwise. */
static cs_status nomic_read(const char *where, const json_t *json, cs_model_config *config)
{
    static const char *const named[] = {"rotary_emb_fraction", "qkv_proj_bias", "mlp_fc1_bias",
                                        "mlp_fc2_bias"};
    cs_rotary *rotary = &config->position.rotary;
    if (json_object_get(json, "hidden_size")) return cs_rotary_read(where, json, config);
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        if (!json_object_get(json, named[i]))
            return cs_fail(CS_ERR_INPUT, "%s: '%s' is missing", where, named[i]);
    }
    const char *act = json_string_value(json_object_get(json, "activation_function"));
    if (!act || (strcmp(act, "swiglu") != 0 && strcmp(act, "geglu") != 0))
        return cs_fail(CS_ERR_INPUT, "%s: 'activation_function' is not \"swiglu\" or \"geglu\"",
                       where);
    config->layer.activation = strcmp(act, "geglu") == 0 ? CS_ACT_GELU_ERF : CS_ACT_SILU;
    cs_status status = older_number(where, json, "layer_norm_epsilon", 1e-5, &config->layer.eps);
    if (status == CS_OK) status = cs_rotary_read(where, json, config);
    if (status != CS_OK || json_object_get(json, "rope_parameters")) return status;
    status = older_number(where, json, "rotary_emb_base", 1000, &rotary->theta);
    if (status == CS_OK)
        status = older_number(where, json, "rotary_scaling_factor", 0, &rotary->factor);
    if (status == CS_OK && rotary->factor > 0) {
        rotary->scaling = CS_SCALING_DYNAMIC;
        status = older_number(where, json, "max_trained_positions", 2048, &rotary->original);
    }
    return status;
}

/* Names of the published files, which the class changes as it reads and writes. */
#define LAYER "encoder.layers.N."
static const cs_arch_tensor NOMIC_TENSORS[] = {
    {"embed.token", "embeddings.word_embeddings"},
    {"embed.type", "embeddings.token_type_embeddings"},
    {"embed.norm", "emb_ln"},
    {"layer.N.attention.norm", LAYER "norm1"},
    {"layer.N.attention.qkv", LAYER "attn.Wqkv"},
    {"layer.N.attention.output", LAYER "attn.out_proj"},
    {"layer.N.mlp.norm", LAYER "norm2"},
    {"layer.N.mlp.in", LAYER "mlp.{fc12,fc11}"},
    {"layer.N.mlp.out", LAYER "mlp.fc2"},
    {"head.dense", "/cls.predictions.transform.dense"},
    {"head.norm", "/cls.predictions.transform.layer_norm"},
    {"head", "/cls.predictions"},
    {"output", "/cls.predictions.decoder"},
    {"classifier.dense", "pooler.dense"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

/* --- esm: a language model of proteins (Lin et al. 2023) --------------------------------------- */

static const cs_arch_key ESM_KEYS[] = {
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(shape.positions), 1026},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-12},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"emb_layer_norm_before", CS_KEY_BOOL, CS_AT(layer.embed_norm), 0},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"rope_theta", CS_KEY_POSITIVE, CS_AT(position.rotary.theta), 10000},
    {"is_folding_model", CS_KEY_ONLY, 0, 0},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {"mask_token_id", CS_KEY_ID, CS_AT(ids.mask), -1},
    /* esm_read; the rest is of ESMFold */
    {"position_embedding_type token_dropout esmfold_config vocab_list", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* One kind of positions. The share of masked tokens in training is the class's constant. */
static cs_status esm_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *type = json_object_get(json, "position_embedding_type"),
                 *dropout = json_object_get(json, "token_dropout");
    const char *name = !type || json_is_null(type) ? "absolute" : json_string_value(type);
    const bool rotary = name && strcmp(name, "rotary") == 0;
    if (!rotary && (!name || strcmp(name, "absolute") != 0))
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'position_embedding_type' is not \"absolute\" or \"rotary\"", where);
    if (dropout && !json_is_boolean(dropout) && !json_is_null(dropout))
        return cs_fail(CS_ERR_INPUT, "%s: 'token_dropout' is not a boolean (true or false)", where);
    if (rotary) {
        config->shape.positions = 0;
    } else {
        config->position.rotary = (cs_rotary){0};
    }
    config->scale.kept = json_is_true(dropout) ? 1 - 0.15 * 0.8 : 0;
    return CS_OK;
}

static const cs_arch_tensor ESM_TENSORS[] = {
    {"embed.norm", "embeddings.layer_norm"},
    {"layer.N.attention.norm", "encoder.layer.N.attention.LayerNorm"},
    {"layer.N.mlp.norm", "encoder.layer.N.LayerNorm"},
    {"final_norm", "encoder.emb_layer_norm_after"},
    /* published ones are rounded, and older files have them in each layer */
    {"rotary.frequency", "!esm.rotary_embeddings.inv_freq"},
    {"rotary.frequency", "!esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq"},
    {"head.dense", "/lm_head.dense"},
    {"head.norm", "/lm_head.layer_norm"},
    {"head", "/lm_head"},
    {"output", "/lm_head.decoder"},
    {"classifier.dense", "/classifier.dense"},
    {"classifier.output", "/classifier.out_proj"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_esm = {
    .name = "esm",
    .class = "Esm",
    .head = "ForMaskedLM",
    .prefix = "esm.",
    .behind_pad = true,
    .past = {"esm.contact_head.", "contact_head."},
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-12,
              .layer.activation = CS_ACT_GELU_ERF, .head.transform = true, .head.bias = true,
              .head.tied = true, .head.activation = CS_ACT_GELU_ERF,
              .position.rotary = {.theta = 10000, .share = 1}},
    .read = esm_read,
    .keys = {cs_arch_sizes, ESM_KEYS},
    .tensors = {ESM_TENSORS, cs_arch_encoder_tensors},
};

const cs_arch_row cs_arch_nomic_bert = {
    .name = "nomic_bert",
    .class = "NomicBert",
    .head = "ForMaskedLM",
    .prefix = "nomic_bert.",
    .head_follows = true,
    .score = CS_SCORE_POOLER,
    .drop_embed = true,
    .plain = {CS_ARCH_USUAL, CS_ARCH_NO_IDS, HEAD, .layer.bias = true, .layer.norm_bias = true,
              .layer.dense_bias = true, .layer.gated = true, .layer.eps = 1e-12,
              .layer.activation = CS_ACT_SILU, .position.rotary = {.theta = 1000, .share = 1}},
    .read = nomic_read,
    .keys = {NOMIC_SIZES, NOMIC_KEYS, NOMIC_OLDER_KEYS},
    .tensors = {NOMIC_TENSORS},
};
