/* Local variables of tests that free what they hold. */
#pragma once

#include <stdlib.h>
#include <string.h>

/* A local variable that is freed at the end of its block, by the `_free` of its type, which accepts a
 * zeroed one. It is initialised where it is declared. After a failed check nothing is freed.
 *
 *     AUTO(cs_csr) a = {0}, b = random_sparse(...);
 *     AUTO(cs_args) *args = NULL;
 */
#define AUTO(type) AUTO_BY(type##_free, type)

/* The same by a function of another name. */
#define AUTO_BY(destructor, type) __attribute__((cleanup(destructor))) type

/* A pointer to memory of malloc or of the library: AUTO_FREE char *text = cs_format(...). */
#define AUTO_FREE __attribute__((cleanup(free_held)))
static inline void free_held(void *held)
{
    void *p = NULL;
    memcpy(&p, held, sizeof p);
    free(p);
}
