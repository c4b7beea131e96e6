/* The kind of object that an argument of a command names: a corpus, a matrix, a model, an
 * objective. */
#pragma once

#include "cli/opt.h"

typedef enum {
    CS_IS_UNKNOWN,
    CS_IS_ABSENT,
    CS_IS_FOLDER,   /* none of those below */
    CS_IS_CORPUS,   /* by its name, or a file of text */
    CS_IS_MATRIX,   /* a file */
    CS_IS_STORE,    /* a folder written by `cospec cooc` */
    CS_IS_MODEL,    /* a folder with a model */
    CS_IS_OBJECTIVE /* the name of one, if no file has it */
} cs_path_kind;

/* The kind of object that a command-line argument names. */
cs_path_kind cs_path_kind_of(const char *path);

/* CS_OK if the path may name the required object (a corpus or matrix: unless it is evidently
 * another object). Else fails with `code`: "PATH: not a model directory", adding what the path is;
 * with CS_ERR_USAGE if another argument is the required object, which it names. */
cs_status cs_require_kind(const cs_args *args, cs_status code, const char *path,
                          cs_path_kind wanted) CS_MUST_CHECK;

/* CS_ERR_USAGE if the file of labels is a matrix of features. */
cs_status cs_want_labels(const char *option, const char *path) CS_MUST_CHECK;
