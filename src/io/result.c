/* Results as trees of items. An object keeps its keys in order in an array and looks them up one
 * after the other: objects are small, and rows of a long result are elements of an array. */
#include "io/result.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

typedef enum { NONE, TEXT, INT, REAL, FLAG, OBJECT, ARRAY } kind;

struct cs_item {
    kind kind;
    cs_result *owner;
    cs_item *parent; /* the object or array that holds it; NULL: the root */
    char *key;       /* in an object */
    int64_t index;   /* in an array */
    union {
        char *text;
        int64_t integer;
        double real;
        bool flag;
        struct {
            int64_t count, room;
            cs_item **child;
        };
    };
};

struct cs_result {
    cs_status status;
    cs_item root;
};

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

static const cs_item *child_of(const cs_item *in, const char *key, size_t length)
{
    for (int64_t i = 0; in->kind == OBJECT && i < in->count; ++i) {
        const char *name = in->child[i]->key;
        if (strncmp(name, key, length) == 0 && name[length] == '\0') {
            return in->child[i];
        }
    }
    return NULL;
}

static cs_item *add(cs_item *in, const char *key, kind what)
{
    if (!in || in->owner->status != CS_OK) return NULL;
    assert((in->kind == OBJECT && key && !child_of(in, key, strlen(key))) ||
           (in->kind == ARRAY && !key));
    if (cs_reserve(&in->child, &in->room, in->count + 1, sizeof *in->child) != CS_OK) {
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
    cs_item *item = add(in, key, NONE);
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
    cs_item *item = text ? add(in, key, TEXT) : NULL;
    if (item) {
        item->text = text;
        return;
    }
    if (in) (void)failed(in);
    cs_free(text);
}

void cs_item_int(cs_item *in, const char *key, int64_t x)
{
    cs_item *item = add(in, key, INT);
    if (item) item->integer = x;
}

void cs_item_real(cs_item *in, const char *key, double x)
{
    cs_item *item = add(in, key, REAL);
    if (item) item->real = x;
}

void cs_item_flag(cs_item *in, const char *key, bool x)
{
    cs_item *item = add(in, key, FLAG);
    if (item) item->flag = x;
}

void cs_item_null(cs_item *in, const char *key)
{
    (void)add(in, key, NONE);
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
    return add(in, key, OBJECT);
}

cs_item *cs_item_array(cs_item *in, const char *key)
{
    return add(in, key, ARRAY);
}

void cs_item_reals(cs_item *in, const char *key, int64_t n, const double *x)
{
    cs_item *array = add(in, key, ARRAY);
    for (int64_t i = 0; i < n; ++i) {
        cs_item_real(array, NULL, x[i]);
    }
}

void cs_item_ints(cs_item *in, const char *key, int64_t n, const int64_t *x)
{
    cs_item *array = add(in, key, ARRAY);
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

static cs_status to_json(const cs_item *item, json_t **out);

static cs_status members(const cs_item *item, json_t *into)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < item->count && status == CS_OK; ++i) {
        const cs_item *child = item->child[i];
        json_t *value = NULL;
        if (item->kind == OBJECT && child->key[0] == '~') {
            continue;
        }
        status = to_json(child, &value);
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
    return status != CS_OK ? status
                           : cs_fail(CS_ERR_INPUT, "JSON key '%s': a text that is not UTF-8",
                                     item->key ? item->key : "");
}

static cs_status to_json(const cs_item *item, json_t **out)
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
    return status == CS_OK ? to_json(&result->root, out) : status;
}

/* --- as a table ------------------------------------------------------------------------------- */

/* The object around an item, or the root itself. */
static const cs_item *around(const cs_item *item)
{
    const cs_item *up = item->parent;
    while (up && up->kind == ARRAY) {
        up = up->parent;
    }
    return up ? up : item;
}

/* What one path, [path, end), leads to from a row. */
static const cs_item *follow(const cs_item *row, const char *path, const char *end)
{
    const cs_item *at = row;
    if (path < end && *path == '/') {
        at = &row->owner->root;
        ++path;
    }
    for (; path < end && *path == '^'; ++path) {
        at = around(at);
    }
    if (end - path == 1 && *path == '.') {
        return at;
    }
    while (at && path < end) {
        size_t length = 0;
        while (path + length < end && path[length] != '.' && path[length] != '[') {
            ++length;
        }
        at = child_of(at, path, length);
        path += length;
        if (path < end && *path == '[') {
            assert(end - path >= 3 && memcmp(path, "[#]", 3) == 0);
            at = at && at->kind == ARRAY && row->index < at->count ? at->child[row->index] : NULL;
            path += 3;
        }
        path += path < end && *path == '.';
    }
    return at;
}

/* The first of the paths that leads somewhere. */
static const cs_item *find(const cs_item *row, const char *path, const char *end)
{
    const cs_item *found = NULL;
    while (!found && path < end) {
        const char *bar = memchr(path, '|', (size_t)(end - path));
        found = follow(row, path, bar ? bar : end);
        path = bar ? bar + 1 : end;
    }
    return found;
}

static cs_status set_cell(cs_table *table, const char *column, const cs_item *item)
{
    switch (item ? item->kind : NONE) {
    case TEXT:
        return cs_table_text(table, column, item->text);
    case INT:
        return cs_table_int(table, column, item->integer);
    case REAL:
        return cs_table_real(table, column, item->real);
    case FLAG:
        return cs_table_text(table, column, item->flag ? "true" : "false");
    case NONE:
    case OBJECT:
    case ARRAY:
        break;
    }
    return CS_OK;
}

/* A column of the view: its name is [name, name + length), its path [path, end). */
typedef struct {
    const char *name, *path, *end;
    int length;
} column;

/* The next of the columns, from *at on; false when there is none. */
static bool next_column(const char **at, column *out)
{
    const char *from = *at + strspn(*at, " ");
    size_t size = strcspn(from, " ");
    const char *sign = memchr(from, '=', size);
    *out = (column){from, sign ? sign + 1 : from, from + size,
                    (int)(sign ? sign - from : (ptrdiff_t)size)};
    *at = from + size;
    return size > 0;
}

static cs_status add_row(const cs_item *row, const char *columns, cs_table *table)
{
    cs_status status = cs_table_row(table);
    column c;
    for (int i = 0; status == CS_OK && next_column(&columns, &c); ++i) {
        if (c.end - c.path == 1 && *c.path == '#') {
            status = cs_table_int(table, table->name[i], row->index + 1);
        } else {
            status = set_cell(table, table->name[i], find(row, c.path, c.end));
        }
    }
    return status;
}

/* The rows at the end of one path, [rows, end). Its depth is that of the path.
 * NOLINTNEXTLINE(misc-no-recursion) */
static cs_status add_rows(const cs_item *at, const char *rows, const char *end, const char *columns,
                          cs_table *table)
{
    if (!at) {
        return CS_OK;
    }
    if (rows == end || (*rows == '.' && rows + 1 == end)) {
        return add_row(at, columns, table);
    }
    cs_status status = CS_OK;
    if (*rows == '[') {
        assert(rows[1] == ']');
        rows += 2 + (rows[2] == '.');
        bool many = at->kind == ARRAY || at->kind == OBJECT;
        for (int64_t i = 0; many && i < at->count && status == CS_OK; ++i) {
            const cs_item *child = at->child[i];
            bool counts = !child->key || child->key[0] != '~';
            status = counts ? add_rows(child, rows, end, columns, table) : CS_OK;
        }
        return status;
    }
    if (*rows == '{') {
        assert(end[-1] == '}');
        for (const char *from = rows + 1; from < end && status == CS_OK;) {
            const char *to = from + strcspn(from, ",}");
            status = add_rows(at, from, to, columns, table);
            from = to + 1;
        }
        return status;
    }
    size_t length = strcspn(rows, ".[ ,}");
    const cs_item *next = child_of(at, rows, length);
    return add_rows(next, rows + length + (rows[length] == '.'), end, columns, table);
}

static cs_status add_all_rows(const cs_item *root, const cs_view *view, cs_table *table)
{
    const char *rows = view->rows;
    cs_status status = CS_OK;
    do {
        const char *end = rows + strcspn(rows, " ");
        status = add_rows(root, rows, end, view->columns, table);
        rows = end + strspn(end, " ");
    } while (*rows && status == CS_OK);
    return status;
}

/* The names alone, parted by commas. */
static char *names_of(const char *columns)
{
    char *names = cs_strdup(columns); /* no shorter than what it will hold */
    char *out = names;
    column c;
    while (names && next_column(&columns, &c)) {
        if (out > names) *out++ = ',';
        memmove(out, c.name, (size_t)c.length);
        out += c.length;
    }
    if (names) *out = '\0';
    return names;
}

cs_status cs_result_table(const cs_result *result, const cs_view *view, cs_table *out)
{
    cs_table table = {0};
    cs_status status = cs_result_status(result);
    char *names = status == CS_OK ? names_of(view->columns) : NULL;
    if (status == CS_OK) status = names ? cs_table_init(&table, names) : CS_ERR_MEMORY;
    if (status == CS_OK) status = add_all_rows(&result->root, view, &table);
    cs_free(names);
    return CS_DELIVER(status, out, table, cs_table_free);
}

cs_status cs_result_write_csv(const cs_result *result, const cs_view *view, const char *path)
{
    cs_table table = {0};
    cs_status status = cs_result_table(result, view, &table);
    if (status == CS_OK) status = cs_table_write_csv(&table, path);
    cs_table_free(&table);
    return status;
}
