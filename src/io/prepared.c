/* Corpora in the cache: where they are, and the check of what was made against its record. A file
 * is made in the same folder under a name of this process, then renamed. */
#include "io/prepared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/hash.h"
#include "io/file.h"
#include "io/share.h"

/* The value of an environment variable, NULL when unset or empty. */
static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

cs_status cs_prepared_path(const char *file, char **out)
{
    const char *cache = setting("COSPEC_CACHE"), *xdg = setting("XDG_CACHE_HOME"),
               *home = setting("HOME");
    char *path;
    if (cache) {
        path = cs_format("%s/%s", cache, file);
    } else if (xdg) {
        path = cs_format("%s/cospec/%s", xdg, file);
    } else if (home) {
        path = cs_format("%s/.cache/cospec/%s", home, file);
    } else {
        return cs_fail(CS_ERR_USAGE, "no folder for prepared corpora: set COSPEC_CACHE or HOME");
    }
    if (!path) return CS_ERR_MEMORY;
    *out = path;
    return CS_OK;
}

/* The content of a memory file, up to 4 KiB, without the newlines at its end: fresh memory, NULL on
 * failure. */
static char *content_of(int fd)
{
    enum { MOST = 4096 };
    char *text = cs_alloc(MOST + 1, 1);
    if (!text) {
        return NULL;
    }
    ssize_t size = pread(fd, text, MOST, 0);
    size = size < 0 ? 0 : size;
    while (size > 0 && text[size - 1] == '\n') {
        size -= 1;
    }
    text[size] = '\0';
    return text;
}

/* A failure's reason is what the program wrote to stderr. */
static cs_status outcome(const char *what, int code, int err)
{
    if (code == 0) {
        return CS_OK;
    }
    CS_AUTO_FREE char *said = content_of(err);
    if (!said) return CS_ERR_MEMORY;
    cs_status status =
        said[0] != '\0' ? cs_fail_lines(CS_ERR_INPUT, said)
                        : cs_fail(CS_ERR_INPUT, "%s: ended with %s %d", what,
                                  code > 128 ? "signal" : "status", code > 128 ? code - 128 : code);
    return status;
}

cs_status cs_child_text(const char *what, const char *const *argv, char **said)
{
    int out = memfd_create("cospec-out", MFD_CLOEXEC),
        err = memfd_create("cospec-err", MFD_CLOEXEC);
    const cs_child child = {.argv = argv, .out = out, .err = err};
    cs_status status = CS_OK;
    int code = 0;
    if (out < 0 || err < 0) {
        status = cs_fail(CS_ERR_IO, "cannot make a memory file: %s", strerror(errno));
        goto done;
    }
    status = cs_child_run(&child, &code);
    if (status == CS_OK) status = outcome(what, code, err);
    if (status == CS_OK) {
        *said = content_of(out);
        status = *said ? CS_OK : CS_ERR_MEMORY;
    }
done:
    if (out >= 0) {
        (void)close(out);
    }
    if (err >= 0) {
        (void)close(err);
    }
    return status;
}

typedef struct {
    char *packages; /* "name=version ..." */
    char sha256[65];
} record;

/* Reads one line "name TAB packages TAB sha256 TAB ..."; false when it is another corpus. */
static bool parse_record(const char *line, const char *name, const char **packages,
                         int *packages_size, const char **sha256)
{
    size_t size = strlen(name);
    if (strncmp(line, name, size) != 0 || line[size] != '\t') {
        return false;
    }
    *packages = line + size + 1;
    *packages_size = (int)strcspn(*packages, "\t\n");
    *sha256 = *packages + *packages_size;
    if (**sha256 == '\t') {
        *sha256 += 1;
    }
    return true;
}

/* The record of a corpus in data/SOURCES.tsv. */
static cs_status find_record(const char *name, record *out)
{
    enum { MOST = 1 << 20 };
    CS_AUTO_FREE char *path = NULL, *text = NULL;
    int64_t size = 0;
    cs_status status = cs_share_path("data/SOURCES.tsv", &path);
    if (status == CS_OK) status = cs_file_read_text(path, MOST, &text, &size);
    const char *line = text;
    while (status == CS_OK && line) {
        const char *packages, *sha256;
        int packages_size;
        if (parse_record(line, name, &packages, &packages_size, &sha256)) {
            if (strspn(sha256, "0123456789abcdef") != 64) {
                status = cs_fail(CS_ERR_INPUT, "%s: no SHA-256 in column 3 of %s", path, name);
                break;
            }
            memcpy(out->sha256, sha256, 64);
            out->sha256[64] = '\0';
            out->packages = cs_format("%.*s", packages_size, packages);
            status = out->packages ? CS_OK : CS_ERR_MEMORY;
            break;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (status == CS_OK && !out->packages)
        status = cs_fail(CS_ERR_INPUT, "%s: no line for %s", path, name);
    return status;
}

/* Compares a file just made from packages, or (NULL) made before, with its record; *note receives
 * the finding. */
static cs_status check_corpus(const char *file, const char *path, const char *packages,
                              const record *recorded, char **note)
{
    const char *how = packages ? "from " : "already", *from = packages ? packages : "";
    char sha256[65];
    cs_status status = cs_sha256_file(file, sha256);
    if (status != CS_OK) return status;
    if (strcmp(sha256, recorded->sha256) == 0) {
        *note = cs_format("%s: prepared %s%s, SHA-256 as recorded", path, how, from);
    } else if (!packages || strcmp(packages, recorded->packages) != 0) {
        *note = cs_format("%s: prepared %s%s; SHA-256 %s differs from the one recorded for %s",
                          path, how, from, sha256, recorded->packages);
    } else {
        return cs_fail(CS_ERR_INPUT, "%s: its SHA-256 is %s, but %s was recorded for %s", path,
                       sha256, recorded->sha256, packages);
    }
    return *note ? CS_OK : CS_ERR_MEMORY;
}

static cs_status make(const cs_prepared *what, const char *path, const record *recorded,
                      char **note)
{
    CS_AUTO_FREE char *partial = cs_format("%s.%ld", path, (long)getpid()), *packages = NULL;
    if (!partial) return CS_ERR_MEMORY;
    cs_status status =
        cs_blame(what->make(what->of, partial, &packages), "cannot prepare %s", what->name);
    if (status == CS_OK) status = check_corpus(partial, path, packages, recorded, note);
    if (status == CS_OK && rename(partial, path) != 0)
        status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    if (status != CS_OK) (void)unlink(partial); /* may never have been made */
    return status;
}

static cs_status make_parent(const char *path)
{
    CS_AUTO_FREE char *folder = cs_strdup(path);
    if (!folder) return CS_ERR_MEMORY;
    char *slash = strrchr(folder, '/'); /* always there: see cs_prepared_path */
    *slash = '\0';
    return cs_dir_make(folder);
}

cs_status cs_prepare(const cs_prepared *what, bool force, char **note)
{
    CS_AUTO_FREE char *path = NULL, *said = NULL;
    record recorded = {0};
    cs_status status = cs_prepared_path(what->file, &path);
    if (status != CS_OK) return status;
    const bool there = !force && cs_path_exists(path);
    status = there ? CS_OK : make_parent(path);
    if (status == CS_OK) status = find_record(what->name, &recorded);
    if (status == CS_OK)
        status = there ? check_corpus(path, path, NULL, &recorded, &said)
                       : make(what, path, &recorded, &said);
    if (status == CS_OK && note) {
        *note = said;
        said = NULL;
    }
    cs_free(recorded.packages);
    return status;
}
