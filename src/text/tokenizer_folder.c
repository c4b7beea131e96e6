/* The tokens that the other files of a model's folder list, merged into added_tokens of its
 * tokenizer.json as AutoTokenizer of transformers 5.24 does (TokenizersBackend; read from its
 * source, tests/oracle/tokenizer_folder_oracle.py compares):
 *
 * 1. added_tokens_decoder of tokenizer_config.json, by id; without that key added_tokens.json, by
 *    id. Only in the latter case special_tokens_map.json replaces members of tokenizer_config.json.
 * 2. Named special tokens: bos_token and the other six, then all other members X_token.
 * 3. extra_special_tokens, or additional_special_tokens, the name before version 5.
 * 4. Those of 2 and 3 that the files do not mention are the defaults of the class.
 *
 * A token that is in tokenizer.json keeps its id there. A new one takes the next free id: the ids
 * of 1 give the order only. The flags of 1 replace those of tokenizer.json. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "text/tokenizer_private.h"

static const char CONFIG[] = "tokenizer_config.json", MAP[] = "special_tokens_map.json",
                  ADDED[] = "added_tokens.json", MODEL[] = "config.json";

static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
enum { FLAGS = 5, NORMALIZED = 3, SPECIAL = 4, NAMES = CS_NAMED_TOKENS };

/* The files, and what is gathered of them. */
typedef struct {
    json_t *config, *map, *file;    /* objects; the config is changed as the package changes it */
    json_t *model;                  /* config.json */
    const cs_tokenizer_class *type; /* NULL: one without tokens */
    bool unlisted[NAMES];           /* named tokens of the class alone */
    json_t *of_class;               /* tokens of the class alone */
    int64_t rows;                   /* of the model; 0: tokens of the class may exceed it */
    json_t *own;                    /* X_token of the model that the config names as texts */
    json_t *list;                   /* tokens to add, in their order: content and flags, no id */
    size_t by_id;                   /* the first of them, which are listed by id */
    json_t *added;                  /* added_tokens of tokenizer.json; borrowed */
    json_t *ids; /* of the model's vocabulary; NULL until a token is looked for */
} folder;

static bool flag_of(const json_t *token, int which)
{
    const json_t *given = json_object_get(token, flags[which]);
    return given ? json_is_true(given) : which == NORMALIZED && !flag_of(token, SPECIAL);
}

static bool is_standard(const char *name)
{
    int i = 0;
    while (i < NAMES && strcmp(name, cs_named_tokens[i].name) != 0)
        ++i;
    return i < NAMES;
}

static bool ends_in_token(const char *key)
{
    const size_t size = strlen(key);
    return size > 6 && strcmp(key + size - 6, "_token") == 0;
}

/* A token as an object of content and flags: a text is a special token. */
static cs_status as_token(const json_t *value, const char *file, const char *key, bool special,
                          json_t **out)
{
    json_t *token = json_is_object(value)
                        ? json_copy((json_t *)(uintptr_t)value)
                        : json_pack("{s:O}", "content", (json_t *)(uintptr_t)value);
    cs_status status = token ? cs_json_check() : CS_ERR_MEMORY; /* a copy may lack members */
    if (token) (void)json_object_del(token, "__type");          /* fails where there is none */
    if (status == CS_OK)
        status = cs_blame(
            cs_json_known(token, "content, single_word, lstrip, rstrip, normalized, special"),
            "%s: %s", file, key);
    if (status == CS_OK && !json_is_string(json_object_get(token, "content")))
        status = cs_fail(CS_ERR_INPUT, "%s: %s: expected a token: a text or an object with content",
                         file, key);
    for (int i = 0; i < FLAGS && status == CS_OK; ++i) {
        const json_t *flag = json_object_get(token, flags[i]);
        if (flag && !json_is_boolean(flag))
            status =
                cs_fail(CS_ERR_INPUT, "%s: %s.%s: expected true or false", file, key, flags[i]);
    }
    if (status == CS_OK && (special || !json_is_object(value)))
        status = cs_json_set(token, flags[SPECIAL], json_true());
    if (status == CS_OK) {
        *out = token;
    } else {
        json_decref(token);
    }
    return status;
}

static bool is_listed(const json_t *list, const char *content)
{
    size_t i = 0;
    while (i < json_array_size(list) &&
           strcmp(cs_json_string(json_array_get(list, i), "content"), content) != 0)
        ++i;
    return i < json_array_size(list);
}

/* Takes a token over at the end of the list. */
static cs_status append(json_t *list, json_t *token)
{
    return json_array_append_new(list, token) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for the tokens of a folder");
}

/* --- what the config names --- */

/* Members X_token that are texts are the model's own and come after objects of that form; so do
 * those of extra_special_tokens where it is an object. */
static cs_status take_own(folder *f)
{
    json_t *config = f->config, *value = NULL;
    const char *key = NULL;
    void *next = NULL;
    cs_status status = CS_OK;
    const json_t *extra = json_object_get(config, "extra_special_tokens");
    if (json_object_get(config, "additional_special_tokens") &&
        !(json_array_size(extra) > 0 || json_object_size(extra) > 0)) {
        status = cs_json_set(config, "extra_special_tokens",
                             json_incref(json_object_get(config, "additional_special_tokens")));
        (void)json_object_del(config, "additional_special_tokens");
    }
    json_object_foreach_safe(config, next, key, value)
    {
        if (status == CS_OK && ends_in_token(key) && !is_standard(key) && json_is_string(value)) {
            status = cs_json_set(f->own, key, json_incref(value));
            if (status == CS_OK) (void)json_object_del(config, key);
        }
    }
    return status;
}

static cs_status take_own_extra(folder *f)
{
    json_t *extra = json_object_get(f->config, "extra_special_tokens");
    if (!json_is_object(extra)) return CS_OK;
    const bool done = json_object_update(f->own, extra) == 0;
    (void)json_object_del(f->config, "extra_special_tokens");
    return done ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the tokens of a folder");
}

/* special_tokens_map.json into the config. */
static cs_status take_map(folder *f)
{
    const char *key = NULL;
    json_t *value = NULL;
    cs_status status = CS_OK;
    json_object_foreach(f->map, key, value)
    {
        const json_t *before = json_object_get(f->config, key);
        const bool extra = strcmp(key, "extra_special_tokens") == 0;
        json_t *token = NULL;
        if (status == CS_OK && json_is_object(value) && !extra) {
            status = as_token(value, MAP, key, true, &token);
            if (status == CS_OK)
                status = cs_json_set(token, "__type", json_null()); /* see names_token */
        } else if (status == CS_OK && extra && json_is_array(value) && json_is_array(before)) {
            token = json_deep_copy(before);
            for (size_t i = 0; i < json_array_size(value) && token && status == CS_OK; ++i) {
                json_t *item = json_array_get(value, i);
                if (json_array_append(token, item) != 0) status = CS_ERR_MEMORY;
            }
        } else {
            token = json_incref(value);
        }
        if (status == CS_OK) {
            status = cs_json_set(f->config, key, token);
        } else {
            json_decref(token);
        }
    }
    return status;
}

/* The list of further special tokens, as the constructor takes it. */
static json_t *extra_tokens(const folder *f)
{
    json_t *extra = json_object_get(f->config, "extra_special_tokens");
    return extra ? extra : json_object_get(f->config, "additional_special_tokens");
}

/* Calls `take` with each named special token, in order, then with the further ones if asked. */
static cs_status each_named(folder *f, bool further,
                            cs_status (*take)(folder *, json_t *, const char *))
{
    json_t *value = NULL, *all = json_object();
    const char *key = NULL;
    cs_status status = all ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < NAMES && status == CS_OK; ++i) {
        value = json_object_get(f->config, cs_named_tokens[i].name);
        if (value && !json_is_null(value)) status = take(f, value, cs_named_tokens[i].name);
    }
    json_object_foreach(f->config, key, value)
    {
        if (status == CS_OK && ends_in_token(key) && !is_standard(key) &&
            (json_is_string(value) || json_object_get(value, "__type")))
            status = cs_json_set(all, key, json_incref(value));
    }
    if (status == CS_OK && json_object_update(all, f->own) != 0) status = CS_ERR_MEMORY;
    json_object_foreach(all, key, value)
    {
        if (status == CS_OK) status = take(f, value, key);
    }
    json_decref(all);
    json_t *extra = extra_tokens(f);
    for (size_t i = 0; i < json_array_size(extra) && further && status == CS_OK; ++i) {
        status = take(f, json_array_get(extra, i), "extra_special_tokens");
    }
    return status;
}

/* A listed token with a role is special. */
static cs_status mark_special(folder *f, json_t *value, const char *key)
{
    json_t *token = NULL, *item = NULL;
    size_t i = 0;
    cs_status status = as_token(value, CONFIG, key, false, &token);
    json_array_foreach(f->list, i, item)
    {
        if (status == CS_OK &&
            strcmp(cs_json_string(item, "content"), cs_json_string(token, "content")) == 0) {
            const bool normalized = flag_of(item, NORMALIZED);
            status = cs_json_set(item, flags[SPECIAL], json_true());
            if (status == CS_OK)
                status = cs_json_set(item, flags[NORMALIZED], json_boolean(normalized));
        }
    }
    json_decref(token);
    return status;
}

/* The package compares names with tokens listed by id only. Two names of one token add it twice, and
 * the flags of the last hold. */
static cs_status append_named(folder *f, json_t *value, const char *key)
{
    json_t *token = NULL;
    cs_status status = as_token(value, CONFIG, key, false, &token);
    bool there = status == CS_OK && is_listed(f->added, cs_json_string(token, "content"));
    for (size_t i = 0; i < json_array_size(f->list) && status == CS_OK; ++i) {
        const json_t *item = json_array_get(f->list, i);
        there = there || (i < f->by_id ? strcmp(cs_json_string(item, "content"),
                                                cs_json_string(token, "content")) == 0
                                       : json_equal(item, token));
    }
    if (status == CS_OK && !there) return append(f->list, token);
    json_decref(token);
    return status;
}

/* --- what is listed by id --- */

/* Puts a token in at its place by id, or in place of one with its id; `by_id` has the ids, as many
 * as the list has tokens. */
static cs_status insert(folder *f, json_t *by_id, int64_t id, json_t *token)
{
    size_t at = json_array_size(by_id);
    while (at > 0 && json_integer_value(json_array_get(by_id, at - 1)) > id)
        --at;
    const bool same = at > 0 && json_integer_value(json_array_get(by_id, at - 1)) == id;
    if (same ? json_array_set_new(f->list, at - 1, token) == 0
             : json_array_insert_new(f->list, at, token) == 0 &&
                   json_array_insert_new(by_id, at, json_integer(id)) == 0)
        return CS_OK;
    return cs_fail(CS_ERR_MEMORY, "out of memory for the tokens of a folder");
}

/* added_tokens_decoder: ids and tokens. */
static cs_status take_decoder(folder *f, json_t *by_id)
{
    json_t *decoder = json_object_get(f->config, "added_tokens_decoder"), *value = NULL;
    const char *key = NULL;
    cs_status status = CS_OK;
    if (!json_is_object(decoder))
        return cs_fail(CS_ERR_INPUT, "%s: added_tokens_decoder: expected an object", CONFIG);
    json_object_foreach(decoder, key, value)
    {
        char field[64];
        json_t *token = NULL;
        int64_t id = 0;
        if (status != CS_OK) break;
        (void)snprintf(field, sizeof field, "added_tokens_decoder.%s", key);
        if (cs_parse_int(key, "id", 0, INT32_MAX, &id) != CS_OK || !json_is_object(value)) {
            cs_reason_clear();
            status = cs_fail(CS_ERR_INPUT, "%s: %s: expected an id and an object", CONFIG, field);
        }
        if (status == CS_OK) status = as_token(value, CONFIG, field, false, &token);
        if (status == CS_OK) status = insert(f, by_id, id, token);
    }
    return status;
}

/* Whether tokenizer.json has an added token of that id: it replaces one of added_tokens.json. */
static bool has_id(const json_t *added, int64_t id)
{
    size_t i = 0;
    while (i < json_array_size(added) &&
           json_integer_value(json_object_get(json_array_get(added, i), "id")) != id)
        ++i;
    return i < json_array_size(added);
}

/* The package compares the text of a member; that of an object of tokenizer_config.json is not its
 * content, since it is made a token only later. */
static bool names_token(const json_t *value, const char *content)
{
    const bool of_map = json_equal(json_object_get(value, "__type"), json_null()) != 0;
    const char *text = of_map ? cs_json_string(value, "content") : json_string_value(value);
    return text && strcmp(text, content) == 0;
}

/* Whether a role or extra_special_tokens makes a token of added_tokens.json special. */
static bool is_special(const folder *f, const char *content)
{
    const json_t *extra = json_object_get(f->config, "extra_special_tokens");
    bool special = false;
    for (int i = 0; i < NAMES; ++i) {
        special =
            special || names_token(json_object_get(f->config, cs_named_tokens[i].name), content);
    }
    for (size_t i = 0; i < json_array_size(extra); ++i) {
        special = special || names_token(json_array_get(extra, i), content);
    }
    return special;
}

/* added_tokens.json: tokens and ids. */
static cs_status take_file(folder *f, json_t *by_id)
{
    const char *key = NULL;
    json_t *value = NULL;
    cs_status status = CS_OK;
    json_object_foreach(f->file, key, value)
    {
        const double id = json_is_number(value) ? json_number_value(value) : -1;
        if (status != CS_OK) break;
        if (!(id >= 0 && id <= INT32_MAX)) {
            status = cs_fail(CS_ERR_INPUT, "%s: \"%s\": expected an id", ADDED, key);
        } else if (!has_id(f->added, (int64_t)id)) {
            json_t *token =
                json_pack("{s:s, s:b}", "content", key, flags[SPECIAL], is_special(f, key));
            status = token ? insert(f, by_id, (int64_t)id, token) : CS_ERR_MEMORY;
        }
    }
    return status;
}

/* --- the defaults of a class --- */

/* A token that a class makes of a text. */
static json_t *class_token(const cs_tokenizer_class *type, int name, const char *text)
{
    const bool mask = strcmp(cs_named_tokens[name].name, "mask_token") == 0 && type->spaced_mask;
    const bool special = type->special_mask || !(mask || type->normalized);
    return json_pack("{s:s, s:b, s:b, s:b}", "content", text, "lstrip", mask, flags[NORMALIZED],
                     !special, flags[SPECIAL], true);
}

static const char *content_of(const json_t *value)
{
    return json_is_object(value) ? cs_json_string(value, "content") : json_string_value(value);
}

/* Whether a file lists the token or gives it a role. */
static bool is_mentioned(const folder *f, const char *text)
{
    bool is = is_listed(f->list, text);
    for (int i = 0; i < NAMES; ++i) {
        const char *given =
            f->unlisted[i] ? NULL : content_of(json_object_get(f->config, cs_named_tokens[i].name));
        is = is || (given && strcmp(given, text) == 0);
    }
    return is;
}

/* Named tokens that the files give as texts or not at all. */
static cs_status take_class_named(folder *f)
{
    cs_status status = CS_OK;
    for (int i = 0; i < NAMES; ++i)
        f->unlisted[i] = !json_object_get(f->config, cs_named_tokens[i].name);
    for (int i = 0; i < NAMES && status == CS_OK; ++i) {
        const json_t *given = json_object_get(f->config, cs_named_tokens[i].name);
        const char *text = given ? json_string_value(given) : f->type->token[i];
        if (text && !given && !is_mentioned(f, text))
            status = append(f->of_class, class_token(f->type, i, text));
        if (text && status == CS_OK)
            status = cs_json_set(f->config, cs_named_tokens[i].name, class_token(f->type, i, text));
    }
    return status;
}

/* Further tokens: those of the class where the files list none, or none of the sentinels. */
static cs_status take_class_extra(folder *f)
{
    static const char key[] = "additional_special_tokens";
    json_t *listed = json_object_get(f->config, key), *item = NULL;
    const json_t *number = json_object_get(f->config, "extra_ids");
    const int sentinels =
        json_is_number(number) ? (int)json_number_value(number) : f->type->sentinels;
    bool full = false;
    size_t i = 0;
    if (json_object_get(f->config, "extra_special_tokens")) return CS_OK;
    json_t *list = json_is_array(listed) ? json_copy(listed) : json_array();
    cs_status status = list ? CS_OK : CS_ERR_MEMORY;
    json_array_foreach(list, i, item)
    {
        const char *text = content_of(item);
        full = full || (text && strstr(text, "<extra_id_"));
    }
    for (int k = 0; k < CS_CLASS_EXTRA && !listed && f->type->extra[k] && status == CS_OK; ++k)
        status = append(list, json_string(f->type->extra[k]));
    for (int k = 0; f->type->sentinels > 0 && k < sentinels && !full && status == CS_OK; ++k)
        status = append(list, json_sprintf("<extra_id_%d>", k));
    const size_t before = listed ? json_array_size(listed) : 0;
    for (i = before; i < json_array_size(list) && status == CS_OK; ++i)
        status = append(f->of_class, json_pack("{s:O}", "content", json_array_get(list, i)));
    if (status == CS_OK && json_array_size(list) > 0) return cs_json_set(f->config, key, list);
    json_decref(list);
    return status;
}

/* A special token without flags, for a class that makes its special tokens so; or with the flags of
 * tokenizer.json. */
static cs_status append_plain(folder *f, json_t *value, const char *key)
{
    const char *text = content_of(value);
    const json_t *listed = NULL;
    for (size_t i = 0; i < json_array_size(f->added) && text && f->type->plain_defaults; ++i) {
        const json_t *item = json_array_get(f->added, i);
        if (strcmp(cs_json_string(item, "content"), text) == 0) listed = item;
    }
    for (int i = 0; i < NAMES; ++i) {
        if (f->unlisted[i] && strcmp(cs_named_tokens[i].name, key) == 0) listed = NULL;
    }
    json_t *token =
        listed ? json_copy((json_t *)(uintptr_t)listed)
               : json_pack("{s:s, s:b}", "content", text ? text : "", flags[SPECIAL], true);
    return token ? append(f->list, token) : CS_ERR_MEMORY;
}

/* --- into tokenizer.json --- */

/* Token to id of the model's vocabulary, whose form may be a list (Unigram). */
static cs_status read_ids(folder *f, const json_t *root)
{
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    if (f->ids) return CS_OK;
    if (!json_is_array(vocab)) {
        f->ids = vocab ? json_incref(vocab) : json_object();
        return f->ids ? CS_OK : CS_ERR_MEMORY;
    }
    f->ids = json_object();
    cs_status status = f->ids ? CS_OK : CS_ERR_MEMORY;
    for (size_t i = 0; i < json_array_size(vocab) && status == CS_OK; ++i) {
        const char *token = json_string_value(json_array_get(json_array_get(vocab, i), 0));
        if (token) status = cs_json_set(f->ids, token, json_integer((json_int_t)i));
    }
    return status;
}

/* The id that the package gives to a token that is neither in the vocabulary nor added. */
static int64_t next_id(const folder *f)
{
    int64_t next = (int64_t)json_object_size(f->ids);
    for (size_t i = 0; i < json_array_size(f->added); ++i) {
        const int64_t id = json_integer_value(json_object_get(json_array_get(f->added, i), "id"));
        next = id >= next ? id + 1 : next;
    }
    return next;
}

/* One token into added_tokens. One that is there takes the new flags, but a special token stays one. */
static cs_status add_token(folder *f, const json_t *root, const json_t *token)
{
    const char *content = cs_json_string(token, "content");
    json_t *there = NULL;
    cs_status status = read_ids(f, root);
    for (size_t i = 0; i < json_array_size(f->added) && !there; ++i) {
        json_t *item = json_array_get(f->added, i);
        if (strcmp(cs_json_string(item, "content"), content) == 0) there = item;
    }
    if (status != CS_OK || !*content) return status;
    const bool was_special = there && flag_of(there, SPECIAL);
    if (!there) {
        const json_t *own = json_object_get(f->ids, content);
        const int64_t id = own ? json_integer_value(own) : next_id(f);
        if (f->rows > 0 && id >= f->rows && is_listed(f->of_class, content)) return CS_OK;
        there = json_pack("{s:I, s:s}", "id", (json_int_t)id, "content", content);
        status = there ? append(f->added, there) : CS_ERR_MEMORY;
    }
    for (int i = 0; i < FLAGS && status == CS_OK; ++i) {
        const bool flag = flag_of(token, i) || (i == SPECIAL && was_special);
        status = cs_json_set(there, flags[i], json_boolean(flag));
    }
    return status;
}

/* All tokens that are to be added, in their order. */
static cs_status gather(folder *f)
{
    const bool decoder = json_object_get(f->config, "added_tokens_decoder") != NULL;
    json_auto_t *by_id = json_array();
    cs_status status = by_id ? take_own(f) : CS_ERR_MEMORY;
    if (status == CS_OK) status = take_own_extra(f);
    if (status == CS_OK && !decoder) status = take_map(f);
    if (status == CS_OK) status = take_own_extra(f);
    if (status == CS_OK) status = decoder ? take_decoder(f, by_id) : take_file(f, by_id);
    f->by_id = json_array_size(f->list);
    if (status == CS_OK && f->type) status = take_class_named(f);
    if (status == CS_OK && f->type) status = take_class_extra(f);
    if (status == CS_OK) status = each_named(f, false, mark_special);
    if (status == CS_OK) status = each_named(f, true, append_named);
    const bool plain = f->type && (f->type->plain || f->type->plain_defaults);
    return status == CS_OK && plain ? each_named(f, true, append_plain) : status;
}

static cs_status read_file(const char *dir, const char *name, json_t **out)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) {
        status = cs_json_read_reals(path, out);
    } else if (status == CS_OK) {
        *out = json_object();
        status = *out ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && !json_is_object(*out))
        status = cs_fail(CS_ERR_INPUT, "%s: expected an object", path);
    return status;
}

/* A token that is new to the tokenizer has no role, since the model has no row for it. */
static cs_status forget_new_roles(folder *f, const json_t *root)
{
    cs_status status = read_ids(f, root);
    for (int i = 0; i < NAMES && status == CS_OK; ++i) {
        const char *text =
            cs_json_string(json_object_get(f->config, cs_named_tokens[i].name), "content");
        if (f->unlisted[i] && !json_object_get(f->ids, text) && !is_listed(f->added, text))
            (void)json_object_del(f->config, cs_named_tokens[i].name);
    }
    return status;
}

static cs_status merge(folder *f, json_t *root)
{
    cs_status status = CS_OK;
    if (json_is_true(json_object_get(f->config, "split_special_tokens")))
        return cs_fail(CS_ERR_INPUT, "%s: split_special_tokens true is not supported", CONFIG);
    f->added = json_object_get(root, "added_tokens");
    if (!f->added || json_is_null(f->added)) {
        status = cs_json_set(root, "added_tokens", json_array());
        f->added = json_object_get(root, "added_tokens");
    }
    if (status == CS_OK && json_is_array(f->added)) status = gather(f);
    if (status == CS_OK && f->type) status = forget_new_roles(f, root);
    for (size_t i = 0; i < json_array_size(f->list) && status == CS_OK; ++i) {
        status = add_token(f, root, json_array_get(f->list, i));
    }
    return status == CS_OK ? cs_json_check() : status;
}

cs_status cs_tokenizer_take_folder(const char *dir, bool for_model, json_t *root, json_t **config,
                                   const char **lacks)
{
    folder f = {.list = json_array(), .own = json_object(), .of_class = json_array()};
    cs_status status = f.list && f.own && f.of_class ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = read_file(dir, CONFIG, &f.config);
    if (status == CS_OK) status = read_file(dir, MAP, &f.map);
    if (status == CS_OK) status = read_file(dir, ADDED, &f.file);
    if (status == CS_OK) status = read_file(dir, MODEL, &f.model);
    if (for_model) f.rows = (int64_t)json_number_value(json_object_get(f.model, "vocab_size"));
    if (status == CS_OK) status = cs_tokenizer_class_of(root, f.config, f.model, &f.type);
    *lacks = status == CS_OK && f.type ? cs_tokenizer_class_lacks(f.type, root) : NULL;
    if (status == CS_OK && f.type)
        status = cs_blame(cs_tokenizer_class_steps(f.type, root, f.config), "%s", dir);
    if (status == CS_OK) status = cs_blame(merge(&f, root), "%s", dir);
    if (status == CS_OK) *config = json_incref(f.config);
    json_decref(f.config);
    json_decref(f.map);
    json_decref(f.file);
    json_decref(f.model);
    json_decref(f.of_class);
    json_decref(f.own);
    json_decref(f.list);
    json_decref(f.ids);
    return status;
}
