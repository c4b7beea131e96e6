#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/threads.h"

/* Whether the file behind `fd` is still the one at `path`. */
static bool is_at(int fd, const char *path)
{
    struct stat held, there;
    return fstat(fd, &held) == 0 && lstat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

/* *out -1: not now. */
static cs_status try_lock(const char *path, bool make, bool *busy, int *out)
{
    const int fd = open(path, O_RDWR | (make ? O_CREAT : 0) | O_NOFOLLOW | O_CLOEXEC, 0666);
    *busy = false;
    *out = -1;
    if (fd < 0) {
        return !make && errno == ENOENT
                   ? CS_OK
                   : cs_fail(CS_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    *busy = (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || !is_at(fd, path);
    if (*busy) {
        (void)close(fd);
    } else {
        *out = fd;
    }
    return CS_OK;
}

cs_status cs_dir_lock(const char *dir, bool make, int *out)
{
    enum { MOST_SECONDS = 5, LOOKS_PER_SECOND = 50 };
    const struct timespec look = {.tv_nsec = 1000000000 / LOOKS_PER_SECOND};
    CS_AUTO_FREE char *path = cs_format("%s/%s", dir, CS_LOCK_NAME);
    bool busy = true;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    for (int looks = 0; busy && status == CS_OK; ++looks) {
        if (looks > MOST_SECONDS * LOOKS_PER_SECOND) {
            status = cs_fail(
                CS_ERR_IO,
                "%s: another run is writing to this folder; wait for it or choose another folder",
                dir);
        } else if (looks > 0 && (status = cs_interrupt_check()) == CS_OK) {
            (void)nanosleep(&look, NULL);
        }
        if (status == CS_OK) status = try_lock(path, make, &busy, out);
    }
    return status;
}

enum { RECORD = PATH_MAX + 96 };

/* Inode, size and time of the last write. No memory is allocated: a write that succeeds needs none. */
static void record_of(const char *name, const struct stat *file, char text[RECORD])
{
    (void)snprintf(text, RECORD, "\n%s\t%llu %lld %lld.%09ld\n", name,
                   (unsigned long long)file->st_ino, (long long)file->st_size,
                   (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec);
}

/* Opens the lock file of the nearest folder around `path`, with *name the rest of it; -1: none. */
static int nearest(const char *path, int flags, const char **name)
{
    char lock[PATH_MAX + sizeof CS_LOCK_NAME];
    int fd = -1;
    const char *end = path + strlen(path);
    for (*name = end + 1; fd < 0 && *name > path;) {
        *name -= 1;
        while (*name > path && (*name)[-1] != '/') {
            *name -= 1;
        }
        (void)snprintf(lock, sizeof lock, "%.*s%s", (int)(*name - path), path, CS_LOCK_NAME);
        if (*name - path < PATH_MAX) fd = open(lock, flags | O_NOFOLLOW | O_CLOEXEC);
    }
    return fd;
}

void cs_lock_record(const char *path, const struct stat *file)
{
    const char *name = NULL;
    const int fd = nearest(path, O_WRONLY | O_APPEND, &name);
    if (fd < 0) return;
    if (!strstr(name, ".partial/")) { /* not of a folder that is renamed when complete */
        char record[RECORD];
        record_of(name, file, record);
        if (write(fd, record, strlen(record)) < 0) errno = 0; /* then it has none */
    }
    (void)close(fd);
}

bool cs_lock_recorded(const char *text, const char *name, const struct stat *file)
{
    char record[RECORD];
    record_of(name, file, record);
    return strstr(text, record);
}

bool cs_lock_held(const char *path)
{
    char within[PATH_MAX];
    const char *name = NULL;
    const int length = snprintf(within, sizeof within, "%s/", path),
              fd = length < PATH_MAX ? nearest(within, O_RDONLY, &name) : -1;
    const bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) (void)close(fd);
    return held;
}
