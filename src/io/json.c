/* JSON by Jansson (2.13 or later), which keeps the order of keys and names the place of a parse error.
 *
 * Jansson allocates through base/mem.h: a failure has its reason and is counted, and what misses a
 * value for want of memory is not written.
 *
 * Limits: integers beyond 64 bits are refused. Jansson swaps one byte for the locale's decimal
 * point, which fails where that is a longer character: all calls run in the C locale. */
#include "io/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "io/file.h"
#include "io/number.h"

static const int64_t READ_LIMIT = (int64_t)256 << 20;

/* An allocation has failed since it was last asked. */
static _Thread_local bool short_of_memory;

/* Jansson 2.14 writes beyond a buffer that it could not enlarge while it parses, or leaves a letter
 * out: the tests' failures by request leave parsing out, and what was parsed without memory is
 * dropped. */
static _Thread_local bool parsing;

static void *allocate(size_t size)
{
    void *p = parsing ? malloc(size) : cs_alloc((int64_t)size, 1);
    short_of_memory = short_of_memory || !p;
    return p;
}

/* Before main(), since values must go back to the allocator they came from. */
__attribute__((constructor)) static void use_allocator(void)
{
    json_set_alloc_funcs(allocate, cs_free);
}

const json_t *cs_json_member(const json_t *object, const char *key, size_t length)
{
    const char *name = NULL;
    json_t *value = NULL, *searched = (json_t *)(uintptr_t)object; /* iterators are not const */
    json_object_foreach(searched, name, value)
    {
        if (strlen(name) == length && memcmp(name, key, length) == 0) return value;
    }
    return NULL;
}

cs_status cs_json_check(void)
{
    bool missed = short_of_memory && cs_reason()[0] != '\0';
    short_of_memory = false;
    return missed ? cs_fail(CS_ERR_MEMORY, "out of memory for JSON") : CS_OK;
}

json_t *cs_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Appends a new value; on failure frees the array and yields NULL. */
static json_t *append(json_t *array, json_t *value)
{
    if (array && json_array_append_new(array, value) != 0) {
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *cs_json_numbers(int64_t n, const double *x)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n && array; ++i) {
        array = append(array, cs_json_number(x[i]));
    }
    return array;
}

json_t *cs_json_text(const char *text)
{
    json_t *value = json_string(text ? text : "");
    if (value) {
        return value;
    }
    CS_AUTO_FREE char *ascii = cs_strdup(text);
    for (char *p = ascii; p && *p; ++p) {
        if ((unsigned char)*p >= 0x80) {
            *p = '?';
        }
    }
    value = ascii ? json_string(ascii) : NULL;
    return value;
}

void cs_json_free(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

cs_status cs_json_set(json_t *object, const char *key, json_t *value)
{
    if (!value) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for JSON key '%s'", key);
    }
    if (json_object_set_new(object, key, value) != 0) {
        return cs_fail(CS_ERR_MEMORY, "cannot set JSON key '%s' (out of memory or not UTF-8)", key);
    }
    return CS_OK;
}

void cs_json_put(cs_status *status, json_t *object, const char *key, json_t *value)
{
    cs_status now = cs_json_set(object, key, value);
    *status = *status == CS_OK ? now : *status;
}

static cs_status parse(const char *name, int64_t first, const char *text, int64_t size,
                       size_t flags, json_t **out)
{
    json_error_t error;
    int64_t line = first;
    for (const char *p = text, *nul = memchr(text, '\0', (size_t)size); nul; ++p) {
        line += *p == '\n';
        if (p == nul) {
            return cs_fail(CS_ERR_INPUT, "%s:%lld: a NUL byte", name, (long long)line);
        }
    }
    const bool before_short = short_of_memory;
    void *before = cs_locale_enter();
    parsing = true;
    short_of_memory = false;
    json_t *value =
        json_loadb(text, (size_t)size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, &error);
    const bool missed = short_of_memory;
    parsing = false;
    short_of_memory = before_short;
    cs_locale_leave(before);
    if (missed) cs_json_free(&value);
    if (!value && (json_error_code(&error) == json_error_null_character ||
                   json_error_code(&error) == json_error_null_byte_in_key)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: \\u0000, a NUL byte", name,
                       (long long)first + error.line - 1);
    }
    if (!value && (missed || json_error_code(&error) == json_error_out_of_memory)) {
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", name);
    }
    if (!value) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld:%d: syntax error: %s", name,
                       (long long)first + error.line - 1, error.column, error.text);
    }
    *out = value;
    return CS_OK;
}

cs_status cs_json_parse_line(const char *name, int64_t first, const char *text, int64_t size,
                             json_t **out)
{
    return parse(name, first, text, size, 0, out);
}

cs_status cs_json_parse(const char *name, const char *text, int64_t size, json_t **out)
{
    return parse(name, 1, text, size, 0, out);
}

cs_status cs_json_known(const json_t *object, const char *known)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) {
        return cs_fail(CS_ERR_INPUT, "not an object");
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!cs_listed(known, key)) {
            return cs_fail(CS_ERR_INPUT, "unknown key \"%s\" (known: %s)%s", key, known,
                           cs_choice_hint(key, known, &(cs_hint){0}));
        }
    }
    return CS_OK;
}

/* One member of the kind *letter, which may be absent where a '?' follows. */
static cs_status take_member(const json_t *object, const char *letter, const char *key, void *out)
{
    const json_t *v = json_object_get(object, key);
    const bool text = *letter == 's', truth = *letter == 'b', list = *letter == 'l',
               map = *letter == 'm';
    if (!v) {
        return letter[1] == '?' ? CS_OK : cs_fail(CS_ERR_INPUT, "\"%s\" is missing", key);
    }
    if ((text && !json_is_string(v)) || (truth && !json_is_boolean(v)) ||
        (list && !json_is_array(v)) || (map && !json_is_object(v))) {
        return cs_fail(CS_ERR_INPUT, "\"%s\" is not %s", key,
                       text    ? "a string"
                       : truth ? "true or false"
                       : list  ? "an array"
                               : "an object");
    }
    if (text) {
        *(const char **)out = json_string_value(v);
    } else if (truth) {
        *(int *)out = json_is_true(v);
    } else {
        *(const json_t **)out = v;
    }
    return CS_OK;
}

cs_status cs_json_unpack(const json_t *object, const char *kinds, ...)
{
    char known[512] = "";
    va_list members;
    va_start(members, kinds);
    for (const char *p = kinds; *p; p += p[1] == '?' ? 2 : 1) {
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "",
                       va_arg(members, const char *));
        (void)va_arg(members, void *);
    }
    va_end(members);
    cs_status status = cs_json_known(object, known);
    va_start(members, kinds);
    for (const char *p = kinds; *p && status == CS_OK; p += p[1] == '?' ? 2 : 1) {
        const char *key = va_arg(members, const char *);
        status = take_member(object, p, key, va_arg(members, void *));
    }
    va_end(members);
    return status;
}

/* --- members of an object --------------------------------------------------------------------- */

void cs_json_refuse(cs_json_reader *r, const char *key, const char *wanted)
{
    if (r->status == CS_OK)
        r->status =
            cs_fail(CS_ERR_INPUT, "field '%s%s' is missing or not %s", r->path, key, wanted);
}

int64_t cs_json_int(cs_json_reader *r, const char *key, int64_t least)
{
    const json_t *v = json_object_get(r->object, key);
    if (!json_is_integer(v) || json_integer_value(v) < least)
        cs_json_refuse(r, key, least < 0 ? "an integer" : "an integer in range");
    return r->status == CS_OK ? json_integer_value(v) : least;
}

double cs_json_real(cs_json_reader *r, const char *key, bool null_too)
{
    const json_t *v = json_object_get(r->object, key);
    if (!json_is_number(v) && !(null_too && json_is_null(v))) cs_json_refuse(r, key, "a number");
    return json_is_number(v) ? json_number_value(v) : NAN;
}

bool cs_json_flag(cs_json_reader *r, const char *key)
{
    const json_t *v = json_object_get(r->object, key);
    if (!json_is_boolean(v)) cs_json_refuse(r, key, "true or false");
    return json_is_true(v);
}

const char *cs_json_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

const char *cs_json_word(cs_json_reader *r, const char *key)
{
    const char *text = json_string_value(json_object_get(r->object, key));
    if (!text) cs_json_refuse(r, key, "a string");
    return text ? text : "";
}

int cs_json_name(cs_json_reader *r, const char *key, const char *const *names)
{
    const char *text = cs_json_word(r, key);
    int number = 0;
    while (names[number] && strcmp(names[number], text) != 0) {
        ++number;
    }
    if (!names[number] && r->status == CS_OK)
        r->status = cs_fail(CS_ERR_INPUT, "field '%s%s': unknown value '%s'", r->path, key, text);
    return names[number] ? number : 0;
}

cs_json_reader cs_json_inner(cs_json_reader *r, const char *key, const char *path)
{
    const json_t *v = json_object_get(r->object, key);
    if (!json_is_object(v)) cs_json_refuse(r, key, "an object");
    return (cs_json_reader){v, path, r->status};
}

/* --- files ------------------------------------------------------------------------------------ */

static cs_status read_with(const char *path, size_t flags, json_t **out)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read(path, READ_LIMIT, &text, &size);
    if (status != CS_OK) return status;
    status = size == 0 ? cs_fail(CS_ERR_INPUT, "%s:1:0: the file is empty; JSON was expected", path)
                       : cs_lfs_check(path, text, size);
    return status == CS_OK ? parse(path, 1, text, size, flags, out) : status;
}

cs_status cs_json_read(const char *path, json_t **out)
{
    return read_with(path, 0, out);
}

cs_status cs_json_read_reals(const char *path, json_t **out)
{
    return read_with(path, JSON_DECODE_INT_AS_REAL, out);
}

cs_status cs_json_print(FILE *stream, const json_t *value)
{
    cs_status status = cs_json_check();
    if (status != CS_OK) return status;
    void *before = cs_locale_enter();
    errno = 0;
    int failed =
        json_dumpf(value, stream, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    cs_locale_leave(before);
    if (failed && (status = cs_json_check()) != CS_OK) return status;
    if ((failed || fputc('\n', stream) == EOF) && ferror(stream)) {
        return cs_fail(CS_ERR_IO, "cannot write JSON: %s", strerror(errno));
    }
    return failed ? cs_fail(CS_ERR_MEMORY,
                            "cannot write JSON: out of memory, or a value contains itself")
                  : CS_OK;
}

cs_status cs_json_write(const char *path, const json_t *value)
{
    cs_outfile f = {0};
    cs_status status = cs_outfile_open(path, &f);
    if (status == CS_OK) status = cs_blame(cs_json_print(f.stream, value), "%s", path);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    return status;
}
