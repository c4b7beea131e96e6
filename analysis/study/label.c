/* NAME(KEY=VALUE,...), as plan/objective.h writes it; in a figure's table commas are blanks. */
#include "analysis/study/label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* "0.15:0.3" as "15 to 30 %" */
static void put_share(char **out, const char *value, const char *end)
{
    char *next = NULL;
    const double low = strtod(value, &next);
    cs_append(out, ", %.4g", 100 * low);
    if (next < end && *next == ':') cs_append(out, " to %.4g", 100 * strtod(next + 1, NULL));
    cs_append(out, " %%");
}

/* "2:6" as "2 to 6", "mix:0.5" as "mix 0.5" */
static void put_value(char **out, const char *value, const char *end)
{
    const bool range = isdigit((unsigned char)*value) != 0;
    for (; value < end; ++value) {
        if (*value == ':') {
            cs_append(out, range ? " to " : " ");
        } else {
            cs_append(out, "%c", *value);
        }
    }
}

static bool is(const char *text, size_t length, const char *name)
{
    return length == strlen(name) && strncmp(text, name, length) == 0;
}

/* ", SAYS" of KEY=VALUE */
static void put_parameter(char **out, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length), *end = text + length;
    const size_t key = equals ? (size_t)(equals - text) : length;
    if (!equals) {
        cs_append(out, ", %.*s", (int)length, text);
    } else if (is(text, key, "mask-ratio")) {
        put_share(out, equals + 1, end);
    } else if (is(text, key, "unmasked")) {
        cs_append(out, ", ");
        put_value(out, equals + 1, end);
        cs_append(out, " shown");
    } else {
        cs_append(out, ", ");
        if (!is(text, key, "offset-weights")) cs_append(out, "%.*s ", (int)key, text);
        put_value(out, equals + 1, end);
    }
}

static void put_objective(char **out, const char *name, size_t length, const char *parameters,
                          const char *end)
{
    if (is(name, length, "diverse-ar") && strncmp(parameters, "t=", 2) == 0) {
        const size_t t = strcspn(parameters, ", )");
        cs_append(out, "one of the next %.*s", (int)t - 2, parameters + 2);
        parameters += t;
    } else if (is(name, length, "offset-ar")) {
        cs_append(out, "offset");
    } else {
        cs_append(out, "%.*s", (int)length, name);
    }
    while (parameters < end) {
        const size_t part = strcspn(parameters, ", )");
        if (part > 0) put_parameter(out, parameters, part);
        parameters += part + (parameters + part < end ? 1 : 0);
    }
}

char *cs_series_label(const char *series)
{
    const bool next = series[0] == 'a' && series[1] == 'r' && strchr(" ", series[2]);
    char *out = cs_strdup(next ? "autoregressive" : "");
    series += next ? 2 : 0;
    while (*series) {
        const size_t plain = strcspn(series, "(");
        const char *open = series + plain, *close = strchr(open, ')');
        size_t name = 0; /* characters of it before the parenthesis */
        while (close && name < plain &&
               (isalnum((unsigned char)open[-1 - (long)name]) || open[-1 - (long)name] == '-')) {
            ++name;
        }
        if (name == 0) {
            const size_t taken = plain + (*open ? 1 : 0);
            cs_append(&out, "%.*s", (int)taken, series);
            series += taken;
            continue;
        }
        cs_append(&out, "%.*s", (int)(plain - name), series);
        put_objective(&out, open - name, name, open + 1, close);
        series = close + 1;
    }
    return out;
}
