/* The object: vocabulary, roles, decoding. Encoding is encoder.c, the file tokenizer_read.c. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"

cs_tokenizer *cs_tokenizer_new(void)
{
    cs_tokenizer *t = cs_calloc(1, sizeof *t);
    if (t) {
        t->unknown = -1;
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
    cs_bpe_start_free(&t->bpe_start);
    cs_unigram_free(&t->unigram);
    cs_steps_free(&t->normalizer);
    cs_steps_free(&t->pre_tokenizer);
    cs_steps_free(&t->decoder);
    cs_trie_free(&t->find[0]);
    cs_trie_free(&t->find[1]);
    CS_FREE_FIELDS(t, text, start, added, special);
    cs_free(t->wordpiece.prefix);
    for (int i = 0; i < CS_PARTS; ++i) {
        json_decref(t->part[i]);
    }
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
        return cs_fail(CS_ERR_INPUT, "token \"%s\" has two ids, %d and %lld", token, id,
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
        const char *from = t->table.text + t->table.start[i];
        int64_t size = t->table.start[i + 1] - t->table.start[i];
        if (size > 0 && from[0] == CS_TOKEN_EARLIER[0]) { /* ID: before it */
            const char *after = (const char *)memchr(from, ':', (size_t)size) + 1;
            size -= after - from;
            from = after;
        }
        memcpy(t->text + at, from, (size_t)size);
        t->text[at + size] = '\0';
        t->start[i] = at;
        at += size + 1;
    }
    return CS_OK;
}

cs_status cs_tokenizer_set_part(cs_tokenizer *t, cs_token_part part, json_t *json)
{
    if (!json) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for a part of a tokenizer");
    }
    json_decref(t->part[part]);
    t->part[part] = json;
    return CS_OK;
}

/* --- looking --- */

bool cs_tokenizer_is_byte_level(const cs_tokenizer *t)
{
    return t->model == CS_TOKENS_BPE && t->spelled && t->normalizer.steps == 0 &&
           t->decoder.steps == 1 && strcmp(t->decoder.step[0].kind->type, "ByteLevel") == 0;
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

/* "; its special tokens are A, B, ...", for a message. */
static void list_special(const cs_tokenizer *t, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (int64_t i = 0; i < t->addeds && used < size / 2; ++i) {
        if (t->added[i].special)
            used += (size_t)snprintf(to + used, size - used, "%s%.40s",
                                     used ? ", " : "; its special tokens are ",
                                     cs_tokenizer_token(t, t->added[i].id));
    }
}

cs_status cs_tokenizer_give_roles(cs_tokenizer *t, const char *const token[CS_TOKEN_ROLES])
{
    static const char *const name[CS_TOKEN_ROLES] = {"unk", "pad", "mask", "bos", "eos"};
    for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
        const int32_t id = token[r] ? cs_tokenizer_id(t, token[r]) : -1;
        char special[256];
        if (!token[r]) continue;
        if (id < 0) {
            list_special(t, special, sizeof special);
            return cs_fail(CS_ERR_USAGE, "%s token: the tokenizer has no token '%s'%s", name[r],
                           token[r], special);
        }
        if (r == CS_TOKEN_UNK && t->unknown >= 0 && id != t->unknown) {
            return cs_fail(CS_ERR_USAGE, "unk token: the tokenizer's own is '%s', not '%s'",
                           cs_tokenizer_token(t, t->unknown), token[r]);
        }
        t->role[r] = id;
        t->given[r] = true;
    }
    return CS_OK;
}

const char *cs_tokenizer_lacks(const cs_tokenizer *t)
{
    return t->lacks;
}

bool cs_tokenizer_role_given(const cs_tokenizer *t, cs_token_role role)
{
    return t->given[role];
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

/* The tokens as pieces. */
static cs_status put_tokens(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                            bool skip_special, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const char *token = cs_tokenizer_token(t, ids[i]);
        const int64_t from = p->fresh;
        if (skip_special && t->special[ids[i]]) {
            continue;
        }
        if (!t->part[CS_PART_DECODER] && p->cuts > 0) { /* without one: blanks between tokens */
            status = cs_pieces_put(p, " ", 1);
        }
        if (status == CS_OK) status = cs_pieces_put(p, token, (int64_t)strlen(token));
        if (status == CS_OK) status = cs_pieces_cut(p, from, p->fresh);
    }
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

cs_status cs_tokenizer_decode(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size)
{
    CS_AUTO(cs_pieces) p = {0};
    cs_status status = check_ids(t, ids, count);
    if (status == CS_OK) status = put_tokens(t, ids, count, skip_special, &p);
    if (status == CS_OK) status = cs_steps_run(&t->decoder, &p);
    char *out = status == CS_OK ? cs_alloc(p.size + 1, 1) : NULL;
    if (status == CS_OK && !out) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        memcpy(out, p.text, (size_t)p.size); /* tokens are contiguous after every step */
        out[p.size] = '\0';
        *text = out;
        *size = p.size;
    }
    return status;
}
