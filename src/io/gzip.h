/* Reading files that may be compressed. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Reads a whole file of at most half of the free memory, decompressed if its first bytes are those
 * of gzip (all members in sequence, to at most half of the free memory). *out is fresh memory with
 * a NUL after its *size bytes. sha256 is that of the file as stored. If `later` is not NULL, *later
 * becomes true for an uncompressed file, and the caller computes the hash from *out. CS_ERR_INPUT:
 * too large, damaged, a Git LFS pointer; CS_ERR_IO; CS_ERR_MEMORY. */
cs_status cs_file_unpacked(const char *path, char **out, int64_t *size, char sha256[65],
                           bool *later) CS_MUST_CHECK;
