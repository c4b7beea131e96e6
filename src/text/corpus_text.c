/* Files of lines: plain text, columns, labels before a blank, JSON. The file in memory, a line at a
 * time. A line ends at LF or CR LF; empty lines are no documents. Columns are split at every tab,
 * without quoting. */
#include "text/corpus_read_private.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "io/json.h"

enum { REPORT_EVERY = 4096 }; /* lines between looks at the interrupt flag */

bool cs_lines_next(cs_lines *l)
{
    while (l->at < l->end) {
        const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
        const char *next = stop ? stop + 1 : l->end;
        stop = stop ? stop : l->end;
        l->line = l->at;
        l->at = next;
        l->number += 1;
        l->size = stop - l->line;
        if (l->size > 0 && l->line[l->size - 1] == '\r') {
            l->size -= 1;
        }
        if (l->size > 0) {
            return true;
        }
    }
    return false;
}

/* Tells how far the reading is and looks at the interrupt flag, every so many lines. */
static cs_status pause_between(const cs_corpus_options *options, const cs_lines *l, int64_t size)
{
    if (l->number % REPORT_EVERY != 0) {
        return CS_OK;
    }
    cs_progress_report(options->progress, "bytes of text", size - (l->end - l->at), size);
    return cs_interrupt_check();
}

/* The column of that number (1-based) of a line; false when the line has fewer, *found of them. */
static bool column_of(const cs_lines *l, int64_t number, cs_field *out, int64_t *found)
{
    const char *at = l->line, *end = l->line + l->size;
    for (int64_t c = 1;; ++c) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab ? tab : end;
        if (c == number) {
            *out = (cs_field){at, stop - at};
            return true;
        }
        if (!tab) {
            *found = c;
            return false;
        }
        at = tab + 1;
    }
}

cs_status cs_lines_column(const char *path, const cs_lines *l, const char *what, int64_t number,
                          cs_field *out)
{
    int64_t found = 0;
    if (number > 0 && !column_of(l, number, out, &found)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: %lld column%s, wanted %s in column %lld", path,
                       (long long)l->number, (long long)found, found == 1 ? "" : "s", what,
                       (long long)number);
    }
    return CS_OK;
}

static cs_status split_of(const char *path, const cs_lines *l, cs_field split,
                          cs_document_split *out)
{
    static const struct {
        const char *name;
        cs_document_split split;
    } known[] = {
        {"", CS_DOCUMENT_HASHED}, {"train", CS_DOCUMENT_TRAIN}, {"test", CS_DOCUMENT_TEST}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (split.size == (int64_t)strlen(known[i].name) &&
            (split.size == 0 || memcmp(split.text, known[i].name, (size_t)split.size) == 0)) {
            *out = known[i].split;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s:%lld: split \"%.*s\" is not train, test or empty", path,
                   (long long)l->number, (int)(split.size < 80 ? split.size : 80), split.text);
}

static cs_status tsv_document(const char *path, const cs_lines *l, const void *with,
                              cs_document *out)
{
    const cs_tsv_columns *columns = with;
    cs_field label = {0}, text = {0}, key = {0}, split = {0};
    cs_status status = cs_lines_column(path, l, "the label", columns->label, &label);
    if (status == CS_OK) status = cs_lines_column(path, l, "the text", columns->text, &text);
    if (status == CS_OK) status = cs_lines_column(path, l, "the key", columns->key, &key);
    if (status == CS_OK) status = cs_lines_column(path, l, "the split", columns->split, &split);
    if (status == CS_OK) status = split_of(path, l, split, &out->split);
    if (status != CS_OK) return status;
    out->text = text.text;
    out->size = text.size;
    out->label = label.text;
    out->label_size = label.size;
    out->key = key.text;
    out->key_size = key.size;
    return CS_OK;
}

static cs_status text_document(const char *path, const cs_lines *l, const void *with,
                               cs_document *out)
{
    (void)path, (void)with;
    out->text = l->line;
    out->size = l->size;
    return CS_OK;
}

static cs_status spaced_document(const char *path, const cs_lines *l, const void *with,
                                 cs_document *out)
{
    (void)with;
    const char *blank = memchr(l->line, ' ', (size_t)l->size);
    if (!blank || blank == l->line) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: no label, a blank and a text", path,
                       (long long)l->number);
    }
    out->label = l->line;
    out->label_size = blank - l->line;
    out->text = blank + 1;
    out->size = l->size - out->label_size - 1;
    return CS_OK;
}

/* The document of a line; its texts live until the next call. */
typedef cs_status (*document_of)(const char *path, const cs_lines *l, const void *with,
                                 cs_document *out);

static cs_status add_lines(const char *path, const cs_text_file *file, document_of document,
                           const void *with, cs_corpus_builder *builder)
{
    cs_lines l = {.at = file->text, .end = file->text + file->size};
    cs_status status = CS_OK;
    while (status == CS_OK && cs_lines_next(&l)) {
        cs_document made = {0};
        if (cs_text_keeps(&builder->rules, l.line, l.size)) {
            status = document(path, &l, with, &made);
            if (status == CS_OK) status = cs_corpus_builder_add(builder, &made);
        }
        if (status == CS_OK) status = pause_between(&builder->options, &l, file->size);
    }
    return status;
}

/* document NULL: the file is one. */
static cs_status read_file(const char *path, const cs_corpus_options *options, document_of document,
                           const void *with, cs_corpus *out)
{
    cs_corpus_builder builder;
    cs_corpus_builder_init(&builder, options);
    cs_text_file file = {0};
    cs_corpus made = {0};
    cs_status status = cs_text_read(path, &builder.rules, &file);
    if (status != CS_OK) goto done;
    if (document) {
        status = add_lines(path, &file, document, with, &builder);
    } else if (file.size > 0 && cs_text_keeps(&builder.rules, file.text, file.size)) {
        cs_document whole = {.text = file.text, .size = file.size};
        status = cs_corpus_builder_add(&builder, &whole);
    }
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&builder, &made), "%s", path);
    if (status == CS_OK) {
        memcpy(made.sha256, file.sha256, sizeof made.sha256);
        *out = made;
    }
done:
    cs_text_file_free(&file);
    cs_corpus_builder_free(&builder);
    return status;
}

cs_status cs_corpus_read_tsv(const char *path, const cs_corpus_options *options,
                             const cs_tsv_columns *columns, cs_corpus *out)
{
    return read_file(path, options, tsv_document, columns, out);
}

cs_status cs_corpus_read_text(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    return read_file(path, options, options->whole_file ? NULL : text_document, NULL, out);
}

cs_status cs_corpus_read_spaced(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    return read_file(path, options, spaced_document, NULL, out);
}

/* --- JSON lines ------------------------------------------------------------------------------- */

typedef struct {
    const char *label, *text; /* keys */
    json_t *line;             /* holds the texts of the document */
    char *number;             /* a label that is no text */
} fields;

static cs_status label_of(const char *path, const cs_lines *l, fields *f, cs_document *out)
{
    const json_t *label = json_object_get(f->line, f->label);
    if (!label || json_is_null(label)) {
        return CS_OK;
    }
    if (json_is_string(label)) {
        out->label = json_string_value(label);
        out->label_size = (int64_t)json_string_length(label);
        return CS_OK;
    }
    if (!json_is_number(label) && !json_is_boolean(label)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: \"%s\" is no text, number or truth value", path,
                       (long long)l->number, f->label);
    }
    cs_free(f->number);
    f->number = json_is_boolean(label)   ? cs_strdup(json_is_true(label) ? "true" : "false")
                : json_is_integer(label) ? cs_format("%lld", (long long)json_integer_value(label))
                                         : cs_format("%.17g", json_real_value(label));
    if (!f->number) return CS_ERR_MEMORY;
    out->label = f->number;
    out->label_size = (int64_t)strlen(f->number);
    return CS_OK;
}

static cs_status json_document(const char *path, const cs_lines *l, const void *with,
                               cs_document *out)
{
    fields *f = *(fields *const *)with;
    char *name = cs_format("%s:%lld", path, (long long)l->number);
    json_decref(f->line);
    f->line = NULL;
    cs_status status = name ? cs_json_parse(name, l->line, l->size, &f->line) : CS_ERR_MEMORY;
    cs_free(name);
    if (status != CS_OK) return status;
    const json_t *text = json_object_get(f->line, f->text);
    if (!json_is_string(text)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: no object with a text under \"%s\"", path,
                       (long long)l->number, f->text);
    }
    out->text = json_string_value(text);
    out->size = (int64_t)json_string_length(text);
    return label_of(path, l, f, out);
}

cs_status cs_corpus_read_jsonl(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    fields f = {.label = options->label_field ? options->label_field : "label",
                .text = options->text_field ? options->text_field : "text"};
    fields *with = &f;
    cs_status status = read_file(path, options, json_document, &with, out);
    json_decref(f.line);
    cs_free(f.number);
    return status;
}
