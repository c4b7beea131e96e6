/* Corpora in the cache, made from Debian packages or from a seed alone.
 *
 * data/SOURCES.tsv records the SHA-256 of a file made from certain versions of packages. A
 * different checksum is an error for the same versions; for other versions the note reports it. */
#pragma once

#include "base/status.h"

typedef struct {
    const char *name; /* its line of data/SOURCES.tsv */
    const char *file; /* its name in the cache */
    /* Writes the file `target` and returns its origin, "name=version ..." in fresh memory. */
    cs_status (*make)(const void *of, const char *target, char **packages);
    const void *of;
} cs_prepared;

/* The path of a file in the cache ($COSPEC_CACHE, else $XDG_CACHE_HOME/cospec, else
 * ~/.cache/cospec): fresh memory. CS_ERR_USAGE if none of these variables is set. */
cs_status cs_prepared_path(const char *file, char **out) CS_MUST_CHECK;

/* Makes the file, whole or not at all. If it exists and !force, it is only compared with its
 * record, for the note. CS_ERR_INPUT: the checksum differs from the record; CS_ERR_IO: a table or
 * folder is missing; or the failure of `make`. `note` (may be NULL) receives one line about what
 * was done, in fresh memory. */
cs_status cs_prepare(const cs_prepared *what, bool force, char **note) CS_MUST_CHECK;

/* Runs another program (base/child.h); *said receives its output, up to 4 KiB, in fresh memory.
 * CS_ERR_INPUT if it fails, with its message on stderr, else naming `what`. */
cs_status cs_child_text(const char *what, const char *const *argv, char **said) CS_MUST_CHECK;
