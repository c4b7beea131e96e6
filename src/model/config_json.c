/* config.json: a table of keys for each family of Hugging Face classes, and one of ours.
 *
 * Keys, meanings and the values that stand for an absent key are those of transformers' GPT2Config,
 * RobertaPreLayerNormConfig, RobertaConfig and BertConfig. Everything else that differs from the
 * architecture's own choices goes under "cospec", so a model without peculiarities has a plain
 * file. Keys that bear on no number (labels, caches, versions) are read past.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "model/config.h"

typedef enum { FIELD_BOOL, FIELD_INT, FIELD_ID, FIELD_REAL } field_kind;

/* A key and the member that it sets; `absent` is the value without it, NAN: it must be there. */
typedef struct {
    const char *key;
    field_kind kind;
    size_t at;
    double absent;
} field;

#define AT(member) offsetof(cs_model_config, member)

static const field GPT2[] = {
    {"vocab_size", FIELD_INT, AT(vocab), NAN},
    {"n_positions", FIELD_INT, AT(positions), NAN},
    {"n_embd", FIELD_INT, AT(width), NAN},
    {"n_layer", FIELD_INT, AT(layers), NAN},
    {"n_head", FIELD_INT, AT(heads), NAN},
    {"n_inner", FIELD_INT, AT(inner), 0},
    {"layer_norm_epsilon", FIELD_REAL, AT(eps), 1e-5},
    {"resid_pdrop", FIELD_REAL, AT(dropout), 0.1},
    {"embd_pdrop", FIELD_REAL, AT(embed_dropout), 0.1},
    {"attn_pdrop", FIELD_REAL, AT(attention_dropout), 0.1},
    {"initializer_range", FIELD_REAL, AT(init_range), 0.02},
    {"tie_word_embeddings", FIELD_BOOL, AT(tied), 1},
    {"pad_token_id", FIELD_ID, AT(pad_id), -1},
    {"bos_token_id", FIELD_ID, AT(bos_id), 50256},
    {"eos_token_id", FIELD_ID, AT(eos_id), 50256},
    {NULL, FIELD_INT, 0, 0},
};

#define BERT_SIZES                                                                                 \
    {"vocab_size", FIELD_INT, AT(vocab), NAN},                                                     \
        {"max_position_embeddings", FIELD_INT, AT(positions), NAN},                                \
        {"hidden_size", FIELD_INT, AT(width), NAN},                                                \
        {"num_hidden_layers", FIELD_INT, AT(layers), NAN},                                         \
        {"num_attention_heads", FIELD_INT, AT(heads), NAN},                                        \
        {"intermediate_size", FIELD_INT, AT(inner), NAN},                                          \
        {"layer_norm_eps", FIELD_REAL, AT(eps), 1e-12},                                            \
        {"hidden_dropout_prob", FIELD_REAL, AT(dropout), 0.1},                                     \
        {"attention_probs_dropout_prob", FIELD_REAL, AT(attention_dropout), 0.1},                  \
        {"initializer_range", FIELD_REAL, AT(init_range), 0.02},                                   \
        {"type_vocab_size", FIELD_INT, AT(token_types), 2},                                        \
    {                                                                                              \
        "tie_word_embeddings", FIELD_BOOL, AT(tied), 1                                             \
    }

static const field ROBERTA[] = {
    BERT_SIZES,
    {"pad_token_id", FIELD_ID, AT(pad_id), 1},
    {"bos_token_id", FIELD_ID, AT(bos_id), 0},
    {"eos_token_id", FIELD_ID, AT(eos_id), 2},
    {NULL, FIELD_INT, 0, 0},
};

static const field BERT[] = {
    BERT_SIZES,
    {"pad_token_id", FIELD_ID, AT(pad_id), 0},
    {"bos_token_id", FIELD_ID, AT(bos_id), -1},
    {"eos_token_id", FIELD_ID, AT(eos_id), -1},
    {NULL, FIELD_INT, 0, 0},
};

/* Under "cospec", where they differ from the architecture's. */
static const field OURS[] = {
    {"post_norm", FIELD_BOOL, AT(post_norm), NAN},
    {"embed_norm", FIELD_BOOL, AT(embed_norm), NAN},
    {"head_transform", FIELD_BOOL, AT(head_transform), NAN},
    {"head_bias", FIELD_BOOL, AT(head_bias), NAN},
    {"bias", FIELD_BOOL, AT(bias), NAN},
    {"token_types", FIELD_INT, AT(token_types), NAN},
    {"embed_dropout", FIELD_REAL, AT(embed_dropout), NAN},
    {"relative_buckets", FIELD_INT, AT(relative_buckets), NAN},
    {"relative_distance", FIELD_INT, AT(relative_distance), NAN},
    {"query_vector", FIELD_BOOL, AT(query_vector), NAN},
    {"classes", FIELD_INT, AT(classes), NAN},
    {"pooling", FIELD_REAL, AT(pooling), NAN},
    {"mask_id", FIELD_ID, AT(mask_id), 0},
    {"unk_id", FIELD_ID, AT(unk_id), 0},
    {"decoder_layers", FIELD_INT, AT(decoder.layers), NAN},
    {"decoder_width", FIELD_INT, AT(decoder.width), NAN},
    {"decoder_heads", FIELD_INT, AT(decoder.heads), NAN},
    {"decoder_inner", FIELD_INT, AT(decoder.inner), NAN},
    {NULL, FIELD_INT, 0, 0},
};

static const field *family(cs_arch arch)
{
    return arch == CS_ARCH_GPT2                                              ? GPT2
           : arch == CS_ARCH_ROBERTA || arch == CS_ARCH_ROBERTA_PRELAYERNORM ? ROBERTA
                                                                             : BERT;
}

static const char *const CLASS[] = {[CS_ARCH_GPT2] = "GPT2LMHeadModel",
                                    [CS_ARCH_ROBERTA_PRELAYERNORM] =
                                        "RobertaPreLayerNormForMaskedLM",
                                    [CS_ARCH_ROBERTA] = "RobertaForMaskedLM",
                                    [CS_ARCH_BERT] = "BertForMaskedLM",
                                    [CS_ARCH_LINEAR] = NULL};

/* With a classification head. */
static const char *const CLASSIFIER[] = {[CS_ARCH_GPT2] = "GPT2ForSequenceClassification",
                                         [CS_ARCH_ROBERTA_PRELAYERNORM] =
                                             "RobertaPreLayerNormForSequenceClassification",
                                         [CS_ARCH_ROBERTA] = "RobertaForSequenceClassification",
                                         [CS_ARCH_BERT] = "BertForSequenceClassification",
                                         [CS_ARCH_LINEAR] = NULL};

static const char *const DECODER[] = {[CS_DECODER_SELF] = "self",
                                      [CS_DECODER_SELF_CROSS] = "self-cross",
                                      [CS_DECODER_CAUSAL_CROSS] = "causal-cross",
                                      [CS_DECODER_CROSS] = "cross"};

/* The first name of an activation is the one written. */
static const struct {
    const char *name;
    cs_activation act;
} ACTIVATION[] = {{"gelu_new", CS_ACT_GELU_TANH},  {"gelu", CS_ACT_GELU_ERF},
                  {"relu", CS_ACT_RELU},           {"tanh", CS_ACT_TANH},
                  {"linear", CS_ACT_NONE},         {"gelu_pytorch_tanh", CS_ACT_GELU_TANH},
                  {"gelu_fast", CS_ACT_GELU_TANH}, {"gelu_python", CS_ACT_GELU_ERF}};

static const char *activation_key(cs_arch arch)
{
    return arch == CS_ARCH_GPT2 ? "activation_function" : "hidden_act";
}

/* --- members by their place ------------------------------------------------------------------- */

static double get(const cs_model_config *config, const field *f)
{
    const char *at = (const char *)config + f->at;
    switch (f->kind) {
    case FIELD_BOOL:
        return *(const bool *)at ? 1 : 0;
    case FIELD_INT:
        return (double)*(const int64_t *)at;
    case FIELD_ID:
        return *(const int32_t *)at;
    case FIELD_REAL:
        break;
    }
    return *(const double *)at;
}

static void put(cs_model_config *config, const field *f, double value)
{
    char *at = (char *)config + f->at;
    switch (f->kind) {
    case FIELD_BOOL:
        *(bool *)at = value != 0;
        break;
    case FIELD_INT:
        *(int64_t *)at = (int64_t)value;
        break;
    case FIELD_ID:
        *(int32_t *)at = (int32_t)value;
        break;
    case FIELD_REAL:
        *(double *)at = value;
        break;
    }
}

static bool differs(const field *f, const cs_model_config *a, const cs_model_config *b)
{
    return get(a, f) < get(b, f) || get(a, f) > get(b, f);
}

/* --- writing ---------------------------------------------------------------------------------- */

static json_t *json_of(const field *f, double value)
{
    switch (f->kind) {
    case FIELD_BOOL:
        return json_boolean(value != 0);
    case FIELD_ID:
        return value < 0 ? json_null() : json_integer((json_int_t)value);
    case FIELD_INT:
        return json_integer((json_int_t)value);
    case FIELD_REAL:
        break;
    }
    return cs_json_number(value);
}

static const char *activation_name(cs_activation act)
{
    size_t i = 0;
    while (ACTIVATION[i].act != act) {
        ++i;
    }
    return ACTIVATION[i].name;
}

/* What a reader assumes who knows the architecture and the class's keys alone. */
static cs_model_config assumed(const cs_model_config *config)
{
    cs_model_config plain = {0};
    cs_model_config_default(config->arch, &plain);
    if (config->arch != CS_ARCH_GPT2) {
        plain.embed_dropout = config->dropout;
        plain.token_types = config->token_types;
    }
    if (config->classes > 0) { /* what goes with such a head */
        plain.head_transform = plain.head_bias = false;
        plain.classes = cs_model_config_exchangeable(config) ? config->classes : 0;
    }
    return plain;
}

/* The object under "cospec", NULL in *out where it is empty. */
static cs_status write_ours(const cs_model_config *config, bool exchangeable, json_t **out)
{
    cs_model_config plain = assumed(config);
    json_t *ours = json_object();
    cs_status status = ours ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for config.json");
    if (status == CS_OK && !exchangeable) {
        status = cs_json_set(ours, "architecture", json_string(cs_arch_name(config->arch)));
    }
    for (const field *f = OURS; f->key && status == CS_OK; ++f) {
        bool decoder = strncmp(f->key, "decoder_", 8) == 0;
        if (decoder ? config->decoder.layers > 0 : differs(f, config, &plain)) {
            status = cs_json_set(ours, f->key, json_of(f, get(config, f)));
        }
    }
    if (status == CS_OK && config->decoder.layers > 0) {
        status =
            cs_json_set(ours, "decoder_attention", json_string(DECODER[config->decoder.attention]));
    }
    if (status == CS_OK && config->classes > 0 && !exchangeable) {
        status = cs_json_set(ours, "readout", json_string(cs_readout_name(config->readout)));
    }
    if (status != CS_OK || json_object_size(ours) == 0) {
        json_decref(ours);
        ours = NULL;
    }
    *out = ours;
    return status;
}

/* The number of outputs of a Hugging Face class is that of its labels. */
static cs_status write_labels(int64_t classes, json_t *object)
{
    json_t *names = json_object(), *numbers = json_object();
    cs_status status =
        names && numbers ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for config.json");
    for (int64_t c = 0; c < classes && status == CS_OK; ++c) {
        char number[32], name[40];
        (void)snprintf(number, sizeof number, "%lld", (long long)c);
        (void)snprintf(name, sizeof name, "LABEL_%lld", (long long)c);
        status = cs_json_set(names, number, json_string(name));
        if (status == CS_OK) {
            status = cs_json_set(numbers, name, json_integer((json_int_t)c));
        }
    }
    if (status == CS_OK &&
        (status = cs_json_set(object, "id2label", json_incref(names))) == CS_OK &&
        (status = cs_json_set(object, "label2id", json_incref(numbers))) == CS_OK) {
        status =
            cs_json_set(object, "problem_type",
                        json_string(classes == 1 ? "regression" : "single_label_classification"));
    }
    json_decref(names);
    json_decref(numbers);
    return status;
}

static cs_status write_class(const cs_model_config *config, bool exchangeable, json_t *object)
{
    cs_model_config rows = *config; /* the class counts rows of the position table */
    if (rows.positions > 0) {
        rows.positions += rows.position_offset;
    }
    const char *type = exchangeable ? cs_arch_name(config->arch) : "cospec";
    cs_status status = cs_json_set(object, "model_type", json_string(type));
    if (status == CS_OK && exchangeable) {
        const char *name = (config->classes > 0 ? CLASSIFIER : CLASS)[config->arch];
        status = cs_json_set(object, "architectures", json_pack("[s]", name));
    }
    if (status == CS_OK && exchangeable && config->classes > 0) {
        status = write_labels(config->classes, object);
    }
    for (const field *f = family(config->arch); f->key && status == CS_OK; ++f) {
        status = cs_json_set(object, f->key, json_of(f, get(&rows, f)));
    }
    if (status == CS_OK) {
        status = cs_json_set(object, activation_key(config->arch),
                             json_string(activation_name(config->act)));
    }
    return status == CS_OK ? cs_json_set(object, "dtype", json_string("float32")) : status;
}

json_t *cs_model_config_json(const cs_model_config *config)
{
    bool exchangeable = cs_model_config_exchangeable(config);
    json_t *object = json_object(), *ours = NULL;
    cs_status status = object ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for config.json");
    if (status == CS_OK) {
        status = write_class(config, exchangeable, object);
    }
    if (status == CS_OK) {
        status = write_ours(config, exchangeable, &ours);
    }
    if (status == CS_OK && ours) {
        status = cs_json_set(object, "cospec", ours);
    }
    if (status != CS_OK) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The value of a key that is there and not null, in *out; null: the absent one. */
static cs_status read_value(const char *where, const field *f, const json_t *value, double *out)
{
    bool whole = f->kind == FIELD_INT || f->kind == FIELD_ID;
    if (json_is_null(value)) {
        *out = f->kind == FIELD_ID ? -1 : f->absent;
        return isnan(*out) ? cs_fail(CS_ERR_INPUT, "%s: '%s' is null", where, f->key) : CS_OK;
    }
    if (f->kind == FIELD_BOOL ? !json_is_boolean(value)
        : whole               ? !json_is_integer(value)
                              : !json_is_number(value)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is not a %s", where, f->key,
                       f->kind == FIELD_BOOL ? "truth value"
                       : whole               ? "whole number"
                                             : "number");
    }
    *out = f->kind == FIELD_BOOL ? json_is_true(value) : json_number_value(value);
    if (whole && fabs(*out) > (double)INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is %.17g", where, f->key, *out);
    }
    return CS_OK;
}

static cs_status read_class(const char *where, const json_t *json, cs_model_config *config)
{
    for (const field *f = family(config->arch); f->key; ++f) {
        const json_t *value = json_object_get(json, f->key);
        double x = f->absent;
        if (!value && isnan(x)) {
            return cs_fail(CS_ERR_INPUT, "%s: no '%s'", where, f->key);
        }
        cs_status status = value ? read_value(where, f, value, &x) : CS_OK;
        if (status != CS_OK) {
            return status;
        }
        put(config, f, x);
    }
    if (config->arch == CS_ARCH_GPT2 && config->inner == 0) {
        config->inner = 4 * config->width;
    }
    if (config->bos_id >= config->vocab) { /* the class's own ids in a small vocabulary */
        config->bos_id = -1;
    }
    if (config->eos_id >= config->vocab) {
        config->eos_id = -1;
    }
    return CS_OK;
}

static cs_status read_activation(const char *where, const json_t *json, cs_model_config *config)
{
    const char *key = activation_key(config->arch);
    const json_t *value = json_object_get(json, key);
    if (!value) {
        return CS_OK; /* the class's own, as in the architecture's choices */
    }
    for (size_t i = 0; json_is_string(value) && i < sizeof ACTIVATION / sizeof *ACTIVATION; ++i) {
        if (strcmp(json_string_value(value), ACTIVATION[i].name) == 0) {
            config->act = ACTIVATION[i].act;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s: unknown '%s' %s%s%s", where, key,
                   json_is_string(value) ? "'" : "",
                   json_is_string(value) ? json_string_value(value) : "(not a string)",
                   json_is_string(value) ? "'" : "");
}

/* Settings of the classes that would change the arithmetic. */
static cs_status refuse_foreign(const char *where, const json_t *json)
{
    static const struct {
        const char *key;
        bool plain;
    } setting[] = {{"scale_attn_weights", true},
                   {"scale_attn_by_inverse_layer_idx", false},
                   {"add_cross_attention", false},
                   {"is_encoder_decoder", false}};
    for (size_t i = 0; i < sizeof setting / sizeof *setting; ++i) {
        const json_t *value = json_object_get(json, setting[i].key);
        if (value && !json_is_null(value) && json_is_true(value) != setting[i].plain) {
            return cs_fail(CS_ERR_INPUT, "%s: '%s' other than %s is not supported", where,
                           setting[i].key, setting[i].plain ? "true" : "false");
        }
    }
    const json_t *position = json_object_get(json, "position_embedding_type");
    if (position &&
        (!json_is_string(position) || strcmp(json_string_value(position), "absolute") != 0)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'position_embedding_type' other than \"absolute\" is not supported",
                       where);
    }
    static const char *const none[] = {"quantization_config", "pruned_heads"};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        const json_t *value = json_object_get(json, none[i]);
        if (value && !json_is_null(value) && json_object_size(value) > 0) {
            return cs_fail(CS_ERR_INPUT, "%s: '%s' is not supported", where, none[i]);
        }
    }
    return CS_OK;
}

static cs_status read_decoder(const char *where, const json_t *value, cs_model_config *config)
{
    for (int a = 0; json_is_string(value) && a <= CS_DECODER_CROSS; ++a) {
        if (strcmp(json_string_value(value), DECODER[a]) == 0) {
            config->decoder.attention = (cs_decoder_attention)a;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT,
                   "%s: 'decoder_attention' is not self, self-cross, causal-cross or cross", where);
}

static cs_status read_readout(const char *where, const json_t *value, cs_model_config *config)
{
    for (int r = 0; json_is_string(value) && r <= CS_READ_MEAN; ++r) {
        if (strcmp(json_string_value(value), cs_readout_name((cs_readout)r)) == 0) {
            config->readout = (cs_readout)r;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s: 'readout' is not first, last or mean", where);
}

/* A sequence classifier of Hugging Face: as many outputs as labels, 2 where none are named. */
static void read_classifier(const json_t *json, cs_model_config *config)
{
    const char *name = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    const json_t *labels = json_object_get(json, "id2label"),
                 *number = json_object_get(json, "num_labels");
    if (name && CLASSIFIER[config->arch] && strcmp(name, CLASSIFIER[config->arch]) == 0) {
        config->classes = json_object_size(labels) > 0 ? (int64_t)json_object_size(labels)
                          : json_is_integer(number)    ? (int64_t)json_integer_value(number)
                                                       : 2;
    }
}

static const field *ours_by_key(const char *key)
{
    const field *f = OURS;
    while (f->key && strcmp(f->key, key) != 0) {
        ++f;
    }
    return f->key ? f : NULL;
}

static cs_status read_ours(const char *where, json_t *ours, cs_model_config *config)
{
    const char *key;
    json_t *value;
    json_object_foreach(ours, key, value)
    {
        const field *f = ours_by_key(key);
        cs_status status = CS_OK;
        double x = 0;
        if (strcmp(key, "decoder_attention") == 0) {
            status = read_decoder(where, value, config);
        } else if (strcmp(key, "readout") == 0) {
            status = read_readout(where, value, config);
        } else if (f) {
            status = read_value(where, f, value, &x);
            if (status == CS_OK) {
                put(config, f, x);
            }
        } else if (strcmp(key, "architecture") != 0) {
            status = cs_fail(CS_ERR_INPUT, "%s: unknown setting '%s' under 'cospec'", where, key);
        }
        if (status != CS_OK) {
            return status;
        }
    }
    return CS_OK;
}

/* The architecture: model_type, or what stands under "cospec" where that is "cospec". */
static cs_status read_arch(const char *where, const json_t *json, const json_t *ours, cs_arch *out)
{
    const json_t *type = json_object_get(json, "model_type");
    bool own = json_is_string(type) && strcmp(json_string_value(type), "cospec") == 0;
    const json_t *name = own ? json_object_get(ours, "architecture") : type;
    if (!json_is_string(name)) {
        return cs_fail(CS_ERR_INPUT, "%s: no '%s'", where, own ? "architecture" : "model_type");
    }
    cs_status status = cs_arch_by_name(json_string_value(name), out);
    if (status == CS_OK && !own && *out == CS_ARCH_LINEAR) {
        status = cs_fail(CS_ERR_INPUT, "'linear' is no model_type");
    }
    return status == CS_OK ? status : cs_blame(CS_ERR_INPUT, "%s", where);
}

cs_status cs_model_config_parse(const char *where, const json_t *json, cs_model_config *out)
{
    cs_model_config config = {0};
    cs_arch arch = CS_ARCH_GPT2;
    if (!json_is_object(json)) {
        return cs_fail(CS_ERR_INPUT, "%s: not a JSON object", where);
    }
    json_t *ours = json_object_get(json, "cospec");
    if (ours && !json_is_object(ours)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'cospec' is not an object", where);
    }
    cs_status status;
    if ((status = read_arch(where, json, ours, &arch)) != CS_OK ||
        (status = refuse_foreign(where, json)) != CS_OK) {
        return status;
    }
    cs_model_config_default(arch, &config);
    if ((status = read_class(where, json, &config)) != CS_OK ||
        (status = read_activation(where, json, &config)) != CS_OK) {
        return status;
    }
    if (arch != CS_ARCH_GPT2) {
        config.embed_dropout = config.dropout;
    }
    read_classifier(json, &config);
    config.readout = config.classes > 0 ? cs_readout_of(arch) : CS_READ_FIRST;
    if (ours && (status = read_ours(where, ours, &config)) != CS_OK) {
        return status;
    }
    if (config.classes > 0) {
        config.head_transform = config.head_bias = false;
        config.tied = true;
    }
    cs_model_config_ids(&config, (cs_special_ids){config.pad_id, config.bos_id, config.eos_id,
                                                  config.mask_id, config.unk_id});
    if (config.positions > 0) {
        config.positions -= config.position_offset;
        if (config.positions < 1) {
            return cs_fail(CS_ERR_INPUT, "%s: no positions behind the padding token's", where);
        }
    }
    status = cs_model_config_check(&config);
    if (status != CS_OK) {
        return cs_blame(CS_ERR_INPUT, "%s", where);
    }
    *out = config;
    return CS_OK;
}
