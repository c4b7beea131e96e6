/* Files that may be packed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Reads a whole file of at most half of the free memory, unpacked where its first bytes are those
 * of gzip (all members one after the other, to at most half of the free memory). *out is fresh
 * memory with a NUL behind its *size bytes; sha256 is of the file as it is there, but where `later` is
 * not NULL and *later becomes true: then it was not packed, and the caller takes that of *out.
 * CS_ERR_INPUT: too large, damaged, a Git LFS pointer; CS_ERR_IO; CS_ERR_MEMORY. */
cs_status cs_file_unpacked(const char *path, char **out, int64_t *size, char sha256[65],
                           bool *later) CS_MUST_CHECK;
