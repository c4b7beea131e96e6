/* Files that appear whole or not at all.
 *
 * A cs_outfile is written beside its destination under a temporary name and renamed into place by
 * commit; abort (or a failure) leaves the destination untouched. A destination that exists and is
 * not a regular file (a device, a directory, a symbolic link) is refused. What a killed process
 * left of the same file is removed first.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/names.h"
#include "base/status.h"

typedef struct {
    FILE *stream;  /* write here; NULL when zeroed, committed or aborted */
    char *path;    /* destination */
    char *partial; /* temporary name */
} cs_outfile;

/* Opens a temporary file in the directory of `path`. CS_ERR_IO names the path and errno, or says
 * that the destination is not a regular file. */
cs_status cs_outfile_open(const char *path, cs_outfile *out) CS_MUST_CHECK;

/* Flushes, checks, fsyncs, closes, renames and syncs the folder. On failure the partial file is removed. Frees. */
cs_status cs_outfile_commit(cs_outfile *file) CS_MUST_CHECK;

/* Has it written to disk piece by piece, which may take long, until `stop` says otherwise: fsync alone
 * would take notice of nobody; the digest of the file, of which the process waiting for the disk has
 * the time, is remembered (cs_xxh3_remember). What it cannot write, commit tells of. Commit after it
 * ends soon. */
cs_status cs_outfile_settle(cs_outfile *file, cs_status (*stop)(void)) CS_MUST_CHECK;

/* cs_outfile_commit without waiting for the disk. */
cs_status cs_outfile_commit_unsynced(cs_outfile *file) CS_MUST_CHECK;

/* Closes and removes the partial file; accepts a zeroed or committed object. */
void cs_outfile_abort(cs_outfile *file);

/* The next bytes of it; the failure says why. */
cs_status cs_outfile_put(cs_outfile *file, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Bytes at a place, whatever is before it: several threads may write at once, and nobody has used the
 * stream. */
cs_status cs_outfile_put_at(cs_outfile *file, const void *bytes, int64_t size,
                            int64_t offset) CS_MUST_CHECK;

/* Removes what killed processes left of the file `path`, as opening it does; what cannot be removed
 * does no harm. locked: whoever asks holds the folder's lock, so that no other process writes it and
 * what bears the number of a living one is left too (numbers are given out again). CS_ERR_MEMORY. */
cs_status cs_partials_sweep(const char *path, bool locked) CS_MUST_CHECK;

/* Writes a whole buffer atomically. */
cs_status cs_file_write(const char *path, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Reads a whole file of at most `limit` bytes into *out (NUL-terminated, *size excludes the NUL).
 * Refuses a larger one (CS_ERR_INPUT) before memory is taken for it; also bounds what is no regular
 * file, such as standard input (/dev/stdin). A pipe with a name is refused: CS_ERR_IO. */
cs_status cs_file_read(const char *path, int64_t limit, char **out, int64_t *size) CS_MUST_CHECK;

/* The same of a text: CS_ERR_INPUT names the line of a NUL, which would end it for whoever reads it
 * as a string. */
cs_status cs_file_read_text(const char *path, int64_t limit, char **out,
                            int64_t *size) CS_MUST_CHECK;

/* The check alone. */
cs_status cs_text_check(const char *name, const char *text, int64_t size) CS_MUST_CHECK;

/* CS_ERR_INPUT when the bytes that `name` begins with are those of a Git LFS pointer: its
 * repository was cloned without the data. */
cs_status cs_lfs_check(const char *name, const void *bytes, int64_t size) CS_MUST_CHECK;

/* Opens a regular file to be read by position, *size its bytes; *fd may be open after a failure,
 * else is -1. CS_ERR_IO. */
cs_status cs_file_open(const char *path, int *fd, int64_t *size) CS_MUST_CHECK;

/* The same of anything but a directory or a pipe with a name; *size is -1 where it is no regular file. */
cs_status cs_file_open_any(const char *path, int *fd, int64_t *size) CS_MUST_CHECK;

/* How a regular file begins: so many bytes, at most `most`; 0 where there is none to read. */
int64_t cs_file_head(const char *path, void *head, int64_t most);

/* Exactly `size` bytes from `offset`; `path` is for messages. CS_ERR_IO, also when the file has been
 * cut short since it was opened. */
cs_status cs_file_read_at(int fd, const char *path, int64_t offset, int64_t size,
                          void *out) CS_MUST_CHECK;

/* Bytes that the file system of `dir` has free; infinity where that is not known. */
double cs_disk_free(const char *dir);

/* Before files are written into `dir`: CS_ERR_IO "DIR: <what> take 16 GB, but its file system has
 * only 2 GB free; <advice>" when these are more bytes; advice may be NULL. */
cs_status cs_disk_check(const char *dir, double bytes, const char *advice,
                        const char *what) CS_MUST_CHECK;

/* mkdir -p. CS_ERR_IO names the first directory that cannot be made. */
cs_status cs_dir_make(const char *path) CS_MUST_CHECK;

/* The names in a directory in byte order, without those that begin with a dot. */
cs_status cs_dir_names(const char *path, char ***name, int64_t *count) CS_MUST_CHECK;

/* CS_ERR_USAGE where the path is a symbolic link. */
cs_status cs_link_refuse(const char *path) CS_MUST_CHECK;

/* The same for a folder that is the program's own within another: CS_ERR_USAGE where a symbolic link
 * has its name. */
cs_status cs_dir_make_own(const char *path) CS_MUST_CHECK;

/* Writes to disk what names a folder has, after a rename in it; where that cannot be asked for (a
 * folder that may not be read, a file system without it), nothing is done. */
cs_status cs_dir_sync(const char *dir) CS_MUST_CHECK;

bool cs_path_exists(const char *path);
bool cs_path_is_dir(const char *path);

/* Considers the names in the folder of a path that is not there; "; did you mean FOLDER/NAME?" as
 * cs_hint_text; of a symbolic link that leads nowhere why it does not. Names that begin with a dot are
 * passed over. */
const char *cs_path_hint(const char *path, cs_hint *hint);

/* "dir/name" in fresh memory, NULL when out of memory. */
char *cs_path_join(const char *dir, const char *name) CS_MUST_CHECK;

/* The text ends with the suffix (".npz"). */
bool cs_has_suffix(const char *text, const char *suffix);
