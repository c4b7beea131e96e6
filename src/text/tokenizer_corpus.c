/* The word list of a corpus as a tokenizer: ids stay, special tokens come after them. And back:
 * which tokens stand for the ids of an array. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/tokenizer_private.h"

static cs_status add_words(const cs_corpus *corpus, cs_tokenizer *t)
{
    for (int64_t i = 0; i < corpus->vocab; ++i) {
        char number[24];
        cs_status status = cs_tokenizer_add(t, cs_corpus_word(corpus, (int32_t)i, number), true);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* A special token: the word of that spelling when the corpus has one. */
static cs_status add_special(cs_tokenizer *t, const char *name, int32_t *id)
{
    cs_status status = CS_OK;
    *id = cs_tokenizer_id(t, name);
    if (*id < 0) {
        *id = (int32_t)t->table.words;
        status = cs_tokenizer_add(t, name, true);
    }
    return status == CS_OK ? cs_tokenizer_declare(t, *id) : status;
}

/* Steps that cut a text into the splitter's words:
 *
 * - word: lower case by Lowercase, which maps U+0130 to two characters where the splitter's simple
 *   mapping has one: a Replace before it; then everything that is no letter or mark is removed;
 * - whitespace: WhitespaceSplit; char: every character by itself, line ends too. */
static cs_status set_steps(cs_tokenizer *t, cs_splitter_kind splitter)
{
    static const char split[] = "{s:s, s:{s:s}, s:s, s:b}";
    json_t *pre = NULL;
    cs_status status = CS_OK;
    switch (splitter) {
    case CS_SPLITTER_WORD:
        pre = json_pack(split, "type", "Split", "pattern", "Regex", "[^\\p{L}\\p{M}]+", "behavior",
                        "Removed", "invert", 0);
        status = cs_tokenizer_set_part(t, CS_PART_NORMALIZER,
                                       json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}]}", "type",
                                                 "Sequence", "normalizers", "type", "Replace",
                                                 "pattern", "String", "\xC4\xB0", "content", "i",
                                                 "type", "Lowercase"));
        break;
    case CS_SPLITTER_WHITESPACE:
        pre = json_pack("{s:s}", "type", "WhitespaceSplit");
        break;
    case CS_SPLITTER_CHAR:
        pre = json_pack(split, "type", "Split", "pattern", "Regex", "[\\s\\S]", "behavior",
                        "Isolated", "invert", 0);
        status = cs_tokenizer_set_part(t, CS_PART_DECODER, json_pack("{s:s}", "type", "Fuse"));
        break;
    }
    if (status != CS_OK) {
        json_decref(pre);
        return status;
    }
    return cs_tokenizer_set_part(t, CS_PART_PRE_TOKENIZER, pre);
}

static cs_status fill_vocabulary(const cs_corpus *corpus, cs_splitter_kind splitter,
                                 cs_tokenizer *t)
{
    int32_t before = 0, after = 0, other = 0;
    cs_status status;
    if ((status = add_words(corpus, t)) != CS_OK ||
        (status = add_special(t, "<unk>", &t->unknown)) != CS_OK ||
        (status = add_special(t, "<pad>", &other)) != CS_OK ||
        (status = add_special(t, "<s>", &before)) != CS_OK ||
        (status = add_special(t, "</s>", &after)) != CS_OK ||
        (status = add_special(t, "<mask>", &other)) != CS_OK ||
        (status = cs_tokenizer_texts(t)) != CS_OK || (status = set_steps(t, splitter)) != CS_OK ||
        (status = cs_tokenizer_set_part(
             t, CS_PART_MODEL,
             json_pack("{s:s, s:s}", "type", "WordLevel", "unk_token", "<unk>"))) != CS_OK ||
        (status = cs_tokenizer_surround(t, before, after)) != CS_OK) {
        return status;
    }
    return cs_tokenizer_finish(t, NULL);
}

cs_status cs_tokenizer_of_corpus(const cs_corpus *corpus, cs_splitter_kind splitter,
                                 cs_tokenizer **out)
{
    cs_tokenizer *t = cs_tokenizer_new();
    if (!t) return CS_ERR_MEMORY;
    cs_status status = fill_vocabulary(corpus, corpus->word ? splitter : CS_SPLITTER_WHITESPACE, t);
    return CS_DELIVER(status, out, t, cs_tokenizer_free);
}

cs_status cs_tokenizer_numbers(const cs_tokenizer *t, int32_t **id, int64_t *count)
{
    int64_t numbers = 0;
    *id = NULL;
    *count = 0;
    if (t->model != CS_TOKENS_WORD) {
        return CS_OK;
    }
    int32_t *found = cs_alloc(t->table.words, sizeof *found);
    if (!found) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < t->table.words; ++i) {
        char number[24];
        if (t->special[i]) {
            continue;
        }
        (void)snprintf(number, sizeof number, "%lld", (long long)numbers);
        if (strcmp(cs_tokenizer_token(t, (int32_t)i), number) != 0) {
            cs_free(found);
            return CS_OK;
        }
        found[numbers++] = (int32_t)i;
    }
    *id = found;
    *count = numbers;
    return CS_OK;
}
