/* The record as a table: rows and columns by the paths of a view, as cells or as JSON objects. */
#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "io/json.h"
#include "io/result_private.h"

/* The object around an item, or the root itself. */
static const cs_item *around(const cs_item *item)
{
    const cs_item *up = item->parent;
    while (up && up->kind == ARRAY) {
        up = up->parent;
    }
    return up ? up : item;
}

/* Follows one path, [path, end), from a row to its value. */
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
        at = cs_item_child(at, path, length);
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

/* Where rows go: a table, or an array of objects and the kinds of values that each column has. */
typedef struct {
    cs_table *table;
    json_t *data;
    unsigned *kinds; /* bits 1 << kind, a column each */
} sink;

static cs_status set_member(json_t *object, const column *c, const cs_item *item, unsigned *kinds)
{
    const bool scalar = item && item->kind != OBJECT && item->kind != ARRAY;
    json_t *value = scalar ? NULL : json_null();
    CS_AUTO_FREE char *name = cs_format("%.*s", c->length, c->name);
    cs_status status = name ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && scalar) status = cs_item_to_json(item, &value);
    if (status == CS_OK) {
        *kinds |= 1U << (json_is_null(value) ? NONE : item->kind);
        status = cs_json_set(object, name, value);
    } else {
        json_decref(value);
    }
    return status;
}

static cs_status add_object(const cs_item *row, const char *columns, const sink *to)
{
    json_auto_t *object = json_object();
    cs_status status = object ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    column c;
    for (int i = 0; status == CS_OK && next_column(&columns, &c); ++i) {
        const cs_item number = {.kind = INT, .integer = row->index + 1};
        const bool counts = c.end - c.path == 1 && *c.path == '#';
        status = set_member(object, &c, counts ? &number : find(row, c.path, c.end), &to->kinds[i]);
    }
    if (status == CS_OK && json_array_append(to->data, object) != 0)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    return status;
}

static cs_status add_row(const cs_item *row, const char *columns, const sink *to)
{
    if (to->data) {
        return add_object(row, columns, to);
    }
    cs_table *table = to->table;
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
                          const sink *to)
{
    if (!at) {
        return CS_OK;
    }
    if (rows == end || (*rows == '.' && rows + 1 == end)) {
        return add_row(at, columns, to);
    }
    cs_status status = CS_OK;
    if (*rows == '[') {
        assert(rows[1] == ']');
        rows += 2 + (rows[2] == '.');
        bool many = at->kind == ARRAY || at->kind == OBJECT;
        for (int64_t i = 0; many && i < at->count && status == CS_OK; ++i) {
            const cs_item *child = at->child[i];
            bool counts = !child->key || child->key[0] != '~';
            status = counts ? add_rows(child, rows, end, columns, to) : CS_OK;
        }
        return status;
    }
    if (*rows == '{') {
        assert(end[-1] == '}');
        for (const char *from = rows + 1; from < end && status == CS_OK;) {
            const char *until = from + strcspn(from, ",}");
            status = add_rows(at, from, until, columns, to);
            from = until + 1;
        }
        return status;
    }
    size_t length = strcspn(rows, ".[ ,}");
    const cs_item *next = cs_item_child(at, rows, length);
    return add_rows(next, rows + length + (rows[length] == '.'), end, columns, to);
}

static cs_status add_all_rows(const cs_item *root, const cs_view *view, const sink *to)
{
    const char *rows = view->rows;
    cs_status status = CS_OK;
    do {
        const char *end = rows + strcspn(rows, " ");
        status = add_rows(root, rows, end, view->columns, to);
        rows = end + strspn(end, " ");
    } while (*rows && status == CS_OK);
    return status;
}

/* The names alone, separated by commas. */
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
    CS_AUTO_FREE char *names = status == CS_OK ? names_of(view->columns) : NULL;
    if (status == CS_OK) status = names ? cs_table_init(&table, names) : CS_ERR_MEMORY;
    if (status == CS_OK) status = add_all_rows(&result->root, view, &(sink){.table = &table});
    return CS_DELIVER(status, out, table, cs_table_free);
}

/* The type of a column of Table Schema. */
static const char *type_of(unsigned kinds)
{
    const unsigned missing = 1U << NONE, integer = 1U << INT, real = 1U << REAL;
    return kinds == integer                                      ? "integer"
           : kinds && (kinds & ~(missing | integer | real)) == 0 ? "number"
           : kinds == 1U << FLAG                                 ? "boolean"
           : (kinds & ~(missing | 1U << TEXT)) == 0              ? "string"
                                                                 : "any";
}

static cs_status add_schema(json_t *json, const char *columns, const unsigned *kinds)
{
    json_auto_t *fields = json_array(), *schema = json_object();
    cs_status status = fields && schema ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    column c;
    for (int i = 0; status == CS_OK && next_column(&columns, &c); ++i) {
        json_t *field =
            json_pack("{s:s%, s:s}", "name", c.name, (size_t)c.length, "type", type_of(kinds[i]));
        if (!field || json_array_append_new(fields, field) != 0)
            status = cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    }
    if (status == CS_OK) status = cs_json_set(schema, "fields", json_incref(fields));
    return status == CS_OK ? cs_json_set(json, "schema", json_incref(schema)) : status;
}

/* The keys of the root that have one value each. */
static char *single_values(const cs_item *root)
{
    char *names = cs_strdup("");
    for (int64_t i = 0; i < root->count; ++i) {
        const cs_item *child = root->child[i];
        if (child->kind != OBJECT && child->kind != ARRAY && child->key[0] != '~')
            cs_append(&names, "%s ", child->key);
    }
    return names;
}

cs_status cs_result_add_table(const cs_result *result, const cs_view *given, json_t *json)
{
    cs_status status = cs_result_status(result);
    if (status != CS_OK) return status;
    CS_AUTO_FREE char *names = given ? NULL : single_values(&result->root);
    if (!given && !names) return cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    const cs_view one = {"", names}, *view = given ? given : &one;
    const char *columns = view->columns;
    int count = 0;
    column c;
    while (next_column(&columns, &c)) {
        ++count;
    }
    CS_AUTO_FREE unsigned *kinds = cs_calloc(count, sizeof *kinds);
    json_auto_t *data = json_array();
    if (status == CS_OK && !(kinds && data))
        status = cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    assert(!json_object_get(json, "schema") && !json_object_get(json, "data"));
    if (status == CS_OK)
        status = add_all_rows(&result->root, view, &(sink){.data = data, .kinds = kinds});
    if (status == CS_OK) status = add_schema(json, view->columns, kinds);
    return status == CS_OK ? cs_json_set(json, "data", json_incref(data)) : status;
}

cs_status cs_result_write_csv(const cs_result *result, const cs_view *view, const char *path)
{
    CS_AUTO(cs_table) table = {0};
    cs_status status = cs_result_table(result, view, &table);
    return status == CS_OK ? cs_table_write_csv(&table, path) : status;
}
