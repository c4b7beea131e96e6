/* Results as trees of items. An object keeps its keys in order in an array and looks them up one
 * after the other: objects are small, and rows of a long result are elements of an array. */
#include "io/result_private.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

/* --- making ----------------------------------------------------------------------------------- */

cs_result *cs_result_new(void)
{
    cs_result *r = cs_calloc(1, sizeof *r);
    if (r) r->root = (cs_item){.kind = OBJECT, .owner = r};
    return r;
}

static void clear(cs_item *item)
{
    if (item->kind == TEXT) {
        cs_free(item->text);
    } else if (item->kind == OBJECT || item->kind == ARRAY) {
        for (int64_t i = 0; i < item->count; ++i) {
            clear(item->child[i]);
            cs_free(item->child[i]);
        }
        cs_free(item->child);
    }
    cs_free(item->key);
}

void cs_result_free(cs_result **held)
{
    if (*held) {
        clear(&(*held)->root);
        cs_free(*held);
        *held = NULL;
    }
}

cs_item *cs_result_root(cs_result *result)
{
    return result ? &result->root : NULL;
}

/* The reason may have been cleared since, by what went on without knowing of it. */
cs_status cs_result_status(const cs_result *result)
{
    return result && result->status == CS_OK ? CS_OK
                                             : cs_fail(CS_ERR_MEMORY, "out of memory for a result");
}

static void *failed(cs_item *in)
{
    if (in->owner->status == CS_OK)
        in->owner->status = cs_fail(CS_ERR_MEMORY, "out of memory for a result");
    return NULL;
}

const cs_item *cs_item_child(const cs_item *in, const char *key, size_t length)
{
    for (int64_t i = 0; in->kind == OBJECT && i < in->count; ++i) {
        const char *name = in->child[i]->key;
        if (strncmp(name, key, length) == 0 && name[length] == '\0') {
            return in->child[i];
        }
    }
    return NULL;
}

static cs_item *add_item(cs_item *in, const char *key, cs_item_kind what)
{
    if (!in || in->owner->status != CS_OK) return NULL;
    assert((in->kind == OBJECT && key && !cs_item_child(in, key, strlen(key))) ||
           (in->kind == ARRAY && !key));
    if (cs_reserve(&in->child, &in->capacity, in->count + 1, sizeof *in->child) != CS_OK) {
        return failed(in);
    }
    cs_item *item = cs_calloc(1, sizeof *item);
    char *name = item && key ? cs_strdup(key) : NULL;
    if (!item || (key && !name)) {
        cs_free(item);
        return failed(in);
    }
    *item =
        (cs_item){.kind = what, .owner = in->owner, .parent = in, .key = name, .index = in->count};
    in->child[in->count++] = item;
    return item;
}

void cs_item_text(cs_item *in, const char *key, const char *text)
{
    cs_item *item = add_item(in, key, NONE);
    if (!item || !text) {
        return;
    }
    item->text = cs_strdup(text);
    if (item->text) {
        item->kind = TEXT;
    } else {
        (void)failed(in);
    }
}

void cs_item_take(cs_item *in, const char *key, char *text)
{
    cs_item *item = text ? add_item(in, key, TEXT) : NULL;
    if (item) {
        item->text = text;
        return;
    }
    if (in) (void)failed(in);
    cs_free(text);
}

void cs_item_int(cs_item *in, const char *key, int64_t x)
{
    cs_item *item = add_item(in, key, INT);
    if (item) item->integer = x;
}

void cs_item_real(cs_item *in, const char *key, double x)
{
    cs_item *item = add_item(in, key, REAL);
    if (item) item->real = x;
}

void cs_item_flag(cs_item *in, const char *key, bool x)
{
    cs_item *item = add_item(in, key, FLAG);
    if (item) item->flag = x;
}

void cs_item_null(cs_item *in, const char *key)
{
    (void)add_item(in, key, NONE);
}

void cs_item_count(cs_item *in, const char *key, int64_t x)
{
    if (x < 0) {
        cs_item_null(in, key);
    } else {
        cs_item_int(in, key, x);
    }
}

cs_item *cs_item_object(cs_item *in, const char *key)
{
    return add_item(in, key, OBJECT);
}

cs_item *cs_item_array(cs_item *in, const char *key)
{
    return add_item(in, key, ARRAY);
}

void cs_item_reals(cs_item *in, const char *key, int64_t n, const double *x)
{
    cs_item *array = add_item(in, key, ARRAY);
    for (int64_t i = 0; i < n; ++i) {
        cs_item_real(array, NULL, x[i]);
    }
}

void cs_item_ints(cs_item *in, const char *key, int64_t n, const int64_t *x)
{
    cs_item *array = add_item(in, key, ARRAY);
    for (int64_t i = 0; i < n; ++i) {
        cs_item_int(array, NULL, x[i]);
    }
}

/* As deep as the value. NOLINTNEXTLINE(misc-no-recursion) */
static cs_item *copy_json(cs_item *in, const char *key, json_t *value)
{
    cs_item *item = NULL;
    json_t *member;
    const char *name;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        item = cs_item_object(in, key);
        json_object_foreach(value, name, member)(void) copy_json(item, name, member);
        break;
    case JSON_ARRAY:
        item = cs_item_array(in, key);
        json_array_foreach(value, i, member)(void) copy_json(item, NULL, member);
        break;
    case JSON_STRING:
        cs_item_text(in, key, json_string_value(value));
        break;
    case JSON_INTEGER:
        cs_item_int(in, key, json_integer_value(value));
        break;
    case JSON_REAL:
        cs_item_real(in, key, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        cs_item_flag(in, key, json_is_true(value));
        break;
    case JSON_NULL:
        cs_item_null(in, key);
        break;
    }
    return item;
}

cs_item *cs_item_json(cs_item *in, const char *key, json_t *value)
{
    cs_item *item = value ? copy_json(in, key, value) : NULL;
    if (in && !value) (void)failed(in);
    json_decref(value);
    return item;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static cs_status members(const cs_item *item, json_t *into)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < item->count && status == CS_OK; ++i) {
        const cs_item *child = item->child[i];
        json_t *value = NULL;
        if (item->kind == OBJECT && child->key[0] == '~') {
            continue;
        }
        status = cs_item_to_json(child, &value);
        if (status == CS_OK && item->kind == OBJECT) {
            status = cs_json_set(into, child->key, value);
        } else if (status == CS_OK && json_array_append_new(into, value) != 0) {
            status = cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
        }
    }
    return status;
}

/* Jansson has one answer for two reasons. */
static cs_status not_json(const cs_item *item)
{
    cs_status status = cs_json_check();
    return status != CS_OK
               ? status
               : cs_fail(CS_ERR_INPUT, "JSON key '%s': a string that is not valid UTF-8",
                         item->key ? item->key : "");
}

cs_status cs_item_to_json(const cs_item *item, json_t **out)
{
    json_t *value = NULL;
    switch (item->kind) {
    case NONE:
        value = json_null();
        break;
    case TEXT:
        value = json_string(item->text);
        break;
    case INT:
        value = json_integer(item->integer);
        break;
    case REAL:
        value = cs_json_number(item->real);
        break;
    case FLAG:
        value = json_boolean(item->flag);
        break;
    case OBJECT:
        value = json_object();
        break;
    case ARRAY:
        value = json_array();
        break;
    }
    if (!value) {
        return not_json(item);
    }
    cs_status status = CS_OK;
    if (item->kind == OBJECT || item->kind == ARRAY) status = members(item, value);
    return CS_DELIVER(status, out, value, cs_json_free);
}

cs_status cs_result_json(const cs_result *result, json_t **out)
{
    cs_status status = cs_result_status(result);
    return status == CS_OK ? cs_item_to_json(&result->root, out) : status;
}
