/* The nearest known name: edit distance with transpositions (optimal string alignment). */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

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

/* The nearest of the names considered so far; begins as zeros. */
typedef struct {
    const char *name;
    int distance;
} nearest;

static void consider(const char *text, const char *name, nearest *best)
{
    const size_t length = strlen(text);
    /* A word someone is still typing is near as well. */
    const int distance =
        length >= 3 && strncmp(text, name, length) == 0 ? 1 : edit_distance(text, name);
    if (distance <= (length < 4   ? 1
                     : length < 9 ? 2
                                  : 3) &&
        (!best->name || distance < best->distance)) {
        *best = (nearest){name, distance};
    }
}

const char *cs_nearest_name(const char *text, const char *const *names)
{
    nearest best = {0};
    for (; *names; ++names) {
        consider(text, *names, &best);
    }
    return best.name;
}

const char *cs_choice_hint(const char *text, const char *choices, cs_hint *hint)
{
    char nearest_name[NAME_MAX_LENGTH] = "", one[NAME_MAX_LENGTH];
    nearest best = {0};
    for (const char *p = choices; *p; p += strspn(p, "| ,")) {
        size_t length = strcspn(p, "| ,"), kept = length < sizeof one ? length : sizeof one - 1;
        const int before = best.name ? best.distance : NAME_MAX_LENGTH;
        memcpy(one, p, kept);
        one[kept] = '\0';
        consider(text, one, &best);
        if (best.name && best.distance < before) memcpy(nearest_name, one, kept + 1);
        best.name = best.name ? nearest_name : NULL;
        p += length;
    }
    (void)snprintf(hint->text, sizeof hint->text, best.name ? "; did you mean %s?" : "%s",
                   nearest_name);
    return hint->text;
}

cs_status cs_name_number(const char *what, const char *name, const char *const *first,
                         size_t stride, size_t count, void *out)
{
    char known[256] = "";
    nearest best = {0};
    for (size_t i = 0, used = 0; i < count; ++i) {
        const char *one = *(const char *const *)(const void *)((const char *)first + i * stride);
        if (strcmp(name, one) == 0) {
            const int number = (int)i;
            memcpy(out, &number, sizeof number);
            return CS_OK;
        }
        consider(name, one, &best);
        used += used < sizeof known ? (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                                       i > 0 ? ", " : "", one)
                                    : 0;
    }
    return cs_fail(CS_ERR_USAGE, "unknown %s '%.100s' (%s)%s%s%s", what, name, known,
                   best.name ? "; did you mean " : "", best.name ? best.name : "",
                   best.name ? "?" : "");
}
