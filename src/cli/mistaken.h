/* Arguments in each other's place. */
#pragma once

#include "cli/opt.h"
#include "text/corpus.h"

typedef enum { CS_IS_UNKNOWN, CS_IS_CORPUS, CS_IS_MATRIX, CS_IS_MODEL } cs_is;

/* What a command-line argument names: a corpus (by its name, or a file of text), a folder that
 * `cospec cooc` wrote, a folder with a model. */
cs_is cs_what_is(const char *path);

/* Fails with `code`: "PATH: no directory of a model", adding what the path is instead, and which
 * other argument is what was wanted. */
cs_status cs_mistaken(const cs_args *args, cs_status code, const char *path, cs_is wanted);
