/* Keys of tokenizer_config.json that change steps of tokenizer.json, as the class of AutoTokenizer of
 * transformers 5.24 applies them: add_prefix_space, do_lower_case, strip_accents and
 * tokenize_chinese_chars. An absent key has the class's default. A key that contradicts a
 * tokenizer.json without the step of the class is refused.
 *
 * Limits: all other parts stay those of tokenizer.json, and all of them where qwen2 takes the place
 * of the class that the files name. */
#include <string.h>

#include "base/enum_names.h"
#include "io/json.h"
#include "text/tokenizer_private.h"

static const char PREFIX[] = "add_prefix_space", LOWER[] = "do_lower_case";

/* The steps of a Sequence; NULL: not a Sequence. */
static json_t *list_of(const json_t *part)
{
    static const char *const lists[] = {"normalizers", "pretokenizers", "decoders"};
    json_t *list = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !list; ++i)
        list = json_object_get(part, lists[i]);
    return json_is_array(list) ? list : NULL;
}

static bool is_type(const json_t *step, const char *type)
{
    return strcmp(cs_json_string(step, "type"), type) == 0;
}

/* Sets a member of all steps of a type, at any depth, unless value is NULL; whether there is one. */
static bool set_steps(cs_status *status, json_t *part, const char *type, const char *key,
                      json_t *value)
{
    bool found = is_type(part, type);
    const json_t *list = list_of(part);
    if (found && value) cs_json_put(status, part, key, json_incref(value));
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const bool inner = set_steps(status, json_array_get(list, i), type, key, value);
        found = found || inner;
    }
    return found;
}

static bool has_step(const json_t *root, const char *part, const char *type)
{
    cs_status status = CS_OK;
    return set_steps(&status, json_object_get(root, part), type, NULL, NULL);
}

/* Removes the steps of a type from a part. */
static void remove_steps(cs_status *status, json_t *root, const char *part, const char *type)
{
    json_t *step = json_object_get(root, part), *list = list_of(step);
    if (is_type(step, type)) cs_json_put(status, root, part, json_null());
    for (size_t i = json_array_size(list); i > 0; --i) {
        if (is_type(json_array_get(list, i - 1), type)) (void)json_array_remove(list, i - 1);
    }
}

/* A boolean of the config; absent or null: the class's default. */
static cs_status read_flag(const json_t *config, const char *key, bool fallback, bool *out)
{
    const json_t *value = json_object_get(config, key);
    *out = !value || json_is_null(value) ? fallback : json_is_true(value);
    return !value || json_is_null(value) || json_is_boolean(value)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "tokenizer_config.json: %s: expected true or false", key);
}

/* Refuses a key of the config that says other than tokenizer.json. */
static cs_status compare(const json_t *config, const char *key, bool is)
{
    const json_t *value = json_object_get(config, key);
    if (!json_is_boolean(value) || json_is_true(value) == is) return CS_OK;
    return cs_fail(CS_ERR_INPUT,
                   "tokenizer_config.json: %s: %s contradicts tokenizer.json, which lacks the step "
                   "of the class that has this setting; change one of the two files",
                   key, is ? "false" : "true");
}

/* The space before a text. */
static cs_status take_prefix(cs_class_prefix kind, json_t *root, const json_t *config)
{
    bool prefix = false, legacy = false;
    json_t *pre = json_object_get(root, "pre_tokenizer"),
           *decoder = json_object_get(root, "decoder");
    cs_status status = read_flag(config, PREFIX, kind != CS_PREFIX_BYTES, &prefix);
    if (status == CS_OK && kind == CS_PREFIX_LLAMA)
        status = read_flag(config, "legacy", false, &legacy);
    if (status != CS_OK || kind == CS_PREFIX_KEPT) return status;
    if (kind == CS_PREFIX_BYTES) {
        if (set_steps(&status, pre, "ByteLevel", PREFIX, prefix ? json_true() : json_false()))
            return status;
        return compare(config, PREFIX, false);
    }
    const char *other = kind == CS_PREFIX_FIRST ? "first" : "never",
               *scheme = !prefix                              ? other
                         : kind == CS_PREFIX_LLAMA && !legacy ? "first"
                                                              : "always";
    json_auto_t *name = json_string(scheme), *yes = json_boolean(strcmp(scheme, "never") != 0);
    if (!name) return CS_ERR_MEMORY;
    if (set_steps(&status, pre, "Metaspace", "prepend_scheme", name)) {
        (void)set_steps(&status, pre, "Metaspace", PREFIX, yes);
        (void)set_steps(&status, decoder, "Metaspace", "prepend_scheme", name);
        (void)set_steps(&status, decoder, "Metaspace", PREFIX, yes);
        return status;
    }
    if (kind != CS_PREFIX_LLAMA || prefix || !has_step(root, "normalizer", "Prepend"))
        return compare(config, PREFIX, has_step(root, "normalizer", "Prepend"));
    remove_steps(&status, root, "normalizer", "Prepend");
    remove_steps(&status, root, "decoder", "Strip");
    return status;
}

/* Letter case and accents of BertNormalizer. */
static cs_status take_bert(bool lower, json_t *root, const json_t *config)
{
    json_t *part = json_object_get(root, "normalizer");
    const json_t *accents = json_object_get(config, "strip_accents");
    bool chinese = true, strip = false;
    cs_status status = read_flag(config, "tokenize_chinese_chars", true, &chinese);
    if (status == CS_OK) status = read_flag(config, "strip_accents", false, &strip);
    if (status != CS_OK) return status;
    if (!set_steps(&status, part, "BertNormalizer", "lowercase",
                   lower ? json_true() : json_false()))
        return compare(config, LOWER, has_step(root, "normalizer", "Lowercase"));
    (void)set_steps(&status, part, "BertNormalizer", "handle_chinese_chars",
                    chinese ? json_true() : json_false());
    (void)set_steps(&status, part, "BertNormalizer", "strip_accents",
                    !json_is_boolean(accents) ? json_null()
                    : strip                   ? json_true()
                                              : json_false());
    return status;
}

/* Letter case as a step of a sequence: before a Precompiled step or, `first`, before all. */
static cs_status take_lowercase(bool lower, bool first, json_t *root, const json_t *config)
{
    json_t *list = list_of(json_object_get(root, "normalizer"));
    const bool is = has_step(root, "normalizer", "Lowercase");
    cs_status status = CS_OK;
    if (is && !lower) {
        remove_steps(&status, root, "normalizer", "Lowercase");
    } else if (!is && lower && list) {
        size_t at = 0;
        while (!first && at < json_array_size(list) &&
               !is_type(json_array_get(list, at), "Precompiled"))
            ++at;
        if (json_array_insert_new(list, at, json_pack("{s:s}", "type", "Lowercase")) != 0)
            status = CS_ERR_MEMORY;
    } else if (is != lower) {
        status = compare(config, LOWER, is);
    }
    return status;
}

cs_status cs_tokenizer_class_steps(const cs_tokenizer_class *type, json_t *root,
                                   const json_t *config)
{
    const char *named = cs_json_string(config, "tokenizer_class");
    const bool qwen2 = strncmp(named, "Qwen2", 5) == 0;
    bool lower = false;
    if (*named && !qwen2 && cs_listed(type->names, "Qwen2")) return CS_OK;
    cs_status status = take_prefix(type->prefix, root, config);
    if (status == CS_OK && type->letters != CS_LETTERS_KEPT)
        status = read_flag(config, LOWER, type->lower, &lower);
    if (status != CS_OK || type->letters == CS_LETTERS_KEPT) return status;
    if (type->letters == CS_LETTERS_BERT) return take_bert(lower, root, config);
    if (type->letters == CS_LETTERS_ALBERT && json_object_get(root, "normalizer"))
        status = compare(config, "keep_accents", !has_step(root, "normalizer", "StripAccents"));
    return status == CS_OK ? take_lowercase(lower, type->letters == CS_LETTERS_FIRST, root, config)
                           : status;
}

const char *cs_tokenizer_class_lacks(const cs_tokenizer_class *type, const json_t *root)
{
    const bool prepends =
        type->prefix == CS_PREFIX_LLAMA && has_step(root, "normalizer", "Prepend");
    const bool cuts = type->given_cuts || prepends ||
                      json_is_object(json_object_get(root, "pre_tokenizer")),
               surrounds =
                   !type->surrounds || json_is_object(json_object_get(root, "post_processor"));
    return !cuts && !surrounds ? "pre_tokenizer and post_processor"
           : !cuts             ? "pre_tokenizer"
           : !surrounds        ? "post_processor"
                               : NULL;
}
