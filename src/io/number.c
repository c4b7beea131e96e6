/* Numbers in the C locale: the thread's locale is switched for the call (POSIX uselocale), which,
 * unlike setlocale, is invisible to other threads. glibc hands out one static object for "C", so
 * the switch does not allocate. */
#include "io/number.h"

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
