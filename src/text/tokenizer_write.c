/* tokenizer.json out: the form of the `tokenizers` package (0.23; merges as "a b", which all its
 * versions read). The splitters become parts that cut the same pieces there:
 *
 * - word: lower case by Lowercase, which maps U+0130 to two characters where the splitter's simple
 *   mapping has one: a Replace before it; then everything that is no letter or mark is removed;
 * - whitespace: WhitespaceSplit; char: every character by itself, line ends too. */
#include <string.h>

#include "io/json.h"
#include "text/tokenizer_json_private.h"

/* --- parts --- */

json_t *cs_tokenizer_normalizer_json(const cs_tokenizer *t)
{
    if (t->model == CS_TOKENS_WORD && t->splitter == CS_SPLITTER_WORD) {
        return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}]}", "type", "Sequence", "normalizers",
                         "type", "Replace", "pattern", "String", "\xC4\xB0", "content", "i", "type",
                         "Lowercase");
    }
    if (t->model == CS_TOKENS_WORDPIECE && t->normalise) {
        json_t *strip = t->strip_accents < 0 ? json_null() : json_boolean(t->strip_accents);
        return json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text",
                         t->bert.clean_text, "handle_chinese_chars", t->bert.chinese,
                         "strip_accents", strip, "lowercase", t->bert.lowercase);
    }
    return json_null();
}

static json_t *split_json(const char *pattern, const char *behavior)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                     "behavior", behavior, "invert", 0);
}

static json_t *byte_level_json(bool add_prefix_space, bool trim_offsets, bool use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                     add_prefix_space, "trim_offsets", trim_offsets, "use_regex", use_regex);
}

json_t *cs_tokenizer_pre_tokenizer_json(const cs_tokenizer *t)
{
    switch (t->model) {
    case CS_TOKENS_BPE:
        return byte_level_json(t->add_prefix_space, t->trim_offsets, t->use_regex);
    case CS_TOKENS_WORDPIECE:
        return json_pack("{s:s}", "type", "BertPreTokenizer");
    default:
        break;
    }
    switch (t->splitter) {
    case CS_SPLITTER_WORD:
        return split_json("[^\\p{L}\\p{M}]+", "Removed");
    case CS_SPLITTER_WHITESPACE:
        return json_pack("{s:s}", "type", "WhitespaceSplit");
    default:
        return split_json("[\\s\\S]", "Isolated");
    }
}

json_t *cs_tokenizer_decoder_json(const cs_tokenizer *t)
{
    switch (t->decoder) {
    case CS_DECODE_BYTES:
        return byte_level_json(true, true,
                               true); /* the package ignores these three when decoding */
    case CS_DECODE_FUSE:
        return json_pack("{s:s}", "type", "Fuse");
    case CS_DECODE_WORDPIECE:
        return json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", t->wordpiece.prefix,
                         "cleanup", t->cleanup);
    default:
        return json_null();
    }
}

static json_t *added_json(const cs_tokenizer *t)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < t->addeds; ++i) {
        const cs_added_token *a = &t->added[i];
        (void)json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                                    a->id, "content", cs_tokenizer_token(t, a->id),
                                                    "single_word", 0, "lstrip", a->lstrip, "rstrip",
                                                    a->rstrip, "normalized", a->normalized,
                                                    "special", a->special));
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

static json_t *merges_json(const cs_tokenizer *t)
{
    json_t *merges = json_array();
    for (int64_t i = 0; merges && i < t->bpe.merges; ++i) {
        const cs_bpe_merge *m = &t->bpe.merge[i];
        (void)json_array_append_new(merges, json_sprintf("%s %s", cs_tokenizer_token(t, m->left),
                                                         cs_tokenizer_token(t, m->right)));
    }
    return merges;
}

/* json_pack takes over "o" values and gives NULL when one is NULL. */
static json_t *model_json(const cs_tokenizer *t)
{
    const char *unknown = t->unknown < 0 ? NULL : cs_tokenizer_token(t, t->unknown);
    switch (t->model) {
    case CS_TOKENS_BPE:
        return json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE",
                         "dropout", "unk_token", unknown, "continuing_subword_prefix",
                         "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges",
                         0, "vocab", vocab_json(t), "merges", merges_json(t));
    case CS_TOKENS_WORDPIECE:
        return json_pack("{s:s, s:s?, s:s, s:I, s:o}", "type", "WordPiece", "unk_token", unknown,
                         "continuing_subword_prefix", t->wordpiece.prefix,
                         "max_input_chars_per_word", (json_int_t)t->wordpiece.max_chars, "vocab",
                         vocab_json(t));
    default:
        return json_pack("{s:s, s:o, s:s?}", "type", "WordLevel", "vocab", vocab_json(t),
                         "unk_token", unknown);
    }
}

static json_t *kept(const json_t *part)
{
    return part ? json_deep_copy(part) : json_null();
}

cs_status cs_tokenizer_write(const cs_tokenizer *t, const char *path)
{
    json_t *json = json_object();
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "%s: out of memory for JSON", path);
    cs_json_put(&status, json, "version", json_string("1.0"));
    cs_json_put(&status, json, "truncation", kept(t->truncation));
    cs_json_put(&status, json, "padding", kept(t->padding));
    cs_json_put(&status, json, "added_tokens", added_json(t));
    cs_json_put(&status, json, "normalizer", cs_tokenizer_normalizer_json(t));
    cs_json_put(&status, json, "pre_tokenizer", cs_tokenizer_pre_tokenizer_json(t));
    cs_json_put(&status, json, "post_processor", kept(t->post));
    cs_json_put(&status, json, "decoder", cs_tokenizer_decoder_json(t));
    cs_json_put(&status, json, "model", model_json(t));
    if (status == CS_OK) status = cs_json_write(path, json); /* and says what lacks memory */
    json_decref(json);
    return status;
}

cs_status cs_tokenizer_write_config(const cs_tokenizer *t, int64_t length, const char *path)
{
    static const char *const role[CS_TOKEN_ROLES] = {[CS_TOKEN_UNK] = "unk_token",
                                                     [CS_TOKEN_PAD] = "pad_token",
                                                     [CS_TOKEN_MASK] = "mask_token",
                                                     [CS_TOKEN_BOS] = "bos_token",
                                                     [CS_TOKEN_EOS] = "eos_token"};
    json_t *json = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                             "clean_up_tokenization_spaces", 0);
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "%s: out of memory for JSON", path);
    if (status == CS_OK && length > 0)
        status = cs_json_set(json, "model_max_length", json_integer(length));
    for (int r = 0; r < CS_TOKEN_ROLES && status == CS_OK; ++r) {
        int32_t id = cs_tokenizer_special(t, (cs_token_role)r);
        if (id >= 0 && cs_tokenizer_is_special(t, id)) {
            status = cs_json_set(json, role[r], json_string(cs_tokenizer_token(t, id)));
        }
    }
    if (status == CS_OK) status = cs_json_write(path, json);
    json_decref(json);
    return status;
}
