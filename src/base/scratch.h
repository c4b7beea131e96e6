/* Scratch files, which lose their name as soon as they are open, so that nothing is left behind
 * whatever happens to the program; and memory that lies in one, for arrays that may become larger
 * than what is free: the system writes their pages to the disk when it needs the room.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* The folder for scratch files: dir, or $TMPDIR for NULL, or /tmp. */
const char *cs_scratch_dir(const char *dir);

/* Opens an empty file there. CS_ERR_IO names the folder. */
cs_status cs_scratch_open(const char *dir, int *fd) CS_MUST_CHECK;

/* Memory in a scratch file; zeroed: none. */
typedef struct {
    void *at; /* moves when it grows */
    int64_t bytes;
    int fd;
} cs_scratch_memory;

/* Makes it hold `bytes` (> 0; it never shrinks); contents stay, what is new is zero. The room on
 * the disk is taken at once: CS_ERR_IO says that it is not there, and what there was stays. */
cs_status cs_scratch_grow(cs_scratch_memory *m, const char *dir, int64_t bytes) CS_MUST_CHECK;

/* So many bytes from `from` on are not needed soon: their pages leave the process, not the file. */
void cs_scratch_let_go(const cs_scratch_memory *m, int64_t from, int64_t bytes);

void cs_scratch_free(cs_scratch_memory *m);
