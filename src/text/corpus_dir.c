/* A directory of documents: a subdirectory a class and a file a document, or plain files without
 * classes. Names are read in byte order, so the corpus does not depend on the file system; names
 * that start with a dot are passed over. The split hashes the path below the directory. The
 * identity of the corpus is the SHA-256 of what sha256sum would print of its files in order. */
#include "base/auto.h"
#include "text/corpus_builder_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "text/synthetic.h"
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
    CS_AUTO(cs_text_file) file = {0};
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
        CS_AUTO_FREE char *file = cs_path_join(path, entry[i]);
        CS_AUTO_FREE char *key = cs_path_join(label, entry[i]);
        status = file && key ? add_file(file, label, key, r) : CS_ERR_MEMORY;
    }
    cs_text_list_free(entry, count);
    return status;
}

static cs_status add_entries(const char *path, char **entry, int64_t count, reader *r)
{
    int64_t classes = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; status == CS_OK && i < count && !r->builder.enough; ++i) {
        CS_AUTO_FREE char *below = cs_path_join(path, entry[i]);
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
