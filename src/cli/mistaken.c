#include "cli/mistaken.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"

static const struct {
    const char *missing, *present;
} words[] = {
    [CS_IS_UNKNOWN] = {"not what was wanted", ""},
    [CS_IS_CORPUS] = {"no corpus", "a corpus"},
    [CS_IS_MATRIX] = {"no matrix", "a matrix"},
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
    if (cs_corpus_named(path, NULL)) {
        return CS_IS_CORPUS;
    }
    if (cs_path_is_dir(path)) {
        return holds(path, "config.json")  ? CS_IS_MODEL
               : holds(path, "matrix.npz") ? CS_IS_MATRIX
                                           : CS_IS_UNKNOWN;
    }
    static const char *const text[] = {".txt", ".tsv", ".jsonl", ".gz"};
    for (size_t i = 0; i < sizeof text / sizeof *text; ++i) {
        if (cs_has_suffix(path, text[i]) && cs_path_exists(path)) {
            return CS_IS_CORPUS;
        }
    }
    return CS_IS_UNKNOWN;
}

cs_status cs_mistaken(const cs_args *args, cs_status code, const char *path, cs_is wanted)
{
    const cs_is found = cs_what_is(path);
    const char *meant = NULL;
    for (int i = 0; i < cs_args_positionals(args) && !meant; ++i) {
        const char *other = cs_args_positional(args, i);
        if (strcmp(other, path) != 0 && cs_what_is(other) == wanted) {
            meant = other;
        }
    }
    if (found == CS_IS_UNKNOWN || found == wanted) {
        return cs_fail(code, "%s: %s", path, words[wanted].missing);
    }
    if (!meant) {
        return cs_fail(code, "%s: %s but %s", path, words[wanted].missing, words[found].present);
    }
    return cs_fail(code, "%s: %s but %s, and %s is %s: the order is %s", path,
                   words[wanted].missing, words[found].present, meant, words[wanted].present,
                   cs_args_command(args)->positional);
}
