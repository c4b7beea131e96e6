/* Rows: gpt2, and the encoders with learned positions. Source of keys and names: the configurations
 * and state_dict() of the classes of transformers 5.23. */

#include <math.h>
#include <string.h>

#include "model/arch_private.h"

/* --- keys ------------------------------------------------------------------------------------- */

const cs_arch_key cs_arch_gpt2_keys[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"n_positions", CS_KEY_INT, CS_AT(shape.positions), NAN},
    {"n_embd", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"n_layer", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"n_head", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"max_position_embeddings", CS_KEY_ALIAS, CS_AT(shape.positions), 0},
    {"hidden_size", CS_KEY_ALIAS, CS_AT(shape.width), 0},
    {"num_hidden_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"num_attention_heads", CS_KEY_ALIAS, CS_AT(shape.heads), 0},
    {"n_inner", CS_KEY_INT, CS_AT(shape.inner), 0},
    {"activation_function", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_epsilon", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {"resid_pdrop", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"embd_pdrop", CS_KEY_REAL, CS_AT(training.embed_dropout), 0.1},
    {"attn_pdrop", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 50256},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 50256},
    {"n_ctx", CS_KEY_PAST, 0, 0},
    {"reorder_and_upcast_attn", CS_KEY_PAST, 0, 0}, /* bits of half precision */
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key GPT2_SCALE_KEYS[] = {
    {"scale_attn_weights", CS_KEY_ONLY, 0, 1},
    {"scale_attn_by_inverse_layer_idx", CS_KEY_ONLY, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

const cs_arch_key cs_arch_encoder_keys[] = {
    {"max_position_embeddings", CS_KEY_INT, CS_AT(shape.positions), NAN},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-12},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"type_vocab_size", CS_KEY_INT, CS_AT(shape.token_types), 2},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Vectors of distances in the scores of queries (Shaw et al. 2018), with relative_key_query in
 * those of keys too (Huang et al. 2020), in place of vectors of positions. */
cs_status cs_places_read(const char *where, const json_t *json, cs_model_config *config)
{
    const json_t *type = json_object_get(json, "position_embedding_type");
    const char *name = json_string_value(type);
    const bool both = name && strcmp(name, "relative_key_query") == 0;
    if (!type || (name && strcmp(name, "absolute") == 0)) {
        return CS_OK;
    }
    if (!both && (!name || strcmp(name, "relative_key") != 0)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'position_embedding_type' is '%s', not absolute, relative_key or "
                       "relative_key_query",
                       where, name ? name : "(not a string)");
    }
    config->position.distance_table = config->position.distance_keys = true;
    config->position.distance_queries = both;
    config->position.distance_span = config->shape.positions;
    config->shape.positions = 0;
    return CS_OK;
}

static const cs_arch_key ROBERTA_IDS[] = {
    {"is_decoder", CS_KEY_PAST, 0, 0}, /* cs_model_kind_read */
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), 0},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), 2},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key BERT_IDS[] = {
    {"is_decoder", CS_KEY_PAST, 0, 0}, /* cs_model_kind_read */
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* --- tensors ---------------------------------------------------------------------------------- */

static const cs_arch_tensor GPT2_TENSORS[] = {
    {"embed.token", "wte"},
    {"embed.position", "wpe"},
    {"layer.N.attention.norm", "h.N.ln_1"},
    {"layer.N.attention.qkv", "^h.N.attn.c_attn"},
    {"layer.N.attention.output", "^h.N.attn.c_proj"},
    {"layer.N.mlp.norm", "h.N.ln_2"},
    {"layer.N.mlp.in", "^h.N.mlp.c_fc"},
    {"layer.N.mlp.out", "^h.N.mlp.c_proj"},
    {"final_norm", "ln_f"},
    {"output", "/lm_head"},
    {"classifier.output", "/score"},
    {NULL, NULL},
};

const cs_arch_tensor cs_arch_encoder_tensors[] = {
    {"embed.token", "embeddings.word_embeddings"},
    {"embed.position", "embeddings.position_embeddings"},
    {"embed.type", "embeddings.token_type_embeddings"},
    {"embed.norm", "embeddings.LayerNorm"},
    {"layer.N.attention.qkv", "encoder.layer.N.attention.self.{query,key,value}"},
    {"layer.N.attention.distance", "encoder.layer.N.attention.self.distance_embedding"},
    {"layer.N.attention.output", "encoder.layer.N.attention.output.dense"},
    {"layer.N.mlp.in", "encoder.layer.N.intermediate.dense"},
    {"layer.N.mlp.out", "encoder.layer.N.output.dense"},
    /* behind the sublayers; roberta-prelayernorm has its own in front of this list */
    {"layer.N.attention.norm", "encoder.layer.N.attention.output.LayerNorm"},
    {"layer.N.mlp.norm", "encoder.layer.N.output.LayerNorm"},
    {NULL, NULL},
};

static const cs_arch_tensor PRELAYERNORM_TENSORS[] = {
    {"layer.N.attention.norm", "encoder.layer.N.attention.LayerNorm"},
    {"layer.N.mlp.norm", "encoder.layer.N.intermediate.LayerNorm"},
    {"final_norm", "LayerNorm"},
    {NULL, NULL},
};

static const cs_arch_tensor ROBERTA_HEAD[] = {
    {"head.dense", "/lm_head.dense"},
    {"head.norm", "/lm_head.layer_norm"},
    {"head", "/lm_head"},
    {"output", "/lm_head.decoder"},
    {"classifier.dense", "/classifier.dense"},
    {"classifier.output", "/classifier.out_proj"},
    {NULL, NULL},
};

static const cs_arch_tensor BERT_HEAD[] = {
    {"head.dense", "/cls.predictions.transform.dense"},
    {"head.norm", "/cls.predictions.transform.LayerNorm"},
    {"head", "/cls.predictions"},
    {"output", "/cls.predictions.decoder"},
    {"classifier.dense", "pooler.dense"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

/* --- rows ------------------------------------------------------------------------------------- */

const cs_arch_row cs_arch_gpt2 = {
    .name = "gpt2",
    .trained = true,
    .class = "GPT2",
    .head = "LMHeadModel",
    .prefix = "transformer.",
    .causal = true,
    .score = CS_SCORE_BARE,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-5, .head.tied = true,
              .layer.activation = CS_ACT_GELU_TANH},
    .keys = {cs_arch_gpt2_keys, GPT2_SCALE_KEYS},
    .tensors = {GPT2_TENSORS},
};

#define HEAD                                                                                       \
    .layer.embed_norm = true, .head.transform = true, .head.bias = true, .head.tied = true,        \
    .layer.activation = CS_ACT_GELU_ERF
#define ROBERTA_PLAIN                                                                              \
    CS_ARCH_BIASES, CS_ARCH_USUAL, HEAD, .layer.eps = 1e-5, .shape.token_types = 1,                \
                                         .head.activation = CS_ACT_GELU_ERF, .ids.pad = 1,         \
                                         .ids.bos = 0, .ids.eos = 2
#define ROBERTA_ROW                                                                                \
    .trained = true, .head = "ForMaskedLM", .causal_head = "ForCausalLM", .behind_pad = true,      \
    .drop_embed = true, .places = true, .keys = {cs_arch_sizes, cs_arch_encoder_keys, ROBERTA_IDS}

const cs_arch_row cs_arch_roberta_prelayernorm = {
    ROBERTA_ROW,
    .name = "roberta-prelayernorm",
    .class = "RobertaPreLayerNorm",
    .prefix = "roberta_prelayernorm.",
    .plain = {ROBERTA_PLAIN},
    .tensors = {PRELAYERNORM_TENSORS, cs_arch_encoder_tensors, ROBERTA_HEAD},
};

const cs_arch_row cs_arch_roberta = {
    ROBERTA_ROW,
    .name = "roberta",
    .class = "Roberta",
    .prefix = "roberta.",
    .plain = {ROBERTA_PLAIN, .layer.post_norm = true},
    .tensors = {cs_arch_encoder_tensors, ROBERTA_HEAD},
};

const cs_arch_row cs_arch_xlm_roberta = {
    ROBERTA_ROW,
    .name = "xlm-roberta",
    .class = "XLMRoberta",
    .prefix = "roberta.",
    .plain = {ROBERTA_PLAIN, .layer.post_norm = true},
    .tensors = {cs_arch_encoder_tensors, ROBERTA_HEAD},
};

const cs_arch_row cs_arch_camembert = {
    ROBERTA_ROW,
    .name = "camembert",
    .class = "Camembert",
    .prefix = "roberta.",
    .plain = {ROBERTA_PLAIN, .layer.post_norm = true},
    .tensors = {cs_arch_encoder_tensors, ROBERTA_HEAD},
};

const cs_arch_row cs_arch_bert = {
    .name = "bert",
    .trained = true,
    .class = "Bert",
    .head = "ForMaskedLM",
    .causal_head = "LMHeadModel",
    .prefix = "bert.",
    .head_follows = true,
    .score = CS_SCORE_POOLER,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, HEAD, .layer.post_norm = true, .layer.eps = 1e-12,
              .shape.token_types = 2, .ids.pad = 0, .ids.bos = -1, .ids.eos = -1},
    .places = true,
    .keys = {cs_arch_sizes, cs_arch_encoder_keys, BERT_IDS},
    .tensors = {cs_arch_encoder_tensors, BERT_HEAD},
};

const cs_arch_row cs_arch_linear = {
    .name = "linear",
    .trained = true,
    .class = "cospec",
    .prefix = "",
    .drop_embed = true,
    .plain = {CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.eps = 1e-5,
              .layer.activation = CS_ACT_GELU_ERF},
    .keys = {cs_arch_sizes, cs_arch_encoder_keys, BERT_IDS},
    .tensors = {(const cs_arch_tensor[]){{NULL, NULL}}},
};

/* --- DeBERTa-v2 ------------------------------------------------------------------------------- */

/* The row of deberta-v2: disentangled attention (He et al. 2021). Scores are q.k + q.K_d + k.Q_d, of
 * the vectors of the distance d, over the root of the width of a head times the number of terms.
 * K_d and Q_d are the rows of one table through matrices of each layer (model/network_layers.c).
 * Source of keys and names: transformers 5.23. */

static const cs_arch_key KEYS[] = {
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(shape.positions), 512},
    {"hidden_act", CS_KEY_ACT, CS_AT(layer.activation), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-7},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"type_vocab_size", CS_KEY_INT, CS_AT(shape.token_types), 0},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(head.tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"pooler_hidden_act", CS_KEY_ACT, CS_AT(head.activation), 0}, /* of a head of classes */
    {"share_att_key", CS_KEY_BOOL, CS_AT(position.distance_shared), 0},
    {"conv_kernel_size", CS_KEY_ONLY, 0, 0},
    {"conv_act", CS_KEY_PAST, 0, 0}, /* of what conv_kernel_size makes */
    {"conv_groups", CS_KEY_PAST, 0, 0},
    {"legacy", CS_KEY_ONLY, 0, 1},
    /* deberta_read */
    {"relative_attention max_relative_positions position_buckets norm_rel_ebd pos_att_type "
     "position_biased_input pooler_dropout pooler_hidden_size",
     CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Terms of the scores: a list of names, or one text of them separated by bars. */
static bool has_term(const json_t *json, const char *term)
{
    const json_t *types = json_object_get(json, "pos_att_type");
    bool has = json_is_string(types) && strstr(json_string_value(types), term);
    for (size_t i = 0; i < json_array_size(types); ++i) {
        const char *name = json_string_value(json_array_get(types, i));
        has = has || (name && strcmp(name, term) == 0);
    }
    return has;
}

static cs_status deberta_read(const char *where, const json_t *json, cs_model_config *c)
{
    const json_t *most = json_object_get(json, "max_relative_positions"),
                 *buckets = json_object_get(json, "position_buckets"),
                 *norm = json_object_get(json, "norm_rel_ebd");
    const char *form = json_string_value(norm);
    c->position.distance_keys = has_term(json, "c2p");
    c->position.distance_queries = has_term(json, "p2c");
    if (json_is_true(json_object_get(json, "relative_attention"))) {
        c->position.distance_most =
            json_integer_value(most) > 0 ? (int64_t)json_integer_value(most) : c->shape.positions;
        c->position.distance_buckets =
            json_integer_value(buckets) > 0 ? (int64_t)json_integer_value(buckets) : 0;
        c->position.distance_span = c->position.distance_buckets > 0 ? c->position.distance_buckets
                                                                     : c->position.distance_most;
        c->position.distance_norm = form && strcmp(form, "layer_norm") == 0;
    }
    if (form && strcmp(form, "layer_norm") != 0 && strcmp(form, "none") != 0) {
        return cs_config_way_round(
            cs_fail(CS_ERR_INPUT, "%s: 'norm_rel_ebd' is neither none nor layer_norm", where));
    }
    const json_t *types = json_object_get(json, "pos_att_type");
    for (size_t i = 0; i < json_array_size(types); ++i) {
        const char *name = json_string_value(json_array_get(types, i));
        if (!name || (strcmp(name, "c2p") != 0 && strcmp(name, "p2c") != 0)) {
            return cs_config_way_round(cs_fail(CS_ERR_INPUT,
                                               "%s: 'pos_att_type' has '%s', neither c2p nor p2c",
                                               where, name ? name : "(not a string)"));
        }
    }
    const double terms =
        1 + (c->position.distance_keys ? 1 : 0) + (c->position.distance_queries ? 1 : 0);
    c->attention.score_width = c->shape.heads > 0 ? (double)cs_head_width(c) * terms : 0;
    if (json_is_false(json_object_get(json, "position_biased_input"))) {
        c->shape.positions = 0;
    }
    return CS_OK;
}

static const cs_arch_tensor TENSORS[] = {
    {"layer.N.attention.qkv", "encoder.layer.N.attention.self.{query_proj,key_proj,value_proj}"},
    {"layer.N.attention.place_key", "encoder.layer.N.attention.self.pos_key_proj"},
    {"layer.N.attention.place_query", "encoder.layer.N.attention.self.pos_query_proj"},
    {"places", "encoder.rel_embeddings"},
    {"places.norm", "encoder.LayerNorm"},
    {"head.dense", "/cls.predictions.transform.dense"},
    {"head.norm", "/cls.predictions.transform.LayerNorm"},
    {"head", "/cls.predictions"},
    {"output", "/cls.predictions.decoder"},
    {"classifier.dense", "/pooler.dense"},
    {"classifier.output", "/classifier"},
    {NULL, NULL},
};

const cs_arch_row cs_arch_deberta_v2 = {
    .name = "deberta-v2",
    .class = "DebertaV2",
    .head = "ForMaskedLM",
    .prefix = "deberta.",
    /* heads of its training; the norm of distances, which is there where none are read */
    .past = {"mask_predictions.", "lm_predictions.", "deberta.encoder.LayerNorm.",
             "encoder.LayerNorm."},
    .head_follows = true,
    .score = CS_SCORE_CONTEXT,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .layer.post_norm = true,
              .layer.embed_norm = true, .head.transform = true, .head.bias = true,
              .head.tied = true, .layer.eps = 1e-7, .layer.activation = CS_ACT_GELU_ERF,
              .head.activation = CS_ACT_GELU_ERF},
    .read = deberta_read,
    .keys = {cs_arch_sizes, KEYS},
    .tensors = {TENSORS, cs_arch_encoder_tensors},
};
