/* mkostemp and unlink; a shared mapping of a file whose blocks are allocated beforehand, since a
 * disk that is full would else kill the program in the middle of a write to memory. */
#include "base/scratch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

const char *cs_scratch_dir(const char *dir)
{
    const char *chosen = dir ? dir : getenv("TMPDIR");
    return chosen && *chosen ? chosen : "/tmp";
}

cs_status cs_scratch_open(const char *dir, int *fd)
{
    CS_AUTO_FREE char *path = cs_format("%s/cospec-scratch-XXXXXX", cs_scratch_dir(dir));
    if (!path) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0) {
        status =
            cs_fail(CS_ERR_IO, "scratch directory %s: %s", cs_scratch_dir(dir), strerror(errno));
    } else if (unlink(path) != 0) {
        status = cs_fail(CS_ERR_IO, "scratch file %s: %s", path, strerror(errno));
        (void)close(*fd);
        *fd = -1;
    }
    return status;
}

cs_status cs_scratch_grow(cs_scratch_memory *m, const char *dir, int64_t bytes)
{
    assert(bytes > 0);
    if (bytes <= m->bytes) {
        return CS_OK;
    }
    int fd = m->fd;
    cs_status status = m->at ? CS_OK : cs_scratch_open(dir, &fd);
    if (status != CS_OK) return status;
    int error = 0;
    do {
        error = posix_fallocate(fd, 0, bytes);
    } while (error == EINTR);
    void *at = MAP_FAILED;
    if (error == 0) {
        at = m->at ? mremap(m->at, (size_t)m->bytes, (size_t)bytes, MREMAP_MAYMOVE)
                   : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = at == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        if (!m->at) {
            (void)close(fd);
        }
        return cs_fail(CS_ERR_IO, "scratch directory %s: cannot reserve %lld bytes: %s",
                       cs_scratch_dir(dir), (long long)bytes, strerror(error));
    }
    *m = (cs_scratch_memory){.at = at, .bytes = bytes, .fd = fd};
    return CS_OK;
}

void cs_scratch_let_go(const cs_scratch_memory *m, int64_t from, int64_t bytes)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t begin = (from + page - 1) / page * page, end = (from + bytes) / page * page;
    if (begin < end) { /* of a shared mapping: what was written is in the file's pages */
        (void)madvise((char *)m->at + begin, (size_t)(end - begin), MADV_DONTNEED);
    }
}

void cs_scratch_free(cs_scratch_memory *m)
{
    if (m->at) {
        (void)munmap(m->at, (size_t)m->bytes);
        (void)close(m->fd);
    }
    memset(m, 0, sizeof *m);
}
