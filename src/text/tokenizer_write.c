/* tokenizer.json out: the form of the `tokenizers` package (0.23). Parts are written as they were
 * read; merges as "a b", which all versions read, where no token has a blank. */
#include <string.h>

#include "io/json.h"
#include "text/tokenizer_private.h"

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
