/* A directory of documents: a subdirectory a class and a file a document, or plain files without
 * classes. Names are read in byte order, so the corpus does not depend on the file system; names
 * that start with a dot are passed over. The split hashes the path below the directory. The
 * identity of the corpus is the SHA-256 of what sha256sum would print of its files in order. */
#include "text/corpus_files_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "text/utf8_private.h"

static cs_status list_class(const char *path, const char *label, cs_corpus_files *out)
{
    char **entry = NULL;
    int64_t count = 0;
    /* A label is printed and written to JSON, which takes UTF-8 only. */
    cs_status status = cs_utf8_check(path, label, (int64_t)strlen(label));
    if (status == CS_OK) status = cs_dir_names(path, &entry, &count);
    if (status != CS_OK) return status;
    for (int64_t i = 0; status == CS_OK && i < count; ++i) {
        CS_AUTO_FREE char *file = cs_path_join(path, entry[i]);
        CS_AUTO_FREE char *key = cs_path_join(label, entry[i]);
        status = file && key ? cs_corpus_files_add_document(out, file, key, label) : CS_ERR_MEMORY;
    }
    cs_text_list_free(entry, count);
    return status;
}

static cs_status list_entries(const char *path, char **entry, int64_t count, cs_corpus_files *out)
{
    int64_t classes = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; status == CS_OK && i < count; ++i) {
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
            status = list_class(below, entry[i], out);
        } else {
            status = cs_corpus_files_add_document(out, below, entry[i], NULL);
        }
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

cs_status cs_corpus_files_of_directory(const char *path, cs_corpus_files *out)
{
    char **entry = NULL;
    int64_t count = 0;
    cs_status status = cs_dir_names(path, &entry, &count);
    if (status != CS_OK) return status;
    const char *task = task_file(entry, count);
    status = !task ? list_entries(path, entry, count, out)
                   : cs_fail(CS_ERR_INPUT,
                             "%s contains %s, so it is a task, not a folder with one document per "
                             "file; give its files, such as %s/%s, or --tasks %s in probe, "
                             "finetune or compare",
                             path, task, path, task, path);
    cs_text_list_free(entry, count);
    return status;
}
