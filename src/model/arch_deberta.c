/* The row of deberta-v2: disentangled attention (He et al. 2021). Scores are q.k + q.K_d + k.Q_d, of
 * the vectors of the distance d, over the root of the width of a head times the number of terms.
 * K_d and Q_d depend on parameters alone and are made once. Source of keys and names: transformers
 * 5.23. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/arch_private.h"
#include "model/model.h"

static const cs_arch_key KEYS[] = {
    {"max_position_embeddings", CS_KEY_INT, CS_AT(positions), 512},
    {"hidden_act", CS_KEY_ACT, CS_AT(act), 0},
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(eps), 1e-7},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(attention_dropout), 0.1},
    {"type_vocab_size", CS_KEY_INT, CS_AT(token_types), 0},
    {"tie_word_embeddings", CS_KEY_BOOL, CS_AT(tied), 1},
    {"pad_token_id", CS_KEY_ID, CS_AT(pad_id), 0},
    {"bos_token_id", CS_KEY_ID, CS_AT(bos_id), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(eos_id), -1},
    {"share_att_key", CS_KEY_BOOL, CS_AT(place_shared), 0},
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
    {"pooler_hidden_act", CS_KEY_PAST, 0, 0},
    {"pooler_hidden_size", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

/* Terms of the scores: a list of names, or one text of them parted by bars. */
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
    c->place_keys = has_term(json, "c2p");
    c->place_queries = has_term(json, "p2c");
    if (json_is_true(json_object_get(json, "relative_attention"))) {
        c->place_most =
            json_integer_value(most) > 0 ? (int64_t)json_integer_value(most) : c->positions;
        c->place_buckets =
            json_integer_value(buckets) > 0 ? (int64_t)json_integer_value(buckets) : 0;
        c->place_span = c->place_buckets > 0 ? c->place_buckets : c->place_most;
        c->place_norm = form && strcmp(form, "layer_norm") == 0;
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
                                               where, name ? name : "(not a text)"));
        }
    }
    const double terms = 1 + (c->place_keys ? 1 : 0) + (c->place_queries ? 1 : 0);
    c->score_width = c->heads > 0 ? (double)cs_head_width(c) * terms : 0;
    if (json_is_false(json_object_get(json, "position_biased_input"))) {
        c->positions = 0;
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
    {NULL, NULL},
};

const cs_arch_row cs_arch_deberta_v2 = {
    .name = "deberta-v2",
    .class = "DebertaV2",
    .head = "ForMaskedLM",
    .prefix = "deberta.",
    .past = {"mask_predictions.", "lm_predictions."}, /* heads of its training */
    .head_follows = true,
    .drop_embed = true,
    .plain = {CS_ARCH_BIASES, CS_ARCH_USUAL, CS_ARCH_NO_IDS, .post_norm = true, .embed_norm = true,
              .head_transform = true, .head_bias = true, .tied = true, .eps = 1e-7,
              .act = CS_ACT_GELU_ERF},
    .read = deberta_read,
    .keys = {cs_arch_sizes, KEYS},
    .tensors = {TENSORS, cs_arch_encoder_tensors},
};

/* --- vectors of distances --------------------------------------------------------------------- */

static cs_status value_of(const cs_model *model, const char *name, cs_pool *pool, double **out)
{
    return cs_params_read(&model->params, name, pool, NULL, out);
}

/* The table, through its norm where there is one. */
static cs_status table_of(const cs_model *model, cs_pool *pool, double **out)
{
    const cs_model_config *c = &model->config;
    const int64_t d = c->width;
    double *gain = NULL, *bias = NULL;
    cs_status status = value_of(model, "places.table", pool, out);
    if (status == CS_OK && c->place_norm) status = value_of(model, "places.norm.gain", pool, &gain);
    if (status == CS_OK && c->place_norm) status = value_of(model, "places.norm.bias", pool, &bias);
    for (int64_t r = 0; status == CS_OK && c->place_norm && r < 2 * c->place_span; ++r) {
        double *x = *out + r * d, mean = 0, square = 0;
        for (int64_t i = 0; i < d; ++i) {
            mean += x[i] / (double)d;
        }
        for (int64_t i = 0; i < d; ++i) {
            square += (x[i] - mean) * (x[i] - mean) / (double)d;
        }
        for (int64_t i = 0; i < d; ++i) {
            x[i] = (x[i] - mean) / sqrt(square + c->eps) * gain[i] + bias[i];
        }
    }
    return status;
}

/* made = table w^T + b of rows first .. of a linear layer, into parameter `number`. */
static cs_status make(cs_model *model, int64_t number, const char *layer, int64_t first,
                      const double *table)
{
    const cs_param *made = &model->params.param[number];
    const int64_t d = model->config.width;
    char name[256];
    cs_pool pool = {0};
    double *w = NULL, *b = NULL;
    (void)snprintf(name, sizeof name, "%s.weight", layer);
    cs_status status = value_of(model, name, &pool, &w);
    (void)snprintf(name, sizeof name, "%s.bias", layer);
    if (status == CS_OK) status = value_of(model, name, &pool, &b);
    float *out = status == CS_OK ? cs_pool_take(&pool, made->rows * made->cols, sizeof *out) : NULL;
    if (status == CS_OK) status = pool.status;
    for (int64_t r = 0; status == CS_OK && r < made->rows; ++r) {
        for (int64_t o = 0; o < made->cols; ++o) {
            double sum = b[first + o];
            for (int64_t i = 0; i < d; ++i) {
                sum += table[r * d + i] * w[(first + o) * d + i];
            }
            out[r * made->cols + o] = (float)sum;
        }
    }
    if (status == CS_OK) status = cs_params_set(&model->params, number, CS_PARAM_VALUE, out);
    cs_pool_free(&pool);
    return status;
}

/* Row span + d of what is made is row span - 1 + d of the layer's own table, once for each head; no
 * distance is -span. Attention divides what it makes of them as all scores: where the class does not, they are
 * longer. */
static cs_status repeat(cs_model *model, int64_t number, const char *layer)
{
    const cs_param *made = &model->params.param[number];
    const int64_t width = cs_head_width(&model->config);
    const double factor = model->config.place_unscaled ? sqrt((double)width) : 1;
    char name[256];
    cs_pool pool = {0};
    double *table = NULL;
    (void)snprintf(name, sizeof name, "%s.distance.weight", layer);
    cs_status status = value_of(model, name, &pool, &table);
    float *out = status == CS_OK ? cs_pool_take(&pool, made->rows * made->cols, sizeof *out) : NULL;
    if (status == CS_OK) status = pool.status;
    for (int64_t i = 0; status == CS_OK && i < made->rows * made->cols; ++i) {
        const int64_t row = i / made->cols, col = i % made->cols % width;
        out[i] = row > 0 ? (float)(factor * table[(row - 1) * width + col]) : 0;
    }
    if (status == CS_OK) status = cs_params_set(&model->params, number, CS_PARAM_VALUE, out);
    cs_pool_free(&pool);
    return status;
}

cs_status cs_model_derive(cs_model *model)
{
    static const char *const end[] = {".place_key.made", ".place_query.made"};
    const cs_model_config *c = &model->config;
    cs_pool pool = {0};
    double *table = NULL;
    if (c->place_span == 0) {
        return CS_OK;
    }
    cs_status status = c->place_table ? CS_OK : table_of(model, &pool, &table);
    for (int64_t i = 0; status == CS_OK && i < model->params.count; ++i) {
        const cs_param *p = &model->params.param[i];
        for (int e = 0; status == CS_OK && e < 2; ++e) {
            const char *at = strstr(p->name, end[e]);
            if (at) {
                char layer[128];
                const int stem = (int)(at - p->name);
                (void)snprintf(layer, sizeof layer, "%.*s%s", stem, p->name,
                               c->place_table    ? ""
                               : c->place_shared ? ".qkv"
                               : e == 0          ? ".place_key"
                                                 : ".place_query");
                const int64_t first = c->place_shared && e == 0 ? p->cols : 0;
                status =
                    c->place_table ? repeat(model, i, layer) : make(model, i, layer, first, table);
            }
        }
    }
    cs_pool_free(&pool);
    return status;
}
