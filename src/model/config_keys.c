/* Which keys of a config.json are read, and what a value may be. A key that the reference code of the
 * architecture reads has a row or is refused (tests/oracle/config_keys_parity.py compares the lists with
 * that code). Published files have other keys too, of conversions and other programs: they are named
 * in a note, and nothing else. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "model/arch_private.h"

cs_status cs_config_way_round(cs_status status)
{
    char why[1024];
    if (status != CS_ERR_INPUT) {
        return status;
    }
    (void)snprintf(why, sizeof why, "%s", cs_reason());
    cs_reason_clear();
    return cs_fail(
        status,
        "%s%s Export the hidden states as .npy (rows x width): cospec rank, connectivity "
        "and similarity read those of any model",
        why, why[strlen(why) - 1] == '?' ? "" : ".");
}

const char *cs_value_text(const json_t *value, char text[CS_VALUE_TEXT])
{
    const size_t size =
        json_dumpb(value, text, CS_VALUE_TEXT - 1, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    text[size < CS_VALUE_TEXT ? size : CS_VALUE_TEXT - 1] = '\0';
    return text;
}

cs_status cs_config_value(const char *where, const cs_arch_key *f, const json_t *value, double *out)
{
    const cs_key_kind kind = f->kind;
    bool optional = kind == CS_KEY_INT_OR_NONE || kind == CS_KEY_REAL_OR_NONE;
    bool real = kind == CS_KEY_REAL || kind == CS_KEY_POSITIVE || kind == CS_KEY_REAL_OR_NONE;
    bool whole = kind != CS_KEY_BOOL && !real;
    if (kind == CS_KEY_ID && json_array_size(value) > 0) {
        value = json_array_get(value, 0);
    }
    if (json_is_null(value)) {
        *out = f->kind == CS_KEY_ID ? -1 : optional ? 0 : f->absent;
        return isnan(*out) ? cs_fail(CS_ERR_INPUT, "%s: '%s' is null", where, f->key) : CS_OK;
    }
    if (f->kind == CS_KEY_BOOL ? !json_is_boolean(value)
        : whole                ? !json_is_integer(value)
                               : !json_is_number(value)) {
        char text[CS_VALUE_TEXT];
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is not a %s: %s", where, f->key,
                       f->kind == CS_KEY_BOOL ? "boolean (true or false)"
                       : whole                ? "whole number"
                                              : "number",
                       cs_value_text(value, text));
    }
    *out = f->kind == CS_KEY_BOOL ? json_is_true(value) : json_number_value(value);
    if (whole && fabs(*out) > (double)INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is %.17g", where, f->key, *out);
    }
    if ((optional || kind == CS_KEY_COUNT || kind == CS_KEY_POSITIVE) && !(*out > 0)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is %g, not above 0", where, f->key, *out);
    }
    return CS_OK;
}

cs_status cs_config_only(const char *where, const char *key, const json_t *value, double only)
{
    double x = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    bool plain = !value || json_is_null(value) ||
                 ((json_is_boolean(value) || json_is_number(value)) && !(x < only || x > only));
    if (plain) {
        return CS_OK;
    }
    char text[CS_VALUE_TEXT];
    (void)cs_value_text(value, text);
    if (!json_is_boolean(value)) {
        return cs_config_way_round(cs_fail(
            CS_ERR_INPUT, "%s: '%s' other than %g is not supported: %s", where, key, only, text));
    }
    return cs_config_way_round(cs_fail(CS_ERR_INPUT, "%s: '%s' other than %s is not supported: %s",
                                       where, key, only > 0 ? "true" : "false", text));
}

/* Settings of any class, and the one value that our networks have. tie_last_hidden_states: the last
 * of the hidden states has come through the final norm. */
static const cs_arch_key SETTING[] = {{"tie_last_hidden_states", CS_KEY_ONLY, 0, 1},
                                      {"add_cross_attention", CS_KEY_ONLY, 0, 0},
                                      {"is_encoder_decoder", CS_KEY_ONLY, 0, 0}};

/* Ignored keys, which do not affect hidden states: names, labels, heads of tasks, generation,
 * training, versions. Keys that end in "dropout" concern training too. check_direction reads is_decoder,
 * is_causal and causal_mask, check_positions position_embedding_type. */
static const char PAST[] =
    "model_type architectures cospec id2label label2id num_labels problem_type dtype "
    "torch_dtype transformers_version _name_or_path _attn_implementation "
    "_attn_implementation_autoset attn_implementation use_cache return_dict "
    "return_dict_in_generate output_hidden_states output_attentions output_scores "
    "chunk_size_feed_forward gradient_checkpointing finetuning_task task_specific_params "
    "is_decoder is_causal causal_mask position_embedding_type auto_map classifier_dropout "
    "classifier_dropout_prob classifier_pooling summary_type summary_use_proj "
    "summary_activation summary_first_dropout summary_last_dropout summary_proj_to_labels "
    "tokenizer_class prefix sep_token_id cls_token_id decoder_start_token_id "
    "forced_bos_token_id forced_eos_token_id directionality language name temperature top_k "
    "top_p typical_p do_sample early_stopping num_beams num_beam_groups num_return_sequences "
    "diversity_penalty max_length min_length length_penalty no_repeat_ngram_size "
    "encoder_no_repeat_ngram_size repetition_penalty exponential_decay_length_penalty "
    "bad_words_ids suppress_tokens begin_suppress_tokens remove_invalid_values torchscript "
    "use_bfloat16 tf_legacy_loss pooler_fc_size pooler_num_attention_heads "
    "pooler_num_fc_layers pooler_size_per_head pooler_type pad_token bos_token eos_token "
    "unk_token sep_token cls_token mask_token unk_token_id mask_token_id eos_token_ids "
    "output_past clf_pooling generator_size tie_weights_ max_sequence_length "
    "encoder_repetition_penalty _num_labels initializer_cutoff_factor";

/* Refused for every architecture: keys of the parent of all classes, and of other libraries. */
static const char *const REFUSED[] = {"quantization_config", "quantization", "compression_config",
                                      "pruned_heads", "transformers_weights"};

/* Nothing: null, false, an empty text, list or object. */
static bool is_nothing(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_nothing_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return !value || is_nothing(value);
}

static bool reads(cs_arch arch, const char *key)
{
    bool known = cs_arch_knows(arch, key) || cs_listed(PAST, key) || cs_has_suffix(key, "dropout");
    for (size_t i = 0; i < sizeof SETTING / sizeof *SETTING; ++i) {
        known = known || strcmp(SETTING[i].key, key) == 0;
    }
    return known;
}

/* `only`: the one value that is known; NULL: none is. */
static cs_status refuse_key(const char *where, const char *key, cs_arch arch, const char *only)
{
    return cs_config_way_round(
        only ? cs_fail(CS_ERR_INPUT, "%s: '%s' other than %s is not supported", where, key, only)
             : cs_fail(CS_ERR_INPUT, "%s: architecture %s with '%s' is not supported", where,
                       cs_arch_name(arch), key));
}

/* Known types that are refused, whatever class is named, and the parts that they need. */
static cs_status refuse_type(const char *where, const char *type)
{
    static const char *const of[][2] = {
        {"gpt_oss", "attention sinks, clamped gates with biases and mxfp4 weights"},
        {"mamba", "a state-space model in place of attention"},
        {"mamba2", "a state-space model in place of attention"},
        {"longformer", "sliding attention with global tokens"},
        {"swin", "attention in windows and merging of patches"},
        {"swinv2", "attention in windows and merging of patches"}};
    for (size_t i = 0; type && i < sizeof of / sizeof *of; ++i) {
        if (strcmp(type, of[i][0]) == 0) {
            return cs_config_way_round(cs_fail(CS_ERR_INPUT,
                                               "%s: '%s' needs parts that are not supported: %s",
                                               where, type, of[i][1]));
        }
    }
    return CS_OK;
}

/* The architecture: model_type, or what is under "cospec" where that is "cospec". */
cs_status cs_config_arch(const char *where, const json_t *json, const json_t *ours, cs_arch *out)
{
    const json_t *type = json_object_get(json, "model_type");
    bool own = json_is_string(type) && strcmp(json_string_value(type), "cospec") == 0;
    const json_t *name = own ? json_object_get(ours, "architecture") : type;
    const char *class =
        json_string_value(json_array_get(json_object_get(json, "architectures"), 0)),
               *own_class = json_is_string(name) ? json_string_value(name)
                            : !own               ? class
                                                 : NULL;
    if (own_class && cs_arch_of_class(own_class, out)) {
        return CS_OK;
    }
    /* LtgBertConfig has the model_type of BERT. */
    if (class && json_is_string(type) && strcmp(json_string_value(type), "bert") == 0 &&
        cs_arch_of_class(class, out)) {
        return CS_OK;
    }
    cs_arch of_class = CS_ARCH_LINEAR;
    const bool by_class = class && !own && cs_arch_of_known_class(class, &of_class);
    if (by_class && !type) {
        *out = of_class;
        return CS_OK;
    }
    if (!json_is_string(name)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' is missing", where,
                       own ? "architecture" : "model_type");
    }
    cs_status status = refuse_type(where, json_string_value(name));
    if (status != CS_OK) return status;
    status = cs_arch_by_name(json_string_value(name), out);
    if (status != CS_OK && by_class) { /* a type of somebody's own code, such as a reward model */
        cs_reason_clear();
        *out = of_class;
        return CS_OK;
    }
    if (status == CS_OK && !own && *out == CS_ARCH_LINEAR)
        status = cs_fail(CS_ERR_INPUT, "'linear' is not a model_type");
    return status == CS_OK ? status : cs_config_way_round(cs_blame(CS_ERR_INPUT, "%s", where));
}

/* Which rows a row sees is the class's. is_decoder makes encoders causal whose list has it, and no
 * other class reads it. is_causal: false, and null as well, takes the mask from a causal class of
 * transformers 5; causal_mask says the same in Ettin's files, where no class reads it. A model of
 * two stacks has both kinds. */
static cs_status check_direction(const char *where, const json_t *json, cs_arch arch)
{
    static const char *const says[] = {"is_causal", "causal_mask"};
    const json_t *decoder = json_object_get(json, "is_decoder");
    if (decoder && !json_is_boolean(decoder) && !json_is_null(decoder)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'is_decoder' is not a boolean (true or false)", where);
    }
    bool causal = cs_arch_row_of(arch)->causal, stacks = cs_arch_knows(arch, "is_encoder_decoder");
    if (!causal && !cs_arch_knows(arch, "is_decoder")) {
        cs_status status = cs_config_only(where, "is_decoder", decoder, 0);
        if (status != CS_OK) return status;
    }
    causal = causal || json_is_true(decoder);
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        const json_t *value = json_object_get(json, says[i]);
        if (value && (stacks || json_is_true(value) != causal)) {
            return refuse_key(where, says[i], arch, stacks ? NULL : causal ? "true" : "false");
        }
    }
    return CS_OK;
}

bool cs_config_sees_as_class(const cs_model_config *config, const json_t *trained, json_t *object,
                             cs_status *status)
{
    static const char key[] = "is_decoder";
    const char *attention = json_string_value(json_object_get(trained, "attention"));
    const bool known = cs_arch_knows(config->arch, key), class = cs_arch_causal(config->arch),
               causal = attention && strcmp(attention, "causal") == 0,
               all = attention && strcmp(attention, "bidirectional") == 0;
    if (!attention) {
        return true;
    }
    if (known && (causal || all) && json_is_true(json_object_get(object, key)) != causal) {
        (void)json_object_del(object, "is_causal");
        (void)json_object_del(object, "causal_mask");
        cs_json_put(status, object, key, json_boolean(causal));
    }
    return causal ? class || known : all && !class;
}

/* Files of old classes say "absolute" whatever the positions are; "sans_pos" are rotary ones. */
static cs_status check_positions(const char *where, const json_t *json, cs_arch arch)
{
    const json_t *position = json_object_get(json, "position_embedding_type");
    const char *name = json_string_value(position);
    const bool rotary = cs_arch_row_of(arch)->plain.position.rotary.theta > 0;
    if (!position || cs_arch_row_of(arch)->places ||
        cs_arch_knows(arch, "position_embedding_type") || (name && strcmp(name, "absolute") == 0) ||
        (rotary && name && strcmp(name, "sans_pos") == 0)) {
        return CS_OK;
    }
    return cs_config_way_round(cs_fail(
        CS_ERR_INPUT, "%s: 'position_embedding_type' other than \"absolute\"%s is not supported",
        where, rotary ? " and \"sans_pos\"" : ""));
}

bool cs_config_other_head(const json_t *json)
{
    static const char *const head[] = {"ForTokenClassification",
                                       "ForMultipleChoice",
                                       "ForMaskedImageModeling",
                                       "ForSemanticSegmentation",
                                       "BeitForImageClassification",
                                       "Dinov2ForImageClassification",
                                       "Dinov2WithRegistersForImageClassification",
                                       "IJepaForImageClassification",
                                       "ForImageClassificationWithTeacher",
                                       "RewardModel"};
    const char *name = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    bool other = false;
    for (size_t i = 0; name && i < sizeof head / sizeof *head; ++i) {
        other = other || cs_has_suffix(name, head[i]);
    }
    return other;
}

cs_status cs_config_known(const char *where, const json_t *json, cs_arch arch)
{
    for (size_t i = 0; i < sizeof SETTING / sizeof *SETTING; ++i) {
        if (cs_arch_knows(arch, SETTING[i].key)) {
            continue;
        }
        cs_status status = cs_config_only(where, SETTING[i].key,
                                          json_object_get(json, SETTING[i].key), SETTING[i].absent);
        if (status != CS_OK) return status;
    }
    cs_status status = check_direction(where, json, arch);
    if (status == CS_OK) status = check_positions(where, json, arch);
    if (status != CS_OK) return status;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; ++i) {
        if (!is_nothing_at(json, REFUSED[i])) return refuse_key(where, REFUSED[i], arch, NULL);
    }
    return CS_OK;
}

/* Sizes that follow from others in our networks, while classes of transformers read them. */
cs_status cs_config_derived(const char *where, const json_t *json, const cs_model_config *config)
{
    const cs_model_shape *s = &config->shape;
    const double head =
        s->head_width > 0 ? (double)s->head_width : (double)s->width / (double)s->heads;
    const struct {
        cs_arch arch;
        const char *key;
        double is;
    } size[] = {{CS_ARCH_GPT_NEOX, "head_dim", head},
                {CS_ARCH_MODERNBERT, "head_dim", head},
                {CS_ARCH_MODERNBERT_DECODER, "head_dim", head},
                {CS_ARCH_FALCON, "head_dim", head},
                {CS_ARCH_STABLELM, "head_dim", head},
                {CS_ARCH_DEIT, "head_dim", head},
                {CS_ARCH_BEIT, "head_dim", head},
                {CS_ARCH_IJEPA, "head_dim", head},
                {CS_ARCH_DINOV2, "head_dim", head},
                {CS_ARCH_VIT, "head_dim", head},
                {CS_ARCH_VIT_MAE, "head_dim", head},
                {CS_ARCH_DEBERTA_V2, "attention_head_size", head},
                {CS_ARCH_DEBERTA_V2, "embedding_size", (double)s->width}};
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        const json_t *value = json_object_get(json, size[i].key);
        const double x = json_number_value(value);
        if (config->arch == size[i].arch && value && !json_is_null(value) &&
            (x < size[i].is || x > size[i].is)) {
            return cs_config_way_round(cs_fail(CS_ERR_INPUT,
                                               "%s: '%s' is %g, but by the other keys it is %g",
                                               where, size[i].key, x, size[i].is));
        }
    }
    return CS_OK;
}

cs_status cs_config_unread(const json_t *json, cs_arch arch, char **names)
{
    const char *key;
    json_t *value;
    *names = NULL;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (!is_nothing(value) && !reads(arch, key)) {
            char *more = *names ? cs_format("%s, %s", *names, key) : cs_strdup(key);
            cs_free(*names);
            *names = more;
            if (!more) return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

json_t *cs_config_of_images(json_t *json)
{
    const char *type = json_string_value(json_object_get(json, "model_type"));
    json_t *images = json_object_get(json, "vision_config");
    const bool both = type && (strcmp(type, "clip") == 0 || strcmp(type, "siglip") == 0);
    return both && json_is_object(images) ? images : json;
}
