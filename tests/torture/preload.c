/* Loaded into a program (LD_PRELOAD) to fail it, in its libraries too; counting begins with main().
 *
 *   TORTURE_COUNT=FILE    writes how many allocations were made to FILE at the end
 *   TORTURE_ALLOC=N       the N-th allocation fails, with TORTURE_ALLOC_ON=1 all after it too
 *   TORTURE_SHORT=1       read, pread, write and pwrite move a part of the requested bytes
 *
 * The C library's own calls to read and write (stdio) do not come here. glibc on 64-bit Linux. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long made;
static long fail_at;
static bool counting, fail_on, moves_parts;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("TORTURE_ALLOC");
    fail_at = at ? atol(at) : 0;
    fail_on = getenv("TORTURE_ALLOC_ON") != NULL;
    moves_parts = getenv("TORTURE_SHORT") != NULL;
    counting = true;
}

static void end(void)
{
    const char *path = getenv("TORTURE_COUNT");
    counting = false;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        (void)fprintf(file, "%ld\n", atomic_load(&made));
        (void)fclose(file);
    }
}

/* The program ends by this. */
void _exit(int code)
{
    end();
    (void)syscall(SYS_exit_group, code);
    abort();
}

static bool fails(void)
{
    const long n = counting ? atomic_fetch_add(&made, 1) + 1 : 0;
    const bool now = fail_at > 0 && (n == fail_at || (fail_on && n > fail_at));
    if (now) {
        errno = ENOMEM;
    }
    return now;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);
    if (p) {
        *out = p;
    }
    return p ? 0 : ENOMEM;
}

/* 1 of 1, 1 of 2, 2 of 3, 2 of 4, ... */
static size_t part(size_t size)
{
    return moves_parts ? size - size / 2 : size;
}

ssize_t read(int fd, void *to, size_t size)
{
    return syscall(SYS_read, fd, to, part(size));
}

ssize_t write(int fd, const void *from, size_t size)
{
    return syscall(SYS_write, fd, from, part(size));
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    return syscall(SYS_pread64, fd, to, part(size), at);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    return syscall(SYS_pwrite64, fd, from, part(size), at);
}
