/* Shared by the tests of checkpoints: a place for one, and builds that are interrupted. */
#pragma once

#include <sys/resource.h>

#include "cooc/builder.h"

/* The folder of the checkpoint, which builds make, its index, and the first of its files of records. */
extern char *checkpoint_dir, *checkpoint_index, *checkpoint_records;

/* The fixture of a program: what the folder lies in. */
int checkpoint_folder_make(void **state);
int checkpoint_folder_remove(void **state);

/* One thread, with that folder. */
cs_cooc_options checkpoint_options(const char *spec, const char *context);

/* Runs `o` in a child (its interrupt flag cannot be lowered) under an optional limit on the size of
 * files; its status must be `expected`, with `words` in the reason. */
void interrupted(const cs_corpus *corpus, cs_cooc_options o, int64_t blocks, rlim_t limit,
                 cs_status expected, const char *words);

/* The same of CS_ERR_INTERRUPT, so long after it came that there is no time for a checkpoint. */
void interrupted_late(const cs_corpus *corpus, cs_cooc_options o, int64_t blocks,
                      const char *words);
