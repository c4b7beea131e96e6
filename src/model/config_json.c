/* config.json: the keys of an architecture's row and ours, both ways.
 *
 * Keys, meanings and the values that stand for an absent key are those of transformers' classes, in
 * the rows of the architectures. Everything else that differs from the architecture's own choices
 * goes under "cospec", so a model without peculiarities has a plain file.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "model/arch_private.h"

/* Under "cospec", where they differ from the architecture's. */
static const cs_arch_key OURS[] = {
    {"post_norm", CS_KEY_BOOL, CS_AT(layer.post_norm), NAN},
    {"embed_norm", CS_KEY_BOOL, CS_AT(layer.embed_norm), NAN},
    {"head_transform", CS_KEY_BOOL, CS_AT(head.transform), NAN},
    {"head_bias", CS_KEY_BOOL, CS_AT(head.bias), NAN},
    {"bias", CS_KEY_BOOL, CS_AT(layer.bias), NAN},
    {"token_types", CS_KEY_INT, CS_AT(shape.token_types), NAN},
    {"dropout", CS_KEY_REAL, CS_AT(training.dropout), NAN},
    {"embed_dropout", CS_KEY_REAL, CS_AT(training.embed_dropout), NAN},
    {"relative_buckets", CS_KEY_INT, CS_AT(position.relative_buckets), NAN},
    {"relative_distance", CS_KEY_INT, CS_AT(position.relative_distance), NAN},
    {"real_width", CS_KEY_INT, CS_AT(shape.real_width), NAN},
    {"extra_width", CS_KEY_INT, CS_AT(shape.extra_width), NAN},
    {"vocabulary", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"image_width", CS_KEY_INT, CS_AT(picture.width), NAN},
    {"waves", CS_KEY_BOOL, CS_AT(picture.sinusoidal), NAN},
    {"query_vector", CS_KEY_BOOL, CS_AT(attention.query_vector), NAN},
    {"detector", CS_KEY_BOOL, CS_AT(head.detector), NAN},
    {"offset_heads", CS_KEY_INT, CS_AT(head.offsets), NAN},
    {"blind_queries", CS_KEY_BOOL, CS_AT(attention.blind_queries), NAN},
    {"classes", CS_KEY_INT, CS_AT(head.classes), NAN},
    {"cloze", CS_KEY_BOOL, CS_AT(head.cloze), NAN},
    {"spans", CS_KEY_BOOL, CS_AT(head.spans), NAN},
    {"pooling", CS_KEY_REAL, CS_AT(head.pooling), NAN},
    {"mask_id", CS_KEY_ID, CS_AT(ids.mask), 0},
    {"unk_id", CS_KEY_ID, CS_AT(ids.unk), 0},
    {"decoder_layers", CS_KEY_INT, CS_AT(decoder.layers), NAN},
    {"decoder_width", CS_KEY_INT, CS_AT(decoder.width), NAN},
    {"decoder_heads", CS_KEY_INT, CS_AT(decoder.heads), NAN},
    {"decoder_inner", CS_KEY_INT, CS_AT(decoder.inner), NAN},
};

enum { OWN = sizeof OURS / sizeof *OURS };

static const char CLASSIFIER[] = "ForSequenceClassification", PICTURES[] = "ForImageClassification",
                  SPANS[] = "ForQuestionAnswering";

static const char *classifier_of(cs_arch arch)
{
    return cs_arch_row_of(arch)->pictures ? PICTURES : CLASSIFIER;
}

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
                  {"gelu_fast", CS_ACT_GELU_TANH}, {"gelu_python", CS_ACT_GELU_ERF},
                  {"silu", CS_ACT_SILU},           {"swish", CS_ACT_SILU},
                  {"relu2", CS_ACT_RELU2},         {"quick_gelu", CS_ACT_QUICK_GELU}};

/* --- members by their place ------------------------------------------------------------------- */

static double get(const cs_model_config *config, const cs_arch_key *f)
{
    const char *at = (const char *)config + f->at;
    switch (f->kind) {
    case CS_KEY_BOOL:
        return *(const bool *)at ? 1 : 0;
    case CS_KEY_INT:
    case CS_KEY_COUNT:
    case CS_KEY_INT_OR_NONE:
    case CS_KEY_ALIAS:
        return (double)*(const int64_t *)at;
    case CS_KEY_ID:
        return *(const int32_t *)at;
    default:
        return *(const double *)at;
    }
}

static void put(cs_model_config *config, const cs_arch_key *f, double value)
{
    char *at = (char *)config + f->at;
    switch (f->kind) {
    case CS_KEY_BOOL:
        *(bool *)at = value != 0;
        break;
    case CS_KEY_INT:
    case CS_KEY_COUNT:
    case CS_KEY_INT_OR_NONE:
    case CS_KEY_ALIAS:
        *(int64_t *)at = (int64_t)value;
        break;
    case CS_KEY_ID:
        *(int32_t *)at = (int32_t)value;
        break;
    default:
        *(double *)at = value;
        break;
    }
}

static bool differs(const cs_arch_key *f, const cs_model_config *a, const cs_model_config *b)
{
    return get(a, f) < get(b, f) || get(a, f) > get(b, f);
}

/* --- writing ---------------------------------------------------------------------------------- */

static json_t *json_of(const cs_arch_key *f, double value)
{
    switch (f->kind) {
    case CS_KEY_BOOL:
        return json_boolean(value != 0);
    case CS_KEY_ID:
        return value < 0 ? json_null() : json_integer((json_int_t)value);
    case CS_KEY_INT_OR_NONE:
        return value > 0 ? json_integer((json_int_t)value) : json_null();
    case CS_KEY_INT:
    case CS_KEY_COUNT:
        return json_integer((json_int_t)value);
    default:
        return cs_json_number(value);
    }
}

static const char *activation_name(cs_activation act)
{
    size_t i = 0;
    while (ACTIVATION[i].act != act) {
        ++i;
    }
    return ACTIVATION[i].name;
}

/* The configuration that a reader assumes who knows the architecture and the class's keys alone. */
static cs_model_config assumed(const cs_model_config *config, bool exchangeable)
{
    cs_model_config plain = {0};
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    cs_model_config_default(config->arch, &plain);
    plain.shape.vocab = row->pictures ? plain.shape.vocab : config->shape.vocab;
    if (row->pictures) { /* as the class's keys say */
        plain.shape.real_width =
            config->picture.patch * config->picture.patch * config->picture.channels;
        plain.picture.width = config->picture.height;
    }
    if (row->drop_embed) {
        plain.training.embed_dropout = config->training.dropout;
        plain.shape.token_types = config->shape.token_types;
    }
    if (config->head.classes > 0) { /* the settings of such a head */
        plain.head.transform = plain.head.bias = false;
        plain.head.classes = exchangeable ? config->head.classes : 0;
    }
    return plain;
}

/* The object under "cospec"; plain: what is assumed without it. */
static void put_ours(const cs_model_config *config, const cs_model_config *plain, bool exchangeable,
                     json_t *ours, cs_status *status)
{
    const bool pictures = cs_arch_row_of(config->arch)->pictures;
    if (!exchangeable) {
        cs_json_put(status, ours, "architecture", json_string(cs_arch_name(config->arch)));
    }
    for (const cs_arch_key *f = OURS; f < OURS + OWN; ++f) {
        bool decoder = strncmp(f->key, "decoder_", 8) == 0,
             keyed = cs_arch_has_key_at(config->arch, f->at);
        if (decoder ? config->decoder.layers > 0 && !pictures
                    : !keyed && differs(f, config, plain)) {
            cs_json_put(status, ours, f->key, json_of(f, get(config, f)));
        }
    }
    if (config->decoder.layers > 0 && !(pictures && config->decoder.attention == CS_DECODER_SELF)) {
        cs_json_put(status, ours, "decoder_attention",
                    json_string(DECODER[config->decoder.attention]));
    }
    if (pictures) {
        cs_json_put(status, ours, "target", json_string(cs_target_name(config->head.target)));
    }
    if (config->picture.order[0] != '\0') {
        cs_json_put(status, ours, "order", json_string(config->picture.order));
    }
    if (config->head.classes > 0 && !exchangeable) {
        cs_json_put(status, ours, "readout", json_string(cs_readout_name(config->head.readout)));
    }
}

/* A class has as many outputs as labels. */
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

/* Which part of a model a class of transformers computes. */
typedef enum { OF_NO_CLASS, BODY_OF_CLASS, OF_CLASS } likeness;

/* The type of the model, its class and the labels of its head. */
static void put_head(const cs_model_config *config, likeness like, json_t *object,
                     cs_status *status)
{
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    const bool causal = row->causal_head && json_is_true(json_object_get(object, "is_decoder"));
    cs_json_put(status, object, "model_type", json_string(like ? row->name : "cospec"));
    if (like != OF_NO_CLASS) {
        cs_json_put(status, object, "architectures",
                    json_pack("[s+]", row->class,
                              like != OF_CLASS           ? row->body
                              : config->head.spans       ? SPANS
                              : config->head.classes > 0 ? classifier_of(config->arch)
                              : causal                   ? row->causal_head
                                                         : row->head));
    }
    if (config->head.classes > 0 && row->pooling[0]) {
        cs_json_put(status, object, "classifier_pooling",
                    json_string(config->head.readout == CS_READ_MEAN ? "mean" : row->pooling[0]));
    }
    if (like == OF_CLASS && config->head.classes > 0 && !config->head.spans) {
        put_labels(config->head.classes, object, status);
    }
    cs_json_put(status, object, "dtype", json_string("float32"));
}

static void put_class(const cs_model_config *config, likeness like, json_t *object,
                      cs_status *status)
{
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    cs_model_config rows = *config; /* the class counts rows of the position table */
    if (rows.shape.positions > 0 && row->behind_pad) {
        rows.shape.positions += rows.position.offset;
    }
    if (rows.position.distance_table) {
        rows.shape.positions = rows.position.distance_span;
        cs_json_put(
            status, object, "position_embedding_type",
            json_string(rows.position.distance_queries ? "relative_key_query" : "relative_key"));
    }
    put_head(config, like, object, status);
    const cs_arch_key *f;
    for (int64_t i = 0; (f = cs_arch_key_at(config->arch, i)); ++i) {
        if (f->kind == CS_KEY_ACT) {
            cs_activation act =
                *(const cs_activation *)(const void *)((const char *)config + f->at);
            cs_json_put(status, object, f->key, json_string(activation_name(act)));
        } else if (f->kind < CS_KEY_ACT && (f->kind != CS_KEY_COUNT || get(&rows, f) > 0)) {
            cs_json_put(status, object, f->key, json_of(f, get(&rows, f)));
        }
    }
    if (row->write) {
        row->write(config, object, status);
    }
    if (config->arch == CS_ARCH_VIT_MAE) {
        cs_json_put(status, object, "norm_pix_loss",
                    json_boolean(config->head.target == CS_TARGET_NORMALISED));
    }
}

/* The keys that were read, without those of another head, other weights or a run. */
static void put_source(const cs_model_config *config, json_t *source, json_t *object,
                       cs_status *status)
{
    static const char *const past[] = {"cospec",       "architectures", "id2label",   "label2id",
                                       "problem_type", "num_labels",    "torch_dtype"};
    const cs_arch_key *f;
    if (json_object_update(object, source) != 0) *status = CS_ERR_MEMORY;
    for (size_t i = 0; i < sizeof past / sizeof *past; ++i) {
        (void)json_object_del(object, past[i]);
    }
    for (int64_t i = 0; (f = cs_arch_key_at(config->arch, i)); ++i) {
        const bool changed =
            f->at == CS_AT(training.dropout) || f->at == CS_AT(training.attention_dropout) ||
            f->at == CS_AT(training.embed_dropout) || f->at == CS_AT(decoder.stack) ||
            f->at == CS_AT(position.distance_by_head);
        if (changed && f->kind <= CS_KEY_REAL) {
            cs_json_put(status, object, f->key, json_of(f, get(config, f)));
        }
    }
}

json_t *cs_model_config_json_of(const cs_model_config *config, json_t *source, json_t *trained)
{
    json_t *object = json_object(), *ours = json_object();
    cs_status status = CS_OK;
    if (source) put_source(config, source, object, &status);
    const bool sees = cs_config_sees_as_class(config, trained, object, &status);
    const bool body = sees && cs_arch_row_of(config->arch)->body;
    const likeness like = sees && cs_model_config_exchangeable(config) ? OF_CLASS
                          : body                                       ? BODY_OF_CLASS
                                                                       : OF_NO_CLASS;
    cs_model_config plain = assumed(config, like == OF_CLASS);
    if (source) {
        put_head(config, like, object, &status);
        /* what is assumed is what the class's keys say */
        cs_json_put(&status, object, "model_type", json_string(cs_arch_name(config->arch)));
        if (status == CS_OK) status = cs_model_config_parse("config.json", object, &plain);
        put_head(config, like, object, &status);
    } else {
        put_class(config, like, object, &status);
    }
    put_ours(config, &plain, like == OF_CLASS, ours, &status);
    if (trained) cs_json_put(&status, ours, "trained", json_incref(trained));
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

cs_status cs_activation_read(const char *where, const char *key, const json_t *value,
                             cs_activation *out)
{
    for (size_t i = 0; json_is_string(value) && i < sizeof ACTIVATION / sizeof *ACTIVATION; ++i) {
        if (strcmp(json_string_value(value), ACTIVATION[i].name) == 0) {
            *out = ACTIVATION[i].act;
            return CS_OK;
        }
    }
    char text[CS_VALUE_TEXT];
    return cs_config_way_round(cs_fail(
        CS_ERR_INPUT, "%s: unknown '%s' %s%s%s", where, key, json_is_string(value) ? "'" : "",
        json_is_string(value) ? json_string_value(value) : cs_value_text(value, text),
        json_is_string(value) ? "'" : ""));
}

static cs_status read_key(const char *where, const cs_arch_key *f, const json_t *value,
                          cs_model_config *config)
{
    double x = f->absent;
    switch (f->kind) {
    case CS_KEY_PAST:
        return CS_OK;
    case CS_KEY_ALIAS:
        if (!value || json_is_null(value)) {
            return CS_OK;
        }
        x = get(config, f);
        break;
    case CS_KEY_ONLY:
        return cs_config_only(where, f->key, value, f->absent);
    case CS_KEY_ACT:
        return !value ? CS_OK
                      : cs_activation_read(where, f->key, value,
                                           (cs_activation *)(void *)((char *)config + f->at));
    default:
        break;
    }
    if (!value && isnan(x)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is missing", where, f->key);
    }
    const double before = x;
    cs_status status = value ? cs_config_value(where, f, value, &x) : CS_OK;
    if (status == CS_OK && f->kind == CS_KEY_ALIAS && before > 0 && (x < before || x > before))
        status = cs_fail(CS_ERR_INPUT, "%s: '%s' is %g, but under its other name %g", where, f->key,
                         x, before);
    if (status == CS_OK) put(config, f, x);
    return status;
}

/* The key of the file that sets the member, of several the one that is there; NULL: none does. */
static const char *key_at(const json_t *json, const json_t *ours, cs_arch arch, size_t at)
{
    const char *key = NULL;
    const cs_arch_key *f;
    for (f = OURS; f < OURS + OWN; ++f) {
        if (f->at == at && json_object_get(ours, f->key)) return f->key;
    }
    for (int64_t i = 0; (f = cs_arch_key_at(arch, i)); ++i) {
        const bool sets = f->at == at && (f->kind < CS_KEY_ACT || f->kind == CS_KEY_ALIAS);
        if (sets && (!key || json_object_get(json, f->key))) key = f->key;
    }
    return key;
}

static cs_status read_class(const char *where, const json_t *json, cs_model_config *config)
{
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    const cs_arch_key *f;
    for (int64_t i = 0; (f = cs_arch_key_at(config->arch, i)); ++i) {
        cs_status status = read_key(where, f, json_object_get(json, f->key), config);
        if (status != CS_OK) return status;
    }
    const char *inner = key_at(json, NULL, config->arch, CS_AT(shape.inner));
    if (config->shape.inner == 0 && !json_is_integer(json_object_get(json, inner ? inner : ""))) {
        config->shape.inner = 4 * config->shape.width;
    }
    if (row->drop_embed) {
        config->training.embed_dropout = config->training.dropout;
    }
    if (config->ids.bos >= config->shape.vocab) { /* the class's own ids in a small vocabulary */
        config->ids.bos = -1;
    }
    if (config->ids.eos >= config->shape.vocab) {
        config->ids.eos = -1;
    }
    cs_status status = row->places ? cs_places_read(where, json, config) : CS_OK;
    return status == CS_OK && row->read ? row->read(where, json, config) : status;
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
    const char *class = cs_arch_row_of(config->arch)->class;
    size_t begin = strlen(class);
    if (cs_config_other_head(json)) return;
    if (name && strncmp(name, class, begin) == 0 &&
        strcmp(name + begin, classifier_of(config->arch)) == 0) {
        config->head.classes = json_object_size(labels) > 0 ? (int64_t)json_object_size(labels)
                               : json_is_integer(number)    ? (int64_t)json_integer_value(number)
                                                            : 2;
    }
    if (name && strncmp(name, class, begin) == 0 && strcmp(name + begin, SPANS) == 0) {
        config->head.spans = true;
        config->head.classes = 2;
    }
}

/* Which state the class's head reads. Without a head the class's own default is as good. */
static cs_status read_pooling(const char *where, const json_t *json, cs_model_config *config)
{
    const char *const *names = cs_arch_row_of(config->arch)->pooling;
    const json_t *pooling = json_object_get(json, "classifier_pooling");
    const bool head = config->head.classes > 0 && !config->head.spans;
    config->head.readout = config->head.classes > 0 ? cs_readout_of(config->arch) : CS_READ_FIRST;
    if (!names[0] || (!pooling && !head)) {
        return CS_OK;
    }
    const char *name = pooling ? json_string_value(pooling) : names[1];
    const bool mean = name && strcmp(name, "mean") == 0;
    if (!mean &&
        (!name || (strcmp(name, names[0]) != 0 && (head || strcmp(name, names[1]) != 0)))) {
        return cs_config_way_round(cs_fail(CS_ERR_INPUT,
                                           "%s: 'classifier_pooling' is '%s', not %s or mean",
                                           where, name ? name : "(not a string)", names[0]));
    }
    if (mean && head) {
        config->head.readout = CS_READ_MEAN;
    }
    return CS_OK;
}

static cs_status read_ours(const char *where, json_t *ours, cs_model_config *config)
{
    const char *key;
    json_t *value;
    json_object_foreach(ours, key, value)
    {
        const cs_arch_key *f = OURS;
        cs_status status = CS_OK;
        double x = 0;
        int name = 0;
        while (f < OURS + OWN && strcmp(f->key, key) != 0) {
            ++f;
        }
        if (strcmp(key, "decoder_attention") == 0) {
            status = read_name(where, key, value, DECODER,
                               "self, self-cross, causal-cross or cross", &name);
            config->decoder.attention = (cs_decoder_attention)name;
        } else if (strcmp(key, "target") == 0) {
            status = cs_target_by_name(json_is_string(value) ? json_string_value(value) : "",
                                       &config->head.target);
            status = cs_blame(status == CS_OK ? CS_OK : CS_ERR_INPUT, "%s", where);
        } else if (strcmp(key, "order") == 0) { /* checked with the rest */
            (void)snprintf(config->picture.order, sizeof config->picture.order, "%s",
                           json_is_string(value) ? json_string_value(value) : "none");
        } else if (strcmp(key, "readout") == 0) {
            status = read_name(where, key, value, READOUT, "first, last or mean", &name);
            config->head.readout = (cs_readout)name;
        } else if (f < OURS + OWN) {
            status = cs_config_value(where, f, value, &x);
            if (status == CS_OK) put(config, f, x);
        } else if (strcmp(key, "architecture") != 0 && strcmp(key, "trained") != 0) {
            status = cs_fail(CS_ERR_INPUT, "%s: unknown setting '%s' under 'cospec'", where, key);
        }
        if (status != CS_OK) return status;
    }
    return CS_OK;
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
    if ((status = cs_config_arch(where, json, ours, &arch)) != CS_OK ||
        (status = cs_config_known(where, json, arch)) != CS_OK) {
        return status;
    }
    cs_model_config_default(arch, &config);
    if ((status = read_class(where, json, &config)) != CS_OK) return status;
    read_classifier(json, &config);
    if ((status = read_pooling(where, json, &config)) != CS_OK) return status;
    if (ours && (status = read_ours(where, ours, &config)) != CS_OK) return status;
    if (config.head.classes > 0) {
        config.head.transform = config.head.transform && config.head.cloze;
        config.head.bias = config.head.absent = false;
        config.head.tied = true;
    }
    cs_model_config_ids(&config, config.ids);
    if (config.shape.positions > 0 && cs_arch_row_of(arch)->behind_pad) {
        config.shape.positions -= config.position.offset;
        if (config.shape.positions < 1) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: 'max_position_embeddings' is %lld: no positions are left after the "
                           "padding token's",
                           where, (long long)(config.shape.positions + config.position.offset));
        }
    }
    if ((status = cs_config_derived(where, json, &config)) != CS_OK) return status;
    size_t at = 0;
    if (cs_model_config_check_at(&config, &at) != CS_OK) {
        const char *key = key_at(json, ours, arch, at);
        return key ? cs_blame(CS_ERR_INPUT, "%s: '%s'", where, key)
                   : cs_blame(CS_ERR_INPUT, "%s", where);
    }
    *out = config;
    return CS_OK;
}

json_t *cs_model_config_json(const cs_model_config *config)
{
    return cs_model_config_json_of(config, NULL, NULL);
}
