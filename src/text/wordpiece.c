/* Greedy longest match (Schuster and Nakajima, ICASSP 2012, as Devlin et al., NAACL 2019, use it):
 * the longest prefix of the word that is a token, then of the rest with the continuation prefix in
 * front, until nothing is left. A word that cannot be spelled so is one unknown token. */
#include "text/wordpiece.h"

#include <string.h>

#include "base/mem.h"
#include "text/unicode.h"

void cs_wordpiece_scratch_free(cs_wordpiece_scratch *s)
{
    CS_FREE_FIELDS(s, token, word);
    memset(s, 0, sizeof *s);
}

static int64_t chars_of(const char *word, int64_t size)
{
    int64_t chars = 0;
    for (int64_t i = 0; i < size; ++i) {
        chars += ((uint8_t)word[i] & 0xC0) != 0x80;
    }
    return chars;
}

/* The longest token that begins text[0 .. size-1], shortened from its end; *taken its bytes, not
 * below `least`. -1 when there is none. */
static int32_t longest(const cs_word_table *vocabulary, const char *text, int64_t size,
                       int64_t least, int64_t *taken)
{
    while (size > least) {
        int32_t token = cs_word_table_get(vocabulary, text, size);
        if (token >= 0 && vocabulary->count[token] > 0) {
            *taken = size;
            return token;
        }
        size = cs_char_before((const uint8_t *)text, (const uint8_t *)text + size) -
               (const uint8_t *)text;
    }
    return -1;
}

cs_status cs_wordpiece_apply(const cs_wordpiece *model, const cs_word_table *vocabulary,
                             const char *word, int64_t size, cs_wordpiece_scratch *s)
{
    int64_t lead = (int64_t)strlen(model->prefix), chars = chars_of(word, size);
    cs_status status = cs_reserve(&s->token, &s->capacity, size > 0 ? size : 1, sizeof *s->token);
    if (status == CS_OK) status = cs_reserve(&s->word, &s->word_capacity, lead + size, 1);
    if (status != CS_OK) return status;
    s->count = 0;
    for (int64_t from = 0; chars <= model->max_chars && from < size;) {
        int64_t taken = 0, before = from > 0 ? lead : 0;
        memcpy(s->word, model->prefix, (size_t)before);
        memcpy(s->word + before, word + from, (size_t)(size - from));
        int32_t token = longest(vocabulary, s->word, before + size - from, before, &taken);
        if (token < 0) {
            s->count = 0;
            break;
        }
        s->token[s->count++] = token;
        from += taken - before;
    }
    if (s->count == 0 && size > 0) {
        s->token[s->count++] = model->unknown;
    }
    return CS_OK;
}

/* Puts `with` for every `what` (not shorter) in the text, in place. */
static int64_t replace(char *text, int64_t size, const char *what, const char *with)
{
    size_t length = strlen(what), put = strlen(with);
    int64_t to = 0;
    for (int64_t i = 0; i < size;) {
        if ((size_t)(size - i) >= length && memcmp(text + i, what, length) == 0) {
            memcpy(text + to, with, put);
            to += (int64_t)put;
            i += (int64_t)length;
        } else {
            text[to++] = text[i++];
        }
    }
    return to;
}

int64_t cs_wordpiece_decode(const char *prefix, bool cleanup, bool first, const char *token,
                            int64_t size, char *out)
{
    static const char *const change[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                            {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                            {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                            {" 've", "'ve"}, {" 're", "'re"}};
    const int64_t lead = (int64_t)strlen(prefix);
    int64_t length = 0;
    if (!first && size >= lead && memcmp(token, prefix, (size_t)lead) == 0) {
        token += lead;
        size -= lead;
    } else if (!first) {
        out[length++] = ' ';
    }
    memcpy(out + length, token, (size_t)size);
    length += size;
    for (size_t i = 0; cleanup && i < sizeof change / sizeof change[0]; ++i) {
        length = replace(out, length, change[i][0], change[i][1]);
    }
    return length;
}
