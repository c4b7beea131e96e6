/* Paths and folders. */
#pragma once

#include "base/enum_names.h"

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

/* Whether a path is a pattern of names (*, ?, [...]), and not a name that exists. */
bool cs_path_is_pattern(const char *path);

/* The paths that match a pattern in byte order, without names that begin with a dot. CS_ERR_INPUT:
 * nothing matches; CS_ERR_IO: a folder cannot be read. */
cs_status cs_pattern_paths(const char *pattern, char ***path, int64_t *count) CS_MUST_CHECK;

/* CS_ERR_USAGE where the path is a symbolic link. */
cs_status cs_link_refuse(const char *path) CS_MUST_CHECK;

/* The same for a folder that the program creates within another: CS_ERR_USAGE if its name is a
 * symbolic link. */
cs_status cs_dir_make_own(const char *path) CS_MUST_CHECK;

/* Syncs the names of a folder to disk after a rename in it. Does nothing if that is not possible
 * (an unreadable folder, a file system without it). */
cs_status cs_dir_sync(const char *dir) CS_MUST_CHECK;

/* *there: whether something has this name, be it a link to nothing; CS_ERR_IO where that cannot be
 * found out. */
cs_status cs_path_find(const char *path, bool *there) CS_MUST_CHECK;

/* False only where it is certain that nothing has this name: a file that cannot be examined, and a
 * link to nothing, count as there, so that whoever opens them reports the error. */
bool cs_path_exists(const char *path);

/* Whether it is known to be a directory. */
bool cs_path_is_dir(const char *path);

/* Suggests names in the folder of a path that does not exist: "; did you mean FOLDER/NAME?" as
 * cs_hint_text; for a dangling symbolic link, the reason. Names that begin with a dot are ignored.
 */
const char *cs_path_hint(const char *path, cs_hint *hint);

/* "dir/name" in fresh memory, NULL when out of memory. */
char *cs_path_join(const char *dir, const char *name) CS_MUST_CHECK;

/* The name of the folder that holds a file, with its slash or ".", in fresh memory. */
char *cs_path_folder(const char *path) CS_MUST_CHECK;
