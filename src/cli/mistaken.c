#include "cli/mistaken.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/rows.h"
#include "text/corpus.h"

static const struct {
    const char *missing, *present;
} words[] = {
    [CS_IS_UNKNOWN] = {"not what was wanted", NULL},
    [CS_IS_ABSENT] = {"", "there is no such file"},
    [CS_IS_FOLDER] = {"no folder", "a folder without model or matrix"},
    [CS_IS_CORPUS] = {"no corpus", "a corpus"},
    [CS_IS_MATRIX] = {"no matrix (FILE.npz, .npy, .mtx, or a folder that cospec cooc wrote)",
                      "a matrix"},
    [CS_IS_STORE] = {"no folder that cospec cooc wrote", "a folder that cospec cooc wrote"},
    [CS_IS_MODEL] = {"no directory of a model", "a model"},
};

static bool holds(const char *dir, const char *name)
{
    char *path = cs_path_join(dir, name);
    bool there = path && cs_path_exists(path);
    cs_free(path);
    return there;
}

cs_is cs_what_is(const char *path)
{
    static const struct {
        const char *ending;
        cs_is is;
    } known[] = {{".txt", CS_IS_CORPUS}, {".tsv", CS_IS_CORPUS}, {".jsonl", CS_IS_CORPUS},
                 {".gz", CS_IS_CORPUS},  {".npz", CS_IS_MATRIX}, {".npy", CS_IS_MATRIX},
                 {".mtx", CS_IS_MATRIX}};
    const char *side = NULL;
    if (cs_corpus_named(path, &side)) {
        return CS_IS_CORPUS;
    }
    if (cs_path_is_dir(path)) {
        return holds(path, "config.json")  ? CS_IS_MODEL
               : holds(path, "matrix.npz") ? CS_IS_STORE
                                           : CS_IS_FOLDER;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (cs_has_suffix(path, known[i].ending) && cs_path_exists(path)) {
            return known[i].is;
        }
    }
    return cs_path_exists(path) ? CS_IS_UNKNOWN : CS_IS_ABSENT;
}

/* What is left to the readers, whose messages have the particulars, passes. */
static bool passes(cs_is found, cs_is wanted)
{
    return wanted == CS_IS_CORPUS   ? found != CS_IS_MODEL && found != CS_IS_STORE
           : wanted == CS_IS_MATRIX ? found != CS_IS_MODEL && found != CS_IS_FOLDER
                                    : found == wanted;
}

cs_status cs_want(const cs_args *args, cs_status code, const char *path, cs_is wanted)
{
    const cs_is found = cs_what_is(path);
    const char *meant = NULL;
    if (passes(found, wanted)) {
        return CS_OK;
    }
    for (int i = 0; i < cs_args_positionals(args) && !meant; ++i) {
        const char *other = cs_args_positional(args, i);
        if (strcmp(other, path) != 0 && cs_what_is(other) == wanted) {
            meant = other;
        }
    }
    if (!words[found].present) {
        return cs_fail(code, "%s: %s", path, words[wanted].missing);
    }
    if (!meant || found == CS_IS_ABSENT) {
        return cs_fail(code, "%s: %s%s %s", path, words[wanted].missing,
                       found == CS_IS_ABSENT ? ":" : " but", words[found].present);
    }
    return cs_fail(CS_ERR_USAGE, "%s: %s but %s, and %s is %s: the order is %s", path,
                   words[wanted].missing, words[found].present, meant, words[wanted].present,
                   cs_args_command(args)->positional);
}

cs_status cs_want_labels(const char *option, const char *path)
{
    cs_rows rows = {0};
    const bool features = cs_has_suffix(path, ".npy") && cs_rows_open(path, &rows) == CS_OK;
    const int64_t cols = rows.cols;
    cs_reason_clear(); /* of labels, which are no matrix */
    cs_rows_close(&rows);
    return !features || cols < 2
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "--%s %s: a matrix of %lld columns, and labels are one a row: features "
                         "are named without an option",
                         option, path, (long long)cols);
}
