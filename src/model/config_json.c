/* config.json: one table of the keys of Hugging Face classes and of ours.
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

enum {
    GPT2 = 1 << CS_ARCH_GPT2,
    ROBERTAS = 1 << CS_ARCH_ROBERTA | 1 << CS_ARCH_ROBERTA_PRELAYERNORM,
    BERT = 1 << CS_ARCH_BERT | 1 << CS_ARCH_LINEAR,
    ENCODERS = ROBERTAS | BERT,
    ALL = GPT2 | ENCODERS,
    OURS = 1 << CS_ARCH_COUNT /* under "cospec", where they differ from the architecture's */
};

/* A key, whose it is, and the member that it sets; `absent` is the value without it, NAN: it must be
 * there. */
typedef struct {
    unsigned of;
    const char *key;
    field_kind kind;
    size_t at;
    double absent;
} field;

#define AT(member) offsetof(cs_model_config, member)

static const field FIELD[] = {
    {ALL, "vocab_size", FIELD_INT, AT(vocab), NAN},
    {GPT2, "n_positions", FIELD_INT, AT(positions), NAN},
    {ENCODERS, "max_position_embeddings", FIELD_INT, AT(positions), NAN},
    {GPT2, "n_embd", FIELD_INT, AT(width), NAN},
    {ENCODERS, "hidden_size", FIELD_INT, AT(width), NAN},
    {GPT2, "n_layer", FIELD_INT, AT(layers), NAN},
    {ENCODERS, "num_hidden_layers", FIELD_INT, AT(layers), NAN},
    {GPT2, "n_head", FIELD_INT, AT(heads), NAN},
    {ENCODERS, "num_attention_heads", FIELD_INT, AT(heads), NAN},
    {GPT2, "n_inner", FIELD_INT, AT(inner), 0},
    {ENCODERS, "intermediate_size", FIELD_INT, AT(inner), NAN},
    {GPT2, "layer_norm_epsilon", FIELD_REAL, AT(eps), 1e-5},
    {ENCODERS, "layer_norm_eps", FIELD_REAL, AT(eps), 1e-12},
    {GPT2, "resid_pdrop", FIELD_REAL, AT(dropout), 0.1},
    {ENCODERS, "hidden_dropout_prob", FIELD_REAL, AT(dropout), 0.1},
    {GPT2, "embd_pdrop", FIELD_REAL, AT(embed_dropout), 0.1},
    {GPT2, "attn_pdrop", FIELD_REAL, AT(attention_dropout), 0.1},
    {ENCODERS, "attention_probs_dropout_prob", FIELD_REAL, AT(attention_dropout), 0.1},
    {ALL, "initializer_range", FIELD_REAL, AT(init_range), 0.02},
    {ENCODERS, "type_vocab_size", FIELD_INT, AT(token_types), 2},
    {ALL, "tie_word_embeddings", FIELD_BOOL, AT(tied), 1},
    {GPT2, "pad_token_id", FIELD_ID, AT(pad_id), -1},
    {ROBERTAS, "pad_token_id", FIELD_ID, AT(pad_id), 1},
    {BERT, "pad_token_id", FIELD_ID, AT(pad_id), 0},
    {GPT2, "bos_token_id", FIELD_ID, AT(bos_id), 50256},
    {ROBERTAS, "bos_token_id", FIELD_ID, AT(bos_id), 0},
    {BERT, "bos_token_id", FIELD_ID, AT(bos_id), -1},
    {GPT2, "eos_token_id", FIELD_ID, AT(eos_id), 50256},
    {ROBERTAS, "eos_token_id", FIELD_ID, AT(eos_id), 2},
    {BERT, "eos_token_id", FIELD_ID, AT(eos_id), -1},
    {OURS, "post_norm", FIELD_BOOL, AT(post_norm), NAN},
    {OURS, "embed_norm", FIELD_BOOL, AT(embed_norm), NAN},
    {OURS, "head_transform", FIELD_BOOL, AT(head_transform), NAN},
    {OURS, "head_bias", FIELD_BOOL, AT(head_bias), NAN},
    {OURS, "bias", FIELD_BOOL, AT(bias), NAN},
    {OURS, "token_types", FIELD_INT, AT(token_types), NAN},
    {OURS, "embed_dropout", FIELD_REAL, AT(embed_dropout), NAN},
    {OURS, "relative_buckets", FIELD_INT, AT(relative_buckets), NAN},
    {OURS, "relative_distance", FIELD_INT, AT(relative_distance), NAN},
    {OURS, "real_width", FIELD_INT, AT(real_width), NAN},
    {OURS, "query_vector", FIELD_BOOL, AT(query_vector), NAN},
    {OURS, "blind_queries", FIELD_BOOL, AT(blind_queries), NAN},
    {OURS, "classes", FIELD_INT, AT(classes), NAN},
    {OURS, "pooling", FIELD_REAL, AT(pooling), NAN},
    {OURS, "mask_id", FIELD_ID, AT(mask_id), 0},
    {OURS, "unk_id", FIELD_ID, AT(unk_id), 0},
    {OURS, "decoder_layers", FIELD_INT, AT(decoder.layers), NAN},
    {OURS, "decoder_width", FIELD_INT, AT(decoder.width), NAN},
    {OURS, "decoder_heads", FIELD_INT, AT(decoder.heads), NAN},
    {OURS, "decoder_inner", FIELD_INT, AT(decoder.inner), NAN},
};

/* The next field behind `f` (NULL: the first) that is of `of`; NULL: none. */
static const field *next(const field *f, unsigned of)
{
    const field *end = FIELD + sizeof FIELD / sizeof *FIELD;
    for (f = f ? f + 1 : FIELD; f < end; ++f) {
        if (f->of & of) {
            return f;
        }
    }
    return NULL;
}

/* What names of classes begin with. */
static const char *const CLASS[] = {[CS_ARCH_GPT2] = "GPT2",
                                    [CS_ARCH_ROBERTA_PRELAYERNORM] = "RobertaPreLayerNorm",
                                    [CS_ARCH_ROBERTA] = "Roberta",
                                    [CS_ARCH_BERT] = "Bert",
                                    [CS_ARCH_LINEAR] = "cospec"};
static const char CLASSIFIER[] = "ForSequenceClassification";

static const char *const DECODER[] = {[CS_DECODER_SELF] = "self",
                                      [CS_DECODER_SELF_CROSS] = "self-cross",
                                      [CS_DECODER_CAUSAL_CROSS] = "causal-cross",
                                      [CS_DECODER_CROSS] = "cross",
                                      NULL};

static const char *const READOUT[] = {
    [CS_READ_FIRST] = "first", [CS_READ_LAST] = "last", [CS_READ_MEAN] = "mean", NULL};

const char *cs_readout_name(cs_readout readout)
{
    return READOUT[readout];
}

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

/* The object under "cospec". */
static void put_ours(const cs_model_config *config, bool exchangeable, json_t *ours,
                     cs_status *status)
{
    cs_model_config plain = assumed(config);
    if (!exchangeable) {
        cs_json_put(status, ours, "architecture", json_string(cs_arch_name(config->arch)));
    }
    for (const field *f = next(NULL, OURS); f; f = next(f, OURS)) {
        bool decoder = strncmp(f->key, "decoder_", 8) == 0;
        if (decoder ? config->decoder.layers > 0 : differs(f, config, &plain)) {
            cs_json_put(status, ours, f->key, json_of(f, get(config, f)));
        }
    }
    if (config->decoder.layers > 0) {
        cs_json_put(status, ours, "decoder_attention",
                    json_string(DECODER[config->decoder.attention]));
    }
    if (config->classes > 0 && !exchangeable) {
        cs_json_put(status, ours, "readout", json_string(cs_readout_name(config->readout)));
    }
}

/* The number of outputs of a Hugging Face class is that of its labels. */
static void put_labels(int64_t classes, json_t *object, cs_status *status)
{
    json_t *names = json_object(), *numbers = json_object();
    for (int64_t c = 0; c < classes && *status == CS_OK; ++c) {
        char number[32], name[40];
        (void)snprintf(number, sizeof number, "%lld", (long long)c);
        (void)snprintf(name, sizeof name, "LABEL_%lld", (long long)c);
        cs_json_put(status, names, number, json_string(name));
        cs_json_put(status, numbers, name, json_integer((json_int_t)c));
    }
    cs_json_put(status, object, "id2label", names);
    cs_json_put(status, object, "label2id", numbers);
    cs_json_put(status, object, "problem_type",
                json_string(classes == 1 ? "regression" : "single_label_classification"));
}

static void put_class(const cs_model_config *config, bool exchangeable, json_t *object,
                      cs_status *status)
{
    cs_model_config rows = *config; /* the class counts rows of the position table */
    if (rows.positions > 0) {
        rows.positions += rows.position_offset;
    }
    const char *type = exchangeable ? cs_arch_name(config->arch) : "cospec";
    cs_json_put(status, object, "model_type", json_string(type));
    if (exchangeable) {
        const char *head = config->classes > 0            ? CLASSIFIER
                           : config->arch == CS_ARCH_GPT2 ? "LMHeadModel"
                                                          : "ForMaskedLM";
        cs_json_put(status, object, "architectures", json_pack("[s+]", CLASS[config->arch], head));
    }
    if (exchangeable && config->classes > 0) {
        put_labels(config->classes, object, status);
    }
    for (const field *f = next(NULL, 1U << config->arch); f; f = next(f, 1U << config->arch)) {
        cs_json_put(status, object, f->key, json_of(f, get(&rows, f)));
    }
    cs_json_put(status, object, activation_key(config->arch),
                json_string(activation_name(config->act)));
    cs_json_put(status, object, "dtype", json_string("float32"));
}

json_t *cs_model_config_json(const cs_model_config *config)
{
    bool exchangeable = cs_model_config_exchangeable(config);
    json_t *object = json_object(), *ours = json_object();
    cs_status status = CS_OK;
    put_class(config, exchangeable, object, &status);
    put_ours(config, exchangeable, ours, &status);
    if (json_object_size(ours) > 0) {
        cs_json_put(&status, object, "cospec", json_incref(ours));
    }
    json_decref(ours);
    if (status != CS_OK) {
        json_decref(object);
        object = NULL;
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
    for (const field *f = next(NULL, 1U << config->arch); f; f = next(f, 1U << config->arch)) {
        const json_t *value = json_object_get(json, f->key);
        double x = f->absent;
        if (!value && isnan(x)) {
            return cs_fail(CS_ERR_INPUT, "%s: no '%s'", where, f->key);
        }
        cs_status status = value ? read_value(where, f, value, &x) : CS_OK;
        if (status != CS_OK) return status;
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

/* The number of a name among those whose list is `known`. */
static cs_status read_name(const char *where, const char *key, const json_t *value,
                           const char *const *names, const char *known, int *out)
{
    for (*out = 0; json_is_string(value) && names[*out]; ++*out) {
        if (strcmp(json_string_value(value), names[*out]) == 0) {
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s: '%s' is not %s", where, key, known);
}

/* A sequence classifier of Hugging Face: as many outputs as labels, 2 where none are named. */
static void read_classifier(const json_t *json, cs_model_config *config)
{
    const char *name = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    const json_t *labels = json_object_get(json, "id2label"),
                 *number = json_object_get(json, "num_labels");
    size_t begin = strlen(CLASS[config->arch]);
    if (name && strncmp(name, CLASS[config->arch], begin) == 0 &&
        strcmp(name + begin, CLASSIFIER) == 0) {
        config->classes = json_object_size(labels) > 0 ? (int64_t)json_object_size(labels)
                          : json_is_integer(number)    ? (int64_t)json_integer_value(number)
                                                       : 2;
    }
}

static cs_status read_ours(const char *where, json_t *ours, cs_model_config *config)
{
    const char *key;
    json_t *value;
    json_object_foreach(ours, key, value)
    {
        const field *f = next(NULL, OURS);
        cs_status status = CS_OK;
        double x = 0;
        int name = 0;
        while (f && strcmp(f->key, key) != 0) {
            f = next(f, OURS);
        }
        if (strcmp(key, "decoder_attention") == 0) {
            status = read_name(where, key, value, DECODER,
                               "self, self-cross, causal-cross or cross", &name);
            config->decoder.attention = (cs_decoder_attention)name;
        } else if (strcmp(key, "readout") == 0) {
            status = read_name(where, key, value, READOUT, "first, last or mean", &name);
            config->readout = (cs_readout)name;
        } else if (f) {
            status = read_value(where, f, value, &x);
            if (status == CS_OK) put(config, f, x);
        } else if (strcmp(key, "architecture") != 0 && strcmp(key, "trained") != 0) {
            status = cs_fail(CS_ERR_INPUT, "%s: unknown setting '%s' under 'cospec'", where, key);
        }
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* The architecture: model_type, or what is under "cospec" where that is "cospec". */
static cs_status read_arch(const char *where, const json_t *json, const json_t *ours, cs_arch *out)
{
    const json_t *type = json_object_get(json, "model_type");
    bool own = json_is_string(type) && strcmp(json_string_value(type), "cospec") == 0;
    const json_t *name = own ? json_object_get(ours, "architecture") : type;
    if (!json_is_string(name)) {
        return cs_fail(CS_ERR_INPUT, "%s: no '%s'", where, own ? "architecture" : "model_type");
    }
    cs_status status = cs_arch_by_name(json_string_value(name), out);
    if (status == CS_OK && !own && *out == CS_ARCH_LINEAR)
        status = cs_fail(CS_ERR_INPUT, "'linear' is no model_type");
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
    if (ours && (status = read_ours(where, ours, &config)) != CS_OK) return status;
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
    if (status != CS_OK) return cs_blame(CS_ERR_INPUT, "%s", where);
    *out = config;
    return CS_OK;
}
