/* gnuplot splits even quoted fields at commas, ends them at any quote, and drops the blanks at both
 * ends: cells have none of these, except a blank before text that a spreadsheet would read as a
 * formula. */
#include "analysis/study/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "base/visible.h"
#include "io/file.h"
#include "io/number.h"
#include "io/share.h"

enum { SCRIPT_LIMIT = 1 << 20, DRAWING_LIMIT = 1 << 28, MOST_SERIES = 256 };

/* --- the table -------------------------------------------------------------------------------- */

/* The column that a filter names, -1 without one; *value is what it wants there. */
static int column_of(const cs_table *table, const char *filter, const char **value)
{
    const char *colon = strchr(filter, ':');
    *value = colon ? colon + 1 : NULL;
    for (int c = 0; colon && c < table->columns; ++c) {
        if (strlen(table->name[c]) == (size_t)(colon - filter) &&
            strncmp(table->name[c], filter, (size_t)(colon - filter)) == 0) {
            return c;
        }
    }
    return -1;
}

static cs_status check_filters(const cs_figure *f, const cs_table *table, const char *path)
{
    for (int i = 0; i < f->filters; ++i) {
        const char *value = NULL;
        if (column_of(table, f->filter[i], &value) >= 0) {
            continue;
        }
        cs_hint hint = {0};
        CS_AUTO_FREE char *name = cs_format("%.*s", (int)strcspn(f->filter[i], ":"), f->filter[i]);
        for (int c = 0; name && c < table->columns; ++c) {
            cs_hint_consider(name, table->name[c], &hint);
        }
        return cs_fail(CS_ERR_USAGE, "%s: expected COLUMN:VALUE with a column of %s%s",
                       f->filter[i], path, cs_hint_text("", &hint));
    }
    return CS_OK;
}

static bool wanted(const cs_figure *f, const cs_table *table, int64_t row)
{
    for (int i = 0; i < f->filters; ++i) {
        const char *value = NULL;
        const int c = column_of(table, f->filter[i], &value);
        if (c >= 0 && strcmp(table->cell[row * table->columns + c], value) != 0) {
            return false;
        }
    }
    return true;
}

/* A copy in which a comma is a blank, and one before a blank or another comma is `comma`: in a cell U+201A, which looks like
 * one. Characters that a drawing cannot hold (XML forbids most control characters) are U+FFFD. NULL: no memory. */
static char *drawable(const char *text, const char *comma)
{
    char *out = cs_alloc(3 * (int64_t)strlen(text) + 1, 1), *to = out;
    for (size_t bytes = 0; out && *text; text += bytes) {
        char shown[CS_VISIBLE_TEXT];
        bytes = cs_visible_char(text, strlen(text), shown);
        const char *put = *text == ',' && (text[1] == ' ' || text[1] == ',') ? comma
                          : *text == ','                                     ? " "
                          : shown[0] == '\\' && !strchr("\\\n\r\t", *text)   ? "\357\277\275"
                                                                             : NULL;
        const size_t length = put ? strlen(put) : bytes;
        memcpy(to, put ? put : text, length);
        to += length;
    }
    if (out) *to = '\0';
    return out;
}

/* Each backslash twice, as gnuplot reads it in a cell. NULL: no memory. */
static char *doubled(const char *text)
{
    char *out = cs_strdup("");
    for (; *text; ++text) {
        cs_append(&out, *text == '\\' ? "\\\\" : "%c", *text);
    }
    return out;
}

/* The reverse. */
static char *single(const char *text)
{
    char *out = cs_strdup("");
    for (; *text; ++text) {
        cs_append(&out, "%c", *text);
        text += text[0] == '\\' && text[1] == '\\';
    }
    return out;
}

static cs_status append_cell(cs_table *to, const char *column, const char *text)
{
    CS_AUTO_FREE char *plain = drawable(text + strspn(text, " \t"), "\342\200\232");
    for (char *at = plain; at && *at; ++at)
        if (*at == '"') *at = '\'';
    for (char *end = plain ? plain + strlen(plain) : NULL; end > plain && strchr(" \t", end[-1]);)
        *--end = '\0';
    CS_AUTO_FREE char *escaped = plain ? doubled(plain) : NULL;
    /* CSV would put an apostrophe before a formula */
    CS_AUTO_FREE char *cell =
        escaped ? cs_format("%s%s", cs_table_formula(escaped) ? " " : "", escaped) : NULL;
    return cell ? cs_table_text(to, column, cell) : CS_ERR_MEMORY;
}

/* The text of the --label of a series, or of an object or outcome of `cospec correlate`; NULL: not given. */
static const char *given_label(const cs_figure *f, const char *name)
{
    const size_t length = strlen(name);
    const char *given = NULL;
    for (int i = 0; i < f->labels; ++i) {
        if (strncmp(f->label[i], name, length) == 0 && f->label[i][length] == '=')
            given = f->label[i] + length + 1;
    }
    return given;
}

/* A series with the name NaN, which gnuplot would read as a missing value: behind it is a word joiner,
 * U+2060, which is drawn as nothing. */
static const char nan_series[] = "NaN\342\201\240";

static cs_status append_rows(const cs_figure *f, const cs_table *from, const char *label,
                             cs_table *to)
{
    cs_status status = CS_OK;
    const int own = cs_table_column(from, f->series);
    for (int64_t r = 0; r < from->rows && status == CS_OK; ++r) {
        if (!wanted(f, from, r)) {
            continue;
        }
        const char *name = label ? label : own < 0 ? "" : from->cell[r * from->columns + own];
        status = cs_table_row(to);
        if (status == CS_OK)
            status = append_cell(to, "series", strcmp(name, "NaN") == 0 ? nan_series : name);
        for (int c = 0; c < from->columns && status == CS_OK; ++c) {
            const char *text = from->cell[r * from->columns + c];
            if (strcmp(from->name[c], "series") == 0) continue;
            if (cs_listed("object, outcome", from->name[c]) && given_label(f, text))
                text = given_label(f, text);
            status = append_cell(to, from->name[c], text);
        }
    }
    return status;
}

/* "series,<columns of from>" as a header for the joined table. */
static cs_status header_like(const cs_table *from, const char *path, cs_table *out)
{
    CS_AUTO_FREE char *names = cs_strdup("series");
    for (int c = 0; c < from->columns; ++c) {
        if (!from->name[c][0])
            return cs_fail(CS_ERR_INPUT, "%s: column %d has an empty name", path, c + 1);
        if (strcmp(from->name[c], "series") != 0) cs_append(&names, ",%s", from->name[c]);
    }
    return names ? cs_table_init(out, names) : CS_ERR_MEMORY;
}

static cs_status same_columns(const cs_table *joined, const cs_table *next, const char *path)
{
    for (int c = 0; c < next->columns; ++c) {
        if (cs_table_column(joined, next->name[c]) < 0) {
            return cs_fail(CS_ERR_INPUT, "%s: column %s is not in the first table", path,
                           next->name[c]);
        }
    }
    return CS_OK;
}

cs_status cs_figure_add(const cs_figure *figure, const char *path, const char *label,
                        cs_table *joined)
{
    CS_AUTO(cs_table) table = {0};
    cs_status status = cs_table_read_csv(path, &table);
    if (status == CS_OK) status = check_filters(figure, &table, path);
    if (status == CS_OK && joined->columns == 0) {
        status = header_like(&table, path, joined);
    } else if (status == CS_OK) {
        status = same_columns(joined, &table, path);
    }
    return status == CS_OK ? append_rows(figure, &table, label, joined) : status;
}

/* --- the script ------------------------------------------------------------------------------- */

/* Data as a "string" of gnuplot. What gnuplot would read as an escape, a macro or a command there is written as
 * an octal escape. */
static cs_status quoted(const char *what, const char *text, char **out)
{
    if (strpbrk(text, "\r\n"))
        return cs_fail(CS_ERR_INPUT, "%s %s contains a line break", what, text);
    *out = cs_strdup("\"");
    for (; *text; ++text) {
        cs_append(out, strchr("\"\\`@", *text) ? "\\%03o" : "%c", (unsigned)(unsigned char)*text);
    }
    cs_append(out, "\"");
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* The quoted name of a series in a legend: the text of its --label, else its objective in words. */
static cs_status label_of(const cs_figure *f, const char *series, char **out)
{
    const char *given = given_label(f, series);
    CS_AUTO_FREE char *label = given ? drawable(given, ",") : cs_series_label(series);
    return label ? quoted("label", label, out) : CS_ERR_MEMORY;
}

/* Declares for a script: columns, the names of the columns, each followed by a blank; the array S of the series
 * in order of appearance; the array LABEL of their names in a legend. In fresh memory. */
static cs_status series_array(const cs_figure *f, const cs_table *table, char **out)
{
    const char *seen[MOST_SERIES];
    int count = 0;
    const int column = cs_table_column(table, "series");
    for (int64_t r = 0; r < table->rows; ++r) {
        const char *name = table->cell[r * table->columns + column];
        name += name[0] == ' ';
        int i = 0;
        while (i < count && strcmp(seen[i], name) != 0) {
            ++i;
        }
        if (i == count && count == MOST_SERIES) {
            return cs_fail(CS_ERR_INPUT, "more than %d series in one figure", MOST_SERIES);
        }
        if (i == count) seen[count++] = name;
    }
    CS_AUTO_FREE char *names = cs_strdup(""), *column_text = NULL;
    for (int c = 0; c < table->columns; ++c) {
        cs_append(&names, "%s ", table->name[c]);
    }
    cs_status status = names ? quoted("column", names, &column_text) : CS_ERR_MEMORY;
    char *text = cs_format("columns = %s\narray S[%d]\narray LABEL[%d]\n",
                           column_text ? column_text : "", count, count);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO_FREE char *series = single(seen[i]), *name = NULL, *label = NULL;
        status = series ? quoted("series name", series, &name) : CS_ERR_MEMORY;
        if (status == CS_OK)
            status = label_of(f, strcmp(series, nan_series) == 0 ? "NaN" : series, &label);
        cs_append(&text, "S[%d] = %s\nLABEL[%d] = %s\n", i + 1, name ? name : "", i + 1,
                  label ? label : "");
    }
    if (status == CS_OK && !text) status = CS_ERR_MEMORY;
    if (status != CS_OK) cs_free(text);
    *out = status == CS_OK ? text : NULL;
    return status;
}

/* plots/<name>.gp of the shared files, in fresh memory. */
static cs_status read_script(const char *name, char **out)
{
    CS_AUTO_FREE char *path = NULL, *relative = cs_format("plots/%s.gp", name);
    int64_t size = 0;
    cs_status status = relative ? cs_share_path(relative, &path) : CS_ERR_MEMORY;
    return status == CS_OK ? cs_file_read_text(path, SCRIPT_LIMIT, out, &size) : status;
}

/* Columns that name things; all others that a script draws are numbers, or empty. */
static const char named[] =
    "series, similarity, with, metric, estimate, states, ask, kind, object, outcome, given, claim, "
    "measure, label, verdict, unit, family, budget, target_position, trivial, run";

static cs_status check_numbers(const cs_figure *f, const cs_table *joined, int column)
{
    const char *name = joined->name[column];
    for (int64_t r = 0; !cs_listed(named, name) && r < joined->rows; ++r) {
        const char *cell = joined->cell[r * joined->columns + column];
        double x = 0;
        if (*cell && (!cs_real_scan(cell, &x) || isnan(x))) {
            return cs_fail(CS_ERR_INPUT, "%s draws column %s, but '%s' in row %lld is not a number",
                           f->name, name, cell, (long long)r + 1);
        }
    }
    return CS_OK;
}

/* A script says which columns it draws: "# input: WHAT (columns A, B, ...", on one line. */
static cs_status check_columns(const cs_figure *f, const cs_table *joined, const char *body)
{
    const char *input = strstr(body, "# input: "), *what = input ? input + 9 : body;
    const char *columns = input ? strstr(what, " (columns ") : NULL;
    cs_status status = CS_OK;
    for (const char *at = columns ? columns + 10 : ""; *at && status == CS_OK;
         at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ",)\n");
        CS_AUTO_FREE char *name = cs_format("%.*s", (int)length, at);
        const int column = name ? cs_table_column(joined, name) : -1;
        status = !name         ? CS_ERR_MEMORY
                 : length == 0 ? CS_OK
                 : column >= 0 ? check_numbers(f, joined, column)
                               : cs_fail(CS_ERR_INPUT,
                                         "%s draws %.*s, but the given tables have no column %s",
                                         f->name, (int)(columns - what), what, name);
        at = at[length] == ',' ? at + length : "";
    }
    return status;
}

cs_status cs_figure_script(const cs_figure *figure, const cs_table *joined)
{
    const char *name = figure->name,
               *filter = figure->filters > 0 ? figure->filter[figure->filters - 1] : "";
    CS_AUTO_FREE char *style = NULL, *body = NULL, *series = NULL, *where = NULL;
    cs_status status = quoted("--where", filter, &where);
    if (status == CS_OK && joined->rows == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: the table has no rows%s", name,
                         *filter ? " that match --where" : "");
    if (status == CS_OK) status = read_script("style", &style);
    if (status == CS_OK) status = read_script(name, &body);
    if (status == CS_OK) status = check_columns(figure, joined, body);
    if (status == CS_OK) status = series_array(figure, joined, &series);
    if (status != CS_OK) return status;
    CS_AUTO_FREE char *text = cs_format(
        "# Draws %s.csv; run in this folder: gnuplot -e \"format='svg'\" %s.gp (or png, pdf)\n"
        "if (!exists(\"format\")) format = \"svg\"\nname = \"%s\"\ndata = \"%s.csv\"\n"
        "wanted = %s\n%s\n%s\n%s",
        name, name, name, name, where, series, style, body);
    CS_AUTO_FREE char *path = cs_format("%s/%s.gp", figure->dir, name);
    return text && path ? cs_file_write(path, text, (int64_t)strlen(text)) : CS_ERR_MEMORY;
}

/* --- drawing ----------------------------------------------------------------------------------- */

/* A drawing cut short, or with a hole where a write failed, is found by the structure of its format:
 * gnuplot exits with 0 after failed writes too. */

static bool ends_with(const char *bytes, int64_t size, const char *end)
{
    const int64_t length = (int64_t)strlen(end);
    while (size > 0 && strchr(" \r\n", bytes[size - 1])) {
        --size;
    }
    return size >= length && memcmp(bytes + size - length, end, (size_t)length) == 0;
}

/* The depth of open elements falls to 0 at the end only; comments, declarations and instructions do not count. */
static bool svg_whole(const char *bytes, int64_t size)
{
    int64_t depth = 0, elements = 0;
    for (const char *at = bytes, *end = bytes + size;
         at < end && (at = memchr(at, '<', (size_t)(end - at)));) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        const bool markup = close && at[1] != '!' && at[1] != '?';
        if (!close || (elements > 0 && depth == 0 && markup)) return false;
        if (markup && at[1] == '/') {
            --depth;
        } else if (markup && close[-1] != '/') {
            ++depth;
            ++elements;
        }
        at = close;
    }
    return elements > 0 && depth == 0 && ends_with(bytes, size, "</svg>");
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Chunks: 4 bytes length, 4 bytes type, the data, 4 bytes CRC-32 of type and data. */
static bool png_whole(const unsigned char *bytes, int64_t size)
{
    enum { SIGNATURE = 8, AROUND = 12 };
    int64_t at = SIGNATURE;
    if (size < SIGNATURE || memcmp(bytes, "\x89PNG\r\n\x1a\n", SIGNATURE) != 0) return false;
    while (at + AROUND <= size) {
        const int64_t length = big_endian(bytes + at);
        if (length > size - at - AROUND ||
            crc32(0, bytes + at + 4, (uInt)(length + 4)) != big_endian(bytes + at + 8 + length))
            return false;
        if (memcmp(bytes + at + 4, "IEND", 4) == 0) return at + AROUND + length == size;
        at += AROUND + length;
    }
    return false;
}

/* "startxref\nPLACE\n%%EOF" ends the file; at PLACE is "xref", or the object "N 0 obj" that has the table. */
static bool pdf_whole(const char *bytes, int64_t size)
{
    enum { TAIL = 64 };
    const char *start = NULL, *tail = bytes + (size > TAIL ? size - TAIL : 0);
    for (const char *at = tail; at + 9 < bytes + size; ++at) {
        if (memcmp(at, "startxref", 9) == 0) start = at + 9;
    }
    if (!start || !ends_with(bytes, size, "%%EOF")) return false;
    const int64_t place = strtoll(start, NULL, 10); /* %%EOF stops it within the bytes */
    return place > 0 && place < tail - bytes &&
           (memcmp(bytes + place, "xref", 4) == 0 || isdigit((unsigned char)bytes[place]));
}

const char *cs_figure_fault(const char *format, const char *bytes, int64_t size)
{
    const bool whole = strcmp(format, "svg") == 0   ? svg_whole(bytes, size)
                       : strcmp(format, "png") == 0 ? png_whole((const unsigned char *)bytes, size)
                                                    : pdf_whole(bytes, size);
    return whole ? NULL : size == 0 ? "nothing was drawn" : "the drawing is incomplete";
}

enum { FORMATS = 3 };
static const char *const formats[FORMATS] = {"svg", "png", "pdf"};

/* Runs the script once for each format. A partial file has the name of the figure, the format, and
 * numbers: nothing that gnuplot would read as a quote or a macro. */
static cs_status run_gnuplot(const cs_figure *figure, const cs_outfile *drawing)
{
    CS_AUTO_FREE char *script = cs_format("%s.gp", figure->name);
    char *set[FORMATS] = {NULL};
    const char *argv[2 + 5 * FORMATS] = {"gnuplot"}, **arg = argv;
    bool made = script != NULL;
    for (int i = 0; i < FORMATS; ++i) {
        set[i] = cs_format("set output; format='%s'; drawing=\"'%s'\"", formats[i],
                           strrchr(drawing[i].partial, '/') + 1);
        made = made && set[i];
        *++arg = "-e";
        *++arg = "reset session"; /* alone, because gnuplot reads nothing behind it */
        *++arg = "-e";
        *++arg = set[i];
        *++arg = script;
    }
    const cs_child child = {.argv = argv, .dir = figure->dir};
    int code = 0;
    cs_status status = made ? cs_child_run(&child, &code) : CS_ERR_MEMORY;
    for (int i = 0; i < FORMATS; ++i) {
        cs_free(set[i]);
    }
    if (status == CS_ERR_IO) status = cs_blame(status, "install the Debian package gnuplot-nox");
    if (status == CS_OK && code != 0)
        status = cs_fail(CS_ERR_INPUT,
                         "gnuplot failed on %s/%s.gp (its message is above); check that the table "
                         "has the columns of the figure",
                         figure->dir, figure->name);
    return status;
}

static cs_status check_drawing(const cs_outfile *drawing, const char *format)
{
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read(drawing->partial, DRAWING_LIMIT, &bytes, &size);
    const char *fault = status == CS_OK ? cs_figure_fault(format, bytes, size) : NULL;
    if (fault)
        status = cs_fail(CS_ERR_IO,
                         "gnuplot wrote no complete %s: %s; check the space on disk, and that "
                         "`gnuplot --version` is 5.4 or later",
                         format, fault);
    return cs_blame(status, "%s", drawing->path);
}

cs_status cs_figure_draw(const cs_figure *figure)
{
    cs_outfile drawing[FORMATS] = {0};
    cs_status status = CS_OK;
    for (int i = 0; i < FORMATS && status == CS_OK; ++i) {
        CS_AUTO_FREE char *path = cs_format("%s/%s.%s", figure->dir, figure->name, formats[i]);
        status = path ? cs_outfile_open(path, &drawing[i]) : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = run_gnuplot(figure, drawing);
    for (int i = 0; i < FORMATS && status == CS_OK; ++i) {
        status = check_drawing(&drawing[i], formats[i]);
    }
    for (int i = 0; i < FORMATS && status == CS_OK; ++i) {
        status = cs_outfile_commit(&drawing[i]);
    }
    for (int i = 0; i < FORMATS; ++i) {
        cs_outfile_abort(&drawing[i]);
    }
    return status;
}

/* --- labels ------------------------------------------------------------------------------------- */

/* NAME(KEY=VALUE,...), as plan/objective.h writes it; in a figure's table commas are blanks. */

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
