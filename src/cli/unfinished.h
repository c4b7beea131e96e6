/* What a run keeps in DIR/unfinished.json, so that --resume goes on after an interruption: one object,
 * in which the command puts what it has. It exists until the result replaces it.
 */
#pragma once

#include "cli/opt.h"

typedef struct {
    const char *path; /* NULL without -o: nothing is kept */
    json_t *kept;     /* the object; "options" are those of this run */
} cs_unfinished;

/* Claims the file and makes DIR; under --resume takes over what an interrupted run left there:
 * CS_ERR_USAGE where it had other options. Called after the claims of the command's other files. */
cs_status cs_unfinished_begin(cs_args *args, cs_unfinished *out) CS_MUST_CHECK;

/* Writes the object as it is. */
cs_status cs_unfinished_save(const cs_unfinished *u) CS_MUST_CHECK;

/* Frees it, and removes the file where status is CS_OK. */
void cs_unfinished_end(cs_unfinished *u, cs_status status);
