/* malloc with overflow checks, a failure counter for tests, and the machine's free memory. */
#include "base/mem.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/ints.h"

static _Atomic int64_t made;
static _Atomic int64_t fail_at;

/* While abandoned calls run, what cs_free is given waits here. */
typedef struct waiting {
    struct waiting *next;
    void *p;
} waiting;
static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int deferrals;
static waiting *to_free;

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

/* The functions of the address sanitizer, in a program that runs under it: the bytes around an
 * allocation of a pool are poisoned. */
extern void __asan_poison_memory_region(const volatile void *from, size_t bytes)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *from, size_t bytes)
    __attribute__((weak));

static void hide(const char *from, const char *end)
{
    if (__asan_poison_memory_region) {
        __asan_poison_memory_region(from, (size_t)(end - from));
    }
}

static void show(const void *from, size_t bytes)
{
    if (__asan_unpoison_memory_region) {
        __asan_unpoison_memory_region(from, bytes);
    }
}

/* The header of each block of a pool. */
struct cs_pool_block {
    _Alignas(max_align_t) struct cs_pool_block *before;
};

void *cs_pool_take(cs_pool *pool, int64_t count, size_t size)
{
    const int64_t head = (int64_t)((sizeof(struct cs_pool_block) + size - 1) / size);
    bool fits = count >= 0 && count <= INT64_MAX - head;
    struct cs_pool_block *block = NULL;
    if (pool->status == CS_OK && !(block = cs_calloc(fits ? count + head : -1, size)))
        pool->status = CS_ERR_MEMORY;
    if (!block) {
        return NULL;
    }
    block->before = pool->last;
    pool->last = block;
    char *memory = (char *)(block + 1);
    hide((char *)block, memory);
    hide(memory + count * (int64_t)size, (char *)block + (count + head) * (int64_t)size);
    return memory;
}

void cs_pool_free(cs_pool *pool)
{
    while (pool->last) {
        show(pool->last, sizeof *pool->last);
        struct cs_pool_block *before = pool->last->before;
        cs_free(pool->last);
        pool->last = before;
    }
    pool->status = CS_OK;
}

/* The pointer that cs_alloc returned is kept just before the aligned memory. */
void *cs_alloc_aligned(int64_t count, int64_t size)
{
    const int64_t line = 64, page = INT64_C(1) << 21;
    int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, size, &bytes) || bytes > INT64_MAX - 2 * page) {
        bytes = -1; /* cs_alloc says so */
    }
    const int64_t to = bytes >= 2 * page ? page : line;
    char *raw = cs_alloc(bytes < 0 ? -1 : bytes + to + (int64_t)sizeof(char *), 1);
    if (!raw) {
        return NULL;
    }
    const uintptr_t end = (uintptr_t)raw + sizeof raw + (uintptr_t)to - 1;
    char *memory = raw + (end / (uintptr_t)to * (uintptr_t)to - (uintptr_t)raw);
    memcpy(memory - sizeof raw, &raw, sizeof raw);
    hide(raw, memory);
    hide(memory + bytes, raw + bytes + to + (int64_t)sizeof(char *));
    cs_mem_large_pages(memory, bytes);
    return memory;
}

void cs_free_aligned(void *p)
{
    if (p) {
        char *raw;
        show((char *)p - sizeof raw, sizeof raw);
        memcpy(&raw, (char *)p - sizeof raw, sizeof raw);
        cs_free(raw);
    }
}

static const uintptr_t LARGE_PAGE = UINT64_C(1) << 21;

void cs_mem_large_pages(void *p, int64_t bytes)
{
    const uintptr_t page = LARGE_PAGE;
    if (bytes >= 2 * (int64_t)page) {
        uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
        (void)madvise((void *)from, ((uintptr_t)p + (uintptr_t)bytes - from) / page * page,
                      MADV_HUGEPAGE);
    }
}

void cs_mem_give_back(void *p, int64_t from, int64_t to)
{
    const uintptr_t page = LARGE_PAGE, at = (uintptr_t)p, first = (at + page - 1) / page * page;
    const uintptr_t begin = (at + (uintptr_t)from) / page * page;
    const uintptr_t end = (at + (uintptr_t)to) / page * page, later = begin > first ? begin : first;
    if (end > later) {
        (void)madvise((void *)later, end - later, MADV_DONTNEED);
    }
}

void cs_mem_populate(void *p, int64_t bytes)
{
#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p / page * page;
    /* The first and last page hold some of the bytes, so all are there. Few are as quick touched. */
    if (bytes >= 16 * (int64_t)page) {
        (void)madvise((void *)from, (uintptr_t)p + (uintptr_t)bytes - from, MADV_POPULATE_WRITE);
    }
#else
    (void)p;
    (void)bytes;
#endif
}

cs_status cs_reserve(void *array, int64_t *capacity, int64_t wanted, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (wanted <= *capacity) {
        return CS_OK;
    }
    int64_t grown = *capacity > 32 ? *capacity : 32;
    while (grown < wanted) {
        grown = grown > INT64_MAX / 2 ? wanted : 2 * grown;
    }
    void *more = cs_realloc(old, grown, size);
    if (!more) return CS_ERR_MEMORY;
    memcpy(array, &more, sizeof more);
    *capacity = grown;
    return CS_OK;
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

bool cs_has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

char *cs_format_list(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : cs_alloc((int64_t)length + 1, 1);
    if (text) (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *cs_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cs_format_list(format, args);
    va_end(args);
    return text;
}

void cs_append(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    CS_AUTO_FREE char *more = *text ? cs_format_list(format, args) : NULL, *before = *text;
    va_end(args);
    *text = more ? cs_format("%s%s", before, more) : NULL;
}

void cs_mem_defer_free(void)
{
    (void)pthread_mutex_lock(&deferred_lock);
    atomic_fetch_add(&deferrals, 1);
    (void)pthread_mutex_unlock(&deferred_lock);
}

void cs_mem_free_deferred(void)
{
    waiting *list = NULL;
    (void)pthread_mutex_lock(&deferred_lock);
    if (atomic_fetch_sub(&deferrals, 1) == 1) {
        list = to_free;
        to_free = NULL;
    }
    (void)pthread_mutex_unlock(&deferred_lock);
    while (list) {
        waiting *next = list->next;
        free(list->p);
        free(list);
        list = next;
    }
}

bool cs_mem_free_is_deferred(void)
{
    return atomic_load(&deferrals) > 0;
}

/* Whether p has to wait; without memory for its place in the list it is never freed. */
static bool waits(void *p)
{
    (void)pthread_mutex_lock(&deferred_lock);
    const bool wait = cs_mem_free_is_deferred();
    waiting *w = wait ? malloc(sizeof *w) : NULL;
    if (w) {
        *w = (waiting){to_free, p};
        to_free = w;
    }
    (void)pthread_mutex_unlock(&deferred_lock);
    return wait;
}

void cs_free(void *p)
{
    if (p && (!cs_mem_free_is_deferred() || !waits(p))) {
        free(p);
    }
}

void cs_drop(void *held)
{
    CS_AUTO_FREE void *p = NULL;
    memcpy(&p, held, sizeof p);
}

int64_t cs_mem_fail_at(int64_t n)
{
    int64_t count = atomic_exchange(&made, 0);
    atomic_store(&fail_at, n);
    return count;
}

/* The number in `column` behind `name`, which begins a line of the file; 0 if there is none. */
static int64_t number_in(const char *path, const char *name, int column)
{
    char line[256];
    int64_t number = 0;
    FILE *f = fopen(path, "re");
    for (bool found = false; f && !found && fgets(line, sizeof line, f);) {
        char *at = line + strlen(name);
        found = strncmp(line, name, strlen(name)) == 0;
        for (int i = 0; i <= column && found; ++i) {
            number = strtoll(at, &at, 10);
        }
    }
    if (f) (void)fclose(f);
    return number;
}

/* In all (0) or resident (1); 0 if unknown. */
static int64_t own_bytes(int column)
{
    return number_in("/proc/self/statm", "", column) * sysconf(_SC_PAGESIZE);
}

int64_t cs_mem_resident(void)
{
    return own_bytes(1);
}

/* Bytes left below the limit of the address space, INT64_MAX without a limit. */
static int64_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return INT64_MAX;
    }
    int64_t left = (int64_t)limit.rlim_cur - own_bytes(0);
    return left > 0 ? left : 1;
}

/* Bytes left below the memory limit of one control group: pages of files that are not in use count
 * as free. */
static int64_t group_left(const char *folder, bool second)
{
    static const char *const files[2][2] = {{"memory.limit_in_bytes", "memory.usage_in_bytes"},
                                            {"memory.max", "memory.current"}};
    char path[3][1024];
    for (int i = 0; i < 3; ++i) {
        (void)snprintf(path[i], sizeof path[i], "%s/%s", folder,
                       i < 2 ? files[second][i] : "memory.stat");
    }
    const int64_t limit = number_in(path[0], "", 0); /* 0: "max", or no such file */
    if (limit <= 0 || limit > INT64_MAX / 2) {
        return INT64_MAX;
    }
    const int64_t left = limit - number_in(path[1], "", 0) +
                         number_in(path[2], second ? "inactive_file " : "total_inactive_file ", 0);
    return left > 0 ? left : 1;
}

int64_t cs_mem_group_left(const char *root)
{
    char path[512], line[512], folder[900];
    int64_t left = INT64_MAX;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) { /* "4:memory:/a/b", or "0::/a/b" of version 2 */
        char *of = strchr(line, ':'), *name = of ? strchr(of + 1, ':') : NULL;
        if (!name) continue;
        *name++ = '\0';
        name[strcspn(name, "\n")] = '\0';
        const bool second = of[1] == '\0';
        if (!second && !strstr(of, "memory")) continue;
        for (bool more = true; more;) { /* limits above hold as well */
            (void)snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root,
                           second ? "" : "/memory", name);
            left = cs_least(left, group_left(folder, second));
            char *last = strrchr(name, '/');
            more = last != NULL;
            if (last) *last = '\0';
        }
    }
    if (f) (void)fclose(f);
    return left;
}

static _Atomic int64_t available_at_most = INT64_MAX;

void cs_mem_available_at_most(int64_t bytes)
{
    atomic_store(&available_at_most, bytes);
}

/* Of the machine and the control groups. Builders of small matrices ask thousands of times a second,
 * and an answer opens seven files: it holds for 10 ms, a hundred times what it takes. */
static int64_t system_left(void)
{
    static _Atomic double read_at;
    static _Atomic int64_t left;
    const double now = cs_seconds(), before = atomic_load(&read_at);
    if (before <= 0 || now - before > 0.01) {
        struct sysinfo info;
        const int64_t listed = number_in("/proc/meminfo", "MemAvailable:", 0) * 1024,
                      unused = listed == 0 && sysinfo(&info) == 0 /* /proc is not mounted */
                                   ? (int64_t)(info.freeram + info.bufferram) * info.mem_unit
                                   : 0;
        atomic_store(&left, cs_least(listed + unused, cs_mem_group_left("")));
        atomic_store(&read_at, now);
    }
    return atomic_load(&left);
}

int64_t cs_mem_available(void)
{
    return cs_least(cs_least(address_space_left(), atomic_load(&available_at_most)), system_left());
}

int64_t cs_mem_quarter(int64_t most)
{
    const int64_t quarter = cs_mem_available() / 4;
    return quarter > 0 ? cs_least(quarter, most) : most;
}

cs_status cs_mem_check(double bytes, const char *advice, const char *format, ...)
{
    const double available = (double)cs_mem_available();
    if (available <= 0 || bytes <= available) {
        return CS_OK;
    }
    char what[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return cs_fail(CS_ERR_MEMORY, "%s %.3g GB, but only %.3g GB of memory are free%s%s", what,
                   bytes / 1e9, available / 1e9, advice ? "; " : "", advice ? advice : "");
}

void cs_text_list_free(char **text, int64_t count)
{
    for (int64_t i = 0; text && i < count; ++i) {
        cs_free(text[i]);
    }
    cs_free(text);
}

cs_status cs_text_list_copy(char *const *text, int64_t count, char ***out)
{
    *out = text ? cs_calloc(count, sizeof **out) : NULL;
    if (text && !*out) return CS_ERR_MEMORY;
    for (int64_t i = 0; text && i < count; ++i) {
        (*out)[i] = cs_strdup(text[i]);
        if (!(*out)[i]) return CS_ERR_MEMORY;
    }
    return CS_OK;
}
