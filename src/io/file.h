/* Files that appear whole or not at all.
 *
 * A cs_outfile is written under a temporary name in the folder of its destination and renamed by
 * commit; abort or a failure leaves the destination unchanged. A destination that is not a regular
 * file (a device, a directory, a symbolic link) is refused. Temporary files of killed processes for
 * the same destination are removed first. */
#pragma once

#include <stdio.h>

#include "base/enum_names.h"

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
 * is no such file or cannot be opened, which its reader reports. CS_ERR_IO: reading failed. */
cs_status cs_file_head(const char *path, void *head, int64_t most, int64_t *got) CS_MUST_CHECK;

/* Reads exactly `size` bytes from `offset`; `path` is for messages. CS_ERR_IO, also if the file was
 * truncated since it was opened. */
cs_status cs_file_read_at(int fd, const char *path, int64_t offset, int64_t size,
                          void *out) CS_MUST_CHECK;

/* Free bytes of the file system of `dir`, which need not exist yet; infinity if unknown. */
double cs_disk_free(const char *dir);

/* Before files are written into `dir`: CS_ERR_IO "DIR: <what> take 16 GB, but its file system has
 * only 2 GB free; <advice>" if there is not enough space; advice may be NULL. */
cs_status cs_disk_check(const char *dir, double bytes, const char *advice,
                        const char *what) CS_MUST_CHECK;

/* mkdir -p. CS_ERR_IO names the first directory that cannot be made. */
cs_status cs_dir_make(const char *path) CS_MUST_CHECK;

/* The names in a directory in byte order, without those that begin with a dot. */
cs_status cs_dir_names(const char *path, char ***name, int64_t *count) CS_MUST_CHECK;

/* CS_ERR_USAGE where the path is a symbolic link. */
cs_status cs_link_refuse(const char *path) CS_MUST_CHECK;

/* The same for a folder that the program creates within another: CS_ERR_USAGE if its name is a
 * symbolic link. */
cs_status cs_dir_make_own(const char *path) CS_MUST_CHECK;

/* Syncs the names of a folder to disk after a rename in it. Does nothing if that is not possible
 * (an unreadable folder, a file system without it). */
cs_status cs_dir_sync(const char *dir) CS_MUST_CHECK;

bool cs_path_exists(const char *path);
bool cs_path_is_dir(const char *path);

/* Suggests names in the folder of a path that does not exist: "; did you mean FOLDER/NAME?" as
 * cs_hint_text; for a dangling symbolic link, the reason. Names that begin with a dot are ignored.
 */
const char *cs_path_hint(const char *path, cs_hint *hint);

/* "dir/name" in fresh memory, NULL when out of memory. */
char *cs_path_join(const char *dir, const char *name) CS_MUST_CHECK;
