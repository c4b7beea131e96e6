/* The object: vocabulary, roles, decoding. Encoding is encoder.c, the file tokenizer_read.c and
 * tokenizer_write.c. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/mem.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"
#include "text/utf8_private.h"

cs_tokenizer *cs_tokenizer_new(void)
{
    cs_tokenizer *t = cs_calloc(1, sizeof *t);
    if (t) {
        t->unknown = -1;
        t->strip_accents = -1;
        t->trim_offsets = true;
        t->use_regex = true;
    }
    return t;
}

void cs_tokenizer_free(cs_tokenizer **held)
{
    cs_tokenizer *t = *held;
    if (!t) {
        return;
    }
    cs_word_table_free(&t->table);
    cs_bpe_free(&t->bpe);
    cs_free(t->text);
    cs_free(t->start);
    cs_free(t->added);
    cs_free(t->special);
    cs_free(t->bytes);
    cs_free(t->byte_start);
    cs_free(t->wordpiece.prefix);
    json_decref(t->post);
    json_decref(t->truncation);
    json_decref(t->padding);
    cs_free(t);
    *held = NULL;
}

/* --- making --- */

cs_status cs_tokenizer_add(cs_tokenizer *t, const char *token, bool in_model)
{
    int32_t id = 0;
    int64_t before = t->table.words;
    cs_status status = cs_word_table_find(&t->table, token, (int64_t)strlen(token), &id);
    if (status != CS_OK) return status;
    if (t->table.words == before) {
        return cs_fail(CS_ERR_INPUT, "token \"%s\" has the ids %d and %lld", token, id,
                       (long long)before);
    }
    t->table.count[id] = in_model;
    return CS_OK;
}

cs_status cs_tokenizer_declare(cs_tokenizer *t, int32_t id)
{
    cs_added_token *added = cs_realloc(t->added, t->addeds + 1, sizeof *added);
    if (!added) return CS_ERR_MEMORY;
    t->added = added;
    int64_t at = t->addeds; /* sorted by id */
    while (at > 0 && added[at - 1].id > id) {
        added[at] = added[at - 1];
        at -= 1;
    }
    added[at] = (cs_added_token){.id = id, .special = true};
    t->addeds += 1;
    return CS_OK;
}

void cs_byte_spelling(uint8_t byte, char out[4])
{
    utf8proc_ssize_t size = utf8proc_encode_char(cs_byte_char(byte), (utf8proc_uint8_t *)out);
    out[size] = '\0';
}

int32_t cs_byte_token(const cs_tokenizer *t, int byte)
{
    char spelling[4];
    cs_byte_spelling((uint8_t)byte, spelling);
    return cs_tokenizer_id(t, spelling);
}

cs_status cs_tokenizer_texts(cs_tokenizer *t)
{
    int64_t vocab = t->table.words, at = 0;
    t->text = cs_alloc(t->table.text_size + vocab, 1);
    t->start = cs_alloc(vocab, sizeof *t->start);
    if (!t->text || !t->start) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < vocab; ++i) {
        int64_t size = t->table.start[i + 1] - t->table.start[i];
        memcpy(t->text + at, t->table.text + t->table.start[i], (size_t)size);
        t->text[at + size] = '\0';
        t->start[i] = at;
        at += size + 1;
    }
    return CS_OK;
}

static cs_status mark_added(cs_tokenizer *t)
{
    t->special = cs_calloc(t->table.words, sizeof *t->special);
    if (!t->special) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < t->addeds; ++i) {
        const cs_added_token *a = &t->added[i];
        t->special[a->id] = a->special;
        t->begins[a->normalized][(uint8_t)t->text[t->start[a->id]]] = 1;
    }
    return CS_OK;
}

/* A token decodes to the bytes that its characters stand for; to itself when one stands for none,
 * as an added token may. */
static cs_status make_bytes(cs_tokenizer *t)
{
    int64_t vocab = t->table.words, to = 0;
    t->bytes = cs_alloc(t->table.text_size, 1);
    t->byte_start = cs_alloc(vocab + 1, sizeof *t->byte_start);
    if (!t->bytes || !t->byte_start) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < vocab; ++i) {
        const uint8_t *at = (const uint8_t *)cs_tokenizer_token(t, (int32_t)i);
        int64_t first = to, size = (int64_t)strlen((const char *)at);
        t->byte_start[i] = to;
        for (const uint8_t *p = at; *p;) {
            int32_t c = 0;
            p += cs_char_at(p, &c);
            int byte = cs_char_byte(c);
            if (byte < 0) {
                memcpy(t->bytes + first, at, (size_t)size);
                to = first + size;
                break;
            }
            t->bytes[to++] = (char)byte;
        }
    }
    t->byte_start[vocab] = to;
    return CS_OK;
}

static void find_roles(cs_tokenizer *t)
{
    static const char *const name[CS_TOKEN_ROLES][4] = {
        [CS_TOKEN_UNK] = {"<unk>", "[UNK]"},
        [CS_TOKEN_PAD] = {"<pad>", "[PAD]"},
        [CS_TOKEN_MASK] = {"<mask>", "[MASK]"},
        [CS_TOKEN_BOS] = {"<s>", "[CLS]", "<|endoftext|>"},
        [CS_TOKEN_EOS] = {"</s>", "[SEP]", "<|endoftext|>"},
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

cs_status cs_tokenizer_finish(cs_tokenizer *t)
{
    cs_status status = mark_added(t);
    if (status == CS_OK && t->model == CS_TOKENS_BPE) status = make_bytes(t);
    t->bert.strip_accents = t->strip_accents < 0 ? t->bert.lowercase : t->strip_accents > 0;
    t->wordpiece.unknown = t->unknown;
    if (status == CS_OK) find_roles(t);
    return status;
}

/* --- looking --- */

cs_token_model cs_tokenizer_model(const cs_tokenizer *t)
{
    return t->model;
}

int64_t cs_tokenizer_vocab(const cs_tokenizer *t)
{
    return t->table.words;
}

const char *cs_tokenizer_token(const cs_tokenizer *t, int32_t id)
{
    return t->text + t->start[id];
}

int32_t cs_tokenizer_id(const cs_tokenizer *t, const char *token)
{
    return cs_word_table_get(&t->table, token, (int64_t)strlen(token));
}

int32_t cs_tokenizer_special(const cs_tokenizer *t, cs_token_role role)
{
    return t->role[role];
}

bool cs_tokenizer_is_special(const cs_tokenizer *t, int32_t id)
{
    return t->special[id] != 0;
}

/* --- decoding --- */

static cs_status check_ids(const cs_tokenizer *t, const int32_t *ids, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        if (ids[i] < 0 || ids[i] >= t->table.words) {
            return cs_fail(CS_ERR_INPUT, "token id %d at index %lld is not in 0..%lld", ids[i],
                           (long long)i, (long long)t->table.words - 1);
        }
    }
    return CS_OK;
}

/* Copies bytes, with U+FFFD for every part that is not UTF-8: at most three bytes for one. */
static int64_t copy_text(const char *bytes, int64_t size, char *out)
{
    static const char replacement[3] = {'\xEF', '\xBF', '\xBD'};
    const uint8_t *at = (const uint8_t *)bytes, *end = at + size;
    int64_t to = 0;
    while (at < end) {
        utf8proc_int32_t c = 0;
        utf8proc_ssize_t length = *at < 0x80 ? 1 : utf8proc_iterate(at, end - at, &c);
        if (length > 0) {
            memcpy(out + to, at, (size_t)length);
            to += length;
            at += length;
        } else {
            memcpy(out + to, replacement, sizeof replacement);
            to += (int64_t)sizeof replacement;
            at += cs_utf8_bad_part(at, end - at);
        }
    }
    return to;
}

static cs_status decode_bytes(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size)
{
    int64_t total = 0, at = 0;
    for (int64_t i = 0; i < count; ++i) {
        total += t->byte_start[ids[i] + 1] - t->byte_start[ids[i]];
    }
    char *bytes = cs_alloc(total, 1), *out = cs_alloc(3 * total + 1, 1);
    if (!bytes || !out) {
        cs_free(bytes);
        cs_free(out);
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t from = t->byte_start[ids[i]], length = t->byte_start[ids[i] + 1] - from;
        if (!skip_special || !t->special[ids[i]]) {
            memcpy(bytes + at, t->bytes + from, (size_t)length);
            at += length;
        }
    }
    *size = copy_text(bytes, at, out);
    out[*size] = '\0';
    cs_free(bytes);
    *text = out;
    return CS_OK;
}

static cs_status decode_words(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size)
{
    int64_t room = 1, at = 0;
    for (int64_t i = 0; i < count; ++i) {
        room += 1 + t->table.start[ids[i] + 1] - t->table.start[ids[i]];
    }
    char *out = cs_alloc(room, 1);
    if (!out) return CS_ERR_MEMORY;
    bool first = true;
    for (int64_t i = 0; i < count; ++i) {
        const char *token = cs_tokenizer_token(t, ids[i]);
        if (skip_special && t->special[ids[i]]) {
            continue;
        }
        if (t->decoder == CS_DECODE_WORDPIECE) {
            at += cs_wordpiece_decode(&t->wordpiece, t->cleanup, first, token, out + at);
        } else {
            int64_t length = t->table.start[ids[i] + 1] - t->table.start[ids[i]];
            if (t->decoder == CS_DECODE_BLANKS && !first) {
                out[at++] = ' ';
            }
            (void)stpcpy(out + at, token);
            at += length;
        }
        first = false;
    }
    out[at] = '\0';
    *text = out;
    *size = at;
    return CS_OK;
}

cs_status cs_tokenizer_decode(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size)
{
    cs_status status = check_ids(t, ids, count);
    if (status != CS_OK) return status;
    return t->decoder == CS_DECODE_BYTES ? decode_bytes(t, ids, count, skip_special, text, size)
                                         : decode_words(t, ids, count, skip_special, text, size);
}
