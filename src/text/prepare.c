/* The corpora known by name: where their prepared form is, and making it.
 *
 * A script of data/ (POSIX sh and awk) reads a Debian package and writes the prepared file; its
 * last line on stdout lists the packages it read as "name=version ...". data/SOURCES.tsv records
 * the SHA-256 that these versions gave: with the same versions another checksum is an error, with
 * others the note says so. The script runs as a child with its output in memory files, never
 * through a shell command line.
 */
#include "text/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "io/file.h"
#include "io/share.h"

static const cs_corpus_source source_table[] = {
    {"wordnet", "wordnet-base", "prepare-wordnet.sh", "WordNet-3.0",
     "glosses of 14 noun classes, 2,000 synsets each", true, true},
    {"bible-kjv", "bible-kjv", "prepare-bible-kjv.sh", "public domain",
     "verses of the King James Bible, by book", true, false},
    {"gcide", "dict-gcide", "prepare-gcide.sh", "GPL-2+",
     "entries of the Collaborative International Dictionary of English", false, false},
    {"manpages", "manpages manpages-dev", "prepare-manpages.sh", "various free, see the packages",
     "Linux manual pages, by section", true, false},
};

const cs_corpus_source *cs_corpus_sources(int *count)
{
    *count = (int)(sizeof source_table / sizeof source_table[0]);
    return source_table;
}

static cs_status find_source(const char *name, const cs_corpus_source **out)
{
    int number = 0;
    cs_status status = CS_ROW_NAMED("corpus", name, source_table, &number);
    *out = &source_table[number];
    return status;
}

/* The value of an environment variable, NULL when unset or empty. */
static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

cs_status cs_corpus_prepared_path(const char *name, char **out)
{
    const cs_corpus_source *source = NULL;
    cs_status status = find_source(name, &source);
    if (status != CS_OK) return status;
    const char *cache = setting("COSPEC_CACHE"), *xdg = setting("XDG_CACHE_HOME"),
               *home = setting("HOME");
    char *path;
    if (cache) {
        path = cs_format("%s/%s.tsv", cache, name);
    } else if (xdg) {
        path = cs_format("%s/cospec/%s.tsv", xdg, name);
    } else if (home) {
        path = cs_format("%s/.cache/cospec/%s.tsv", home, name);
    } else {
        return cs_fail(CS_ERR_USAGE, "no place for corpora: set COSPEC_CACHE or HOME");
    }
    if (!path) return CS_ERR_MEMORY;
    *out = path;
    return CS_OK;
}

/* What a memory file holds, up to 4 KiB, without the newlines at its end: fresh memory, NULL on
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

/* A failure's reason is what the script wrote to stderr. */
static cs_status outcome(const char *script, int code, int err)
{
    if (code == 0) {
        return CS_OK;
    }
    char *said = content_of(err);
    if (!said) return CS_ERR_MEMORY;
    cs_status status =
        said[0] != '\0' ? cs_fail(CS_ERR_INPUT, "%s", said)
                        : cs_fail(CS_ERR_INPUT, "%s: ended with %s %d", script,
                                  code > 128 ? "signal" : "status", code > 128 ? code - 128 : code);
    cs_free(said);
    return status;
}

/* Runs the script; *packages receives the versions it read. */
static cs_status run_script(const char *script, const char *target, char **packages)
{
    int out = memfd_create("cospec-out", MFD_CLOEXEC),
        err = memfd_create("cospec-err", MFD_CLOEXEC);
    const char *const argv[] = {"sh", script, target, NULL};
    const cs_child child = {.argv = argv, .out = out, .err = err};
    cs_status status = CS_OK;
    int code = 0;
    if (out < 0 || err < 0) {
        status = cs_fail(CS_ERR_IO, "cannot make a memory file: %s", strerror(errno));
        goto done;
    }
    status = cs_child_run(&child, &code);
    if (status == CS_OK) status = outcome(script, code, err);
    if (status == CS_OK) {
        *packages = content_of(out);
        status = *packages ? CS_OK : CS_ERR_MEMORY;
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

/* What data/SOURCES.tsv says of a corpus. */
static cs_status find_record(const char *name, record *out)
{
    enum { MOST = 1 << 20 };
    char *path = NULL, *text = NULL;
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
    cs_free(path);
    cs_free(text);
    return status;
}

/* Compares a file just made from packages, or (NULL) made before, with its record; *note receives
 * the finding. */
static cs_status check(const char *file, const char *path, const char *packages,
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
        return cs_fail(CS_ERR_INPUT, "%s: SHA-256 %s, but %s was recorded for %s", path, sha256,
                       recorded->sha256, packages);
    }
    return *note ? CS_OK : CS_ERR_MEMORY;
}

/* Makes the file beside its place under a name of this process, then moves it there. */
static cs_status make(const cs_corpus_source *source, const char *path, const record *recorded,
                      char **note)
{
    char *relative = cs_format("data/%s", source->script), *script = NULL, *packages = NULL;
    char *partial = cs_format("%s.%ld", path, (long)getpid());
    cs_status status = relative && partial ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_share_path(relative, &script);
    if (status != CS_OK) goto done;
    status = cs_blame(run_script(script, partial, &packages), "cannot prepare %s", source->name);
    if (status == CS_OK) status = check(partial, path, packages, recorded, note);
    if (status == CS_OK && rename(partial, path) != 0)
        status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
done:
    if (partial && status != CS_OK) {
        (void)unlink(partial); /* may never have been made */
    }
    cs_free(relative);
    cs_free(script);
    cs_free(partial);
    cs_free(packages);
    return status;
}

static cs_status make_parent(const char *path)
{
    char *folder = cs_strdup(path);
    if (!folder) return CS_ERR_MEMORY;
    char *slash = strrchr(folder, '/'); /* always there: see cs_corpus_prepared_path */
    *slash = '\0';
    cs_status status = cs_dir_make(folder);
    cs_free(folder);
    return status;
}

cs_status cs_corpus_prepare(const char *name, bool force, char **note)
{
    const cs_corpus_source *source = NULL;
    char *path = NULL, *said = NULL;
    record recorded = {0};
    cs_status status = find_source(name, &source);
    if (status == CS_OK) status = cs_corpus_prepared_path(name, &path);
    if (status != CS_OK) return status;
    const bool there = !force && cs_path_exists(path);
    status = there ? CS_OK : make_parent(path);
    if (status == CS_OK) status = find_record(name, &recorded);
    if (status == CS_OK)
        status = there ? check(path, path, NULL, &recorded, &said)
                       : make(source, path, &recorded, &said);
    if (status == CS_OK && note) {
        *note = said;
        said = NULL;
    }
    cs_free(recorded.packages);
    cs_free(said);
    cs_free(path);
    return status;
}
