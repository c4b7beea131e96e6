/* Tab-separated and plain text files: the file in memory, a line at a time. A line ends at LF or CR
 * LF; empty lines are no documents. Columns are split at every tab, without quoting. */
#include "text/corpus_read.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "text/utf8.h"

enum { REPORT_EVERY = 4096 }; /* lines between looks at the interrupt flag */

cs_status cs_text_read(const char *path, char **bytes, const char **text, int64_t *size)
{
    int64_t free_now = cs_mem_available();
    char *read = NULL;
    int64_t length = 0;
    cs_status status =
        cs_file_read(path, free_now > 0 ? free_now / 2 : INT64_MAX - 1, &read, &length);
    if (status != CS_OK) {
        return status;
    }
    status = cs_lfs_check(path, read, length);
    if (status == CS_OK) {
        status = cs_utf8_check(path, read, length);
    }
    if (status != CS_OK) {
        cs_free(read);
        return status;
    }
    static const char mark[] = "\xEF\xBB\xBF";
    int64_t skip = length >= 3 && memcmp(read, mark, 3) == 0 ? 3 : 0;
    *bytes = read;
    *text = read + skip;
    *size = length - skip;
    return CS_OK;
}

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

static cs_status add_row(const char *path, const cs_lines *l, const cs_tsv_columns *columns,
                         cs_corpus_builder *builder)
{
    cs_field label = {0}, text = {0}, key = {0}, split = {0};
    cs_document document = {0};
    cs_status status = cs_lines_column(path, l, "the label", columns->label, &label);
    if (status == CS_OK) {
        status = cs_lines_column(path, l, "the text", columns->text, &text);
    }
    if (status == CS_OK) {
        status = cs_lines_column(path, l, "the key", columns->key, &key);
    }
    if (status == CS_OK) {
        status = cs_lines_column(path, l, "the split", columns->split, &split);
    }
    if (status == CS_OK) {
        status = split_of(path, l, split, &document.split);
    }
    if (status != CS_OK) {
        return status;
    }
    document.text = text.text;
    document.size = text.size;
    document.label = label.text;
    document.label_size = label.size;
    document.key = key.text;
    document.key_size = key.size;
    return cs_corpus_builder_add(builder, &document);
}

/* columns NULL: the line is the text. */
static cs_status add_lines(const char *path, const char *text, int64_t size,
                           const cs_tsv_columns *columns, cs_corpus_builder *builder)
{
    cs_lines l = {.at = text, .end = text + size};
    cs_status status = CS_OK;
    while (status == CS_OK && cs_lines_next(&l)) {
        if (columns) {
            status = add_row(path, &l, columns, builder);
        } else {
            cs_document document = {.text = l.line, .size = l.size};
            status = cs_corpus_builder_add(builder, &document);
        }
        if (status == CS_OK) {
            status = pause_between(&builder->options, &l, size);
        }
    }
    return status;
}

static cs_status read_file(const char *path, const cs_corpus_options *options,
                           const cs_tsv_columns *columns, bool whole_file, cs_corpus *out)
{
    cs_corpus_builder builder;
    cs_corpus_builder_init(&builder, options);
    char *bytes = NULL;
    const char *text = NULL;
    int64_t size = 0;
    cs_corpus made = {0};
    cs_status status = cs_text_read(path, &bytes, &text, &size);
    if (status != CS_OK) {
        goto done;
    }
    if (whole_file && size > 0) {
        cs_document document = {.text = text, .size = size};
        status = cs_corpus_builder_add(&builder, &document);
    } else {
        status = add_lines(path, text, size, columns, &builder);
    }
    if (status == CS_OK) {
        status = cs_blame(cs_corpus_builder_finish(&builder, &made), "%s", path);
    }
    if (status == CS_OK) {
        cs_sha256(bytes, (size_t)(text - bytes + size), made.sha256);
        *out = made;
    }
done:
    cs_free(bytes);
    cs_corpus_builder_free(&builder);
    return status;
}

cs_status cs_corpus_read_tsv(const char *path, const cs_corpus_options *options,
                             const cs_tsv_columns *columns, cs_corpus *out)
{
    return read_file(path, options, columns, false, out);
}

cs_status cs_corpus_read_text(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    return read_file(path, options, NULL, options->whole_file, out);
}
