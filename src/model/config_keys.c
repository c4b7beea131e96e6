/* Which keys of a config.json are known. A part of a network must not be ignored, so a key that
 * stands in no list is refused, unless its value says that there is nothing. */
#include <string.h>

#include "model/arch_private.h"

cs_status cs_config_only(const char *where, const char *key, const json_t *value, double only)
{
    double x = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    bool plain = !value || json_is_null(value) ||
                 ((json_is_boolean(value) || json_is_number(value)) && !(x < only || x > only));
    if (plain) {
        return CS_OK;
    }
    if (!json_is_boolean(value)) {
        return cs_fail(CS_ERR_INPUT, "%s: '%s' other than %g is not supported", where, key, only);
    }
    return cs_fail(CS_ERR_INPUT, "%s: '%s' other than %s is not supported", where, key,
                   only > 0 ? "true" : "false");
}

/* Settings of any class, and the one value that our networks have. */
static const cs_arch_key SETTING[] = {{"scale_attn_weights", CS_KEY_ONLY, 0, 1},
                                      {"scale_attn_by_inverse_layer_idx", CS_KEY_ONLY, 0, 0},
                                      {"add_cross_attention", CS_KEY_ONLY, 0, 0},
                                      {"is_encoder_decoder", CS_KEY_ONLY, 0, 0}};

/* What bears on no state: names, labels, heads of tasks, generation, training, versions. */
static const char *const PAST[] = {"model_type",
                                   "architectures",
                                   "cospec",
                                   "id2label",
                                   "label2id",
                                   "num_labels",
                                   "problem_type",
                                   "dtype",
                                   "torch_dtype",
                                   "transformers_version",
                                   "_name_or_path",
                                   "_attn_implementation",
                                   "_attn_implementation_autoset",
                                   "attn_implementation",
                                   "use_cache",
                                   "return_dict",
                                   "return_dict_in_generate",
                                   "output_hidden_states",
                                   "output_attentions",
                                   "output_scores",
                                   "chunk_size_feed_forward",
                                   "gradient_checkpointing",
                                   "finetuning_task",
                                   "task_specific_params",
                                   "is_decoder",
                                   "position_embedding_type",
                                   "auto_map",
                                   "classifier_dropout",
                                   "classifier_dropout_prob",
                                   "classifier_pooling",
                                   "summary_type",
                                   "summary_use_proj",
                                   "summary_activation",
                                   "summary_first_dropout",
                                   "summary_last_dropout",
                                   "summary_proj_to_labels",
                                   "tokenizer_class",
                                   "prefix",
                                   "sep_token_id",
                                   "cls_token_id",
                                   "decoder_start_token_id",
                                   "forced_bos_token_id",
                                   "forced_eos_token_id",
                                   "directionality",
                                   "language",
                                   "name",
                                   "temperature",
                                   "top_k",
                                   "top_p",
                                   "typical_p",
                                   "do_sample",
                                   "early_stopping",
                                   "num_beams",
                                   "num_beam_groups",
                                   "num_return_sequences",
                                   "diversity_penalty",
                                   "max_length",
                                   "min_length",
                                   "length_penalty",
                                   "no_repeat_ngram_size",
                                   "encoder_no_repeat_ngram_size",
                                   "repetition_penalty",
                                   "exponential_decay_length_penalty",
                                   "bad_words_ids",
                                   "suppress_tokens",
                                   "begin_suppress_tokens",
                                   "remove_invalid_values",
                                   "torchscript",
                                   "use_bfloat16",
                                   "tf_legacy_loss",
                                   "pooler_fc_size",
                                   "pooler_num_attention_heads",
                                   "pooler_num_fc_layers",
                                   "pooler_size_per_head",
                                   "pooler_type",
                                   "pad_token",
                                   "initializer_cutoff_factor"};

/* Nothing: null, false, an empty text, list or object. */
static bool is_nothing(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_own(cs_arch arch, const char *key)
{
    const cs_arch_key *own;
    bool found = false;
    for (int64_t i = 0; (own = cs_arch_key_at(arch, i)); ++i) {
        found = found || strcmp(own->key, key) == 0;
    }
    return found;
}

static bool is_known(cs_arch arch, const char *key)
{
    bool known = is_own(arch, key);
    for (size_t i = 0; i < sizeof PAST / sizeof *PAST; ++i) {
        known = known || strcmp(PAST[i], key) == 0;
    }
    for (size_t i = 0; i < sizeof SETTING / sizeof *SETTING; ++i) {
        known = known || strcmp(SETTING[i].key, key) == 0;
    }
    return known;
}

cs_status cs_config_known(const char *where, const json_t *json, cs_arch arch)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < sizeof SETTING / sizeof *SETTING; ++i) {
        if (is_own(arch, SETTING[i].key)) {
            continue;
        }
        cs_status status = cs_config_only(where, SETTING[i].key,
                                          json_object_get(json, SETTING[i].key), SETTING[i].absent);
        if (status != CS_OK) return status;
    }
    const json_t *position = json_object_get(json, "position_embedding_type");
    if (position && !cs_arch_row_of(arch)->places &&
        (!json_is_string(position) || strcmp(json_string_value(position), "absolute") != 0)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'position_embedding_type' other than \"absolute\" is not supported",
                       where);
    }
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (!is_nothing(value) && !is_known(arch, key)) {
            return cs_fail(CS_ERR_INPUT, "%s: '%s' is not a key that architecture %s knows", where,
                           key, cs_arch_name(arch));
        }
    }
    return CS_OK;
}
