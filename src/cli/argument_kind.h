/* What an argument of a command names: a corpus, a matrix, a model, an objective. */
#pragma once

#include "cli/opt.h"

typedef enum {
    CS_IS_UNKNOWN,
    CS_IS_ABSENT,
    CS_IS_FOLDER,   /* none of those below */
    CS_IS_CORPUS,   /* by its name, or a file of text */
    CS_IS_MATRIX,   /* a file */
    CS_IS_STORE,    /* a folder that `cospec cooc` wrote */
    CS_IS_MODEL,    /* a folder with a model */
    CS_IS_OBJECTIVE /* the name of one, where no file has it */
} cs_is;

/* What a command-line argument names. */
cs_is cs_what_is(const char *path);

/* CS_OK where the path may name what is wanted (a corpus or matrix: where nothing says otherwise).
 * Else fails with `code`: "PATH: not a model directory", adding what the path is instead; with
 * CS_ERR_USAGE where another argument is what was wanted, which it names. */
cs_status cs_want(const cs_args *args, cs_status code, const char *path,
                  cs_is wanted) CS_MUST_CHECK;

/* CS_ERR_USAGE where the file of labels is a matrix of features. */
cs_status cs_want_labels(const char *option, const char *path) CS_MUST_CHECK;
