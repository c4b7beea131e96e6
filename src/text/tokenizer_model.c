/* The models of tokenizer.json and their options: byte pair encoding, WordPiece, Unigram, word
 * lists. Anything else is refused by its name, since a tokenizer read half-way would give other ids
 * without a word.
 *
 * Limits: no dropout, no merge given twice, no prefix or suffix together with byte_fallback. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/json.h"
#include "text/tokenizer_private.h"

static cs_status take_flag(const json_t *model, const char *key, bool *out)
{
    return cs_step_flag(model, "model", key, false, out);
}

/* A text that is given, and not empty, else NULL. */
static cs_status take_text(const json_t *model, const char *key, char **out)
{
    const json_t *v = json_object_get(model, key);
    const char *text = json_string_value(v);
    if (v && !json_is_null(v) && !text) {
        return cs_fail(CS_ERR_INPUT, "model.%s: expected a string", key);
    }
    *out = text && *text ? cs_strdup(text) : NULL;
    return text && *text && !*out ? CS_ERR_MEMORY : CS_OK;
}

static cs_status take_unknown(const json_t *model, bool needed, cs_tokenizer *t)
{
    const json_t *v = json_object_get(model, "unk_token");
    const char *unknown = json_string_value(v);
    if (!unknown && (needed || (v && !json_is_null(v)))) {
        return cs_fail(CS_ERR_INPUT, "model.unk_token: expected a token");
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

/* "a b" or ["a", "b"]; the prefix of a token within a word is not in what two make. */
static cs_status take_merge(const cs_tokenizer *t, const json_t *item, size_t index,
                            cs_bpe_merge *out)
{
    const char *left = json_string_value(json_array_get(item, 0));
    const char *right = json_string_value(json_array_get(item, 1)), *text = json_string_value(item);
    const size_t lead = t->bpe_start.prefix ? strlen(t->bpe_start.prefix) : 0;
    size_t left_size = left ? strlen(left) : 0;
    if (text) {
        const char *blank = strchr(text, ' ');
        left = blank && !strchr(blank + 1, ' ') ? text : NULL;
        left_size = left ? (size_t)(blank - text) : 0;
        right = left ? blank + 1 : NULL;
    }
    if (!left || !right || json_array_size(item) > 2 || strlen(right) < lead) {
        return cs_fail(CS_ERR_INPUT,
                       "model.merges[%zu]: expected two tokens, \"a b\" or [\"a\", \"b\"]", index);
    }
    cs_status status = id_of(t, index, left, left_size, &out->left);
    if (status == CS_OK) status = id_of(t, index, right, strlen(right), &out->right);
    if (status != CS_OK) return status;
    CS_AUTO_FREE char *product = cs_format("%.*s%s", (int)left_size, left, right + lead);
    return product ? id_of(t, index, product, strlen(product), &out->token) : CS_ERR_MEMORY;
}

/* Published vocabularies leave out bytes that UTF-8 never uses, and more: -1 refuses the texts that
 * need such a byte. */
static void take_bytes(const cs_tokenizer *t, int32_t byte_token[256])
{
    for (int b = 0; b < 256; ++b) {
        const int32_t token = t->spelled ? cs_byte_token(t, b) : -1;
        byte_token[b] = token < 0 ? t->unknown : token;
    }
}

static cs_status read_merges(const json_t *list, cs_tokenizer *t)
{
    int64_t merges = (int64_t)json_array_size(list), twice = -1;
    int32_t byte_token[256];
    if (!json_is_array(list) || merges >= INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "model.merges: expected a list");
    }
    CS_AUTO_FREE cs_bpe_merge *merge = cs_alloc(merges, sizeof *merge);
    cs_status status = merge ? CS_OK : CS_ERR_MEMORY;
    take_bytes(t, byte_token);
    for (int64_t i = 0; i < merges && status == CS_OK; ++i) {
        status = take_merge(t, json_array_get(list, (size_t)i), (size_t)i, &merge[i]);
    }
    if (status == CS_OK) status = cs_bpe_init(&t->bpe, byte_token, merge, merges, &twice);
    if (status == CS_OK && twice >= 0)
        status = cs_fail(CS_ERR_INPUT, "model.merges[%lld]: \"%s\" and \"%s\" are merged twice",
                         (long long)twice, cs_tokenizer_token(t, merge[twice].left),
                         cs_tokenizer_token(t, merge[twice].right));
    return status;
}

/* Where ByteLevel comes last and each byte is a token by itself, the model takes the bytes as they
 * are: spelling them first would give the same tokens. */
static void read_bytes_as_they_are(cs_tokenizer *t)
{
    cs_steps *pre = &t->pre_tokenizer;
    cs_text_step *last = pre->steps > 0 ? &pre->step[pre->steps - 1] : NULL;
    const cs_bpe_start *b = &t->bpe_start;
    t->spelled = last && strcmp(last->kind->type, "ByteLevel") == 0 && !b->prefix && !b->suffix &&
                 !b->byte_fallback && !b->fuse_unknown;
    if (t->spelled) {
        last->spelled = true;
    }
}

static cs_status take_bpe(const json_t *model, const json_t *given, cs_tokenizer *t)
{
    cs_bpe_start *b = &t->bpe_start;
    const json_t *dropout = json_object_get(model, "dropout");
    cs_status status;
    if (dropout && !json_is_null(dropout) &&
        !(json_is_number(dropout) && json_number_value(dropout) == 0.0)) {
        return cs_fail(CS_ERR_INPUT, "model.dropout: only null or 0 is supported");
    }
    if ((status = take_text(model, "continuing_subword_prefix", &b->prefix)) != CS_OK ||
        (status = take_text(model, "end_of_word_suffix", &b->suffix)) != CS_OK ||
        (status = take_flag(model, "fuse_unk", &b->fuse_unknown)) != CS_OK ||
        (status = take_flag(model, "byte_fallback", &b->byte_fallback)) != CS_OK ||
        (status = take_flag(model, "ignore_merges", &t->ignore_merges)) != CS_OK ||
        (status = take_unknown(model, false, t)) != CS_OK) {
        return status;
    }
    if (b->byte_fallback && (b->prefix || b->suffix)) {
        return cs_fail(CS_ERR_INPUT, "model.byte_fallback: not supported together with %s",
                       b->prefix ? "continuing_subword_prefix" : "end_of_word_suffix");
    }
    b->unknown = t->unknown;
    read_bytes_as_they_are(t);
    if (!t->spelled) {
        status = cs_bpe_start_init(b, &t->table);
    }
    if (status == CS_OK && given) status = read_merges(json_object_get(given, "merges"), t);
    if (status == CS_OK && !t->spelled && !t->ignore_merges && !b->prefix && !b->suffix)
        status = cs_bpe_start_part(b, &t->bpe, &t->table);
    return status;
}

/* --- the others --- */

static cs_status take_wordpiece(const json_t *model, const json_t *given, cs_tokenizer *t)
{
    const json_t *longest = json_object_get(model, "max_input_chars_per_word");
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    (void)given;
    t->wordpiece.max_chars = longest ? json_integer_value(longest) : 100;
    if (t->wordpiece.max_chars < 1 || t->wordpiece.max_chars > 1 << 20) {
        return cs_fail(CS_ERR_INPUT, "model.max_input_chars_per_word: expected 1..%d", 1 << 20);
    }
    if (prefix && !json_is_string(prefix)) {
        return cs_fail(CS_ERR_INPUT, "model.continuing_subword_prefix: expected a string");
    }
    t->wordpiece.prefix = cs_strdup(prefix ? json_string_value(prefix) : "##");
    if (!t->wordpiece.prefix) return CS_ERR_MEMORY;
    cs_status status = take_unknown(model, true, t);
    t->wordpiece.unknown = t->unknown;
    return status;
}

/* The scores have been read with the vocabulary. */
static cs_status take_unigram(const json_t *model, const json_t *given, cs_tokenizer *t)
{
    const json_t *unknown = json_object_get(model, "unk_id");
    const json_int_t id = json_integer_value(unknown);
    (void)given;
    if (!json_is_integer(unknown) || id < 0 || id >= t->table.words || t->table.count[id] == 0) {
        return cs_fail(CS_ERR_INPUT, "model.unk_id: expected the id of a token of model.vocab, for "
                                     "characters that no token begins with");
    }
    t->unknown = t->unigram.unknown = (int32_t)id;
    cs_status status = take_flag(model, "byte_fallback", &t->unigram.byte_fallback);
    return status == CS_OK ? cs_unigram_init(&t->unigram, &t->table) : status;
}

static cs_status take_words(const json_t *model, const json_t *given, cs_tokenizer *t)
{
    (void)given;
    return take_unknown(model, true, t);
}

/* --- which --- */

static cs_status take_model(cs_tokenizer *t, const json_t *given)
{
    static const struct {
        const char *type, *keys;
        cs_token_model model;
        cs_status (*take)(const json_t *model, const json_t *given, cs_tokenizer *t);
    } known[] = {
        {"WordLevel", "type, unk_token", CS_TOKENS_WORD, take_words},
        {"BPE",
         "type, dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, "
         "byte_fallback, ignore_merges",
         CS_TOKENS_BPE, take_bpe},
        {"WordPiece", "type, unk_token, continuing_subword_prefix, max_input_chars_per_word",
         CS_TOKENS_WORDPIECE, take_wordpiece},
        {"Unigram", "type, unk_id, byte_fallback", CS_TOKENS_UNIGRAM, take_unigram},
    };
    const json_t *model = t->part[CS_PART_MODEL];
    const char *type = json_string_value(json_object_get(model, "type"));
    type = type ? type : "(no type)";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (strcmp(type, known[i].type) == 0) {
            t->model = known[i].model;
            cs_status status = cs_blame(cs_json_known(model, known[i].keys), "model");
            return status == CS_OK ? known[i].take(model, given, t) : status;
        }
    }
    return cs_fail(CS_ERR_INPUT,
                   "model.type: \"%s\" is not supported (BPE, Unigram, WordPiece, WordLevel)",
                   type);
}

/* --- completing a tokenizer -------------------------------------------------------------------- */

/* The text that an added token is looked for by: that of `normalized` ones goes through the
 * normaliser, as the text does that it is looked for in. Of equal ones the first is found. */
static cs_status find_by(cs_tokenizer *t, int32_t index, cs_pieces *p)
{
    const cs_added_token *a = &t->added[index];
    const char *token = t->text + t->start[a->id];
    int32_t there = 0;
    cs_status status = cs_pieces_start(p, token, (int64_t)strlen(token), true);
    if (status == CS_OK && a->normalized) status = cs_steps_run(&t->normalizer, p);
    if (status == CS_OK && p->size == 0) {
        status = cs_fail(CS_ERR_INPUT,
                         "added_tokens: \"%s\": the normalizer removes the whole token", token);
    }
    if (status == CS_OK)
        status = cs_trie_put(&t->find[a->normalized], p->text, p->size, index, &there);
    if (status == CS_OK) t->begins[a->normalized][(uint8_t)p->text[0]] = 1;
    return status;
}

/* Special tokens come before others, as in the `tokenizers` package. */
static cs_status mark_added(cs_tokenizer *t)
{
    CS_AUTO(cs_pieces) p = {0};
    t->special = cs_calloc(t->table.words, sizeof *t->special);
    cs_status status = t->special ? CS_OK : CS_ERR_MEMORY;
    for (int special = 1; special >= 0; --special) {
        for (int64_t i = 0; i < t->addeds && status == CS_OK; ++i) {
            if (t->added[i].special == special) {
                t->special[t->added[i].id] = (uint8_t)special;
                status = find_by(t, (int32_t)i, &p);
            }
        }
    }
    return status;
}

static void find_roles(cs_tokenizer *t)
{
    static const char *const name[CS_TOKEN_ROLES][6] = {
        [CS_TOKEN_UNK] = {"<unk>", "[UNK]"},
        [CS_TOKEN_PAD] = {"<pad>", "[PAD]", "<|pad|>"},
        [CS_TOKEN_MASK] = {"<mask>", "[MASK]", "<|mask|>"},
        [CS_TOKEN_BOS] = {"<s>", "[CLS]", "<bos>", "<|begin_of_text|>", "<|endoftext|>"},
        [CS_TOKEN_EOS] = {"</s>", "[SEP]", "<eos>", "<|end_of_text|>", "<|endoftext|>"},
    };
    for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
        t->role[r] = -1;
        for (int i = 0; name[r][i] && t->role[r] < 0; ++i) {
            t->role[r] = cs_tokenizer_id(t, name[r][i]);
        }
    }
    if (t->unknown >= 0) {
        t->role[CS_TOKEN_UNK] = t->unknown;
    }
}

cs_status cs_tokenizer_finish(cs_tokenizer *t, const json_t *model)
{
    static const struct {
        cs_token_part part;
        const cs_stage *stage;
    } stages[] = {{CS_PART_NORMALIZER, &cs_stage_normalizer},
                  {CS_PART_PRE_TOKENIZER, &cs_stage_pre_tokenizer},
                  {CS_PART_DECODER, &cs_stage_decoder}};
    cs_steps *const steps[] = {&t->normalizer, &t->pre_tokenizer, &t->decoder};
    cs_status status = CS_OK;
    for (int i = 0; i < 3 && status == CS_OK; ++i) {
        status = cs_steps_read(t->part[stages[i].part], stages[i].stage, steps[i]);
    }
    if (status == CS_OK) status = take_model(t, model);
    if (status == CS_OK) status = mark_added(t);
    if (status == CS_OK) status = cs_tokenizer_take_post(t);
    if (status == CS_OK) find_roles(t);
    return status;
}
