/* Tidy tables in memory, and their printed forms.
 *
 * Every cell is its own small string: tables hold results (up to some 10^6 cells), not data. */
#include "io/table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/number.h"

static cs_status split_names(cs_table *t, char *names)
{
    int columns = 1;
    for (const char *p = names; *p != '\0'; ++p) {
        columns += *p == ',';
    }
    t->name = cs_calloc(columns, sizeof *t->name);
    if (!t->name) return CS_ERR_MEMORY;
    char *rest = names;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
        if (name[0] == '\0') {
            return cs_fail(CS_ERR_USAGE, "column %d has an empty name", t->columns + 1);
        }
        if (cs_table_column(t, name) >= 0) {
            return cs_fail(CS_ERR_USAGE, "two columns are named '%s'", name);
        }
        if (!(t->name[t->columns] = cs_strdup(name))) return CS_ERR_MEMORY;
        t->columns += 1;
    }
    return CS_OK;
}

cs_status cs_table_init(cs_table *table, const char *names)
{
    cs_table t = {0};
    CS_AUTO_FREE char *copy = cs_strdup(names);
    cs_status status = copy ? split_names(&t, copy) : CS_ERR_MEMORY;
    return CS_DELIVER(status, table, t, cs_table_free);
}

void cs_table_free(cs_table *table)
{
    for (int64_t i = 0; i < table->rows * table->columns; ++i) {
        cs_free(table->cell[i]);
    }
    for (int c = 0; c < table->columns; ++c) {
        cs_free(table->name[c]);
    }
    CS_FREE_FIELDS(table, cell, name);
    *table = (cs_table){0};
}

cs_status cs_table_row(cs_table *table)
{
    cs_status status = cs_reserve(&table->cell, &table->capacity, table->rows + 1,
                                  (size_t)table->columns * sizeof *table->cell);
    if (status != CS_OK) return status;
    char **cell = table->cell + table->rows * table->columns;
    for (int c = 0; c < table->columns; ++c) {
        cell[c] = cs_strdup("");
        if (!cell[c]) {
            while (c > 0) {
                cs_free(cell[--c]);
            }
            return CS_ERR_MEMORY;
        }
    }
    table->rows += 1;
    return CS_OK;
}

int cs_table_column(const cs_table *table, const char *name)
{
    for (int c = 0; c < table->columns; ++c) {
        if (strcmp(table->name[c], name) == 0) {
            return c;
        }
    }
    return -1;
}

static cs_status put_cell(cs_table *table, int column, const char *text)
{
    assert(column >= 0 && table->rows > 0);
    char *copy = cs_strdup(text);
    if (!copy) return CS_ERR_MEMORY;
    char **cell = &table->cell[(table->rows - 1) * table->columns + column];
    cs_free(*cell);
    *cell = copy;
    return CS_OK;
}

cs_status cs_table_text(cs_table *table, const char *column, const char *text)
{
    return put_cell(table, cs_table_column(table, column), text);
}

cs_status cs_table_real(cs_table *table, const char *column, double x)
{
    char text[CS_REAL_TEXT] = "";
    if (!isnan(x)) {
        cs_real_format(x, 17, text);
    }
    return cs_table_text(table, column, text);
}

cs_status cs_table_int(cs_table *table, const char *column, int64_t x)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, x);
    return cs_table_text(table, column, text);
}

bool cs_table_formula(const char *text)
{
    const char *first = text + strspn(text, "'");
    double x = 0;
    return *first && first[1] && strchr("=+-@\t\r", *first) && !cs_real_scan(text, &x);
}

/* One field; quoted when it holds a separator, or is alone and empty (readers skip blank lines). */
static void print_field(FILE *f, const char *text, bool alone)
{
    const char *guard = cs_table_formula(text) ? "'" : "";
    if (!strpbrk(text, ",\"\r\n") && !(alone && text[0] == '\0')) {
        (void)fprintf(f, "%s%s", guard, text);
        return;
    }
    (void)fprintf(f, "\"%s", guard);
    for (const char *p = text; *p != '\0'; ++p) {
        if (*p == '"') {
            (void)fputc('"', f);
        }
        (void)fputc(*p, f);
    }
    (void)fputc('"', f);
}

void cs_csv_field(FILE *stream, const char *text)
{
    print_field(stream, text, false);
}

/* The stream's error flag is sticky: one check after the last write sees every failure. */
static cs_status check_stream(FILE *stream)
{
    return ferror(stream) ? cs_fail(CS_ERR_IO, "cannot write table: %s", strerror(errno)) : CS_OK;
}

cs_status cs_table_print_csv(const cs_table *table, FILE *stream)
{
    errno = 0;
    for (int64_t r = -1; r < table->rows && !ferror(stream); ++r) {
        char **field = r < 0 ? table->name : table->cell + r * table->columns;
        for (int c = 0; c < table->columns; ++c) {
            if (c > 0) {
                (void)fputc(',', stream);
            }
            print_field(stream, field[c], table->columns == 1);
        }
        (void)fputc('\n', stream);
    }
    return check_stream(stream);
}

cs_status cs_table_write_csv(const cs_table *table, const char *path)
{
    cs_outfile f = {0};
    cs_status status = cs_outfile_open(path, &f);
    if (status == CS_OK) status = cs_blame(cs_table_print_csv(table, f.stream), "%s", path);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    return status;
}

/* --- aligned text ----------------------------------------------------------------------------- */

/* Columns on screen, taking one a code point: right for Latin and Greek, not for wide scripts. */
static int text_width(const char *text)
{
    int width = 0;
    for (const char *p = text; *p != '\0'; ++p) {
        width += ((unsigned char)*p & 0xC0) != 0x80;
    }
    return width;
}

/* Whether a cell is a number; `brief` gets its short form: integers as they are, reals in %.6g. */
static bool brief_number(const char *text, char brief[CS_REAL_TEXT])
{
    double x = 0;
    if (strlen(text) >= CS_REAL_TEXT || !cs_real_scan(text, &x)) {
        return false;
    }
    if (strpbrk(text, ".eEnN")) {
        cs_real_format(x, 6, brief);
    } else {
        memcpy(brief, text, strlen(text) + 1);
    }
    return true;
}

static const char *shown(const char *text, char brief[CS_REAL_TEXT])
{
    return brief_number(text, brief) ? brief : text;
}

/* Width of a column, and whether all its filled cells are numbers (set to the right). */
static int measure(const cs_table *t, int column, bool *numeric)
{
    char brief[CS_REAL_TEXT];
    int width = text_width(t->name[column]);
    *numeric = t->rows > 0;
    for (int64_t r = 0; r < t->rows; ++r) {
        const char *text = t->cell[r * t->columns + column];
        int w = text_width(shown(text, brief));
        width = w > width ? w : width;
        *numeric = *numeric && (text[0] == '\0' || brief_number(text, brief));
    }
    return width;
}

static void print_padded(FILE *f, const char *text, int width, bool right, bool last)
{
    int pad = width - text_width(text);
    if (right) {
        (void)fprintf(f, "%*s%s", pad, "", text);
    } else {
        (void)fprintf(f, "%s%*s", text, last ? 0 : pad, "");
    }
    (void)fputs(last ? "\n" : "  ", f);
}

cs_status cs_table_print_text(const cs_table *table, FILE *stream)
{
    CS_AUTO_FREE int *width = cs_calloc(table->columns, sizeof *width);
    CS_AUTO_FREE bool *right = cs_calloc(table->columns, sizeof *right);
    if (!width || !right) return CS_ERR_MEMORY;
    errno = 0;
    for (int c = 0; c < table->columns; ++c) {
        width[c] = measure(table, c, &right[c]);
    }
    for (int64_t r = -1; r < table->rows; ++r) {
        char **field = r < 0 ? table->name : table->cell + r * table->columns;
        for (int c = 0; c < table->columns; ++c) {
            char brief[CS_REAL_TEXT];
            print_padded(stream, r < 0 ? field[c] : shown(field[c], brief), width[c], right[c],
                         c == table->columns - 1);
        }
    }
    return check_stream(stream);
}

/* --- reading ----------------------------------------------------------------------------------- */

/* CSV (RFC 4180): one pass over the file in memory, fields unquoted in place. Stricter than the many
 * dialects: a quote opens a field or is doubled inside a quoted one, anything else is an error at
 * its line, because guessing moves columns silently. */

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
            status = cs_reserve(&r->field, &r->capacity, r->fields + 1, sizeof *r->field);
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
            status = put_cell(t, c, unguarded(r->field[c]));
        }
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* Refuses contents that no CSV file has: nothing at all, a pointer file, a NUL byte (a binary file,
 * or UTF-16). */
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
    CS_AUTO_FREE char *text = NULL;
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
    return CS_DELIVER(status, out, t, cs_table_free);
}
