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

static cs_status fill(const cs_corpus *corpus, cs_tokenizer *t)
{
    int32_t before = 0, after = 0, other = 0;
    cs_status status;
    if ((status = add_words(corpus, t)) != CS_OK ||
        (status = add_special(t, "<unk>", &t->unknown)) != CS_OK ||
        (status = add_special(t, "<pad>", &other)) != CS_OK ||
        (status = add_special(t, "<s>", &before)) != CS_OK ||
        (status = add_special(t, "</s>", &after)) != CS_OK ||
        (status = add_special(t, "<mask>", &other)) != CS_OK ||
        (status = cs_tokenizer_texts(t)) != CS_OK ||
        (status = cs_tokenizer_surround(t, before, after)) != CS_OK) {
        return status;
    }
    return cs_tokenizer_finish(t);
}

cs_status cs_tokenizer_of_corpus(const cs_corpus *corpus, cs_splitter_kind splitter,
                                 cs_tokenizer **out)
{
    cs_tokenizer *t = cs_tokenizer_new();
    if (!t) return CS_ERR_MEMORY;
    t->model = CS_TOKENS_WORD;
    t->splitter = corpus->word ? splitter : CS_SPLITTER_WHITESPACE;
    t->decoder = t->splitter == CS_SPLITTER_CHAR ? CS_DECODE_FUSE : CS_DECODE_BLANKS;
    cs_status status = fill(corpus, t);
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
