/* Numbers and names from the command line. strtod and strtoll read the C locale's forms (the
 * program never sets another); what they leave unread, and what overflows, is an error here. Names:
 * optimal string alignment distance (Damerau 1964), quadratic in words of at most 64 letters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt.h"
#include "io/number.h"

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

cs_status cs_parse_real(const char *text, const char *what, double low, double high, double *out)
{
    double value = 0.0;
    if (!plain_number(text, "+-.0123456789eE")) {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not a number", what, text);
    }
    if (!cs_real_scan(text, &value) || !isfinite(value)) {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not a number in the range of doubles", what,
                       text);
    }
    if (value < low || value > high) {
        return low == CS_ABOVE_0
                   ? cs_fail(CS_ERR_USAGE, "%s: %s is not in (0, %g]", what, text, high)
                   : cs_fail(CS_ERR_USAGE, "%s: %s is not in [%g, %g]", what, text, low, high);
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
    if (kept == 0 || kept >= sizeof digits ||
        text[strspn(text, "0123456789")] != (unit ? *unit : 0)) {
        return cs_fail(CS_ERR_USAGE, "%s: '%s' is not a size in bytes (digits, then K, M or G)",
                       what, text);
    }
    memcpy(digits, text, kept);
    digits[kept] = '\0';
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t value = 0;
    cs_status status = cs_parse_int(digits, what, 0, INT64_MAX >> shift, &value);
    if (status == CS_OK) {
        *out = value << shift;
    }
    return status;
}

cs_status cs_parse_int_list(const char *text, const char *what, int64_t low, int64_t high,
                            int64_t *count, int64_t **out)
{
    int64_t parts = 1;
    for (const char *p = text; *p; ++p) {
        parts += *p == ',';
    }
    cs_status status = CS_OK;
    char *copy = cs_strdup(text);
    int64_t *value = cs_alloc(parts, sizeof *value);
    if (!copy || !value) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    char *rest = copy;
    for (int64_t i = 0; i < parts && status == CS_OK; ++i) {
        status = cs_parse_int(strsep(&rest, ","), what, low, high, &value[i]);
    }
    if (status == CS_OK) {
        *count = parts;
        *out = value;
        value = NULL;
    }
done:
    cs_free(value);
    cs_free(copy);
    return status;
}

enum { NAME_MAX_LENGTH = 64 };

static int minimum(int a, int b)
{
    return a < b ? a : b;
}

static int edit_distance(const char *a, const char *b)
{
    int row[3][NAME_MAX_LENGTH + 1]; /* rows i-2, i-1, i of the table, by i mod 3 */
    int m = (int)strlen(a), n = (int)strlen(b);
    if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH) {
        return NAME_MAX_LENGTH;
    }
    for (int j = 0; j <= n; ++j) {
        row[0][j] = j;
    }
    for (int i = 1; i <= m; ++i) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; ++j) {
            int change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = minimum(change, minimum(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = minimum(now[j], before[j - 2] + 1);
            }
        }
    }
    return row[m % 3][n];
}

const char *cs_nearest_name(const char *text, const char *const *names)
{
    const char *best = NULL;
    int best_distance = NAME_MAX_LENGTH;
    for (; *names; ++names) {
        int distance = edit_distance(text, *names);
        /* A word someone is still typing is near as well. */
        if (strlen(text) >= 3 && strncmp(text, *names, strlen(text)) == 0) {
            distance = 1;
        }
        if (distance < best_distance) {
            best_distance = distance;
            best = *names;
        }
    }
    int length = (int)strlen(text);
    return best_distance <= (length < 4 ? 1 : length < 9 ? 2 : 3) ? best : NULL;
}
