/* Checked allocation: every size is a product checked for overflow, every failure has a reason, and
 * the allocator can be replaced, so that tests fail each allocation in turn.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/each.h"
#include "base/status.h"

/* Uninitialised room for count items of `size` bytes; never NULL for count == 0.
 * NULL with a reason when count < 0, the product overflows or memory is exhausted (CS_ERR_MEMORY).
 */
void *cs_alloc(int64_t count, size_t size) CS_MUST_CHECK;

/* The same, zeroed. */
void *cs_calloc(int64_t count, size_t size) CS_MUST_CHECK;

/* Resizes; on failure returns NULL and leaves `p` as it was. */
void *cs_realloc(void *old, int64_t count, size_t size) CS_MUST_CHECK;

/* Room for `wanted` items in an array that grows: array is the address of the pointer to it, *room
 * the items that fit, which doubles until it does. On failure both stay. */
cs_status cs_reserve(void *array, int64_t *room, int64_t wanted, size_t size) CS_MUST_CHECK;

/* As cs_alloc, aligned to a cache line, of 4 MiB and more to a large page, which is asked for;
 * freed by cs_free_aligned, which accepts NULL. */
void *cs_alloc_aligned(int64_t count, int64_t size) CS_MUST_CHECK;
void cs_free_aligned(void *p);

/* Memory that is freed together: what a computation needs beside its result. The first failure
 * stays in `status`, and what is taken after it is NULL: one look before the work is enough.
 * Zeroed: empty; it may be moved. */
typedef struct {
    struct cs_pool_block *last;
    cs_status status;
} cs_pool;

/* As cs_calloc; NULL once something failed. */
void *cs_pool_take(cs_pool *pool, int64_t count, size_t size);
void cs_pool_free(cs_pool *pool);

/* Room for `count` items at each of several members of the struct at `of`. */
#define CS_POOL_FIELDS(pool, count, of, ...)                                                       \
    do {                                                                                           \
        CS_EACH(CS_POOL_FIELD, of, (pool, count), __VA_ARGS__)                                     \
    } while (0)
#define CS_POOL_FIELD(of, from, name)                                                              \
    (of)->name = cs_pool_take(CS_POOL_FROM from, sizeof *(of)->name);
#define CS_POOL_FROM(pool, count) (pool), (count)

/* A copy of a string, NULL on failure. */
char *cs_strdup(const char *text) CS_MUST_CHECK;

/* Lists of strings. The copy of no list is none; what was copied stays the caller's on failure. */
cs_status cs_text_list_copy(char *const *text, int64_t count, char ***out) CS_MUST_CHECK;
void cs_text_list_free(char **text, int64_t count);

/* Formats into fresh memory, NULL on failure. */
char *cs_format(const char *format, ...) CS_PRINTF(1, 2) CS_MUST_CHECK;
/* Appends to a text of its own; NULL, freed, on failure, and what is appended to NULL is NULL. */
void cs_append(char **text, const char *format, ...) CS_PRINTF(2, 3);
char *cs_format_list(const char *format, va_list args) CS_PRINTF(1, 0) CS_MUST_CHECK;

/* Asks for large pages for the first `bytes` of an allocation, where they span two or more: random
 * accesses would miss the translation buffer each time, and filling would fault every 4 KiB. A
 * hint: a refusal changes nothing. */
void cs_mem_large_pages(void *p, int64_t bytes);

/* Has the system give the memory of `bytes` bytes at p, within one allocation, that is about to be
 * written for the first time: at once rather than a page at a time when it is touched, which saves
 * the entry into the system for each page. Contents stay. A hint too: without it the pages come one
 * by one, as they are written. */
void cs_mem_populate(void *p, int64_t bytes);

/* Accepts NULL. The second frees what a pointer holds whose address it takes, for CS_DELIVER. */
void cs_free(void *p);
void cs_drop(void *held);

/* From cs_mem_keep on cs_free frees nothing, because a computation that was left behind may use it
 * (base/leavable.h). The last cs_mem_release frees all of it. */
void cs_mem_keep(void);
void cs_mem_release(void);
bool cs_mem_kept(void);

/* Members of the struct at `of`: CS_FREE_FIELDS(matrix, row, column, value) */
#define CS_FREE_FIELDS(of, ...)                                                                    \
    do {                                                                                           \
        CS_EACH(CS_FREE_FIELD, of, , __VA_ARGS__)                                                  \
    } while (0)
#define CS_FREE_FIELD(of, none, name) cs_free((of)->name);

/* Test hook: the n-th allocation from now (1 = the next) fails once; 0 switches off. Returns how
 * many allocations were made since the last call. Counts over all threads. */
int64_t cs_mem_fail_at(int64_t n);

/* Test hook: from now on no more than this is available. */
void cs_mem_available_at_most(int64_t bytes);

/* Bytes of physical memory that are free to use now (MemAvailable), and within the address space
 * that the process may take (RLIMIT_AS); 0 if unknown. */
int64_t cs_mem_available(void);

/* A quarter of these, but no more than `most`, which it is where they are not known. */
int64_t cs_mem_quarter(int64_t most);

/* Bytes of memory that this process has resident; 0 if unknown. */
int64_t cs_mem_resident(void);

/* Before memory is taken by sizes that only a header claims: CS_ERR_MEMORY where `bytes` are more
 * than is available, "<text> 32 GB, more than the 20.1 GB of free memory; <advice>". The text ends
 * in "takes" or "take"; advice may be NULL. */
cs_status cs_mem_check(double bytes, const char *advice, const char *format, ...)
    CS_PRINTF(3, 4) CS_MUST_CHECK;
