/* tokenizer.json in: the parts of the `tokenizers` package that byte-level BPE, BERT's WordPiece
 * and our word lists are made of. Anything else is refused by its name, since a tokenizer read
 * half-way would give other ids without a word.
 *
 * Limits: no single_word tokens, no normalized added tokens beside a normaliser, no dropout, no
 * byte_fallback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"
#include "text/tokenizer_json_private.h"

static cs_status unsupported(const char *field, const char *value, const char *known)
{
    return cs_fail(CS_ERR_INPUT, "%s: \"%s\" is not supported (%s)", field, value, known);
}

/* --- fields --- */

typedef struct {
    const char *key;
    bool fallback, *out; /* for what is absent or null */
} flag;

static cs_status take_flags(const json_t *object, const char *field, int count, const flag *flags)
{
    for (int i = 0; i < count; ++i) {
        const json_t *v = json_object_get(object, flags[i].key);
        if (v && !json_is_null(v) && !json_is_boolean(v)) {
            return cs_fail(CS_ERR_INPUT, "%s.%s: wanted true or false", field, flags[i].key);
        }
        *flags[i].out = json_is_boolean(v) ? json_is_true(v) : flags[i].fallback;
    }
    return CS_OK;
}

/* A part that must be absent, null, false, 0 or "". */
static cs_status want_off(const json_t *object, const char *field, const char *key)
{
    const json_t *v = json_object_get(object, key);
    const char *text = json_string_value(v);
    if (!v || json_is_null(v) || json_is_false(v) || (text && !*text) ||
        (json_is_number(v) && json_number_value(v) == 0.0)) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT, "%s.%s: only null or false is supported", field, key);
}

static const char *type_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : json_is_object(part) ? "(no type)" : "null";
}

static cs_status want_type(const json_t *root, const char *part, const char *type,
                           const char *known)
{
    char field[40];
    const char *found = type_of(json_object_get(root, part));
    (void)snprintf(field, sizeof field, "%s.type", part);
    return strcmp(found, type) == 0 ? CS_OK : unsupported(field, found, known);
}

/* A copy of a part that is kept as data; null is NULL. */
static cs_status keep(const json_t *root, const char *key, json_t **out)
{
    json_t *part = json_object_get(root, key);
    *out = !part || json_is_null(part) ? NULL : json_deep_copy(part);
    if (part && !json_is_null(part) && !*out) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for %s", key);
    }
    return CS_OK;
}

/* --- vocabulary --- */

typedef struct {
    const char **token; /* by id */
    bool *in_model;
    int64_t count;
} id_list;

static cs_status put_id(id_list *list, const char *field, const char *token, const json_t *id,
                        bool in_model)
{
    int64_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (!json_is_integer(id)) {
        return cs_fail(CS_ERR_INPUT, "%s: token \"%s\": wanted an integer id", field, token);
    }
    if (i < 0 || i >= list->count) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: id %lld of token \"%s\" is not in 0..%lld: %lld tokens without holes",
                       field, (long long)i, token, (long long)list->count - 1,
                       (long long)list->count);
    }
    if (list->token[i]) {
        return cs_fail(CS_ERR_INPUT, "%s: tokens \"%s\" and \"%s\" have the same id %lld", field,
                       list->token[i], token, (long long)i);
    }
    list->token[i] = token;
    list->in_model[i] = in_model;
    return CS_OK;
}

static cs_status put_model_ids(id_list *list, json_t *vocab)
{
    const char *token;
    json_t *id;
    json_object_foreach(vocab, token, id)
    {
        cs_status status = put_id(list, "model.vocab", token, id, true);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* One of added_tokens; its id may be in the model's vocabulary as well. */
static cs_status take_added(const json_t *item, size_t index, const json_t *vocab, id_list *list,
                            cs_added_token *out)
{
    char field[40];
    (void)snprintf(field, sizeof field, "added_tokens[%zu]", index);
    const char *content = json_string_value(json_object_get(item, "content"));
    const json_t *id = json_object_get(item, "id");
    if (!content || !*content) {
        return cs_fail(CS_ERR_INPUT, "%s.content: wanted a text that is not empty", field);
    }
    bool single = false;
    const flag flags[] = {{"single_word", false, &single},
                          {"lstrip", false, &out->lstrip},
                          {"rstrip", false, &out->rstrip},
                          {"special", false, &out->special}};
    cs_status status = take_flags(item, field, 4, flags);
    const flag normalized = {"normalized", !out->special, &out->normalized};
    if (status == CS_OK) status = take_flags(item, field, 1, &normalized);
    if (status != CS_OK) return status;
    if (single) {
        return cs_fail(CS_ERR_INPUT, "%s.single_word: only false is supported", field);
    }
    const json_t *own = json_object_get(vocab, content);
    if (!own) {
        status = put_id(list, field, content, id, false);
    } else if (!json_equal(own, id)) {
        status =
            cs_fail(CS_ERR_INPUT, "%s.id: \"%s\" has another id in model.vocab", field, content);
    }
    out->id = (int32_t)json_integer_value(id);
    return status;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = ((const cs_added_token *)a)->id, y = ((const cs_added_token *)b)->id;
    return (x > y) - (x < y);
}

static cs_status put_added_ids(cs_tokenizer *t, const json_t *added, const json_t *vocab,
                               id_list *list)
{
    int64_t count = (int64_t)json_array_size(added);
    t->added = cs_calloc(count, sizeof *t->added);
    if (!t->added) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        cs_status status =
            take_added(json_array_get(added, (size_t)i), (size_t)i, vocab, list, &t->added[i]);
        if (status != CS_OK) return status;
        t->addeds = i + 1;
    }
    qsort(t->added, (size_t)count, sizeof *t->added, by_id);
    for (int64_t i = 1; i < count; ++i) {
        if (t->added[i].id == t->added[i - 1].id) {
            return cs_fail(CS_ERR_INPUT, "added_tokens: id %d is given twice", t->added[i].id);
        }
    }
    return CS_OK;
}

static cs_status read_vocabulary(const json_t *root, const json_t *model, cs_tokenizer *t)
{
    json_t *vocab = json_object_get(model, "vocab");
    const json_t *added = json_object_get(root, "added_tokens");
    if (!json_is_object(vocab)) {
        return cs_fail(CS_ERR_INPUT, "model.vocab: wanted an object of tokens and ids");
    }
    if (added && !json_is_null(added) && !json_is_array(added)) {
        return cs_fail(CS_ERR_INPUT, "added_tokens: wanted a list");
    }
    id_list list = {.count = (int64_t)json_object_size(vocab)};
    for (size_t i = 0; i < json_array_size(added); ++i) {
        const char *content =
            json_string_value(json_object_get(json_array_get(added, i), "content"));
        list.count += !content || !json_object_get(vocab, content);
    }
    if (list.count == 0 || list.count >= INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "model.vocab: %lld tokens", (long long)list.count);
    }
    list.token = cs_calloc(list.count, sizeof *list.token);
    list.in_model = cs_calloc(list.count, sizeof *list.in_model);
    cs_status status = list.token && list.in_model ? put_model_ids(&list, vocab) : CS_ERR_MEMORY;
    if (status == CS_OK) status = put_added_ids(t, added, vocab, &list);
    for (int64_t i = 0; i < list.count && status == CS_OK; ++i) {
        if (!list.token[i]) {
            status = cs_fail(CS_ERR_INPUT, "model.vocab: no token has id %lld of 0..%lld",
                             (long long)i, (long long)list.count - 1);
        } else {
            status = cs_tokenizer_add(t, list.token[i], list.in_model[i]);
        }
    }
    cs_free(list.token);
    cs_free(list.in_model);
    return status;
}

static cs_status take_unknown(const json_t *model, bool needed, cs_tokenizer *t)
{
    const json_t *v = json_object_get(model, "unk_token");
    const char *unknown = json_string_value(v);
    if (!unknown && (needed || (v && !json_is_null(v)))) {
        return cs_fail(CS_ERR_INPUT, "model.unk_token: wanted a token");
    }
    t->unknown = unknown ? cs_tokenizer_id(t, unknown) : -1;
    if (unknown && t->unknown < 0) {
        return cs_fail(CS_ERR_INPUT, "model.unk_token: \"%s\" is not in the vocabulary", unknown);
    }
    return CS_OK;
}

/* --- BPE --- */

static cs_status id_of(const cs_tokenizer *t, size_t index, const char *token, size_t size,
                       int32_t *out)
{
    *out = cs_word_table_get(&t->table, token, (int64_t)size);
    if (*out < 0) {
        return cs_fail(CS_ERR_INPUT, "model.merges[%zu]: token \"%.*s\" is not in the vocabulary",
                       index, (int)(size < 200 ? size : 200), token);
    }
    return CS_OK;
}

/* "a b" or ["a", "b"] */
static cs_status take_merge(const cs_tokenizer *t, const json_t *item, size_t index,
                            cs_bpe_merge *out)
{
    const char *left = json_string_value(json_array_get(item, 0));
    const char *right = json_string_value(json_array_get(item, 1)), *text = json_string_value(item);
    size_t left_size = left ? strlen(left) : 0;
    if (text) {
        const char *blank = strchr(text, ' ');
        left = blank && !strchr(blank + 1, ' ') ? text : NULL;
        left_size = left ? (size_t)(blank - text) : 0;
        right = left ? blank + 1 : NULL;
    }
    if (!left || !right || json_array_size(item) > 2) {
        return cs_fail(CS_ERR_INPUT,
                       "model.merges[%zu]: wanted two tokens, \"a b\" or [\"a\", \"b\"]", index);
    }
    cs_status status = id_of(t, index, left, left_size, &out->left);
    if (status == CS_OK) status = id_of(t, index, right, strlen(right), &out->right);
    if (status != CS_OK) return status;
    char *product = cs_format("%.*s%s", (int)left_size, left, right);
    status = product ? id_of(t, index, product, strlen(product), &out->token) : CS_ERR_MEMORY;
    cs_free(product);
    return status;
}

static cs_status take_bytes(const cs_tokenizer *t, int32_t byte_token[256])
{
    for (int b = 0; b < 256; ++b) {
        int32_t token = cs_byte_token(t, b);
        byte_token[b] = token < 0 ? t->unknown : token;
        if (byte_token[b] < 0) {
            char spelling[4];
            cs_byte_spelling((uint8_t)b, spelling);
            return cs_fail(CS_ERR_INPUT,
                           "model.vocab: byte 0x%02X (\"%s\") has no token, and there is no "
                           "unk_token: not byte-level BPE",
                           b, spelling);
        }
    }
    return CS_OK;
}

static cs_status read_merges(const json_t *model, cs_tokenizer *t)
{
    const json_t *list = json_object_get(model, "merges");
    int64_t merges = (int64_t)json_array_size(list), twice = -1;
    int32_t byte_token[256];
    if (!json_is_array(list) || merges >= INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "model.merges: wanted a list");
    }
    cs_bpe_merge *merge = cs_alloc(merges, sizeof *merge);
    cs_status status = merge ? take_bytes(t, byte_token) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < merges && status == CS_OK; ++i) {
        status = take_merge(t, json_array_get(list, (size_t)i), (size_t)i, &merge[i]);
    }
    if (status == CS_OK) status = cs_bpe_init(&t->bpe, byte_token, merge, merges, &twice);
    if (status == CS_OK && twice >= 0)
        status = cs_fail(CS_ERR_INPUT, "model.merges[%lld]: \"%s\" and \"%s\" are merged twice",
                         (long long)twice, cs_tokenizer_token(t, merge[twice].left),
                         cs_tokenizer_token(t, merge[twice].right));
    cs_free(merge);
    return status;
}

static cs_status read_bpe(const json_t *root, const json_t *model, cs_tokenizer *t)
{
    static const char *const off[] = {"dropout",
                                      "continuing_subword_prefix",
                                      "end_of_word_suffix",
                                      "fuse_unk",
                                      "byte_fallback",
                                      "ignore_merges"};
    const json_t *pre = json_object_get(root, "pre_tokenizer");
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof off / sizeof off[0] && status == CS_OK; ++i) {
        status = want_off(model, "model", off[i]);
    }
    if (status != CS_OK) return status;
    status = want_type(root, "normalizer", "null", "BPE: null");
    if (status == CS_OK) status = want_type(root, "pre_tokenizer", "ByteLevel", "BPE: ByteLevel");
    if (status == CS_OK) status = want_type(root, "decoder", "ByteLevel", "BPE: ByteLevel");
    t->decoder = CS_DECODE_BYTES;
    const flag flags[] = {{"add_prefix_space", true, &t->add_prefix_space},
                          {"trim_offsets", true, &t->trim_offsets},
                          {"use_regex", true, &t->use_regex}};
    if (status == CS_OK) status = take_flags(pre, "pre_tokenizer", 3, flags);
    if (status == CS_OK) status = take_unknown(model, false, t);
    return status == CS_OK ? read_merges(model, t) : status;
}

/* --- WordPiece --- */

static cs_status read_bert_parts(const json_t *root, cs_tokenizer *t)
{
    const json_t *normalizer = json_object_get(root, "normalizer");
    const char *type = type_of(normalizer);
    t->normalise = strcmp(type, "BertNormalizer") == 0;
    if (!t->normalise) {
        return strcmp(type, "null") == 0
                   ? CS_OK
                   : unsupported("normalizer.type", type, "WordPiece: BertNormalizer, null");
    }
    bool strip = false;
    const flag flags[] = {{"clean_text", true, &t->bert.clean_text},
                          {"handle_chinese_chars", true, &t->bert.chinese},
                          {"lowercase", true, &t->bert.lowercase},
                          {"strip_accents", false, &strip}};
    cs_status status = take_flags(normalizer, "normalizer", 4, flags);
    if (status != CS_OK) return status;
    bool given = json_is_boolean(json_object_get(normalizer, "strip_accents"));
    t->strip_accents = given ? strip : -1;
    return CS_OK;
}

static cs_status read_wordpiece(const json_t *root, const json_t *model, cs_tokenizer *t)
{
    const json_t *decoder = json_object_get(root, "decoder");
    const char *out = type_of(decoder);
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const json_t *longest = json_object_get(model, "max_input_chars_per_word");
    cs_status status =
        want_type(root, "pre_tokenizer", "BertPreTokenizer", "WordPiece: BertPreTokenizer");
    if (status != CS_OK) return status;
    if (strcmp(out, "WordPiece") != 0 && strcmp(out, "null") != 0) {
        return unsupported("decoder.type", out, "WordPiece: WordPiece, null");
    }
    t->decoder = strcmp(out, "null") == 0 ? CS_DECODE_BLANKS : CS_DECODE_WORDPIECE;
    t->wordpiece.max_chars = longest ? json_integer_value(longest) : 100;
    if (t->wordpiece.max_chars < 1 || t->wordpiece.max_chars > 1 << 20) {
        return cs_fail(CS_ERR_INPUT, "model.max_input_chars_per_word: wanted 1..%d", 1 << 20);
    }
    prefix = prefix ? prefix : "##";
    const char *decoded = json_string_value(json_object_get(decoder, "prefix"));
    if (t->decoder == CS_DECODE_WORDPIECE && (!decoded || strcmp(decoded, prefix) != 0)) {
        return cs_fail(CS_ERR_INPUT, "decoder.prefix: wanted \"%s\", that of the model", prefix);
    }
    t->wordpiece.prefix = cs_strdup(prefix);
    status = t->wordpiece.prefix ? read_bert_parts(root, t) : CS_ERR_MEMORY;
    const flag cleanup = {"cleanup", true, &t->cleanup};
    if (status == CS_OK) status = take_flags(decoder, "decoder", 1, &cleanup);
    return status == CS_OK ? take_unknown(model, true, t) : status;
}

/* --- words --- */

/* Whether a part of the file is what we would write; *memory set when that is not known. */
static bool same(const json_t *part, json_t *ours, bool *memory)
{
    json_t *null = json_null();
    bool equal = ours && json_equal(part ? part : null, ours);
    *memory = *memory || !ours;
    json_decref(ours);
    return equal;
}

static cs_status read_words(const json_t *root, const json_t *model, cs_tokenizer *t)
{
    const json_t *normalizer = json_object_get(root, "normalizer");
    const json_t *pre = json_object_get(root, "pre_tokenizer");
    const json_t *decoder = json_object_get(root, "decoder");
    bool memory = false;
    for (int kind = CS_SPLITTER_WORD; kind <= CS_SPLITTER_CHAR; ++kind) {
        t->splitter = (cs_splitter_kind)kind;
        t->decoder = kind == CS_SPLITTER_CHAR ? CS_DECODE_FUSE : CS_DECODE_BLANKS;
        if (same(normalizer, cs_tokenizer_normalizer_json(t), &memory) &&
            same(pre, cs_tokenizer_pre_tokenizer_json(t), &memory) &&
            same(decoder, cs_tokenizer_decoder_json(t), &memory)) {
            return take_unknown(model, true, t);
        }
        if (memory) {
            return cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
        }
    }
    return cs_fail(CS_ERR_INPUT,
                   "WordLevel with normalizer %s, pre_tokenizer %s and decoder %s is not supported "
                   "(those that cospec writes for word, whitespace and char)",
                   type_of(normalizer), type_of(pre), type_of(decoder));
}

/* --- the whole --- */

/* Old files have no model.type. */
static const char *model_type(const json_t *model)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type) {
        return type;
    }
    return json_object_get(model, "merges")                      ? "BPE"
           : json_object_get(model, "continuing_subword_prefix") ? "WordPiece"
                                                                 : "(no type)";
}

static cs_status read_model(const json_t *root, cs_tokenizer *t)
{
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model)) {
        return cs_fail(CS_ERR_INPUT, "model: wanted an object: this is no tokenizer.json");
    }
    static const struct {
        const char *type;
        cs_token_model model;
        cs_status (*read)(const json_t *root, const json_t *model, cs_tokenizer *t);
    } known[] = {{"WordLevel", CS_TOKENS_WORD, read_words},
                 {"BPE", CS_TOKENS_BPE, read_bpe},
                 {"WordPiece", CS_TOKENS_WORDPIECE, read_wordpiece}};
    const char *type = model_type(model);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (strcmp(type, known[i].type) == 0) {
            t->model = known[i].model;
            cs_status status = read_vocabulary(root, model, t);
            if (status == CS_OK) status = cs_tokenizer_texts(t);
            return status == CS_OK ? known[i].read(root, model, t) : status;
        }
    }
    return unsupported("model.type", type, "BPE, WordPiece, WordLevel");
}

static cs_status check_added(const cs_tokenizer *t)
{
    bool normalises =
        t->normalise || (t->model == CS_TOKENS_WORD && t->splitter == CS_SPLITTER_WORD);
    for (int64_t i = 0; i < t->addeds && normalises; ++i) {
        if (t->added[i].normalized) {
            return cs_fail(CS_ERR_INPUT,
                           "added_tokens: \"%s\": normalized is not supported with a normalizer",
                           cs_tokenizer_token(t, t->added[i].id));
        }
    }
    return CS_OK;
}

static cs_status read_root(const json_t *root, cs_tokenizer *t)
{
    cs_status status;
    if ((status = read_model(root, t)) != CS_OK || (status = check_added(t)) != CS_OK ||
        (status = keep(root, "truncation", &t->truncation)) != CS_OK ||
        (status = keep(root, "padding", &t->padding)) != CS_OK ||
        (status = keep(root, "post_processor", &t->post)) != CS_OK ||
        (status = cs_tokenizer_take_post(t)) != CS_OK) {
        return status;
    }
    return cs_tokenizer_finish(t);
}

cs_status cs_tokenizer_read(const char *path, cs_tokenizer **out)
{
    json_t *root = NULL;
    cs_status status = cs_json_read(path, &root);
    if (status != CS_OK) return status;
    cs_tokenizer *t = cs_tokenizer_new();
    status = t ? read_root(root, t) : CS_ERR_MEMORY;
    json_decref(root);
    if (status != CS_OK) {
        cs_tokenizer_free(&t);
        return cs_blame(status, "%s", path);
    }
    *out = t;
    return CS_OK;
}
