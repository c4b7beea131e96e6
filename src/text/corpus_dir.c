/* A directory of documents: a subdirectory a class and a file a document, or plain files without
 * classes. Names are read in byte order, so the corpus does not depend on the file system; names
 * that start with a dot are passed over. The split hashes the path below the directory. The
 * identity of the corpus is the SHA-256 of what sha256sum would print of its files in order. */
#include "text/corpus_read_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/parse.h"
#include "text/law.h"
#include "text/utf8_private.h"

typedef struct {
    cs_corpus_builder builder;
    char *listing; /* "SHA-256  path" lines */
    int64_t size, capacity;
} reader;

/* Adds the file's line to the listing. */
static cs_status list_file(reader *r, const char *sha256, const char *key)
{
    int64_t length = (int64_t)(64 + 3 + strlen(key)); /* with newline, without NUL */
    cs_status status = cs_reserve(&r->listing, &r->capacity, r->size + length + 1, 1);
    if (status != CS_OK) return status;
    r->size +=
        snprintf(r->listing + r->size, (size_t)(r->capacity - r->size), "%s  %s\n", sha256, key);
    return CS_OK;
}

/* label NULL: no class. */
static cs_status add_file(const char *path, const char *label, const char *key, reader *r)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return cs_fail(CS_ERR_INPUT, "%s: %s, but a document was expected", path,
                       S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
    }
    cs_text_file file = {0};
    cs_text_rules *rules = &r->builder.rules;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = cs_text_read(path, rules, &file);
    if (status == CS_OK && file.text) {
        const cs_document document = {.text = file.text,
                                      .size = file.size,
                                      .label = label,
                                      .label_size = label ? (int64_t)strlen(label) : 0,
                                      .key = key,
                                      .key_size = (int64_t)strlen(key)};
        if (cs_text_keeps(rules, file.text, file.size))
            status = cs_blame(cs_corpus_builder_add(&r->builder, &document), "%s", path);
        if (status == CS_OK) status = list_file(r, file.sha256, key);
    }
    cs_text_file_free(&file);
    return status;
}

static cs_status add_class(const char *path, const char *label, reader *r)
{
    char **entry = NULL;
    int64_t count = 0;
    /* A label is printed and written to JSON, which takes UTF-8 only. */
    cs_status status = cs_utf8_check(path, label, (int64_t)strlen(label));
    if (status == CS_OK) status = cs_dir_names(path, &entry, &count);
    if (status != CS_OK) return status;
    for (int64_t i = 0; status == CS_OK && i < count && !r->builder.enough; ++i) {
        char *file = cs_path_join(path, entry[i]);
        char *key = cs_path_join(label, entry[i]);
        status = file && key ? add_file(file, label, key, r) : CS_ERR_MEMORY;
        cs_free(file);
        cs_free(key);
    }
    cs_text_list_free(entry, count);
    return status;
}

static cs_status add_entries(const char *path, char **entry, int64_t count, reader *r)
{
    int64_t classes = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; status == CS_OK && i < count && !r->builder.enough; ++i) {
        char *below = cs_path_join(path, entry[i]);
        if (!below) return CS_ERR_MEMORY;
        bool is_class = cs_path_is_dir(below);
        classes += is_class;
        if (classes != 0 && classes != i + 1) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: \"%s\" is a %s and \"%s\" is not: expected one directory per "
                             "class, or only files",
                             path, entry[i], is_class ? "directory" : "file", entry[i - 1]);
        } else if (is_class) {
            status = add_class(below, entry[i], r);
        } else {
            status = add_file(below, NULL, entry[i], r);
        }
        cs_free(below);
        cs_progress_report(r->builder.options.progress, "entries of the directory", i + 1, count);
    }
    return status;
}

/* Which file makes the directory a task with two sides; NULL: none. */
static const char *task_file(char **entry, int64_t count)
{
    static const char *const name[] = {"train.tsv", "train.csv", "train.jsonl"};
    for (int64_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < sizeof name / sizeof *name; ++k) {
            const size_t length = strlen(name[k]);
            if (strncmp(entry[i], name[k], length) == 0 &&
                (!entry[i][length] || strcmp(entry[i] + length, ".gz") == 0)) {
                return entry[i];
            }
        }
    }
    return NULL;
}

cs_status cs_corpus_read_directory(const char *path, const cs_corpus_options *options,
                                   cs_corpus *out)
{
    char **entry = NULL;
    int64_t count = 0;
    cs_status status = cs_dir_names(path, &entry, &count);
    if (status != CS_OK) return status;
    const char *task = task_file(entry, count);
    if (task) {
        status =
            cs_fail(CS_ERR_INPUT,
                    "%s contains %s, so it is a task, not a folder with one document per file; "
                    "give its files, such as %s/%s, or --tasks %s in probe, finetune or compare",
                    path, task, path, task, path);
        cs_text_list_free(entry, count);
        return status;
    }
    reader r = {0};
    cs_corpus made = {0};
    cs_corpus_builder_init(&r.builder, options);
    status = add_entries(path, entry, count, &r);
    if (r.builder.rules.refused->files > 0 && (status == CS_OK || status == CS_ERR_INPUT)) {
        cs_reason_clear(); /* of what stopped the reading later */
        status = cs_refused_status(r.builder.rules.refused);
    }
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&r.builder, &made), "%s", path);
    if (status == CS_OK) {
        cs_sha256(r.listing, (size_t)r.size, made.sha256);
        *out = made;
    }
    cs_corpus_builder_free(&r.builder);
    cs_free(r.listing);
    cs_text_list_free(entry, count);
    return status;
}

/* --- several sources as one corpus ------------------------------------------------------------- */

/* Their documents one after the other, each on the side that its own source puts it, its class the
 * source that it is from. */

/* Whether the text there is KEY=VALUE, a parameter of the synthetic language before it. */
static bool is_parameter(const char *at)
{
    at += strspn(at, " ");
    const size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz-_");
    return key > 0 && at[key] == '=';
}

/* The length of the first of several sources. */
static size_t source_length(const char *at)
{
    size_t length = strcspn(at, ",");
    while (cs_law_named(at) && at[length] == ',' && is_parameter(at + length + 1)) {
        length += 1 + strcspn(at + length + 1, ",");
    }
    return length;
}

bool cs_corpus_joined(const char *source)
{
    return source[source_length(source)] == ',' && !cs_path_exists(source);
}

cs_status cs_corpus_next_source(const char **at, char **source)
{
    *at += strspn(*at, " ");
    const size_t length = source_length(*at);
    *source = NULL;
    if (**at == '\0') return CS_OK;
    char *item = cs_format("%.*s", (int)length, *at);
    *source = item ? cs_strdup(cs_trim(item)) : NULL;
    cs_free(item);
    *at += length + ((*at)[length] == ',');
    return !*source           ? CS_ERR_MEMORY
           : **source == '\0' ? cs_fail(CS_ERR_INPUT, "a list of corpora contains an empty name")
                              : CS_OK;
}

typedef struct {
    cs_corpus_builder builder;
    const char *source;       /* the one that is read */
    char *listing;            /* "SHA-256  source", a line each */
    int64_t bytes, documents; /* of text that is not UTF-8 */
    int64_t headers;
} joined;

static cs_status take(void *to, const cs_document *document, bool held_out, bool *enough)
{
    joined *j = to;
    cs_document own = *document;
    own.label = j->source;
    own.label_size = (int64_t)strlen(j->source);
    own.split = held_out ? CS_DOCUMENT_TEST : CS_DOCUMENT_TRAIN;
    cs_status status = cs_corpus_builder_add(&j->builder, &own);
    *enough = j->builder.enough;
    return status;
}

static cs_status add_source(joined *j, const cs_corpus_options *options)
{
    cs_corpus about = {0};
    cs_status status = cs_corpus_visit(j->source, options, take, j, &about);
    j->bytes += about.invalid_bytes;
    j->documents += about.invalid_documents;
    j->headers += about.read.headers;
    if (status == CS_OK) cs_append(&j->listing, "%s  %s\n", about.sha256, j->source);
    cs_corpus_free(&about);
    return status;
}

cs_status cs_corpus_read_joined(const char *sources, const cs_corpus_options *options,
                                cs_corpus *out)
{
    joined j = {.listing = cs_strdup("")};
    char *source = NULL;
    const char *at = sources;
    cs_status status = CS_OK;
    cs_corpus_builder_init(&j.builder, options);
    do {
        cs_free(source);
        status = cs_corpus_next_source(&at, &source);
        j.source = source;
        if (status == CS_OK && source) status = add_source(&j, options);
    } while (status == CS_OK && source && !j.builder.enough);
    if (status == CS_OK && !j.listing) status = CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_corpus_builder_finish(&j.builder, out);
    if (status == CS_OK) {
        cs_sha256(j.listing, strlen(j.listing), out->sha256);
        out->invalid_bytes = j.bytes;
        out->invalid_documents = j.documents;
        out->read.headers = j.headers;
    }
    cs_corpus_builder_free(&j.builder);
    cs_free(j.listing);
    cs_free(source);
    return status;
}
