/* Files that appear whole or not at all.
 *
 * A cs_outfile is written under a temporary name in the folder of its destination and renamed by
 * commit; abort or a failure leaves the destination unchanged. A destination that is not a regular
 * file (a device, a directory, a symbolic link) is refused. Temporary files of killed processes for
 * the same destination are removed first. */
#pragma once

#include <stdio.h>

#include "io/path.h"

typedef struct {
    FILE *stream;  /* write here; NULL when zeroed, committed or aborted */
    char *path;    /* destination */
    char *partial; /* temporary name */
} cs_outfile;

/* Opens a temporary file in the directory of `path`. CS_ERR_IO names the path and errno, or says
 * that the destination is not a regular file. */
cs_status cs_outfile_open(const char *path, cs_outfile *out) CS_MUST_CHECK;

/* Flushes, checks, fsyncs, closes and renames the file, and syncs the folder. On failure the
 * temporary file is removed. Frees. */
cs_status cs_outfile_commit(cs_outfile *file) CS_MUST_CHECK;

/* Writes the file to disk piece by piece, which may take long, until `stop` returns a failure:
 * fsync alone cannot be interrupted. While waiting for the disk it computes the digest of the file,
 * which is remembered (cs_xxh3_remember). Write errors are reported by commit, which takes little
 * time afterwards. */
cs_status cs_outfile_sync(cs_outfile *file, cs_status (*stop)(void)) CS_MUST_CHECK;

/* Requests that these bytes are written to the disk, and does not wait. Advice: offsets may be outside
 * the file. */
void cs_outfile_start_writing(cs_outfile *file, int64_t offset, int64_t size);

/* cs_outfile_commit without waiting for the disk. */
cs_status cs_outfile_commit_unsynced(cs_outfile *file) CS_MUST_CHECK;

/* Closes and removes the partial file; accepts a zeroed or committed object. */
void cs_outfile_abort(cs_outfile *file);

/* Appends bytes; the failure has the reason. */
cs_status cs_outfile_put(cs_outfile *file, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Writes bytes at an offset, whether the bytes before it are written or not. Several threads may
 * write at once; the stream must be unused. */
cs_status cs_outfile_put_at(cs_outfile *file, const void *bytes, int64_t size,
                            int64_t offset) CS_MUST_CHECK;

/* Removes temporary files that killed processes left for `path`, as opening does; a file that
 * cannot be removed is ignored. locked: the caller holds the lock of the folder, so no other
 * process writes the file, and files with the process number of a running process are removed too
 * (numbers are reused). CS_ERR_MEMORY. */
cs_status cs_partials_sweep(const char *path, bool locked) CS_MUST_CHECK;

/* Writes a whole buffer atomically. */
cs_status cs_file_write(const char *path, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Reads a whole file of at most `limit` bytes into *out (NUL-terminated, *size excludes the NUL). A
 * larger one is CS_ERR_INPUT before memory is allocated; the limit also holds for files that are
 * not regular, such as standard input (/dev/stdin). A named pipe is refused: CS_ERR_IO. */
cs_status cs_file_read(const char *path, int64_t limit, char **out, int64_t *size) CS_MUST_CHECK;

/* The same for text: CS_ERR_INPUT names the line of a NUL, at which string functions would stop. */
cs_status cs_file_read_text(const char *path, int64_t limit, char **out,
                            int64_t *size) CS_MUST_CHECK;

/* Only the check. */
cs_status cs_text_check(const char *name, const char *text, int64_t size) CS_MUST_CHECK;

/* CS_ERR_INPUT if the first bytes of `name` are those of a Git LFS pointer: its repository was
 * cloned without the data. */
cs_status cs_lfs_check(const char *name, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Opens a regular file for reading by position; *size receives its bytes. *fd may be open after a
 * failure, else it is -1. CS_ERR_IO. */
cs_status cs_file_open(const char *path, int *fd, int64_t *size) CS_MUST_CHECK;

/* The same for anything but a directory or a named pipe; *size is -1 for a file that is not
 * regular. */
cs_status cs_file_open_any(const char *path, int *fd, int64_t *size) CS_MUST_CHECK;

/* Reads the first bytes of a regular file, at most `most`, to recognise its form; *got is 0 for what
 * is no such file. CS_ERR_IO: opening or reading failed. */
cs_status cs_file_head(const char *path, void *head, int64_t most, int64_t *got) CS_MUST_CHECK;

/* Reads exactly `size` bytes from `offset`; `path` is for messages. CS_ERR_IO, also if the file was
 * truncated since it was opened. */
cs_status cs_file_read_at(int fd, const char *path, int64_t offset, int64_t size,
                          void *out) CS_MUST_CHECK;
