/* One run at a time in a folder: the run locks a file there (flock(2)) and removes it at the end.
 * The file of a killed run stays, with a line for each file that the run had finished. */
#pragma once

#include <sys/stat.h>

#include "base/status.h"

#define CS_LOCK_NAME ".cospec.lock"

/* Locks the folder; closing *out releases the lock. If another run holds it, waits briefly, for a
 * run that was interrupted or whose parent was killed takes a moment to end. make: create the file
 * if it is missing; otherwise *out is -1 then. CS_ERR_IO, CS_ERR_INTERRUPT, CS_ERR_MEMORY. */
cs_status cs_dir_lock(const char *dir, bool make, int *out) CS_MUST_CHECK;

/* Records a finished file in the lock file of the nearest folder around `path`, if there is one:
 * its name there, inode, size and time of the last write. Called before the file appears under its
 * name. A full disk leaves no record, and the file then counts as another's. */
void cs_lock_record(const char *path, const struct stat *file);

/* Whether `text`, the content of a lock file, records the file as it is now. */
bool cs_lock_recorded(const char *text, const char *name, const struct stat *file);

/* Whether a run is writing to the folder at `path`, or to the nearest one around it that a run has
 * locked. */
bool cs_lock_held(const char *path);
