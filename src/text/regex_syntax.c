/* From Oniguruma's syntax (that of Ruby, which the `tokenizers` package compiles patterns with) to
 * PCRE2's. What differs:
 *
 * - \s is the property White_Space (PCRE2 adds U+180E), \d Nd, \w letters, marks, Nd and Pc, but
 *   outside of sets also U+00B2, B3, B9 and BC-BE, \h a hexadecimal digit, \v one tab;
 * - categories are those of Unicode 16: with `newer`, what PCRE2 10.42 (Unicode 14) lacks is spelled
 *   behind them. Within a set \P{...} stays that of PCRE2;
 * - (?m: lets a dot match line ends, as (?s: does elsewhere; ^ and $ always match at line ends;
 * - a set within a set is united with it;
 * - {,n} is {0,n}.
 *
 * Anything that would need more than a change of spelling is refused. */
#include "text/regex_private.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/unicode.h"

enum { IDEOGRAPHS = 0x20000 }; /* newer letters from here on are of Han */

typedef struct {
    const char *pattern, *at;
    char *out; /* NULL: out of memory */
    bool newer;
} reader;

static cs_status refuse(const reader *r, const char *what)
{
    return cs_fail(CS_ERR_INPUT, "\"%s\": %s at byte %d is not supported", r->pattern, what,
                   (int)(r->at - r->pattern) + 1);
}

/* Two letters each, in utf8proc's order. */
static const char NAMES[] = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";

/* Whether a newer character has the property: a category, its first letter, or a script. */
static bool has(const cs_char_newer *n, const char *name, size_t size)
{
    const char *category = NAMES + 2 * n->category;
    if (n->category == UTF8PROC_CATEGORY_CN) {
        return false;
    }
    if (size == 3 && strncmp(name, "Han", 3) == 0) {
        return n->range.first >= IDEOGRAPHS;
    }
    return size > 0 && size <= 2 && strncmp(name, category, size) == 0;
}

/* The newer characters of a property, as members of a set. */
static void put_newer(reader *r, const char *name, size_t size)
{
    int count = 0;
    const cs_char_newer *list = cs_char_newer_list(&count);
    for (int i = 0; i < count && r->newer; ++i) {
        if (has(&list[i], name, size)) {
            const int first = i;
            while (i + 1 < count && list[i + 1].range.first == list[i].range.last + 1 &&
                   has(&list[i + 1], name, size)) {
                i += 1;
            }
            cs_append(&r->out, "\\x{%X}-\\x{%X}", (unsigned)list[first].range.first,
                      (unsigned)list[i].range.last);
        }
    }
}

static void put_word(reader *r, bool within)
{
    cs_append(&r->out, "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}%s",
              within ? "" : "\\xB2\\xB3\\xB9\\xBC-\\xBE");
    put_newer(r, "L", 1);
    put_newer(r, "M", 1);
    put_newer(r, "Nd", 2);
}

/* \p{NAME} or its complement. */
static void put_property(reader *r, const char *name, size_t size, bool inverted, bool within)
{
    const bool set = r->newer && !within && size <= 3;
    cs_append(&r->out, "%s\\%c{%.*s}",
              !set       ? ""
              : inverted ? "[^"
                         : "[",
              inverted && !set ? 'P' : 'p', (int)size, name);
    if (set || !inverted) {
        put_newer(r, name, size);
    }
    cs_append(&r->out, "%s", set ? "]" : "");
}

/* The spelling of a class letter outside and within a set; NULL: none there. @ stands for the
 * members of \w. */
static const struct {
    char letter;
    const char *outside, *within;
} CLASS[] = {
    {'s', "\\p{White_Space}", "\\p{White_Space}"},
    {'S', "\\P{White_Space}", "\\P{White_Space}"},
    {'w', "[@]", "@"},
    {'W', "[^@]", NULL},
    {'h', "[0-9a-fA-F]", "0-9a-fA-F"},
    {'H', "[^0-9a-fA-F]", NULL},
    {'v', "\\x0B", "\\x0B"},
    {'b', "(?:(?<=[@])(?![@])|(?<![@])(?=[@]))", NULL},
    {'B', "(?:(?<=[@])(?=[@])|(?<![@])(?![@]))", NULL},
    {'A', "\\A", NULL},
    {'z', "\\z", NULL},
    {'Z', "\\Z", NULL},
};

/* \p{...}, \p{^...}, \P{...}. */
static cs_status property(reader *r, bool within)
{
    const char *close = r->at[2] == '{' ? strchr(r->at, '}') : NULL;
    if (!close) {
        return refuse(r, "a property without {}");
    }
    const bool caret = r->at[3] == '^';
    const char *name = r->at + 3 + caret;
    put_property(r, name, (size_t)(close - name), (r->at[1] == 'P') != caret, within);
    r->at = close + 1;
    return CS_OK;
}

/* \xHH, \x{H...} and \uHHHH. */
static cs_status number(reader *r)
{
    unsigned point = 0;
    int used = 0;
    const char *format = r->at[1] == 'u' ? "%4x%n" : r->at[2] == '{' ? "{%8x}%n" : "%2x%n";
    if (sscanf(r->at + 2, format, &point, &used) != 1 || used == 0) {
        return refuse(r, "a number");
    }
    cs_append(&r->out, "\\x{%X}", point);
    r->at += 2 + used;
    return CS_OK;
}

static cs_status escape(reader *r, bool within)
{
    const char c = r->at[1];
    for (size_t i = 0; i < sizeof CLASS / sizeof CLASS[0]; ++i) {
        if (CLASS[i].letter == c) {
            const char *spelling = within ? CLASS[i].within : CLASS[i].outside;
            if (!spelling) {
                return refuse(r, "an escape within a set");
            }
            for (; *spelling; ++spelling) {
                if (*spelling == '@') {
                    put_word(r, within);
                } else {
                    cs_append(&r->out, "%c", *spelling);
                }
            }
            r->at += 2;
            return CS_OK;
        }
    }
    if (c == 'd' || c == 'D') {
        put_property(r, "Nd", 2, c == 'D', within);
        r->at += 2;
        return CS_OK;
    }
    if (c == 'p' || c == 'P') {
        return property(r, within);
    }
    if (c == 'x' || c == 'u') {
        return number(r);
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '\0' || (letter && !strchr("nrtfae", c))) {
        return refuse(r, "an escape");
    }
    if ((unsigned char)c >= 0x80) { /* the character itself follows */
        r->at += 1;
        return CS_OK;
    }
    cs_append(&r->out, "\\%c", c);
    r->at += 2;
    return CS_OK;
}

/* [...] with the sets within it, whose members become its own. */
static cs_status set(reader *r)
{
    int depth = 0;
    cs_status status = CS_OK;
    do {
        const char *at = r->at;
        if (*at == '\0' || strncmp(at, "&&", 2) == 0) {
            return refuse(r, *at ? "an intersection of sets" : "a set without a closing ]");
        }
        if (strncmp(at, "[:", 2) == 0 || (depth > 0 && strncmp(at, "[^", 2) == 0)) {
            return refuse(r, at[1] == ':' ? "a named set" : "a negated set within a set");
        }
        if (depth > 0 && strncmp(at, "-[", 2) == 0) { /* would become a range */
            return refuse(r, "a hyphen before a set within a set");
        }
        if (*at == '[') {
            const int head = depth == 0 && at[1] == '^' ? 2 : 1;
            if (at[head] == ']') {
                return refuse(r, "an empty set");
            }
            cs_append(&r->out, "%.*s", depth == 0 ? head : 0, at);
            depth += 1;
            r->at += head;
        } else if (*at == ']') {
            depth -= 1;
            cs_append(&r->out, "%s", depth == 0 ? "]" : "");
            r->at += 1;
        } else if (*at == '\\') {
            status = escape(r, true);
        } else {
            cs_append(&r->out, "%c", *at);
            r->at += 1;
        }
    } while (depth > 0 && status == CS_OK);
    return status;
}

static cs_status group(reader *r)
{
    static const char *const known[][2] = {
        {"(?:", "(?:"}, {"(?=", "(?="},   {"(?!", "(?!"},   {"(?<=", "(?<="},   {"(?<!", "(?<!"},
        {"(?>", "(?>"}, {"(?i:", "(?i:"}, {"(?m:", "(?s:"}, {"(?mi:", "(?si:"}, {"(?im:", "(?is:"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const size_t length = strlen(known[i][0]);
        if (strncmp(r->at, known[i][0], length) == 0) {
            cs_append(&r->out, "%s", known[i][1]);
            r->at += length;
            return CS_OK;
        }
    }
    if (strncmp(r->at, "(?i)", 4) == 0 && r->at == r->pattern) {
        cs_append(&r->out, "(?i)");
        r->at += 4;
        return CS_OK;
    }
    if (r->at[1] == '?' || r->at[1] == '*') {
        return refuse(r, "a kind of group");
    }
    cs_append(&r->out, "(");
    r->at += 1;
    return CS_OK;
}

/* {n,m}: a + behind it means another repetition to Oniguruma, a possessive one to PCRE2. A brace
 * that is no repetition is a character. */
static cs_status braces(reader *r)
{
    int low = 0, high = 0, used = 0;
    if (sscanf(r->at, "{,%d}%n", &high, &used) == 1 && used > 0) {
        cs_append(&r->out, "{0,%d}", high);
    } else if ((sscanf(r->at, "{%d}%n", &low, &used) == 1 && used > 0) ||
               (sscanf(r->at, "{%d,}%n", &low, &used) == 1 && used > 0) ||
               (sscanf(r->at, "{%d,%d}%n", &low, &high, &used) == 2 && used > 0)) {
        cs_append(&r->out, "%.*s", used, r->at);
    } else {
        cs_append(&r->out, "\\{");
        r->at += 1;
        return CS_OK;
    }
    if (r->at[used] == '+' || (r->at[used] == '?' && !strchr(r->at, ','))) {
        return refuse(r, "a repetition of a repetition");
    }
    r->at += used;
    return CS_OK;
}

cs_status cs_regex_translate(const char *pattern, bool newer, char **out)
{
    reader r = {.pattern = pattern, .at = pattern, .out = cs_strdup(""), .newer = newer};
    cs_status status = r.out ? CS_OK : CS_ERR_MEMORY;
    while (status == CS_OK && *r.at) {
        switch (*r.at) {
        case '\\':
            status = escape(&r, false);
            break;
        case '[':
            status = set(&r);
            break;
        case '(':
            status = group(&r);
            break;
        case '{':
            status = braces(&r);
            break;
        default:
            cs_append(&r.out, "%c", *r.at);
            r.at += 1;
            break;
        }
    }
    if (status == CS_OK && !r.out) status = CS_ERR_MEMORY;
    if (status != CS_OK) {
        cs_free(r.out);
        return status;
    }
    *out = r.out;
    return CS_OK;
}
