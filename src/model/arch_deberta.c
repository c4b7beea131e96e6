/* The row of deberta-v2: disentangled attention (He et al. 2021). Scores are q.k + q.K_d + k.Q_d, of
 * the vectors of the distance d, over the root of the width of a head times the number of terms.
 * K_d and Q_d are the rows of one table through matrices of each layer (model/network_layers.c).
 * Source of keys and names: transformers 5.23. */
#include <string.h>

#include "model/arch_private.h"

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
    {"relative_attention", CS_KEY_PAST, 0, 0},
    {"max_relative_positions", CS_KEY_PAST, 0, 0},
    {"position_buckets", CS_KEY_PAST, 0, 0},
    {"norm_rel_ebd", CS_KEY_PAST, 0, 0},
    {"pos_att_type", CS_KEY_PAST, 0, 0},
    {"position_biased_input", CS_KEY_PAST, 0, 0},
    {"pooler_dropout", CS_KEY_PAST, 0, 0},
    {"pooler_hidden_size", CS_KEY_PAST, 0, 0},
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
