#include "flip_support.h"

#include <string.h>

#include "base/mem.h"
#include "io/file.h"

bool flip_is_free(const char *key)
{
    static const char *const free_keys[] = {
        "architectures",
        "dtype",
        "torch_dtype",
        "transformers_version",
        "use_cache",
        "initializer_range",
        "initializer_cutoff_factor",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "cls_token_id",
        "sep_token_id",
        "mask_token_id",
        "pretraining_tp",
        "classifier_dropout",
        "classifier_pooling",
        "deterministic_flash_attn",
        "sparse_prediction",
        "sparse_pred_ignore_index",
        "init_std",
        "pooler_hidden_act",
        "pooler_hidden_size",
        "initializer_factor",
        "layerdrop",
        "slow_but_exact",
        "sinusoidal_pos_embds",
        "summary_type",
        "summary_use_proj",
        "summary_activation",
        "summary_proj_to_labels",
        "esmfold_config", /* of a folding model, which is refused */
        "vocab_list",
        "reorder_and_upcast_attn",
        "attention_softmax_in_fp32",
        "scale_attention_softmax_in_fp32",
        "attention_layers",       /* attention_types says it */
        "no_rope_layer_interval", /* no_rope_layers says it */
        "sliding_window_pattern", /* layer_types says them */
        "_sliding_window_pattern",
        "max_window_layers",
        "output_router_logits",
        "router_aux_loss_coef",
        "router_jitter_noise"};
    bool free_key = cs_has_suffix(key, "dropout") || cs_has_suffix(key, "dropout_rate") ||
                    cs_has_suffix(key, "_prob") || cs_has_suffix(key, "_pdrop");
    for (size_t i = 0; i < sizeof free_keys / sizeof *free_keys; ++i) {
        free_key = free_key || strcmp(key, free_keys[i]) == 0;
    }
    return free_key;
}

json_t *flip_of(const char *key, const json_t *value)
{
    if (json_is_boolean(value)) {
        return json_boolean(!json_is_true(value));
    }
    if (json_is_integer(value)) {
        const json_int_t number = json_integer_value(value);
        return json_integer(strstr(key, "max_position") ? 10 : number < 0 ? 40 : 2 * number + 1);
    }
    if (json_is_real(value)) {
        return json_real(json_real_value(value) * 1.5 + 0.01);
    }
    if (json_is_string(value)) {
        return json_string(strcmp(json_string_value(value), "relu") == 0 ? "tanh" : "relu");
    }
    if (json_is_null(value)) {
        return json_integer(3);
    }
    json_t *copy = json_deep_copy(value);
    if (json_is_array(copy)) {
        const char *first = json_string_value(json_array_get(copy, 0));
        bool full = first && strcmp(first, "full_attention") == 0;
        (void)json_array_set_new(copy, 0,
                                 json_string(full ? "sliding_attention" : "full_attention"));
    } else {
        (void)json_object_set_new(copy, "rope_theta", json_real(77));
    }
    return copy;
}
