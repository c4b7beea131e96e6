/* The GPU part of the program is a shared object of its own, opened only on request: where it
 * is, how it is opened, and whether it was built for this program. Rooms that use it (src/tensor,
 * src/linalg) have a table each, found by a symbol of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

typedef enum { CS_DEVICE_CPU, CS_DEVICE_CUDA, CS_DEVICE_AUTO } cs_device_kind;

/* "cpu", "auto", "cuda" or "cuda:N", the N-th GPU from 0; *number is 0 where the word has none.
 * CS_ERR_USAGE: another word. */
cs_status cs_device_parse(const char *word, cs_device_kind *kind, int *number) CS_MUST_CHECK;

/* Whether the word names a GPU. */
static inline bool cs_device_is_cuda(const char *word)
{
    return strncmp(word, "cuda", 4) == 0;
}

/* The first of these paths that can be read, taken from the folder of the program (of libcospec.so,
 * where a program has loaded that), in fresh memory; "" when none can, NULL without memory. */
char *cs_beside_program(int count, const char *const *places);

/* Opens the shared object `plugin`, or where NULL the one named by $COSPEC_PLUGIN, else
 * cospec-cuda.so beside the program or in ../lib/cospec, calls the function `symbol` of it for its
 * table and hands that to `use`. It stays loaded. Takes milliseconds where it fails: CS_ERR_DEVICE
 * with a sentence that begins with the path (not built, cannot be loaded, what `use` says). */
cs_status cs_plugin_use(const char *plugin, const char *symbol,
                        cs_status (*use)(const void *table, void *ctx), void *ctx) CS_MUST_CHECK;

/* CS_ERR_DEVICE where the NVIDIA driver's library is not here. */
cs_status cs_plugin_driver(void) CS_MUST_CHECK;

/* The same version and sizes of structures on both sides, else CS_ERR_DEVICE. */
cs_status cs_plugin_compare(int32_t version_there, int32_t version_here, int count,
                            const int32_t *size_there, const int32_t *size_here) CS_MUST_CHECK;
