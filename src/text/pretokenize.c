/* Scanners by hand in place of a regular-expression engine: one look at the class of each
 * character, no backtracking. The expression of GPT-2 is that of Radford et al. (2019), the cut of
 * BERT at white space and around punctuation that of Devlin et al. (2019). Classes are those of the
 * `tokenizers` package (unicode.h). */
#include "text/pretokenize.h"

#include <string.h>

#include "text/unicode.h"

/* Bytes of a contraction at an apostrophe, 0 when there is none. */
static int64_t contraction(const uint8_t *at, int64_t size)
{
    static const char *const known[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        int64_t length = (int64_t)strlen(known[i]);
        if (size >= length && memcmp(at, known[i], (size_t)length) == 0) {
            return length;
        }
    }
    return 0;
}

/* End of the run of characters of one class from `at` on; *last: its last character. */
static const uint8_t *end_of_run(const uint8_t *at, const uint8_t *end, cs_char_class class,
                                 const uint8_t **last)
{
    while (at < end) {
        int32_t c = 0;
        int length = cs_char_at(at, &c);
        if (cs_char_class_of(c) != class) {
            break;
        }
        *last = at;
        at += length;
    }
    return at;
}

int64_t cs_gpt2_piece(const uint8_t *at, const uint8_t *end)
{
    if (*at == '\'') {
        int64_t length = contraction(at, end - at);
        if (length > 0) {
            return length;
        }
    }
    int32_t c = 0;
    const uint8_t *start = at + (*at == ' ' && at + 1 < end ? 1 : 0), *last = at;
    (void)cs_char_at(start, &c);
    cs_char_class class = cs_char_class_of(c);
    if (class != CS_CHAR_SPACE) {
        return end_of_run(start, end, class, &last) - at;
    }
    /* White space: the last of several blanks goes to the word that follows, if one does. */
    const uint8_t *stop = end_of_run(at, end, CS_CHAR_SPACE, &last);
    return stop < end && last > at ? last - at : stop - at;
}

int64_t cs_bert_piece(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *start = NULL, *p = *at;
    while (p < end) {
        int32_t c = 0;
        int length = cs_char_at(p, &c);
        if (cs_char_is_space(c)) {
            if (start) {
                break;
            }
        } else if (cs_char_is_mark(c)) {
            if (!start) {
                start = p;
                p += length;
            }
            break;
        } else if (!start) {
            start = p;
        }
        p += length;
    }
    *at = p;
    return start ? p - start : 0;
}
