/* One run at a time in a folder: the run locks a file there (flock(2)) and removes it at the end.
 */
#pragma once

#include "base/status.h"

#define CS_LOCK_NAME ".cospec.lock"

/* Locks the folder; closing *out releases the lock. If another run holds it, waits briefly, for a
 * run that was interrupted or whose parent was killed takes a moment to end. make: create the file
 * if it is missing; otherwise *out is -1 then. CS_ERR_IO, CS_ERR_INTERRUPT, CS_ERR_MEMORY. */
cs_status cs_dir_lock(const char *dir, bool make, int *out) CS_MUST_CHECK;
