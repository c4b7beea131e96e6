/* The hash of a directory is that of a list of its files, in byte order of names: depth, name and
 * hash of each. */
#include "io/path_hash.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/digests.h"
#include "io/file.h"

/* A folder and those that it is in, up to the one that was asked for. */
typedef struct folder {
    const struct folder *above;
    const char *path;
    json_t *record; /* of the digests of its files; NULL: none */
    dev_t device;
    ino_t inode;
} folder;

/* Calls list_directory: as deep as the folders, which list_tree bounds.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status list_tree(FILE *list, const char *path, const folder *in, int depth,
                           int64_t *bytes);

/* One line "<sha256>  <path below the root>" a file, in byte order of names. */
static cs_status list_directory(FILE *list, const folder *here, int depth, int64_t *bytes)
{
    const char *dir = here->path;
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, NULL, alphasort);
    if (count < 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", dir, strerror(errno));
    }
    cs_status status = CS_OK;
    for (int i = 0; i < count; ++i) {
        const char *name = entry[i]->d_name;
        if (status == CS_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            char *path = cs_path_join(dir, name);
            (void)fprintf(list, "%d %s\n", depth, name);
            status = path ? list_tree(list, path, here, depth + 1, bytes) : CS_ERR_MEMORY;
            cs_free(path);
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* A file against the records of its folder and of those above. */
static cs_status check_digest(const char *path, const folder *in, const char *sha256)
{
    cs_status status = CS_OK;
    for (int up = 0; in && up < CS_DIGEST_FOLDERS && status == CS_OK; ++up, in = in->above) {
        status = cs_digest_check_in(in->record, in->path, path + strlen(in->path) + 1, sha256);
    }
    return status;
}

static cs_status list_tree(FILE *list, const char *path, const folder *in, int depth,
                           int64_t *bytes)
{
    enum { DEEPEST = 64 };
    struct stat st;
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) return status;
    if (lstat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    const bool link = S_ISLNK(st.st_mode);
    if (link && stat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        folder here = {in, path, NULL, st.st_dev, st.st_ino};
        for (const folder *f = in; f; f = f->above) {
            if (f->device == st.st_dev && f->inode == st.st_ino)
                return cs_fail(CS_ERR_INPUT, "%s: is a link back to %s, a folder that contains it",
                               path, f->path);
        }
        if (depth >= DEEPEST) {
            return cs_fail(CS_ERR_INPUT, "%s: nested more than %d folders deep", path, DEEPEST);
        }
        status = cs_digest_record(path, &here.record);
        if (status == CS_OK) status = list_directory(list, &here, depth, bytes);
        json_decref(here.record);
        return status;
    }
    if (!S_ISREG(st.st_mode)) {
        return CS_OK;
    }
    char hex[65];
    status = cs_sha256_file(path, hex);
    if (status == CS_OK) status = check_digest(path, in, hex);
    if (status == CS_OK && link) status = cs_digest_check(path, hex, NULL);
    if (status == CS_OK) {
        (void)fprintf(list, "%s\n", hex);
        *bytes += st.st_size;
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

cs_status cs_path_sha256(const char *path, json_t *cache, char hex[65], int64_t *bytes)
{
    struct stat st;
    *bytes = 0;
    if (stat(path, &st) != 0) {
        const int code = errno;
        return cs_fail(CS_ERR_IO, "%s: %s%s", path, strerror(code),
                       code == ENOENT ? cs_path_hint(path, &(cs_hint){0}) : "");
    }
    if (!S_ISDIR(st.st_mode)) {
        cs_status status = cs_sha256_file(path, hex);
        if (status == CS_OK) status = cs_digest_check(path, hex, cache);
        *bytes = status == CS_OK ? (int64_t)st.st_size : 0;
        return status;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    }
    cs_status status = list_tree(list, path, NULL, 0, bytes);
    bool bad = ferror(list) != 0;
    bad = fclose(list) != 0 || bad;
    if (status == CS_OK && bad)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    if (status == CS_OK) cs_sha256(text, size, hex);
    free(text);
    return status;
}
