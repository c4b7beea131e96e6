#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/threads.h"
#include "io/file.h"

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
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_LOCK_NAME);
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
