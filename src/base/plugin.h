/* The GPU part of the program is a separate shared object, opened only on request. This header
 * finds it, opens it and checks that it was built for this program. Each module that uses it
 * (src/tensor, src/linalg) has a table, found by its symbol. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

typedef enum { CS_DEVICE_CPU, CS_DEVICE_CUDA, CS_DEVICE_AUTO } cs_device_kind;

/* Parses "cpu", "auto", "cuda" or "cuda:N", the N-th GPU from 0; *number is 0 without N.
 * CS_ERR_USAGE: another word. */
cs_status cs_device_parse(const char *word, cs_device_kind *kind, int *number) CS_MUST_CHECK;

/* Whether the word names a GPU. */
static inline bool cs_device_is_cuda(const char *word)
{
    return strncmp(word, "cuda", 4) == 0;
}

/* The absolute path of the running program, also where /proc is not mounted. CS_ERR_IO: unknown. */
cs_status cs_program_path(char out[PATH_MAX]) CS_MUST_CHECK;

/* The first readable one of these paths, which are relative to the folder of the program (or of
 * libcospec.so if a program has loaded it), in fresh memory; "" if none is readable, NULL without
 * memory. */
char *cs_path_near_program(int count, const char *const *places);

/* Opens the shared object `plugin`. NULL: the one named by $COSPEC_PLUGIN, else cospec-cuda.so in
 * the folder of the program or in ../lib/cospec. Calls its function `symbol` for its table and
 * passes the table to `use`. It stays loaded. On failure, after milliseconds: CS_ERR_DEVICE with a
 * sentence that begins with the path (not built, cannot be loaded, the message of `use`). */
cs_status cs_plugin_use(const char *plugin, const char *symbol,
                        cs_status (*use)(const void *table, void *ctx), void *ctx) CS_MUST_CHECK;

/* CS_ERR_DEVICE if the library of the NVIDIA driver is absent. */
cs_status cs_plugin_driver(void) CS_MUST_CHECK;

/* CS_ERR_DEVICE unless both sides have the same version and the same sizes of structures. */
cs_status cs_plugin_compare(int32_t version_there, int32_t version_here, int count,
                            const int32_t *size_there, const int32_t *size_here) CS_MUST_CHECK;
