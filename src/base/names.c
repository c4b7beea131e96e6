/* The nearest known name: edit distance with transpositions (optimal string alignment). */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64 };

cs_status cs_name_number(const char *what, const char *name, const char *const *first,
                         size_t stride, size_t count, void *out)
{
    char known[256] = "";
    for (size_t i = 0, used = 0; i < count; ++i) {
        const char *one = *(const char *const *)(const void *)((const char *)first + i * stride);
        if (strcmp(name, one) == 0) {
            const int number = (int)i;
            memcpy(out, &number, sizeof number);
            return CS_OK;
        }
        used += used < sizeof known ? (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                                       i > 0 ? ", " : "", one)
                                    : 0;
    }
    return cs_fail(CS_ERR_USAGE, "unknown %s '%.100s' (%s)", what, name, known);
}

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
