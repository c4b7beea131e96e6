/* Checked allocation: every size is a product checked for overflow, every failure has a reason, and
 * the allocator can be replaced, so that tests fail each allocation in turn.
 */
#ifndef CS_BASE_MEM_H
#define CS_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Uninitialised room for count items of `size` bytes; never NULL for count == 0.
 * NULL with a reason when count < 0, the product overflows or memory is exhausted (CS_ERR_MEMORY).
 */
void *cs_alloc(int64_t count, size_t size) CS_MUST_CHECK;

/* The same, zeroed. */
void *cs_calloc(int64_t count, size_t size) CS_MUST_CHECK;

/* Resizes; on failure returns NULL and leaves `p` as it was. */
void *cs_realloc(void *old, int64_t count, size_t size) CS_MUST_CHECK;

/* A copy of a string, NULL on failure. */
char *cs_strdup(const char *text) CS_MUST_CHECK;

/* Formats into fresh memory, NULL on failure. */
char *cs_format(const char *format, ...) CS_PRINTF(1, 2) CS_MUST_CHECK;

/* Asks for large pages behind the first `bytes` of an allocation, where they reach over two or
 * more: what is hit at random would miss the translation buffer each time, and what is filled would
 * fault every 4 KiB. A hint: a refusal changes nothing. */
void cs_mem_large_pages(void *p, int64_t bytes);

/* Has the system give the memory of `bytes` bytes at p, within one allocation, that is about to be
 * written for the first time: at once rather than a page at a time when it is touched, which saves
 * the entry into the system for each page. Contents stay. A wish too: writes give it otherwise. */
void cs_mem_populate(void *p, int64_t bytes);

/* Accepts NULL. */
void cs_free(void *p);

/* Test hook: the n-th allocation from now (1 = the next) fails once; 0 switches off. Returns how
 * many allocations were made since the last call. Counts over all threads. */
int64_t cs_mem_fail_at(int64_t n);

/* Bytes of physical memory that are free to use now (MemAvailable), 0 if unknown. */
int64_t cs_mem_available(void);

#endif
