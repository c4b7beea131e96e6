/* The state of an incomplete run in DIR/unfinished.json, so that --resume continues after an
 * interrupt: one object, into which the command puts its partial results. It exists until the
 * result replaces it. */
#pragma once

#include "cli/opt.h"

typedef struct {
    const char *path; /* NULL without -o: nothing is stored */
    json_t *kept;     /* the object; "options" are those of this run */
} cs_unfinished;

/* Claims the file and makes DIR; under --resume takes over the state of an interrupted run:
 * CS_ERR_USAGE if it had other options. Call it after the claims of the other files of the command.
 */
cs_status cs_unfinished_begin(cs_args *args, cs_unfinished *out) CS_MUST_CHECK;

/* Writes the object as it is. */
cs_status cs_unfinished_save(const cs_unfinished *u) CS_MUST_CHECK;

/* Frees it, and removes the file if status is CS_OK. */
void cs_unfinished_end(cs_unfinished *u, cs_status status);
