/** \file
 * Checked allocation. Sizes are products that are checked for overflow, and every failure has a
 * reason.
 *
 * Programs need cs_free for text and arrays that the library returns. The other functions are here
 * because headers and bindings use them. All are thread-safe.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/foreach_macro.h"
#include "base/status.h"

/** Allocates `count` items of `size` bytes, not initialised. Free them with cs_free.
 *
 * \return the memory, never NULL for `count` 0; NULL with a reason if `count` is negative, if the
 *     product overflows or if memory is exhausted
 */
void *cs_alloc(int64_t count, size_t size) CS_MUST_CHECK;

/** As cs_alloc, filled with zeros. */
void *cs_calloc(int64_t count, size_t size) CS_MUST_CHECK;

/** Changes the size of an allocation to `count` items of `size` bytes; `old` may be NULL.
 *
 * \return the memory; NULL with a reason on failure, and `old` is unchanged
 */
void *cs_realloc(void *old, int64_t count, size_t size) CS_MUST_CHECK;

/** \cond INTERNAL */
/** Grows an array to hold at least `wanted` items. `array` is the address of the pointer to it and
 * `*capacity` its capacity in items, which is doubled until it suffices. Both are unchanged on
 * failure.
 */
cs_status cs_reserve(void *array, int64_t *capacity, int64_t wanted, size_t size) CS_MUST_CHECK;

/** As cs_alloc, aligned to 64 bytes, and from 4 MiB on to a large page, which is requested. Free it
 * with cs_free_aligned, which accepts NULL.
 */
void *cs_alloc_aligned(int64_t count, int64_t size) CS_MUST_CHECK;
void cs_free_aligned(void *p);
/** \endcond */

/** Allocations that are freed together. Results of the library own one when they hold several
 * arrays. A zeroed object is empty, and it may be moved.
 */
typedef struct {
    /** The newest block; internal. */
    struct cs_pool_block *last;
    /** The first failure. Every later allocation returns NULL, so one check suffices. */
    cs_status status;
} cs_pool;

/** As cs_calloc, owned by the pool; NULL after a failure. */
void *cs_pool_take(cs_pool *pool, int64_t count, size_t size);

/** Frees all allocations of the pool. */
void cs_pool_free(cs_pool *pool);

/** \cond INTERNAL */
/** Allocates `count` items for each of several members of the struct at `of`. */
#define CS_POOL_FIELDS(pool, count, of, ...)                                                       \
    do {                                                                                           \
        CS_EACH(CS_POOL_FIELD, of, (pool, count), __VA_ARGS__)                                     \
    } while (0)
#define CS_POOL_FIELD(of, from, name)                                                              \
    (of)->name = cs_pool_take(CS_POOL_FROM from, sizeof *(of)->name);
#define CS_POOL_FROM(pool, count) (pool), (count)
/** \endcond */

/** A copy of a string, NULL with a reason on failure. Free it with cs_free. */
char *cs_strdup(const char *text) CS_MUST_CHECK;

/** \cond INTERNAL */
/** Whether the text ends with the suffix (".npz"). */
bool cs_has_suffix(const char *text, const char *suffix);

/** Copies a list of strings; the copy of NULL is NULL. On failure nothing is allocated. */
cs_status cs_text_list_copy(char *const *text, int64_t count, char ***out) CS_MUST_CHECK;
void cs_text_list_free(char **text, int64_t count);

/** Formats text into new memory; NULL with a reason on failure. */
char *cs_format(const char *format, ...) CS_PRINTF(1, 2) CS_MUST_CHECK;

/** Appends to an allocated text. On failure it is freed and becomes NULL, and appending to NULL
 * leaves it NULL.
 */
void cs_append(char **text, const char *format, ...) CS_PRINTF(2, 3);
char *cs_format_list(const char *format, va_list args) CS_PRINTF(1, 0) CS_MUST_CHECK;

/** Requests large pages for the first `bytes` bytes of an allocation that spans at least two of
 * them. It reduces TLB misses of random accesses and page faults of 4 KiB each. A hint: a refusal
 * changes nothing.
 */
void cs_mem_large_pages(void *p, int64_t bytes);

/** Asks the system to provide `bytes` bytes at `p`, which lie within one allocation and are about
 * to be written for the first time. One call replaces a page fault for each page. The content is
 * kept; a hint, without effect on fewer than 16 pages.
 */
void cs_mem_populate(void *p, int64_t bytes);

/** Gives memory within an allocation back to the system: the large pages of the bytes `from` to
 * `to` - 1 after `p`. The content of the bytes from `p` to `p` + `to` - 1 is lost. Consecutive
 * ranges give back every large page that they fill together.
 */
void cs_mem_give_back(void *p, int64_t from, int64_t to);
/** \endcond */

/** Frees an allocation of this library; accepts NULL. */
void cs_free(void *p);

/** Frees the allocation in the pointer whose address is given, for CS_DELIVER. */
void cs_drop(void *held);

/** \cond INTERNAL */
/** From cs_mem_defer_free on cs_free frees nothing, because an abandoned call may still use the
 * memory (cs_run_abandonable). The last cs_mem_free_deferred frees all of it.
 */
void cs_mem_defer_free(void);
void cs_mem_free_deferred(void);
bool cs_mem_free_is_deferred(void);

/** Frees members of the struct at `of`: CS_FREE_FIELDS(matrix, row, column, value) */
#define CS_FREE_FIELDS(of, ...)                                                                    \
    do {                                                                                           \
        CS_EACH(CS_FREE_FIELD, of, , __VA_ARGS__)                                                  \
    } while (0)
#define CS_FREE_FIELD(of, none, name) cs_free((of)->name);

/** For tests: allocation number `n` from now on (1: the next) fails once; 0 switches this off.
 * Returns the number of allocations of all threads since the last call.
 */
int64_t cs_mem_fail_at(int64_t n);

/** For tests: from now on at most this much memory counts as available. */
void cs_mem_available_at_most(int64_t bytes);

/** Bytes that the memory limits of the process's control groups (cgroup, version 1 or 2) leave;
 * INT64_MAX without a limit.
 *
 * \param root folder with proc and sys, for tests; "" for those of the system
 */
int64_t cs_mem_group_left(const char *root);

/** Bytes of physical memory that are available (MemAvailable) within the limit on the address space
 * of the process (RLIMIT_AS) and those of its control groups; 0 if unknown. Those of the system are
 * at most 10 ms old.
 */
int64_t cs_mem_available(void);

/** A quarter of the available memory, at most `most`; `most` if it is unknown. */
int64_t cs_mem_quarter(int64_t most);

/** Resident memory of this process in bytes; 0 if unknown. */
int64_t cs_mem_resident(void);

/** Refuses an allocation whose size a file header claims: CS_ERR_MEMORY if `bytes` exceeds the
 * available memory, as "<text> 32 GB, more than the 20.1 GB of free memory; <advice>". The text
 * ends in "takes" or "take"; `advice` may be NULL.
 */
cs_status cs_mem_check(double bytes, const char *advice, const char *format, ...)
    CS_PRINTF(3, 4) CS_MUST_CHECK;
/** \endcond */
