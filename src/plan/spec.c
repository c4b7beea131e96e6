/* Objective specifications, as text cut in place. */
#include "plan/spec.h"

#include <ctype.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "io/json.h"
#include "io/number.h"
#include "plan/mix_private.h"

static cs_status given_twice(const char *key, const char *value)
{
    return cs_fail(CS_ERR_USAGE, "%s is given twice, %s=%s is the second", key, key, value);
}

/* "KEY=VALUE" is cut at the '='. In a key `_` and `-` are alike. */
static cs_status cut_item(char **item, char **value)
{
    *item = cs_trim(*item);
    *value = strchr(*item, '=');
    if (!*value) {
        return cs_fail(CS_ERR_USAGE, "\"%s\" is not KEY=VALUE", *item);
    }
    *(*value)++ = '\0';
    *item = cs_trim(*item);
    *value = cs_trim(*value);
    for (char *p = *item; *p; ++p) {
        *p = (char)(*p == '_' ? '-' : *p);
    }
    return CS_OK;
}

/* One "KEY=VALUE" in place. */
static cs_status set_item(cs_objective *objective, unsigned *set, cs_plan_file *file, char *item)
{
    char *value = NULL;
    int index = 0;
    cs_status status = cut_item(&item, &value);
    if (status == CS_OK) status = cs_objective_parameter(objective->kind, item, value, &index);
    if (status != CS_OK) return status;
    if (*set & 1U << index) {
        return given_twice(item, value);
    }
    *set |= 1U << index;
    return index == CS_PARAMETER_ID_PLAN_FILE && file ? cs_objective_of_file(value, file, objective)
                                                      : cs_objective_set(objective, item, value);
}

/* "KEY=VALUE, KEY=VALUE" in place. */
static cs_status set_items(char *text, unsigned *set, cs_plan_file *file, cs_objective *objective)
{
    cs_status status = CS_OK;
    for (char *save = NULL, *item = strtok_r(text, ",", &save); item && status == CS_OK;
         item = strtok_r(NULL, ",", &save)) {
        status = set_item(objective, set, file, item);
    }
    return status;
}

/* "NAME(LIST)" or "NAME:LIST" in place: *text is the name, *list its list, perhaps empty. */
static cs_status cut_list(char **text, char **list)
{
    *text = cs_trim(*text);
    char *rest = *text + strcspn(*text, ":(");
    size_t length = strlen(rest);
    if (rest[0] == '(' && rest[length - 1] != ')') {
        return cs_fail(CS_ERR_USAGE, "\"%s\": a parenthesis is not closed at the end", *text);
    }
    if (rest[0] == '(') {
        rest[length - 1] = '\0';
    }
    if (rest[0]) {
        *rest++ = '\0';
    }
    *text = cs_trim(*text);
    *list = rest;
    return CS_OK;
}

static cs_status read_one(char *text, unsigned *set, cs_plan_file *file, cs_objective *out)
{
    char *rest = NULL;
    cs_objective_kind kind = CS_OBJ_AR;
    cs_status status = cut_list(&text, &rest);
    if (status == CS_OK) status = cs_objective_by_name(text, &kind);
    cs_objective objective = cs_objective_default(kind);
    if (status == CS_OK && (status = set_items(rest, set, file, &objective)) == CS_OK)
        *out = objective;
    return status;
}

/* --- mixtures --- */

/* The + of "1e+3" joins no parts. */
static bool is_exponent(const char *text, const char *at)
{
    return *at == '+' && at - text > 1 && (at[-1] == 'e' || at[-1] == 'E') &&
           (isdigit((unsigned char)at[-2]) || at[-2] == '.') && isdigit((unsigned char)at[1]);
}

/* The mark at or after `text`, or its end: none within parentheses. */
static char *next_mark(char *text, char mark)
{
    int depth = 0;
    for (const char *start = text;
         *text && (depth > 0 || *text != mark || is_exponent(start, text)); ++text) {
        depth += (*text == '(') - (*text == ')');
    }
    return text;
}

/* "KEY=VALUE, KEY=VALUE" in place, into an object. */
static cs_status parameters_of(char *text, json_t *object)
{
    cs_status status = CS_OK;
    for (bool more = *text; more && status == CS_OK;) {
        char *end = next_mark(text, ','), *value = NULL;
        more = *end == ',';
        *end = '\0';
        status = cut_item(&text, &value);
        if (status == CS_OK && json_object_get(object, text)) status = given_twice(text, value);
        if (status == CS_OK) status = cs_json_set(object, text, cs_json_text(value));
        text = end + more;
    }
    return status;
}

static cs_status parts_of(char *text, json_t *parts);

/* "SHARE*SPEC", in place, as a part of a plan file; the share may contain '*' too. A nested mixture
 * is mix(SHARE*SPEC+...). */
static cs_status part_of(char *text, json_t *part)
{
    json_t *inner = NULL;
    double share = 0;
    char *times = next_mark(text, '*'), *list = NULL;
    for (char *next = times; *next; next = next_mark(next + 1, '*')) {
        times = next;
    }
    char *name = *times ? times + 1 : times;
    cs_status status = *times ? cut_list(&name, &list)
                              : cs_fail(CS_ERR_USAGE, "part \"%s\" is not SHARE*OBJECTIVE", text);
    *times = '\0';
    text = cs_trim(text);
    if (status == CS_OK && strcmp(cs_trim(name), "multi-token") == 0)
        status =
            cs_fail(CS_ERR_USAGE,
                    "multi-token cannot be part of a mixture, because its plans have more than one "
                    "target: alternate instead (\"ar for 1, multi-token(t=4) for 1\")");
    if (status == CS_OK && (!*text || !*name))
        status = cs_fail(CS_ERR_USAGE, "part \"%s*%s\" is not SHARE*OBJECTIVE: it lacks %s", text,
                         name, *text ? "the objective" : "the share");
    if (status == CS_OK && cs_real_scan(text, &share) && !(share > 0))
        status = cs_fail(CS_ERR_USAGE, "share \"%s\" is not above 0", text);
    if (status != CS_OK) return status;
    bool mixture = strcmp(name, cs_objective_name(CS_OBJ_MIX)) == 0;
    inner = mixture ? json_array() : json_object();
    status = mixture ? parts_of(list, inner) : parameters_of(list, inner);
    cs_json_put(&status, part, "share", cs_json_text(text));
    if (!mixture) cs_json_put(&status, part, "objective", cs_json_text(name));
    cs_json_put(&status, part, mixture ? "mixture" : "parameters", inner);
    return status;
}

static cs_status parts_of(char *text, json_t *parts)
{
    cs_status status = CS_OK;
    for (bool more = true; more && status == CS_OK;) {
        json_t *part = json_object();
        char *end = next_mark(text, '+');
        more = *end == '+';
        *end = '\0';
        status = part_of(text, part);
        if (json_array_append_new(parts, part) != 0) status = CS_ERR_MEMORY;
        text = end + more;
    }
    return status;
}

/* Anew each time it is read: points of a sweep share one place. */
static cs_status read_mix(char *text, unsigned *set, cs_plan_file *file, cs_objective *out)
{
    json_auto_t *parts = json_array();
    char *rest = next_mark(text, ',');
    if (*rest) {
        *rest++ = '\0';
    }
    cs_status status =
        strchr(rest, '*')
            ? cs_fail(CS_ERR_USAGE, "\"%s\" after a comma: join the parts of a mixture with +",
                      cs_trim(rest))
            : parts_of(text, parts);
    bool two = json_array_size(parts) > 1;
    *out = cs_objective_default(CS_OBJ_MIX);
    out->file = two ? file : NULL;
    cs_plan_file_free(file);
    if (status == CS_OK && two) status = cs_plan_file_mixture(parts, NULL, file);
    return status == CS_OK ? set_items(rest, set, NULL, out) : status;
}

/* Whether the comma at *at is that of a decimal, as some languages write it, and no separator. */
static bool is_decimal_comma(const char *text, const char *at, int *before, int *after)
{
    static const char digits[] = "0123456789";
    *before = 0;
    *after = (int)strspn(at + 1, digits);
    while (at - *before > text && isdigit((unsigned char)at[-1 - *before]))
        ++*before;
    return *before > 0 && *after > 0 && strchr(",:*+)% ", at[1 + *after]);
}

/* Whether a comma at *at separates the values of min(...) or max(...). */
static bool is_in_function(const char *text, const char *at)
{
    for (int depth = 0; at > text; --at) {
        depth += (at[-1] == ')') - (at[-1] == '(');
        if (depth < 0) {
            return at - text > 3 && (!strncmp(at - 4, "min", 3) || !strncmp(at - 4, "max", 3));
        }
    }
    return false;
}

static cs_status check_decimals(const char *text)
{
    for (const char *at = strchr(text, ','); at; at = strchr(at + 1, ',')) {
        int before = 0, after = 0;
        if (is_decimal_comma(text, at, &before, &after) && !is_in_function(text, at)) {
            return cs_fail(CS_ERR_USAGE, "\"%.*s\": a decimal has a point, not a comma: %.*s.%.*s",
                           before + 1 + after, at - before, before, at - before, after, at + 1);
        }
    }
    return CS_OK;
}

cs_status cs_objective_read(const char *spec, unsigned *set, cs_plan_file *file, cs_objective *out)
{
    if (strstr(spec, " until ") || strstr(spec, " for ")) {
        return cs_fail(
            CS_ERR_USAGE,
            "\"%s\" is a schedule of objectives, which only training accepts, since it has no "
            "single distribution: give its last phase, or a mixture such as mix:0.4*ar+0.6*masked",
            spec);
    }
    CS_AUTO_FREE char *held = cs_strdup(spec);
    cs_status status = held ? check_decimals(held) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    char *text = cs_trim(held);
    return strncmp(text, "mix:", 4) != 0 ? read_one(text, set, file, out)
           : file                        ? read_mix(text + 4, set, file, out)
                                         : cs_fail(CS_ERR_USAGE, "a mixture is not allowed here");
}

cs_status cs_objective_parse_held(const char *spec, cs_plan_file *file, cs_objective *out)
{
    unsigned set = 0;
    cs_objective objective = {0};
    cs_status status = cs_objective_read(spec, &set, file, &objective);
    if (status == CS_OK) status = cs_objective_check(&objective);
    if (status == CS_OK) *out = objective;
    return cs_blame(status, "objective %s", spec);
}

cs_status cs_objective_parse(const char *spec, cs_objective *out)
{
    return cs_objective_parse_held(spec, NULL, out);
}

cs_status cs_objective_parse_described(const char *text, cs_plan_file *file, cs_objective *out)
{
    const bool path = strncmp(text, "file ", 5) == 0; /* "file FILE event-weight=token" */
    CS_AUTO_FREE char *spec = path ? cs_format("file:plan-file=%s", text + 5) : cs_strdup(text);
    for (char *p = spec; p && *p; ++p) {
        if (*p == ' ' && p[1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyz-")] == '=') {
            *p = memchr(spec, ':', (size_t)(p - spec)) ? ',' : ':';
        }
    }
    return spec ? cs_objective_parse_held(spec, file, out) : CS_ERR_MEMORY;
}

char *cs_objective_form(const char *text)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective objective;
    cs_status status = cs_objective_parse_described(text, &file, &objective);
    char *form = status == CS_OK           ? cs_objective_describe(&objective)
                 : status != CS_ERR_MEMORY ? cs_strdup(text)
                                           : NULL;
    if (form && status != CS_OK) cs_reason_clear();
    return form;
}
