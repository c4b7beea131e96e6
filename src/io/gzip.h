/* Reading files that may be compressed. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Reads a whole file of at most half of the free memory, decompressed if its first bytes are those
 * of gzip (all members in sequence, to at most half of the free memory). *out is fresh memory with
 * a NUL after its *size bytes. sha256 is that of the file as stored. If `later` is not NULL, *later
 * becomes true for an uncompressed file, and the caller computes the hash from *out. CS_ERR_INPUT:
 * too large, damaged, a Git LFS pointer; CS_ERR_IO; CS_ERR_MEMORY. */
cs_status cs_file_unpacked(const char *path, char **out, int64_t *size, char sha256[65],
                           bool *later) CS_MUST_CHECK;

/* Whether the first bytes of an open file are those of gzip; its place stays. CS_ERR_IO. */
cs_status cs_gzip_begins(int fd, const char *path, bool *is) CS_MUST_CHECK;

/* Opens a file to be read from its beginning to its end, decompressed if its first bytes are those
 * of gzip. errno of a failed read is CS_DAMAGED_GZIP for damaged and truncated data, and the reason
 * names the file and, for what follows the data, its offset. Zeros may follow. CS_ERR_IO. */
enum { CS_DAMAGED_GZIP = EBADMSG };
cs_status cs_stream_open(const char *path, FILE **out) CS_MUST_CHECK;

/* Reads up to `want` bytes of such a file (a cs_file_stream); fewer only at the end. CS_ERR_INPUT: damaged
 * data; CS_ERR_IO. */
typedef struct {
    const char *path;
    FILE *stream;
} cs_file_stream;
cs_status cs_stream_read(void *stream, void *out, int64_t want, int64_t *got) CS_MUST_CHECK;

/* The first bytes of a file, decompressed if need be; fewer if it is short, damaged or not regular.
 * CS_ERR_IO. */
cs_status cs_stream_head(const char *path, void *to, int64_t most, int64_t *size) CS_MUST_CHECK;
