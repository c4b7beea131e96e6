/* Scratch files, which are unlinked as soon as they are open, so that none remains whatever happens
 * to the program; and memory mapped to such a file, for arrays that may exceed free memory: the
 * system writes their pages to disk under memory pressure. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* The folder for scratch files: dir, or $TMPDIR for NULL, or /tmp. */
const char *cs_scratch_dir(const char *dir);

/* Opens an empty scratch file. CS_ERR_IO names the folder. */
cs_status cs_scratch_open(const char *dir, int *fd) CS_MUST_CHECK;

/* Memory in a scratch file; a zeroed object is empty. */
typedef struct {
    void *at; /* moves when it grows */
    int64_t bytes;
    int fd;
} cs_scratch_memory;

/* Grows it to `bytes` > 0 (it never shrinks); the content is kept and new bytes are zero. Disk
 * space is reserved at once: CS_ERR_IO if there is not enough, and the content is kept. */
cs_status cs_scratch_grow(cs_scratch_memory *m, const char *dir, int64_t bytes) CS_MUST_CHECK;

/* A hint that `bytes` bytes from `from` on are not needed soon: their pages leave the process, not
 * the file. */
void cs_scratch_let_go(const cs_scratch_memory *m, int64_t from, int64_t bytes);

void cs_scratch_free(cs_scratch_memory *m);
