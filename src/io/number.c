/* Numbers in the C locale: the thread's locale is switched for the call (POSIX uselocale), which,
 * unlike setlocale, is invisible to other threads. glibc hands out one static object for "C", so
 * the switch does not allocate. */
#include "io/number.h"
#include "base/auto.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *cs_locale_enter(void)
{
    /* uselocale(0) only asks: should newlocale ever fail, the locale stays as it is. */
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void cs_locale_leave(void *before)
{
    locale_t ours = uselocale(before);
    if (ours != before && ours != LC_GLOBAL_LOCALE) {
        freelocale(ours);
    }
}

void cs_real_format(double x, int digits, char out[CS_REAL_TEXT])
{
    assert(digits >= 1 && digits <= 17);
    if (isnan(x)) {
        (void)snprintf(out, CS_REAL_TEXT, "nan"); /* never "-nan" */
        return;
    }
    void *before = cs_locale_enter();
    (void)snprintf(out, CS_REAL_TEXT, "%.*g", digits, x);
    cs_locale_leave(before);
}

void cs_real_shortest(double x, char out[CS_REAL_TEXT])
{
    double back = 0;
    for (int digits = 15; digits <= 17; ++digits) {
        cs_real_format(x, digits, out);
        if (isnan(x) || (cs_real_scan(out, &back) && !(back < x || back > x))) {
            return;
        }
    }
}

bool cs_real_scan(const char *text, double *out)
{
    /* The set of characters keeps out what strtod also takes: blanks, hexadecimal, "nan(...)". */
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eEinfaINFA")] != '\0') {
        return false;
    }
    char *end = NULL;
    int held = errno;
    void *before = cs_locale_enter();
    errno = 0;
    double x = strtod(text, &end);
    bool over = errno == ERANGE && isinf(x);
    cs_locale_leave(before);
    errno = held;
    if (*end != '\0' || over) {
        return false;
    }
    *out = x;
    return true;
}

cs_status cs_real_parse(const char *text, double *out)
{
    return cs_real_scan(text, out)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "'%s' is not a number in the range of a double", text);
}

bool cs_int_scan(const char *text, int64_t *out)
{
    bool read = cs_int_parse(text, out) == CS_OK;
    if (!read) cs_reason_clear();
    return read;
}

cs_status cs_int_parse(const char *text, int64_t *out)
{
    size_t sign = text[0] == '-' || text[0] == '+';
    size_t digits = strspn(text + sign, "0123456789");
    if (digits == 0 || text[sign + digits] != '\0') {
        return cs_fail(CS_ERR_INPUT, "'%s' is not an integer", text);
    }
    errno = 0;
    intmax_t x = strtoimax(text, NULL, 10);
    if (errno == ERANGE || x < INT64_MIN || x > INT64_MAX) {
        return cs_fail(CS_ERR_INPUT, "'%s' is out of the range of 64-bit integers", text);
    }
    *out = (int64_t)x;
    return CS_OK;
}

/* --- numbers and lists written by a person --- */

/* Leading blanks, "0x", "inf" and "nan" are no number that a user means here. */
static bool plain_number(const char *text, const char *letters)
{
    return text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

cs_status cs_parse_int(const char *text, const char *what, int64_t low, int64_t high, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long value = plain_number(text, "+-0123456789") ? strtoll(text, &end, 10) : 0;
    if (!end || end == text || *end != '\0') {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not an integer", what, text);
    }
    if (errno == ERANGE) {
        return cs_fail(CS_ERR_USAGE, "%s: %s is out of the range of 64-bit integers", what, text);
    }
    if (value < low || value > high) {
        if (high == INT64_MAX) {
            return cs_fail(CS_ERR_USAGE, "%s: %s is below %lld", what, text, (long long)low);
        }
        return cs_fail(CS_ERR_USAGE, "%s: %s is not in %lld..%lld", what, text, (long long)low,
                       (long long)high);
    }
    *out = value;
    return CS_OK;
}

double cs_percent(const char *text)
{
    char number[CS_REAL_TEXT];
    double percent = 0;
    const size_t length = strcspn(text, "%");
    if (length >= sizeof number || strcmp(text + length, "%") != 0) {
        return 0;
    }
    memcpy(number, text, length);
    number[length] = '\0';
    return cs_real_scan(number, &percent) ? percent : 0;
}

double cs_percent_of(double value)
{
    return value >= 10 ? value : 0;
}

const char *cs_share_hint(double percent, char hint[64])
{
    hint[0] = '\0';
    if (percent > 0 && percent < 100) {
        (void)snprintf(hint, 64, "; did you mean %g?", percent / 100);
    }
    return hint;
}

cs_status cs_parse_real(const char *text, const char *what, double low, double high, double *out)
{
    double value = 0.0;
    char hint[64];
    if (!plain_number(text, "+-.0123456789eE")) {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not a number%s", what, text,
                       cs_share_hint(cs_percent(text), hint));
    }
    if (!cs_real_scan(text, &value) || !isfinite(value)) {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not a number in the range of doubles", what,
                       text);
    }
    if (value < low || value > high) {
        const bool above = low == CS_ABOVE_0, below = high == CS_BELOW_1;
        return cs_fail(CS_ERR_USAGE, "%s: %s is not in %c%g, %g%c%s", what, text, above ? '(' : '[',
                       above ? 0 : low, high, below ? ')' : ']',
                       cs_share_hint(high <= 1 ? cs_percent_of(value) : 0, hint));
    }
    *out = value;
    return CS_OK;
}

cs_status cs_parse_size(const char *text, const char *what, int64_t *out)
{
    size_t length = strlen(text);
    const char *units = "KMG", *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
    char digits[32];
    size_t kept = unit ? length - 1 : length;
    if (kept == 0 || kept >= sizeof digits || strspn(text, "0123456789") != kept) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: '%s' is not a size in bytes (digits, then optionally K, M or G)", what,
                       text);
    }
    memcpy(digits, text, kept);
    digits[kept] = '\0';
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t value = 0;
    cs_status status = cs_parse_int(digits, what, 0, INT64_MAX >> shift, &value);
    if (status == CS_OK) *out = value << shift;
    return status;
}

char *cs_trim(char *text)
{
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        text[--length] = '\0';
    }
    return text;
}

cs_status cs_parse_each(const char *list, cs_status (*take)(void *to, const char *part), void *to)
{
    CS_AUTO_FREE char *copy = cs_strdup(list);
    char *rest = copy;
    cs_status status = copy ? CS_OK : CS_ERR_MEMORY;
    while (status == CS_OK && rest) {
        status = take(to, cs_trim(strsep(&rest, ",")));
    }
    return status;
}

typedef struct {
    const char *what;
    int64_t low, high, *value, count;
} integers;

static cs_status take_int(void *to, const char *part)
{
    integers *n = to;
    return cs_parse_int(part, n->what, n->low, n->high, &n->value[n->count++]);
}

cs_status cs_parse_int_list(const char *text, const char *what, int64_t low, int64_t high,
                            int64_t *count, int64_t **out)
{
    integers n = {what, low, high, cs_alloc((int64_t)strlen(text) + 1, sizeof *n.value), 0};
    cs_status status = n.value ? cs_parse_each(text, take_int, &n) : CS_ERR_MEMORY;
    if (status == CS_OK) *count = n.count;
    return CS_DELIVER(status, out, n.value, cs_drop);
}

typedef struct {
    const char *what;
    double low, high, *value;
    int64_t count;
} reals;

static cs_status take_real(void *to, const char *part)
{
    reals *r = to;
    return cs_parse_real(part, r->what, r->low, r->high, &r->value[r->count++]);
}

cs_status cs_parse_real_list(const char *text, const char *what, double low, double high,
                             int64_t *count, double **out)
{
    reals r = {what, low, high, cs_alloc((int64_t)strlen(text) + 1, sizeof *r.value), 0};
    cs_status status = r.value ? cs_parse_each(text, take_real, &r) : CS_ERR_MEMORY;
    if (status == CS_OK) *count = r.count;
    return CS_DELIVER(status, out, r.value, cs_drop);
}
