/* Recognises the kind of an argument, and words the message for an argument of another kind than
 * the command expects. */
#include "cli/argument_kind.h"

#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/args.h"
#include "cli/in_memory.h"
#include "image/field.h"
#include "image/image_sources.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/rows.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_index.h"
#include "model/model.h"
#include "plan/objective.h"
#include "text/corpus.h"
#include "text/synthetic.h"

static const struct {
    const char *missing, *present;
    const char *file; /* the file that makes a folder one */
} words[] = {
    [CS_IS_UNKNOWN] = {"not the expected kind of argument", NULL, NULL},
    [CS_IS_ABSENT] = {"", "no such file or directory", NULL},
    [CS_IS_FOLDER] = {"not a folder", "a folder", NULL},
    [CS_IS_CORPUS] = {"not a corpus", "a corpus", NULL},
    [CS_IS_MATRIX] = {"not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc)",
                      "a matrix", "matrix.npz"},
    [CS_IS_STORE] = {"not a folder written by cospec cooc", "a folder written by cospec cooc",
                     "matrix.npz"},
    [CS_IS_MODEL] = {"not a model directory", "a model", "config.json"},
    [CS_IS_OBJECTIVE] = {"not an objective", "an objective", NULL},
};

static bool holds(const char *dir, const char *name)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    bool there = path && cs_path_exists(path);
    return there;
}

static bool holds_shards(const char *dir)
{
    char **name = NULL;
    int64_t count = 0;
    bool found = false;
    if (cs_dir_names(dir, &name, &count) != CS_OK) {
        cs_reason_clear();
    }
    for (int64_t i = 0; i < count; ++i) {
        found = found || cs_is_shard_name(name[i]);
    }
    cs_text_list_free(name, count);
    return found;
}

/* Several sources, and not an objective with its parameters: the first of them is known or there. */
static bool joins_corpora(const char *path)
{
    const char *side = NULL;
    CS_AUTO_FREE char *first = NULL;
    const bool several =
        cs_corpus_joined(path) && cs_corpus_next_source(&path, &first) == CS_OK && first;
    const bool there = several && (cs_synthetic_named(first) || cs_corpus_named(first, &side) ||
                                   cs_path_exists(first));
    cs_reason_clear(); /* of an empty name */
    return there;
}

cs_path_kind cs_path_kind_of(const char *path)
{
    static const struct {
        const char *ending;
        cs_path_kind is;
    } known[] = {{".mtx.gz", CS_IS_MATRIX}, {".npy.gz", CS_IS_MATRIX}, {".txt", CS_IS_CORPUS},
                 {".tsv", CS_IS_CORPUS},    {".jsonl", CS_IS_CORPUS},  {".ndjson", CS_IS_CORPUS},
                 {".gz", CS_IS_CORPUS},     {".npz", CS_IS_MATRIX},    {".npy", CS_IS_MATRIX},
                 {".mtx", CS_IS_MATRIX}};
    const char *side = NULL;
    const bool named = cs_synthetic_named(path) || cs_corpus_named(path, &side) ||
                       cs_images_named(path) || cs_field_named(path) || joins_corpora(path);
    if (cs_path_is_dir(path)) {
        return holds(path, "config.json")          ? CS_IS_MODEL
               : holds(path, cs_matrix_name(path)) ? CS_IS_STORE
               : named                             ? CS_IS_CORPUS
                                                   : CS_IS_FOLDER;
    }
    if (named) {
        return CS_IS_CORPUS;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (cs_has_suffix(path, known[i].ending) && cs_path_exists(path)) {
            return cs_matrix_begins(path) ? CS_IS_MATRIX : known[i].is;
        }
    }
    cs_objective_kind kind;
    const bool exists = cs_path_exists(path),
               objective = !exists && cs_objective_by_name(path, &kind) == CS_OK;
    if (!objective) cs_reason_clear();
    return exists ? CS_IS_UNKNOWN : objective ? CS_IS_OBJECTIVE : CS_IS_ABSENT;
}

/* Errors left to the readers, which report details. */
static bool passes(cs_path_kind found, cs_path_kind wanted)
{
    switch (wanted) {
    case CS_IS_CORPUS:
        return found != CS_IS_MODEL && found != CS_IS_STORE && found != CS_IS_OBJECTIVE;
    case CS_IS_MATRIX:
        return found == CS_IS_MATRIX || found == CS_IS_STORE || found == CS_IS_UNKNOWN;
    case CS_IS_OBJECTIVE:
        return found != CS_IS_CORPUS;
    default:
        return found == wanted;
    }
}

/* Another argument that is what was wanted; NULL: none, or `path` is of an option whose place they
 * cannot have. */
static const char *other_that_is(const cs_args *args, cs_path_kind wanted, const char *path)
{
    static const char *const options[] = {"corpus", "objective"};
    const int given = cs_args_positionals(args);
    const char *found = NULL;
    bool among = false;
    for (int i = 0; i < given + 2; ++i) {
        const char *option = i < given ? NULL : options[i - given];
        const char *other = !option                          ? cs_args_positional(args, i)
                            : cs_args_given_in(args, option) ? cs_args_text(args, option)
                                                             : NULL;
        const bool same = other && strcmp(other, path) == 0;
        among = among || same;
        if (other && !same && !found && cs_path_kind_of(other) == wanted) {
            found = other;
        }
    }
    return among ? found : NULL;
}

/* Whether the path is in a place of the command that takes no corpus, while an option does. */
static bool takes_corpus(const cs_args *args, const char *path)
{
    bool placed = false;
    for (int i = 0; i < cs_args_positionals(args); ++i)
        placed = placed || strcmp(cs_args_positional(args, i), path) == 0;
    return placed && cs_args_find(args, "corpus", strlen("corpus"));
}

cs_status cs_require_kind(const cs_args *args, cs_status code, const char *path,
                          cs_path_kind wanted)
{
    if (cs_args_item(args, path)) { /* the reader refuses another kind */
        return CS_OK;
    }
    bool there = false;
    cs_status status = cs_path_find(path, &there);
    if (status != CS_OK) return status;
    cs_path_kind found = cs_path_kind_of(path);
    const char *side = NULL;
    if (wanted == CS_IS_CORPUS && cs_corpus_named(path, &side)) {
        return CS_OK; /* the name goes before a folder of that name */
    }
    if (found == CS_IS_OBJECTIVE && wanted != CS_IS_CORPUS && wanted != CS_IS_OBJECTIVE)
        found = CS_IS_ABSENT;
    const char *meant = found == CS_IS_ABSENT ? NULL : other_that_is(args, wanted, path);
    if (passes(found, wanted)) {
        return CS_OK;
    }
    if (!words[found].present) {
        return cs_fail(code, "%s: %s", path, words[wanted].missing);
    }
    if (meant) {
        return cs_fail(CS_ERR_USAGE, "%s is %s and %s is %s: swap them", path, words[found].present,
                       meant, words[wanted].present);
    }
    static const char *const parts[] = {"model.safetensors", "pytorch_model.bin", "tokenizer.json",
                                        "vocab.txt"};
    if (wanted == CS_IS_MODEL) status = cs_model_refuse_adapter(path);
    if (status != CS_OK) return status;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && wanted == CS_IS_MODEL; ++i) {
        if (holds(path, parts[i]))
            return cs_fail(code, "%s: not a model directory: no config.json, only %s", path,
                           parts[i]);
    }
    cs_hint hint = {0};
    if (found == CS_IS_FOLDER && (wanted == CS_IS_MATRIX || wanted == CS_IS_STORE) &&
        holds_shards(path)) {
        return cs_fail(code,
                       "%s: shards of a matrix without " CS_MATRIX_INDEX
                       ": the run that wrote them "
                       "did not finish, or the index was not copied; copy it, or build the matrix "
                       "again (cospec cooc ... --force)",
                       path);
    }
    if (found == CS_IS_FOLDER && words[wanted].file) {
        return cs_fail(code, "%s: %s: no %s", path, words[wanted].missing, words[wanted].file);
    }
    const bool other = (found == CS_IS_CORPUS || found == CS_IS_ABSENT) && takes_corpus(args, path);
    return cs_fail(code, "%s: %s%s %s%s%s", path, words[wanted].missing,
                   found == CS_IS_ABSENT ? ":" : ", but", words[found].present,
                   found == CS_IS_ABSENT ? cs_path_hint(path, &hint) : "",
                   other ? "; a corpus is given as --corpus FILE" : "");
}

cs_status cs_want_labels(const char *option, const char *path)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    const bool features = cs_npy_named(path) && cs_rows_open(path, &rows) == CS_OK;
    const int64_t cols = rows.cols;
    cs_reason_clear(); /* of labels, which are no matrix */
    return !features || cols < 2 ? CS_OK
                                 : cs_fail(CS_ERR_USAGE,
                                           "--%s %s: a matrix of %lld columns, but labels are one "
                                           "per row; give features as arguments, without an option",
                                           option, path, (long long)cols);
}
