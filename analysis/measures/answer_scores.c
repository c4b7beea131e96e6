#include "analysis/measures/answer_scores.h"

#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "text/unicode.h"

/* str.isspace of Python: White_Space and the separators of ASCII. */
static bool is_space(int32_t c)
{
    return cs_char_is_space(c) || (c >= 0x1C && c <= 0x1F);
}

/* \w of Python's re. */
static bool is_word(int32_t c)
{
    return c == '_' || cs_char_class_of(c) == CS_CHAR_LETTER ||
           cs_char_class_of(c) == CS_CHAR_NUMBER;
}

static bool is_ascii_mark(int32_t c)
{
    return c > ' ' && c < 0x7F && cs_char_is_mark(c);
}

/* Lower case without marks; The buffer is twice the text, as no character more than doubles. */
static void lower(const char *text, char *to)
{
    const uint8_t *at = (const uint8_t *)text;
    uint8_t *out = (uint8_t *)to;
    while (*at) {
        int32_t c = 0;
        at += cs_char_at(at, &c);
        if (is_ascii_mark(c)) {
            continue;
        }
        out += utf8proc_encode_char(c == 0x130 ? 'i' : utf8proc_tolower(c), out);
        if (c == 0x130) { /* the only one that becomes two */
            out += utf8proc_encode_char(0x307, out);
        }
    }
    *out = '\0';
}

/* Bytes of the article at `at` whose neighbours are no characters of a word; 0: none. */
static size_t article(const uint8_t *begin, const uint8_t *at)
{
    static const char *const word[] = {"a", "an", "the"};
    int32_t c = 0;
    if (at > begin) {
        (void)cs_char_at(cs_char_before(begin, at), &c);
        if (is_word(c)) {
            return 0;
        }
    }
    for (int i = 0; i < 3; ++i) {
        const size_t n = strlen(word[i]);
        if (strncmp((const char *)at, word[i], n) == 0) {
            (void)cs_char_at(at + n, &c);
            if (!is_word(c)) {
                return n;
            }
        }
    }
    return 0;
}

char *cs_answer_normalise(const char *text)
{
    const int64_t capacity = 2 * (int64_t)strlen(text) + 1;
    char *small = cs_alloc(capacity, 1), *made = cs_alloc(capacity + 1, 1), *to = made;
    if (small && made) {
        lower(text, small);
        const uint8_t *begin = (const uint8_t *)small;
        for (const uint8_t *at = begin; *at;) {
            int32_t c = 0;
            const size_t gap = article(begin, at);
            const int bytes = gap > 0 ? (int)gap : cs_char_at(at, &c);
            if (gap == 0 && !is_space(c)) {
                memcpy(to, at, (size_t)bytes);
                to += bytes;
            } else if (to > made && to[-1] != ' ') {
                *to++ = ' ';
            }
            at += bytes;
        }
        to -= to > made && to[-1] == ' ';
        *to = '\0';
    }
    cs_free(small);
    if (!small) {
        cs_free(made);
        made = NULL;
    }
    return made;
}

/* --- words in common -------------------------------------------------------------------------- */

/* The word of a normalised text at *at, which moves behind it; its bytes, 0 at the end. */
static size_t next_word(const char **at, const char **word)
{
    *word = *at + (**at == ' ');
    const size_t n = strcspn(*word, " ");
    *at = *word + n;
    return n;
}

static int64_t times(const char *text, const char *word, size_t n)
{
    int64_t found = 0;
    const char *at = text, *w;
    for (size_t m; (m = next_word(&at, &w)) > 0;) {
        found += m == n && strncmp(w, word, n) == 0;
    }
    return found;
}

static int64_t words(const char *text)
{
    int64_t count = *text != '\0';
    for (const char *c = text; *c; ++c) {
        count += *c == ' ';
    }
    return count;
}

/* Of equal texts; the sum over different words of the smaller number of times. */
static double f1_of(const char *a, const char *b)
{
    int64_t common = 0;
    const char *at = a, *word;
    if (!*a || !*b) {
        return !*a && !*b;
    }
    for (size_t n; (n = next_word(&at, &word)) > 0;) {
        const int64_t here = times(a, word, n);
        const char *first = a, *w;
        while (next_word(&first, &w) != n || strncmp(w, word, n) != 0) {
        }
        common += w == word ? cs_least(here, times(b, word, n)) : 0; /* each word once */
    }
    return 2 * (double)common / (double)(words(a) + words(b));
}

cs_status cs_answer_score(const char *answer, int64_t count, const char *const *right,
                          double *exact, double *f1)
{
    CS_AUTO_FREE char *own = cs_answer_normalise(answer);
    cs_status status = own ? CS_OK : CS_ERR_MEMORY;
    bool any = false;
    *exact = *f1 = 0;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO_FREE char *other = cs_answer_normalise(right[i]);
        status = other ? CS_OK : CS_ERR_MEMORY;
        if (other && *other) {
            const double common = f1_of(own, other);
            any = true;
            *exact = strcmp(own, other) == 0 ? 1 : *exact;
            *f1 = common > *f1 ? common : *f1;
        }
    }
    if (status == CS_OK && !any) {
        *exact = *f1 = *own == '\0';
    }
    return status;
}
