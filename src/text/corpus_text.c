/* Files of lines: plain text, columns, labels before a blank, JSON. The file in memory, a line at a
 * time; parts of a large one side by side, each thread with its own builder. A line ends at LF or
 * CR LF; empty lines are no documents. Columns of TSV are split at every tab, without quoting;
 * records of CSV, which may take several lines, are read on one thread. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "io/table.h"
#include "text/columns_private.h"
#include "text/corpus_builder_private.h"

enum {
    REPORT_EVERY = 4096,  /* lines between looks at the interrupt flag */
    LEAST_PART = 1 << 19, /* bytes */
    PARTS_PER_THREAD = 8, /* which end at about the same time */
};

/* 1-based columns of a tab-separated file; 0: absent. */
typedef struct {
    int64_t label, text, pair, key, split;
} tsv_columns;

typedef struct {
    const char *path;
    const cs_corpus_options *options;
    tsv_columns columns;
    cs_text_rules *rules;
    const char *text, *begin; /* of the whole file, of this part */
    char *at, *end;           /* text not read yet */
    char *line;               /* the current line, without its end */
    int64_t size, number;     /* number from 1, of the lines of this part */
    int64_t before;           /* lines before it; -1: not counted yet */
    const cs_progress *progress;
    json_t *object; /* of the line, which holds the texts of the document */
    char *label;    /* one that is no text in it */
} reader;

/* The document of the current line; its texts live until the next call. text NULL: left out. */
typedef cs_status (*document_of)(reader *r, cs_document *out);

/* Moves to the next line that is not empty; false after the last. */
static bool next_line(reader *r)
{
    while (r->at < r->end) {
        char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        char *next = stop ? stop + 1 : r->end;
        stop = stop ? stop : r->end;
        r->line = r->at;
        r->at = next;
        r->number += 1;
        r->size = stop - r->line;
        if (r->size > 0 && r->line[r->size - 1] == '\r') {
            r->size -= 1;
        }
        if (r->size > 0) {
            return true;
        }
    }
    return false;
}

/* Reports the progress of reading and checks for an interrupt, once in a fixed number of lines. */
static cs_status pause_between(const reader *r, int64_t size)
{
    if (r->number % REPORT_EVERY != 0) {
        return CS_OK;
    }
    cs_progress_report(r->progress, "bytes of text", r->at - r->text, size);
    return cs_interrupt_check();
}

/* Number of the current line in the file. What is before the part is counted when that is asked. */
static int64_t line_number(reader *r)
{
    if (r->before < 0) {
        r->before = 0;
        for (const char *at = r->text; (at = memchr(at, '\n', (size_t)(r->begin - at))); ++at) {
            r->before += 1;
        }
    }
    return r->before + r->number;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* The column of that number (1-based; 0: leaves *text and *size) of the current line. */
static cs_status column_of(const reader *r, const char *what, int64_t number, const char **text,
                           int64_t *size)
{
    const char *at = r->line, *end = r->line + r->size;
    for (int64_t c = 1; number > 0; ++c) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (c == number) {
            *text = at;
            *size = (tab ? tab : end) - at;
            break;
        }
        if (!tab) {
            return cs_fail(CS_ERR_INPUT, "%lld column%s, but %s was expected in column %lld%s",
                           (long long)c, c == 1 ? "" : "s", what, (long long)number,
                           c == 1 && memchr(r->line, ' ', (size_t)r->size)
                               ? "; for lines of LABEL SPACE TEXT give --format space"
                               : "");
        }
        at = tab + 1;
    }
    return CS_OK;
}

static bool is_word(const char *text, int64_t size, const char *word)
{
    return size == (int64_t)strlen(word) &&
           (size == 0 || strncasecmp(text, word, (size_t)size) == 0);
}

static cs_status split_of(const char *text, int64_t size, cs_document_split *out)
{
    static const char *const names[] = {
        [CS_DOCUMENT_HASHED] = "", [CS_DOCUMENT_TRAIN] = "train", [CS_DOCUMENT_TEST] = "test"};
    for (int i = CS_DOCUMENT_HASHED; i <= CS_DOCUMENT_TEST; ++i) {
        if (is_word(text, size, names[i])) {
            *out = (cs_document_split)i;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "split \"%.*s\" is not train, test or empty",
                   (int)(size < 80 ? size : 80), text);
}

static cs_status tsv_document(reader *r, cs_document *out)
{
    const tsv_columns *c = &r->columns;
    const char *split = NULL;
    int64_t size = 0;
    cs_status status = column_of(r, "the label", c->label, &out->label, &out->label_size);
    if (status == CS_OK) status = column_of(r, "the text", c->text, &out->text, &out->size);
    if (status == CS_OK)
        status = column_of(r, "the second text", c->pair, &out->pair, &out->pair_size);
    if (status == CS_OK) status = column_of(r, "the key", c->key, &out->key, &out->key_size);
    if (status == CS_OK) status = column_of(r, "the split", c->split, &split, &size);
    if (status == CS_OK) status = split_of(split, size, &out->split);
    return status;
}

/* --- plain text ------------------------------------------------------------------------------- */

static cs_status text_document(reader *r, cs_document *out)
{
    out->text = r->line;
    out->size = r->size;
    return CS_OK;
}

static cs_status spaced_document(reader *r, cs_document *out)
{
    const char *blank = memchr(r->line, ' ', (size_t)r->size);
    if (!blank || blank == r->line) {
        return cs_fail(CS_ERR_INPUT, "expected a label, a space and a text");
    }
    out->label = r->line;
    out->label_size = blank - r->line;
    out->text = blank + 1;
    out->size = r->size - out->label_size - 1;
    return CS_OK;
}

/* --- JSON lines ------------------------------------------------------------------------------- */

/* XXXX of an escape \uXXXX; -1: it is none. */
static int32_t escape_of(const char *text, int64_t size)
{
    int32_t code = 0;
    if (size < 6 || text[0] != '\\' || text[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; ++i) {
        const int c = tolower((unsigned char)text[i]);
        if (!isxdigit(c)) {
            return -1;
        }
        code = 16 * code + (isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return code;
}

/* The next escape from `at` on that is half a surrogate pair, or a NUL: no character, which jansson
 * refuses. `size` where there is none. */
static int64_t next_half(const char *line, int64_t size, int64_t at)
{
    while (at < size) {
        const int32_t code = escape_of(line + at, size - at),
                      second = code < 0 ? -1 : escape_of(line + at + 6, size - at - 6);
        const bool high = code >= 0 && (code & 0xFC00) == 0xD800,
                   low = code >= 0 && (code & 0xFC00) == 0xDC00;
        if (code == 0 || low || (high && (second < 0 || (second & 0xFC00) != 0xDC00))) {
            return at;
        }
        at += line[at] != '\\' ? 1 : code < 0 ? 2 : high ? 12 : 6;
    }
    return size;
}

/* By the rules: U+FFFD there; *keeps = false: the line is left out. */
static cs_status admit_escapes(reader *r, bool *keeps)
{
    for (int64_t at = next_half(r->line, r->size, 0); at < r->size;
         at = next_half(r->line, r->size, at + 6)) {
        if (r->rules->rule == CS_INVALID_REFUSE) {
            return cs_fail(CS_ERR_INPUT,
                           "byte %lld: %.6s is not a character; give --invalid replace, skip or "
                           "latin1 to continue",
                           (long long)at + 1, r->line + at);
        }
        if (r->rules->rule == CS_INVALID_SKIP) {
            r->rules->documents += 1;
            *keeps = false;
            break;
        }
        r->rules->bytes += 1;
        memcpy(r->line + at, "\\uFFFD", 6);
    }
    return CS_OK;
}

static cs_status text_of(const reader *r, const char *key, const char **text, int64_t *size)
{
    const json_t *value = json_object_get(r->object, key);
    if (!json_is_string(value)) {
        return cs_fail(CS_ERR_INPUT, "expected an object with a string under \"%s\"", key);
    }
    *text = json_string_value(value);
    *size = (int64_t)json_string_length(value);
    return CS_OK;
}

static cs_status label_of(reader *r, cs_document *out)
{
    const char *key = r->options->label_field ? r->options->label_field : "label";
    const json_t *label = json_object_get(r->object, key);
    if (!label || json_is_null(label)) {
        out->label = ""; /* its place is empty, where other formats have none */
        return CS_OK;
    }
    if (json_is_string(label)) {
        return text_of(r, key, &out->label, &out->label_size);
    }
    if (!json_is_number(label) && !json_is_boolean(label)) {
        return cs_fail(CS_ERR_INPUT, "\"%s\" is not a string, number, true or false", key);
    }
    cs_free(r->label);
    r->label = json_is_boolean(label)   ? cs_strdup(json_is_true(label) ? "true" : "false")
               : json_is_integer(label) ? cs_format("%lld", (long long)json_integer_value(label))
                                        : cs_format("%.17g", json_real_value(label));
    if (!r->label) return CS_ERR_MEMORY;
    out->label = r->label;
    out->label_size = (int64_t)strlen(r->label);
    return CS_OK;
}

static cs_status json_document(reader *r, cs_document *out)
{
    const cs_corpus_options *o = r->options;
    bool keeps = true;
    cs_status status = admit_escapes(r, &keeps);
    if (status != CS_OK || !keeps) return status;
    const char *text = o->text_field ? o->text_field : "text";
    json_decref(r->object);
    r->object = NULL;
    status = cs_json_parse_line(r->path, line_number(r), r->line, r->size, &r->object);
    if (status == CS_ERR_INPUT) {
        CS_AUTO_FREE char *why = cs_strdup(cs_reason());
        if (!why) return CS_ERR_MEMORY;
        cs_reason_clear();
        status = cs_fail(status, "%s; each line must be one JSON object with a string under \"%s\"",
                         why, text);
        return status;
    }
    if (status == CS_OK) status = text_of(r, text, &out->text, &out->size);
    if (status == CS_OK && (o->pair_column > 0 || o->pair_column == CS_PAIR_WANTED))
        status = text_of(r, o->pair_field ? o->pair_field : "pair", &out->pair, &out->pair_size);
    return status == CS_OK ? label_of(r, out) : status;
}

/* --- files ------------------------------------------------------------------------------------ */

/* size: of the whole file. */
static cs_status add_lines(reader *r, document_of document, int64_t size,
                           cs_corpus_builder *builder)
{
    cs_status status = cs_corpus_builder_expect(builder, r->end - r->at);
    while (status == CS_OK && !builder->enough && next_line(r)) {
        cs_document made = {0};
        if (cs_text_keeps(r->rules, r->line, r->size)) status = document(r, &made);
        if (status == CS_OK && made.text) status = cs_corpus_builder_add(builder, &made);
        if (status == CS_ERR_INPUT)
            return cs_blame(status, "%s:%lld", r->path, (long long)line_number(r));
        if (status == CS_OK) status = pause_between(r, size);
    }
    return status;
}

static void reader_free(reader *r)
{
    json_decref(r->object);
    cs_free(r->label);
}

typedef struct {
    const reader *whole;
    document_of document;
    int64_t parts;
    cs_corpus_part *part;
    cs_corpus_builder *builder; /* of each thread */
    cs_text_file *file;         /* whose checksum is an item more, the first */
} division;

/* The beginning of a part: after the end of the line at its share of the bytes. */
static char *part_begin(const division *d, int64_t part)
{
    const reader *r = d->whole;
    const int64_t size = r->end - r->at, at = size / d->parts * part;
    if (part == 0 || part == d->parts) {
        return part == 0 ? r->at : r->end;
    }
    char *stop = memchr(r->at + at - 1, '\n', (size_t)(size - at + 1));
    return stop ? stop + 1 : r->end;
}

static cs_status read_part(void *ctx, int64_t item, int worker)
{
    const division *d = ctx;
    if (item-- == 0) {
        cs_text_hash(d->file);
        return CS_OK;
    }
    cs_corpus_builder *builder = &d->builder[worker];
    CS_AUTO(reader) r = *d->whole;
    r.at = part_begin(d, item);
    r.end = part_begin(d, item + 1);
    r.begin = r.at;
    r.number = 0;
    r.before = -1;
    r.rules = &builder->rules;
    r.progress = worker == 0 ? r.progress : NULL; /* which is for one thread at a time */
    cs_status status = add_lines(&r, d->document, d->whole->end - d->whole->at, builder);
    cs_corpus_builder_cut(builder, worker, &d->part[item]);
    return status;
}

/* All lines; on several threads where there are enough and nobody wants the documents themselves. */
static cs_status read_all(reader *r, document_of document, cs_text_file *file,
                          cs_corpus_builder *builder)
{
    const int threads = r->options->threads > 0 ? r->options->threads : cs_threads();
    const int64_t size = r->end - r->at, most = (int64_t)threads * PARTS_PER_THREAD;
    division d = {.whole = r, .document = document, .file = file, .parts = size / LEAST_PART};
    d.parts = d.parts < most ? d.parts : most;
    if (threads == 1 || d.parts < 2 || r->options->take) {
        return add_lines(r, document, size, builder);
    }
    d.part = cs_calloc(d.parts, sizeof *d.part);
    d.builder = cs_calloc(threads, sizeof *d.builder);
    cs_status status = d.part && d.builder ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < threads && status == CS_OK; ++i) {
        cs_corpus_builder_init(&d.builder[i], r->options);
        d.builder[i].in_parts = true;
    }
    if (status == CS_OK) status = cs_parallel_workers(d.parts + 1, threads, read_part, &d);
    if (status == CS_OK)
        status = cs_corpus_builder_join(builder, d.builder, threads, d.part, d.parts);
    for (int64_t p = 0; p < d.parts && d.part; ++p) {
        cs_corpus_part_free(&d.part[p]);
    }
    for (int i = 0; i < threads && d.builder; ++i) {
        cs_corpus_builder_free(&d.builder[i]);
    }
    CS_FREE_FIELDS(&d, part, builder);
    return status;
}

static tsv_columns columns_to_read(const cs_columns *c)
{
    return (tsv_columns){.label = c->label, .text = c->text, .pair = c->pair};
}

/* Takes the columns from the first line, which is passed over where it is a header. */
static cs_status read_header(reader *r, cs_columns *found)
{
    reader first = *r;
    CS_AUTO_FREE cs_cell *cell = NULL;
    int64_t cells = 0, capacity = 0;
    cs_status status = CS_OK;
    if (!next_line(&first)) return CS_OK; /* an empty file */
    for (const char *at = first.line, *end = at + first.size; status == CS_OK && at <= end;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        status = cs_reserve(&cell, &capacity, cells + 1, sizeof *cell);
        if (status == CS_OK) cell[cells++] = (cs_cell){at, (tab ? tab : end) - at};
        at = tab ? tab + 1 : end + 1;
    }
    if (status == CS_OK)
        status = cs_blame(cs_columns_find(r->options, false, cell, cells, found), "%s:%lld",
                          r->path, (long long)first.number);
    if (status == CS_OK && found->headers > 0) *r = first;
    if (status == CS_OK) r->columns = columns_to_read(found);
    return status;
}

/* --- records of CSV --------------------------------------------------------------------------- */

static cs_status csv_columns(const reader *r, const cs_csv *csv, cs_columns *found)
{
    CS_AUTO_FREE cs_cell *cell = cs_alloc(csv->fields, sizeof *cell);
    if (!cell) return CS_ERR_MEMORY;
    for (int i = 0; i < csv->fields; ++i) {
        cell[i] = (cs_cell){csv->field[i], (int64_t)strlen(csv->field[i])};
    }
    return cs_columns_find(r->options, true, cell, csv->fields, found);
}

static cs_status csv_field(const cs_csv *csv, const char *what, int64_t number, const char **text,
                           int64_t *size)
{
    if (number == 0) return CS_OK;
    if (number > csv->fields) {
        return cs_fail(CS_ERR_INPUT, "%d column%s, but %s was expected in column %lld", csv->fields,
                       csv->fields == 1 ? "" : "s", what, (long long)number);
    }
    *text = csv->field[number - 1];
    *size = (int64_t)strlen(*text);
    return CS_OK;
}

static cs_status add_record(const reader *r, const cs_csv *csv, cs_corpus_builder *builder)
{
    const tsv_columns *c = &r->columns;
    cs_document d = {0};
    cs_status status = csv_field(csv, "the label", c->label, &d.label, &d.label_size);
    if (status == CS_OK) status = csv_field(csv, "the text", c->text, &d.text, &d.size);
    if (status == CS_OK) status = csv_field(csv, "the second text", c->pair, &d.pair, &d.pair_size);
    return status == CS_OK && cs_text_keeps(r->rules, d.text, d.size)
               ? cs_corpus_builder_add(builder, &d)
               : status;
}

static cs_status read_csv(reader *r, cs_corpus_builder *builder, cs_columns *found)
{
    cs_csv csv = {.path = r->path, .at = r->at, .end = r->end, .line = 1};
    cs_status status = CS_OK;
    while (status == CS_OK && !builder->enough && csv.at < csv.end) {
        r->number = csv.line;
        r->at = csv.at;
        if ((status = cs_csv_record(&csv)) != CS_OK) break;
        if (csv.fields == 1 && csv.field[0][0] == '\0') continue; /* an empty line */
        const bool first = found->columns == 0;
        if (first) status = csv_columns(r, &csv, found);
        r->columns = columns_to_read(found);
        if (status == CS_OK && !(first && found->headers > 0))
            status = add_record(r, &csv, builder);
        if (status == CS_ERR_INPUT)
            status = cs_blame(status, "%s:%lld", r->path, (long long)r->number);
        if (status == CS_OK) status = pause_between(r, r->end - r->text);
    }
    cs_free(csv.field);
    return status;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The columns that the first line of a file names, for a range that does not begin with it. */
static cs_status read_first_line(reader *r, cs_columns *found)
{
    enum { HEAD = 1 << 16 };
    int64_t got = 0;
    CS_AUTO_FREE char *head = cs_alloc(HEAD, 1);
    cs_status status = head ? cs_file_head(r->path, head, HEAD, &got) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    reader first = *r;
    first.begin = first.at = head;
    first.text = head;
    first.end = head + got;
    if (got >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) first.at += 3;
    status = read_header(&first, found);
    r->columns = first.columns;
    found->headers = 0; /* counted where it is skipped */
    return status;
}

static cs_status read_text(reader *r, const cs_text_lines *l, cs_text_file *file,
                           cs_corpus_builder *builder)
{
    static const document_of documents[] = {[CS_FORMAT_TEXT] = text_document,
                                            [CS_FORMAT_TSV] = tsv_document,
                                            [CS_FORMAT_SPACE] = spaced_document,
                                            [CS_FORMAT_JSONL] = json_document};
    static const tsv_columns of_prepared = {.key = 1, .label = 2, .split = 3, .text = 4};
    cs_status status = CS_OK;
    r->columns = of_prepared;
    if (l->format == CS_FORMAT_CSV) return read_csv(r, builder, l->found);
    if (l->format == CS_FORMAT_TSV && !l->prepared) {
        if (l->found->columns > 0) {
            r->columns = columns_to_read(l->found);
        } else {
            status = l->from > 0 ? read_first_line(r, l->found) : read_header(r, l->found);
        }
    }
    return status == CS_OK ? read_all(r, documents[l->format], file, builder) : status;
}

/* Whether lines seem to end with carriage returns alone, as on old computers. */
static bool returns_alone(const char *text, int64_t size)
{
    return size > 1 && !memchr(text, '\n', (size_t)size) && memchr(text, '\r', (size_t)size - 1);
}

cs_status cs_corpus_add_lines(const cs_text_lines *l, cs_corpus_builder *builder, char sha256[65])
{
    const cs_corpus_options *options = &builder->options;
    const bool whole = l->format == CS_FORMAT_TEXT && options->whole_file, part = l->to > 0;
    CS_AUTO(cs_text_file) file = {0};
    CS_AUTO(reader)
    r = {.path = l->path,
         .options = options,
         .rules = &builder->rules,
         .progress = options->progress};
    builder->rules.hash_later = l->format != CS_FORMAT_CSV; /* which is unquoted in place */
    cs_status status = part ? cs_text_read_range(l->path, l->from, l->to, &builder->rules, &file)
                            : cs_text_read(l->path, &builder->rules, &file);
    if (status != CS_OK || !file.text) return status; /* refused files are reported at the end */
    r.text = r.begin = r.at = file.text;
    r.end = file.text + file.size;
    if (!whole) {
        status = read_text(&r, l, &file, builder);
        l->found->returns += l->from == 0 && returns_alone(file.text, file.size);
    } else if (file.size > 0 && cs_text_keeps(&builder->rules, file.text, file.size)) {
        cs_document all = {.text = file.text, .size = file.size};
        status = cs_corpus_builder_add(builder, &all);
    }
    if (l->from > 0 && status == CS_ERR_INPUT)
        status = cs_blame(status, "lines counted from byte %lld", (long long)l->from);
    if (status == CS_OK && !part) {
        cs_text_hash(&file);
        memcpy(sha256, file.sha256, sizeof file.sha256);
    }
    return status;
}

cs_status cs_corpus_read_lines(const char *path, cs_text_format format, bool prepared,
                               const cs_corpus_options *options, cs_corpus *out)
{
    char sha256[65] = "";
    CS_AUTO(cs_corpus_builder) builder = {0};
    cs_corpus_builder_init(&builder, options);
    const cs_text_lines lines = {
        .path = path, .format = format, .prepared = prepared, .found = &builder.made.read};
    cs_status status = cs_corpus_add_lines(&lines, &builder, sha256);
    if (status == CS_OK) status = cs_refused_status(builder.rules.refused);
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&builder, out), "%s", path);
    if (status == CS_OK) memcpy(out->sha256, sha256, sizeof out->sha256);
    return status;
}
