/* Corpora in the cache, made from Debian packages or from nothing but a seed.
 *
 * data/SOURCES.tsv records the SHA-256 that a file had when it was made from certain versions of
 * packages: made from the same versions another checksum is an error, from others the note says so.
 */
#pragma once

#include "base/status.h"

typedef struct {
    const char *name; /* its line of data/SOURCES.tsv */
    const char *file; /* its name in the cache */
    /* Writes the file `target` and says what it was made from, "name=version ..." in fresh memory. */
    cs_status (*make)(const void *of, const char *target, char **packages);
    const void *of;
} cs_prepared;

/* The path of a file in the cache ($COSPEC_CACHE, else $XDG_CACHE_HOME/cospec, else
 * ~/.cache/cospec): fresh memory. CS_ERR_USAGE when none of these variables is set. */
cs_status cs_prepared_path(const char *file, char **out) CS_MUST_CHECK;

/* Makes it (unless it is there and !force: then the file is only compared with its record, for the
 * note), whole or not at all. CS_ERR_INPUT: a checksum that is not the recorded one; CS_ERR_IO a
 * table or folder that is not there; what `make` returned. `note` (may be NULL) receives one line of
 * what was done, in fresh memory. */
cs_status cs_prepare(const cs_prepared *what, bool force, char **note) CS_MUST_CHECK;

/* Runs another program (base/child.h); *said receives its output, up to 4 KiB, in fresh memory.
 * CS_ERR_INPUT when it fails, for the reason that it wrote to stderr, else naming `what`. */
cs_status cs_child_text(const char *what, const char *const *argv, char **said) CS_MUST_CHECK;
