/* One run at a time in a folder: a file there that its run has locked (flock(2)), and removes at the
 * end. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

#define CS_LOCK_NAME ".cospec.lock"

/* Locks the folder; *out: the file, whose lock goes with it. Where another run has it, waits a little: one
 * whose parent was killed, or that was interrupted, takes a moment to end. make: the file is made
 * where there is none; else *out is then -1. CS_ERR_IO, CS_ERR_INTERRUPT, CS_ERR_MEMORY. */
cs_status cs_dir_lock(const char *dir, bool make, int *out) CS_MUST_CHECK;
