/* malloc with overflow checks, a failure counter for tests, and the machine's free memory. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic int64_t made;
static _Atomic int64_t fail_at;

/* True when this request may proceed. Allocations are numbered from the last cs_mem_fail_at(). */
static bool admitted(int64_t count, size_t size)
{
    int64_t number = atomic_fetch_add(&made, 1) + 1;
    if (count < 0 || (size > 0 && (uint64_t)count > (uint64_t)PTRDIFF_MAX / size)) {
        (void)cs_fail(CS_ERR_MEMORY, "cannot allocate %lld items of %zu bytes", (long long)count,
                      size);
        return false;
    }
    if (number == atomic_load(&fail_at)) {
        (void)cs_fail(CS_ERR_MEMORY, "out of memory (allocation %lld failed by request)",
                      (long long)number);
        return false;
    }
    return true;
}

static void *exhausted(int64_t count, size_t size)
{
    (void)cs_fail(CS_ERR_MEMORY, "out of memory: %lld items of %zu bytes", (long long)count, size);
    return NULL;
}

void *cs_alloc(int64_t count, size_t size)
{
    if (!admitted(count, size)) {
        return NULL;
    }
    size_t bytes = (size_t)count * size;
    void *p = malloc(bytes > 0 ? bytes : 1);
    return p ? p : exhausted(count, size);
}

void *cs_calloc(int64_t count, size_t size)
{
    if (!admitted(count, size)) {
        return NULL;
    }
    void *p = calloc(count > 0 ? (size_t)count : 1, size > 0 ? size : 1);
    return p ? p : exhausted(count, size);
}

void *cs_realloc(void *old, int64_t count, size_t size)
{
    if (!admitted(count, size)) {
        return NULL;
    }
    size_t bytes = (size_t)count * size;
    void *p = realloc(old, bytes > 0 ? bytes : 1);
    return p ? p : exhausted(count, size);
}

void cs_mem_large_pages(void *p, int64_t bytes)
{
    const uintptr_t page = UINT64_C(1) << 21;
    if (bytes >= 2 * (int64_t)page) {
        uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
        (void)madvise((void *)from, ((uintptr_t)p + (uintptr_t)bytes - from) / page * page,
                      MADV_HUGEPAGE);
    }
}

void cs_mem_populate(void *p, int64_t bytes)
{
#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p / page * page;
    if (bytes > 0) { /* the first and last page hold some of the bytes, so all are there */
        (void)madvise((void *)from, (uintptr_t)p + (uintptr_t)bytes - from, MADV_POPULATE_WRITE);
    }
#else
    (void)p;
    (void)bytes;
#endif
}

char *cs_strdup(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = cs_alloc((int64_t)length, 1);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *cs_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : cs_alloc((int64_t)length + 1, 1);
    if (text) {
        va_start(args, format);
        (void)vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}

void cs_free(void *p)
{
    free(p);
}

int64_t cs_mem_fail_at(int64_t n)
{
    int64_t count = atomic_exchange(&made, 0);
    atomic_store(&fail_at, n);
    return count;
}

int64_t cs_mem_available(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    long long kib = 0;
    if (f) {
        char line[128];
        const char name[] = "MemAvailable:";
        while (fgets(line, sizeof line, f) && kib == 0) {
            if (strncmp(line, name, sizeof name - 1) == 0) {
                kib = strtoll(line + sizeof name - 1, NULL, 10);
            }
        }
        (void)fclose(f);
    }
    return (int64_t)kib * 1024;
}
