/* CSV reader (RFC 4180): one pass over the file in memory, fields unquoted in place.
 *
 * Stricter than the many dialects: a quote opens a field or is doubled inside a quoted one,
 * anything else is an error at its line, because guessing moves columns silently. */
#include "io/table.h"

#include <string.h>

#include "base/mem.h"
#include "io/csv.h"
#include "io/file.h"

static const int64_t READ_LIMIT = (int64_t)1 << 30;

/* Reads a quoted field: *at is after the opening quote, and behind the closing one afterwards.
 */
static cs_status read_quoted(cs_csv *r, char **out)
{
    int64_t opened = r->line;
    char *put = *out = r->at;
    while (r->at < r->end) {
        char c = *r->at++;
        if (c == '"') {
            if (r->at == r->end || *r->at != '"') {
                *put = '\0';
                return CS_OK;
            }
            r->at += 1;
        }
        r->line += c == '\n';
        *put++ = c;
    }
    return cs_fail(CS_ERR_INPUT, "%s:%lld: a quote opened here is never closed", r->path,
                   (long long)opened);
}

cs_status cs_csv_record(cs_csv *r)
{
    r->fields = 0;
    for (;;) {
        char *field = r->at;
        cs_status status = CS_OK;
        if (*r->at == '"') {
            r->at += 1;
            status = read_quoted(r, &field);
        } else {
            r->at += strcspn(r->at, ",\r\n\"");
        }
        if (status == CS_OK)
            status = cs_reserve(&r->field, &r->room, r->fields + 1, sizeof *r->field);
        if (status != CS_OK) return status;
        r->field[r->fields++] = field;
        char c = (char)(r->at < r->end ? *r->at : '\n');
        if (c == '\r' && r->at + 1 < r->end && r->at[1] == '\n') {
            *r->at++ = '\0';
            c = '\n';
        }
        if (c == '"') {
            return cs_fail(CS_ERR_INPUT, "%s:%lld: a quote inside the unquoted field '%.*s'",
                           r->path, (long long)r->line, (int)(r->at - field), field);
        }
        if (c != ',' && c != '\n') {
            return cs_fail(CS_ERR_INPUT, "%s:%lld: %s", r->path, (long long)r->line,
                           c == '\r' ? "a carriage return without a line feed"
                                     : "text after a closing quote");
        }
        if (r->at < r->end) {
            *r->at++ = '\0'; /* also ends the field */
        }
        if (c == '\n') {
            r->line += 1;
            return CS_OK;
        }
    }
}

/* A field as it was before it was kept from spreadsheets. */
static const char *unguarded(const char *field)
{
    return field + (field[0] == '\'' && cs_table_formula(field));
}

static cs_status read_header(cs_csv *r, cs_table *t)
{
    cs_status status = cs_csv_record(r);
    if (status != CS_OK) return status;
    t->name = cs_calloc(r->fields, sizeof *t->name);
    if (!t->name) return CS_ERR_MEMORY;
    for (int c = 0; c < r->fields; ++c) {
        const char *name = unguarded(r->field[c]);
        if (cs_table_column(t, name) >= 0) {
            return cs_fail(CS_ERR_INPUT, "%s:1: two columns are named '%s'", r->path, name);
        }
        if (!(t->name[c] = cs_strdup(name))) return CS_ERR_MEMORY;
        t->columns += 1;
    }
    return CS_OK;
}

static cs_status read_rows(cs_csv *r, cs_table *t)
{
    while (r->at < r->end) {
        int64_t line = r->line;
        cs_status status = cs_csv_record(r);
        if (status == CS_OK && r->fields != t->columns)
            status = cs_fail(CS_ERR_INPUT, "%s:%lld: %d fields, but the header has %d", r->path,
                             (long long)line, r->fields, t->columns);
        if (status == CS_OK) status = cs_table_row(t);
        for (int c = 0; c < t->columns && status == CS_OK; ++c) {
            status = cs_table_put(t, c, unguarded(r->field[c]));
        }
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* What no CSV holds: nothing at all, a pointer file, a NUL byte (a binary file, or UTF-16). */
static cs_status check_text(const char *path, const char *text, int64_t size)
{
    cs_status status = cs_lfs_check(path, text, size);
    if (status != CS_OK) return status;
    if (size == 0) {
        return cs_fail(CS_ERR_INPUT, "%s:1: the file is empty; a table needs a header", path);
    }
    return cs_text_check(path, text, size);
}

cs_status cs_table_read_csv(const char *path, cs_table *out)
{
    char *text = NULL;
    int64_t size = 0;
    cs_table t = {0};
    cs_csv r = {.path = path, .line = 1};
    cs_status status = cs_file_read(path, READ_LIMIT, &text, &size);
    if (status == CS_OK) status = check_text(path, text, size);
    if (status == CS_OK) {
        bool marked = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
        r.at = text + (marked ? 3 : 0);
        r.end = text + size;
        status = read_header(&r, &t);
    }
    if (status == CS_OK) status = read_rows(&r, &t);
    cs_free(r.field);
    cs_free(text);
    return CS_DELIVER(status, out, t, cs_table_free);
}
