/* Local variables that are freed at the end of their block, on every way out of it.
 *
 * A variable is initialised where it is declared, since its destructor takes a zeroed one too.
 * Variables are freed in the reverse order of their declarations. One whose value is handed on is
 * zeroed, or freed by hand where that fails (CS_DELIVER). By the attribute `cleanup` of gcc and
 * clang. */
#pragma once

#include <string.h>

#include "base/mem.h"

/* Freed by the `_free` of its type:
 *
 *     CS_AUTO(cs_csr) a = {0}, b = {0};
 *     CS_AUTO(cs_tokenizer) *t = NULL;
 */
#define CS_AUTO(type) CS_AUTO_BY(type##_free, type)

/* The same by a function of another name. */
#define CS_AUTO_BY(destructor, type) __attribute__((cleanup(destructor))) type

/* A pointer to memory of cs_alloc, cs_format and the like: CS_AUTO_FREE char *path = ... */
#define CS_AUTO_FREE __attribute__((cleanup(cs_auto_free)))
static inline void cs_auto_free(void *pointer)
{
    void *held = NULL;
    memcpy(&held, pointer, sizeof held); /* of a pointer of any type */
    cs_free(held);
}
