/* The nearest known name: edit distance with transpositions (optimal string alignment). */
#include "base/enum_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PARTING "| ,"

enum { NAME_MAX_LENGTH = 64, SHORTEST_START = 3 };

static int minimum(int a, int b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* To b, or one more than to a beginning of b: a word that someone is still typing is near as well. */
static int edit_distance(const char *a, const char *b)
{
    int row[3][NAME_MAX_LENGTH + 1]; /* rows i-2, i-1, i of the table, by i mod 3 */
    const size_t lengths[2] = {strlen(a), strlen(b)};
    if (lengths[0] > NAME_MAX_LENGTH || lengths[1] > NAME_MAX_LENGTH) {
        return NAME_MAX_LENGTH;
    }
    const int m = (int)lengths[0], n = (int)lengths[1];
    for (int j = 0; j <= n; ++j) {
        row[0][j] = j;
    }
    for (int i = 1; i <= m; ++i) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; ++j) {
            int change = last[j - 1] + !same(a[i - 1], b[j - 1]);
            now[j] = minimum(change, minimum(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                now[j] = minimum(now[j], before[j - 2] + 1);
            }
        }
    }
    int least = row[m % 3][n];
    for (int j = SHORTEST_START; m >= SHORTEST_START && j < n; ++j) {
        least = minimum(least, row[m % 3][j] + 1);
    }
    return least;
}

/* The next character of a spelling: separators are not part of it. */
static const char *skip_separators(const char *at)
{
    return at + strspn(at, "-_. ");
}

static bool respelled(const char *a, const char *b)
{
    for (a = skip_separators(a), b = skip_separators(b); *a && *b && same(*a, *b);
         a = skip_separators(a + 1), b = skip_separators(b + 1)) {
    }
    return !*a && !*b;
}

/* Whether two names have the same digits, if both have any: 4.4 is no misspelling of 4.1. */
static bool same_digits(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    a += strcspn(a, digits);
    b += strcspn(b, digits);
    if (!*a || !*b) return true;
    while (*a && *a == *b) {
        a += 1 + strcspn(a + 1, digits);
        b += 1 + strcspn(b + 1, digits);
    }
    return *a == *b;
}

static void consider_name(const char *text, const char *name, bool of_things, cs_hint *hint)
{
    if (of_things ? respelled(text, name) : same_digits(text, name))
        cs_hint_consider(text, name, hint);
}

void cs_hint_consider(const char *text, const char *name, cs_hint *hint)
{
    const size_t length = strlen(text);
    const int distance = edit_distance(text, name), most = length < 4 ? 1 : length < 9 ? 2 : 3;
    if (distance <= most && distance < (int)length &&
        (!hint->name[0] || distance < hint->distance)) {
        hint->distance = distance;
        (void)snprintf(hint->name, sizeof hint->name, "%s", name);
    }
}

const char *cs_hint_text(const char *before, cs_hint *hint)
{
    hint->text[0] = '\0';
    if (hint->name[0]) {
        (void)snprintf(hint->text, sizeof hint->text, "; did you mean %s%s?", before, hint->name);
    }
    return hint->text;
}

static const char *choice_hint(const char *text, const char *choices, bool of_things, cs_hint *hint)
{
    char word[NAME_MAX_LENGTH + 1], one[NAME_MAX_LENGTH + 1];
    const char *number = text + strcspn(text, ":");
    *hint = (cs_hint){0};
    (void)snprintf(word, sizeof word, "%.*s", (int)(number - text), text);
    for (const char *p = choices; *p; p += strspn(p, PARTING)) {
        const size_t length = strcspn(p, PARTING), stem = strcspn(p, PARTING ":");
        const cs_hint before = *hint;
        (void)snprintf(one, sizeof one, "%.*s", (int)stem, p);
        if (stem < length) /* digits may be the number */
            cs_hint_consider(word, one, hint);
        else
            consider_name(word, one, of_things, hint);
        if (stem < length && strcmp(hint->name, one) == 0 &&
            (*number || strcmp(before.name, one) != 0)) {
            (void)snprintf(hint->name, sizeof hint->name, "%s%.*s", one,
                           (int)(*number ? strlen(number) : length - stem),
                           *number ? number : p + stem);
        }
        if (strcmp(hint->name, text) == 0) *hint = before;
        p += length;
    }
    return cs_hint_text("", hint);
}

const char *cs_choice_hint(const char *text, const char *choices, cs_hint *hint)
{
    return choice_hint(text, choices, false, hint);
}

const char *cs_choice_respelled(const char *text, const char *choices, cs_hint *hint)
{
    return choice_hint(text, choices, true, hint);
}

int cs_choice_number(const char *choices, const char *name)
{
    const size_t length = strlen(name);
    for (int number = 0;; ++number) {
        const size_t word = strcspn(choices, "|");
        if (word == length && memcmp(choices, name, length) == 0) {
            return number;
        }
        if (choices[word] == '\0') {
            return -1;
        }
        choices += word + 1;
    }
}

bool cs_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *p = list; p && *p; p += strspn(p, PARTING)) {
        const size_t word = strcspn(p, PARTING);
        if (word == length && memcmp(p, name, length) == 0) {
            return true;
        }
        p += word;
    }
    return false;
}

cs_status cs_name_number(const char *what, const char *name, const char *const *first,
                         size_t stride, size_t count, bool of_things, void *out)
{
    char known[1024] = "";
    cs_hint hint = {0};
    for (size_t i = 0, used = 0; i < count; ++i) {
        const char *one = *(const char *const *)(const void *)((const char *)first + i * stride);
        if (strcmp(name, one) == 0) {
            const int number = (int)i;
            memcpy(out, &number, sizeof number);
            return CS_OK;
        }
        consider_name(name, one, of_things, &hint);
        used += used < sizeof known ? (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                                       i > 0 ? ", " : "", one)
                                    : 0;
    }
    return cs_fail(CS_ERR_USAGE, "unknown %s '%.100s' (%s)%s", what, name, known,
                   cs_hint_text("", &hint));
}
