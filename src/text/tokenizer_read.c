/* tokenizer.json in: vocabulary, added tokens, and the parts that are read elsewhere (steps.c,
 * tokenizer_model.c, tokenizer_post.c). An unknown key is refused everywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "text/tokenizer_private.h"

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
        return cs_fail(CS_ERR_INPUT, "%s: token \"%s\": expected an integer id", field, token);
    }
    if (i < 0 || i >= list->count) {
        return cs_fail(
            CS_ERR_INPUT,
            "%s: id %lld of token \"%s\" is not in 0..%lld: %lld tokens must have consecutive ids",
            field, (long long)i, token, (long long)list->count - 1, (long long)list->count);
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

/* Whether the id is that of an earlier token of the same spelling (mark_earlier). */
static bool is_earlier(const json_t *vocab, const char *token, const json_t *id)
{
    char *marked =
        cs_format("%s%lld:%s", CS_TOKEN_EARLIER, (long long)json_integer_value(id), token);
    const bool is = marked && json_object_get(vocab, marked);
    cs_free(marked);
    return is;
}

/* One of added_tokens; its id may be in the model's vocabulary as well. */
static cs_status take_added(const json_t *item, size_t index, const json_t *vocab, id_list *list,
                            cs_added_token *out)
{
    char field[40];
    (void)snprintf(field, sizeof field, "added_tokens[%zu]", index);
    const char *content = json_string_value(json_object_get(item, "content"));
    const json_t *id = json_object_get(item, "id");
    cs_status status = cs_blame(
        cs_json_known(item, "id, content, single_word, lstrip, rstrip, normalized, special"), "%s",
        field);
    if (status != CS_OK) return status;
    if (!content || !*content) {
        return cs_fail(CS_ERR_INPUT, "%s.content: expected a nonempty string", field);
    }
    if ((status = cs_step_flag(item, field, "single_word", false, &out->single_word)) != CS_OK ||
        (status = cs_step_flag(item, field, "lstrip", false, &out->lstrip)) != CS_OK ||
        (status = cs_step_flag(item, field, "rstrip", false, &out->rstrip)) != CS_OK ||
        (status = cs_step_flag(item, field, "special", false, &out->special)) != CS_OK ||
        (status = cs_step_flag(item, field, "normalized", !out->special, &out->normalized)) !=
            CS_OK) {
        return status;
    }
    const json_t *own = json_object_get(vocab, content);
    if (!own) {
        status = put_id(list, field, content, id, false);
    } else if (!json_equal(own, id) && !is_earlier(vocab, content, id)) {
        status =
            cs_fail(CS_ERR_INPUT, "%s.id: \"%s\" has another id in model.vocab", field, content);
    }
    out->id = (int32_t)json_integer_value(own ? own : id);
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

/* Gives all tokens their ids. */
static cs_status take_vocabulary(json_t *vocab, const json_t *added, cs_tokenizer *t)
{
    id_list list = {.count = (int64_t)json_object_size(vocab)};
    for (size_t i = 0; i < json_array_size(added); ++i) {
        const char *content =
            json_string_value(json_object_get(json_array_get(added, i), "content"));
        list.count += !content || !json_object_get(vocab, content);
    }
    if (list.count == 0 || list.count >= INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "model.vocab: %lld tokens, but 1 to 2^31 - 2 are supported",
                       (long long)list.count);
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
    CS_FREE_FIELDS(&list, token, in_model);
    return status;
}

/* Files converted from SentencePiece may have a token twice: texts get its last id, and each id
 * decodes to it, as in the package. The earlier one is stored with a mark before it that no text
 * has, since it is no UTF-8. */
static cs_status mark_earlier(json_t *vocab, const char *token)
{
    const json_int_t id = json_integer_value(json_object_get(vocab, token));
    char *marked = cs_format("%s%lld:%s", CS_TOKEN_EARLIER, (long long)id, token);
    const bool done = marked && json_object_set_new_nocheck(vocab, marked, json_integer(id)) == 0;
    cs_free(marked);
    return done ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for model.vocab");
}

/* The list of Unigram, [["token", score], ...] by id, as an object of tokens and ids; the scores to
 * t->unigram, with capacity for `more` tokens that have none. */
static cs_status read_scores(const json_t *list, int64_t more, cs_tokenizer *t, json_t **out)
{
    const size_t count = json_array_size(list);
    json_t *vocab = json_object();
    t->unigram.score = cs_calloc((int64_t)count + more, sizeof *t->unigram.score);
    cs_status status = vocab && t->unigram.score ? CS_OK : CS_ERR_MEMORY;
    for (size_t i = 0; i < count && status == CS_OK; ++i) {
        const json_t *item = json_array_get(list, i), *score = json_array_get(item, 1);
        const char *token = json_string_value(json_array_get(item, 0));
        if (!token || !json_is_number(score) || json_array_size(item) != 2) {
            status = cs_fail(CS_ERR_INPUT, "model.vocab[%zu]: expected [\"token\", score]", i);
        } else {
            status = json_object_get(vocab, token) ? mark_earlier(vocab, token) : CS_OK;
            t->unigram.score[i] = json_number_value(score);
            if (status == CS_OK) status = cs_json_set(vocab, token, json_integer((json_int_t)i));
        }
    }
    *out = vocab;
    return status;
}

static cs_status read_vocabulary(const json_t *root, const json_t *model, cs_tokenizer *t)
{
    json_t *given = json_object_get(model, "vocab"), *vocab = NULL;
    const json_t *added = json_object_get(root, "added_tokens");
    const char *type = json_string_value(json_object_get(t->part[CS_PART_MODEL], "type"));
    const bool scored = type && strcmp(type, "Unigram") == 0;
    if (scored ? !json_is_array(given) : !json_is_object(given)) {
        return cs_fail(CS_ERR_INPUT, "model.vocab: expected %s",
                       scored ? "a list of tokens and scores" : "an object of tokens and ids");
    }
    if (added && !json_is_null(added) && !json_is_array(added)) {
        return cs_fail(CS_ERR_INPUT, "added_tokens: expected a list");
    }
    cs_status status =
        scored ? read_scores(given, (int64_t)json_array_size(added), t, &vocab) : CS_OK;
    if (status == CS_OK) status = take_vocabulary(scored ? vocab : given, added, t);
    json_decref(vocab);
    return status == CS_OK ? cs_tokenizer_texts(t) : status;
}

/* --- the whole --- */

/* Old files have no model.type. */
static cs_status name_type(const json_t *given, json_t *model)
{
    if (json_object_get(model, "type")) {
        return CS_OK;
    }
    const char *type = json_is_array(json_object_get(given, "vocab"))        ? "Unigram"
                       : json_object_get(given, "merges")                    ? "BPE"
                       : json_object_get(given, "continuing_subword_prefix") ? "WordPiece"
                                                                             : "WordLevel";
    return cs_json_set(model, "type", json_string(type));
}

/* The parts as they are, and the model without its two large members. */
static cs_status keep_parts(const json_t *root, cs_tokenizer *t)
{
    static const char *const key[CS_PARTS] = {[CS_PART_NORMALIZER] = "normalizer",
                                              [CS_PART_PRE_TOKENIZER] = "pre_tokenizer",
                                              [CS_PART_POST_PROCESSOR] = "post_processor",
                                              [CS_PART_DECODER] = "decoder",
                                              [CS_PART_TRUNCATION] = "truncation",
                                              [CS_PART_PADDING] = "padding",
                                              [CS_PART_MODEL] = "model"};
    cs_status status = CS_OK;
    for (int i = 0; i < CS_PARTS && status == CS_OK; ++i) {
        json_t *part = json_object_get(root, key[i]);
        if (part && !json_is_null(part)) {
            status = !json_is_object(part)
                         ? cs_fail(CS_ERR_INPUT, "%s: expected an object or null", key[i])
                         : cs_tokenizer_set_part(t, (cs_token_part)i,
                                                 i == CS_PART_MODEL ? json_copy(part)
                                                                    : json_deep_copy(part));
        }
    }
    if (status == CS_OK && t->part[CS_PART_MODEL]) {
        status = name_type(json_object_get(root, "model"), t->part[CS_PART_MODEL]);
        (void)json_object_del(t->part[CS_PART_MODEL], "vocab"); /* fails where there is none */
        (void)json_object_del(t->part[CS_PART_MODEL], "merges");
    }
    return status == CS_OK ? cs_json_check() : status; /* a copy may lack members */
}

static cs_status read_root(const json_t *root, cs_tokenizer *t)
{
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model)) {
        return cs_fail(CS_ERR_INPUT, "model: expected an object; this is not a tokenizer.json");
    }
    cs_status status =
        cs_json_known(root, "version, truncation, padding, added_tokens, normalizer, "
                            "pre_tokenizer, post_processor, decoder, model");
    const json_t *version = json_object_get(root, "version");
    const char *named = json_string_value(version);
    if (status == CS_OK && version && (!named || strcmp(named, "1.0") != 0))
        status = cs_fail(CS_ERR_INPUT, "version: only \"1.0\" is supported%s%s",
                         named ? ", not " : "", named ? named : "");
    if (status == CS_OK) status = keep_parts(root, t);
    if (status == CS_OK) status = read_vocabulary(root, model, t);
    return status == CS_OK ? cs_tokenizer_finish(t, model) : status;
}

static cs_status read_path(const char *path, bool for_model, cs_tokenizer **out)
{
    json_auto_t *root = NULL, *config = NULL;
    CS_AUTO_FREE char *file =
        cs_path_is_dir(path) ? cs_path_join(path, "tokenizer.json") : cs_strdup(path);
    const bool folder = cs_path_is_dir(path);
    const char *lacks = NULL;
    cs_tokenizer *t = NULL;
    cs_status status = file ? cs_json_read(file, &root) : CS_ERR_MEMORY;
    if (status == CS_OK && folder && json_is_object(root))
        status = cs_tokenizer_take_folder(path, for_model, root, &config, &lacks);
    if (status == CS_OK) {
        t = cs_tokenizer_new();
        status = t ? cs_blame(read_root(root, t), "%s", file) : CS_ERR_MEMORY;
    }
    if (status == CS_OK && config) cs_tokenizer_take_roles(t, config);
    if (status == CS_OK) t->lacks = lacks;
    if (status != CS_OK) {
        cs_tokenizer_free(&t);
        return status;
    }
    *out = t;
    return CS_OK;
}

cs_status cs_tokenizer_read(const char *path, cs_tokenizer **out)
{
    return read_path(path, false, out);
}

cs_status cs_tokenizer_read_for_model(const char *dir, cs_tokenizer **out)
{
    return read_path(dir, true, out);
}

/* tokenizer.json out: the form of the `tokenizers` package (0.23). Parts are written as they were
 * read; merges as "a b", which all versions read, where no token has a blank. */
static json_t *added_json(const cs_tokenizer *t)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < t->addeds; ++i) {
        const cs_added_token *a = &t->added[i];
        (void)json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                                    a->id, "content", cs_tokenizer_token(t, a->id),
                                                    "single_word", a->single_word, "lstrip",
                                                    a->lstrip, "rstrip", a->rstrip, "normalized",
                                                    a->normalized, "special", a->special));
    }
    return list;
}

/* --- the model --- */

static json_t *vocab_json(const cs_tokenizer *t)
{
    json_t *vocab = json_object();
    for (int64_t i = 0; vocab && i < t->table.words; ++i) {
        if (t->table.count[i] > 0) {
            const char *token = cs_tokenizer_token(t, (int32_t)i);
            (void)json_object_set_new(vocab, token, json_integer(i));
        }
    }
    return vocab;
}

/* By id, with their scores. */
static json_t *scores_json(const cs_tokenizer *t)
{
    json_t *vocab = json_array();
    for (int64_t i = 0; vocab && i < t->table.words; ++i) {
        if (t->table.count[i] > 0) {
            (void)json_array_append_new(
                vocab, json_pack("[s, f]", cs_tokenizer_token(t, (int32_t)i), t->unigram.score[i]));
        }
    }
    return vocab;
}

static json_t *merges_json(const cs_tokenizer *t)
{
    json_t *merges = json_array();
    bool blanks = false;
    for (int64_t i = 0; i < t->bpe.merges && !blanks; ++i) {
        blanks = strchr(cs_tokenizer_token(t, t->bpe.merge[i].left), ' ') ||
                 strchr(cs_tokenizer_token(t, t->bpe.merge[i].right), ' ');
    }
    for (int64_t i = 0; merges && i < t->bpe.merges; ++i) {
        const char *left = cs_tokenizer_token(t, t->bpe.merge[i].left);
        const char *right = cs_tokenizer_token(t, t->bpe.merge[i].right);
        (void)json_array_append_new(merges, blanks ? json_pack("[s, s]", left, right)
                                                   : json_sprintf("%s %s", left, right));
    }
    return merges;
}

static json_t *kept(const json_t *part)
{
    return part ? json_deep_copy(part) : json_null();
}

static json_t *model_json(const cs_tokenizer *t)
{
    json_t *model = json_deep_copy(t->part[CS_PART_MODEL]);
    cs_status status = model ? CS_OK : CS_ERR_MEMORY;
    cs_json_put(&status, model, "vocab",
                t->model == CS_TOKENS_UNIGRAM ? scores_json(t) : vocab_json(t));
    if (t->model == CS_TOKENS_BPE) {
        cs_json_put(&status, model, "merges", merges_json(t));
    }
    if (status != CS_OK) {
        json_decref(model);
        return NULL;
    }
    return model;
}

cs_status cs_tokenizer_write(const cs_tokenizer *t, const char *path)
{
    json_auto_t *json = json_object();
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "%s: out of memory for JSON", path);
    cs_json_put(&status, json, "version", json_string("1.0"));
    cs_json_put(&status, json, "truncation", kept(t->part[CS_PART_TRUNCATION]));
    cs_json_put(&status, json, "padding", kept(t->part[CS_PART_PADDING]));
    cs_json_put(&status, json, "added_tokens", added_json(t));
    cs_json_put(&status, json, "normalizer", kept(t->part[CS_PART_NORMALIZER]));
    cs_json_put(&status, json, "pre_tokenizer", kept(t->part[CS_PART_PRE_TOKENIZER]));
    cs_json_put(&status, json, "post_processor", kept(t->part[CS_PART_POST_PROCESSOR]));
    cs_json_put(&status, json, "decoder", kept(t->part[CS_PART_DECODER]));
    cs_json_put(&status, json, "model", model_json(t));
    if (status == CS_OK) status = cs_json_write(path, json); /* and says what lacks memory */
    return status;
}

cs_status cs_tokenizer_write_config(const cs_tokenizer *t, int64_t length, const char *path)
{
    static const char *const role[CS_TOKEN_ROLES] = {[CS_TOKEN_UNK] = "unk_token",
                                                     [CS_TOKEN_PAD] = "pad_token",
                                                     [CS_TOKEN_MASK] = "mask_token",
                                                     [CS_TOKEN_BOS] = "bos_token",
                                                     [CS_TOKEN_EOS] = "eos_token"};
    json_auto_t *json = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                                  "clean_up_tokenization_spaces", 0);
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "%s: out of memory for JSON", path);
    if (status == CS_OK && length > 0)
        status = cs_json_set(json, "model_max_length", json_integer(length));
    for (int r = 0; r < CS_TOKEN_ROLES && status == CS_OK; ++r) {
        int32_t id = cs_tokenizer_special(t, (cs_token_role)r);
        if (id >= 0 && (cs_tokenizer_is_special(t, id) || t->given[r])) {
            status = cs_json_set(json, role[r], json_string(cs_tokenizer_token(t, id)));
        }
    }
    return status == CS_OK ? cs_json_write(path, json) : status;
}
