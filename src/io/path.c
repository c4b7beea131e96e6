/* Paths and folders: whether a name is there, making and listing folders, space on the disk. */
#include "io/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"

/* Whether a failing stat proves that no file has the name. Other errors (EIO, EACCES, ELOOP) do not:
 * the file may be there. */
static bool means_absent(int code)
{
    return code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG;
}

char *cs_path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? cs_format("%.*s/", (int)(slash - path), path) : cs_strdup(".");
}

cs_status cs_dir_sync(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok =
        fd >= 0 ? fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP : errno == EACCES;
    const int code = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok ? CS_OK : cs_fail(CS_ERR_IO, "%s: cannot sync: %s", dir, strerror(code));
}

double cs_disk_free(const char *dir)
{
    struct statvfs disk;
    char folder[PATH_MAX] = "", *at = folder; /* `dir`, or the first above it that exists */
    const size_t length = strlen(dir);
    bool known = statvfs(dir, &disk) == 0;
    if (length < sizeof folder) memcpy(folder, dir, length + 1);
    while (!known && errno == ENOENT && length < sizeof folder && strcmp(at, ".") != 0) {
        at = dirname(at);
        known = statvfs(at, &disk) == 0;
    }
    return known ? (double)disk.f_bavail * (double)disk.f_frsize : INFINITY;
}

cs_status cs_disk_check(const char *dir, double bytes, const char *advice, const char *what)
{
    const double available = cs_disk_free(dir);
    return bytes <= available
               ? CS_OK
               : cs_fail(CS_ERR_IO,
                         "%s: %s take %.3g GB, but its file system has only %.3g GB free%s%s", dir,
                         what, bytes / 1e9, available / 1e9, advice ? "; " : "",
                         advice ? advice : "");
}

static cs_status make_one(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        const int code = errno;
        return code == EEXIST && cs_path_is_dir(path)
                   ? CS_OK
                   : cs_fail(CS_ERR_IO, "%s: cannot make directory: %s", path, strerror(code));
    }
    CS_AUTO_FREE char *above = cs_path_folder(path);
    return above ? cs_dir_sync(above) : CS_ERR_MEMORY;
}

cs_status cs_dir_make(const char *path)
{
    cs_status status = CS_OK;
    CS_AUTO_FREE char *prefix = cs_strdup(path);
    if (!prefix) return CS_ERR_MEMORY;
    for (char *p = prefix; *p != '\0' && status == CS_OK; ++p) {
        if (*p == '/' && p > prefix && p[-1] != '/') {
            *p = '\0';
            status = make_one(prefix);
            *p = '/';
        }
    }
    return status == CS_OK ? make_one(path) : status;
}

cs_status cs_link_refuse(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return means_absent(errno) ? CS_OK : cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return S_ISLNK(st.st_mode)
               ? cs_fail(CS_ERR_USAGE, "%s is a symbolic link, which is not followed", path)
               : CS_OK;
}

cs_status cs_dir_make_own(const char *path)
{
    cs_status status = cs_link_refuse(path);
    return status == CS_OK ? cs_dir_make(path) : status;
}

cs_status cs_path_find(const char *path, bool *there)
{
    struct stat st;
    *there = stat(path, &st) == 0 || (means_absent(errno) && lstat(path, &st) == 0);
    return *there || means_absent(errno) ? CS_OK
                                         : cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
}

bool cs_path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || !means_absent(errno) || lstat(path, &st) == 0 ||
           !means_absent(errno);
}

bool cs_path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

cs_status cs_dir_names(const char *path, char ***name, int64_t *count)
{
    struct dirent **found = NULL;
    const int n = scandir(path, &found, is_visible, by_bytes);
    if (n < 0) {
        return cs_fail(errno == ENOMEM ? CS_ERR_MEMORY : CS_ERR_IO, "%s: %s", path,
                       strerror(errno));
    }
    char **made = cs_calloc(n, sizeof *made);
    bool all = made != NULL;
    for (int i = 0; i < n; ++i) {
        all = all && (made[i] = cs_strdup(found[i]->d_name)) != NULL;
        free(found[i]);
    }
    free(found);
    if (!all) {
        cs_text_list_free(made, n);
        return CS_ERR_MEMORY;
    }
    *name = made;
    *count = n;
    return CS_OK;
}

bool cs_path_is_pattern(const char *path)
{
    return strpbrk(path, "*?[") && !cs_path_exists(path);
}

static int order_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

cs_status cs_pattern_paths(const char *pattern, char ***path, int64_t *count)
{
    glob_t found = {0};
    const int code = glob(pattern, GLOB_ERR | GLOB_NOSORT, NULL, &found);
    if (code == GLOB_NOMATCH) {
        return cs_fail(CS_ERR_INPUT, "%s: no file has such a name", pattern);
    }
    if (code != 0) {
        return code == GLOB_NOSPACE
                   ? cs_fail(CS_ERR_MEMORY, "out of memory for the files of %s", pattern)
                   : cs_fail(CS_ERR_IO, "%s: %s", pattern, strerror(errno));
    }
    const int64_t n = (int64_t)found.gl_pathc;
    char **made = cs_calloc(n, sizeof *made);
    bool all = made != NULL;
    for (int64_t i = 0; i < n && all; ++i) {
        made[i] = cs_strdup(found.gl_pathv[i]);
        all = made[i] != NULL;
    }
    globfree(&found);
    if (!all) {
        cs_text_list_free(made, n);
        return CS_ERR_MEMORY;
    }
    qsort(made, (size_t)n, sizeof *made, order_texts); /* glob's order depends on the locale */
    *path = made;
    *count = n;
    return CS_OK;
}

const char *cs_path_hint(const char *path, cs_hint *hint)
{
    char folder[sizeof hint->text] = "";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    struct dirent **entry = NULL;
    struct stat st;
    if (lstat(path, &st) == 0 && stat(path, &st) != 0) {
        (void)snprintf(hint->text, sizeof hint->text, "; the symbolic link is there: %s",
                       strerror(errno));
        return hint->text;
    }
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(base - path), path);
    const int count = scandir(folder[0] ? folder : ".", &entry, is_visible, alphasort);
    for (int i = 0; i < count; ++i) {
        cs_hint_consider(base, entry[i]->d_name, hint);
        free(entry[i]);
    }
    free(entry);
    return cs_hint_text(folder, hint);
}

char *cs_path_join(const char *dir, const char *name)
{
    size_t length = strlen(dir);
    const char *slash = length == 0 || dir[length - 1] == '/' ? "" : "/";
    return cs_format("%s%s%s", dir, slash, name);
}
