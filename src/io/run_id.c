/* Compares identities of runs member by member, and heads the files of checkpoints. */
#include "io/run_id.h"

#include <stdio.h>
#include <string.h>

#include "io/number.h"
#include "version.h"

enum { VALUE = 160 };

/* A value as compact JSON, cut where it is long; `text` is zeroed. */
static void value_text(const json_t *value, char text[VALUE])
{
    if (json_is_real(value)) {
        cs_real_shortest(json_real_value(value), text);
        return;
    }
    (void)json_dumpb(value, text, VALUE - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!value || json_is_null(value)) (void)snprintf(text, VALUE, "unset");
}

static cs_status differs(const char *where, const char *what, const char *key, const json_t *was,
                         const json_t *now)
{
    char a[VALUE] = "", b[VALUE] = "", name[64];
    const size_t length = strlen(what);
    value_text(was, a);
    value_text(now, b);
    (void)snprintf(name, sizeof name, "%s", key);
    if (length > 1 && what[length - 1] == '-') { /* the name of an option */
        for (char *c = name; (c = strchr(c, '_'));) {
            *c = '-';
        }
    }
    return cs_fail(CS_ERR_USAGE, "%s belongs to a %s%s %s, not %s; give --force to start again",
                   where, what, name, a, b);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a record */
cs_status cs_run_same(const char *where, const char *what, const json_t *was, const json_t *now)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)now, key, value)
    {
        const json_t *before = json_object_get(was, key);
        if (json_equal(before, value)) continue;
        if (!json_is_object(before) || !json_is_object(value))
            return differs(where, what, key, before, value);
        char inner[96];
        (void)snprintf(inner, sizeof inner, "run with %s: ", key);
        const cs_status status = cs_run_same(where, inner, before, value);
        return status == CS_ERR_USAGE && strcmp(key, "inputs") == 0 ? CS_ERR_INPUT : status;
    }
    json_object_foreach((json_t *)was, key, value)
    {
        if (!json_object_get(now, key)) return differs(where, what, key, value, NULL);
    }
    return CS_OK;
}

json_t *cs_run_header(const char *format)
{
    return json_pack("{s:s, s:i, s:s}", "format", format, "version", CS_RUN_VERSION, "program",
                     CS_VERSION " " CS_COMMIT);
}

cs_status cs_run_header_check(const char *path, const json_t *index, const char *format)
{
    const char *is = json_string_value(json_object_get(index, "format")),
               *program = json_string_value(json_object_get(index, "program"));
    const long long version = json_integer_value(json_object_get(index, "version"));
    if (!is || strcmp(is, format) != 0)
        return cs_fail(CS_ERR_INPUT, "%s: not a checkpoint: its format is not \"%s\"", path,
                       format);
    if (version == CS_RUN_VERSION) return CS_OK;
    return cs_fail(
        CS_ERR_USAGE,
        "%s is a checkpoint of version %lld, written by cospec %s, but this is %s, which "
        "reads version %d; continue with the program that wrote it, or give --force to "
        "start again",
        path, version, program ? program : "0.2.0 or earlier", CS_VERSION " " CS_COMMIT,
        CS_RUN_VERSION);
}
