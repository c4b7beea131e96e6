/* Names: which of a list one is, and what someone may have meant who mistyped one. */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* The number of `name` among `count` names, the first at `first`, `stride` bytes between two (so a
 * table of structs will do), into *out, an int or enumeration. CS_ERR_USAGE "unknown WHAT 'NAME'
 * (A, B, ...); did you mean B?". */
cs_status cs_name_number(const char *what, const char *name, const char *const *first,
                         size_t stride, size_t count, void *out) CS_MUST_CHECK;

/* The same for an array of names, and for a table whose rows have a `name`. */
#define CS_NAME_AMONG(what, name, array, out)                                                      \
    cs_name_number(what, name, array, sizeof *(array), sizeof(array) / sizeof *(array), out)
#define CS_ROW_NAMED(what, word, rows, out)                                                        \
    cs_name_number(what, word, &(rows)->name, sizeof *(rows), sizeof(rows) / sizeof *(rows), out)

/* The name in the NULL-terminated list nearest to `text` in edit distance (transpositions count
 * one), NULL when none is near enough to be meant. */
const char *cs_nearest_name(const char *text, const char *const *names);

/* "; did you mean B?" for the nearest of choices parted by bars, blanks or commas, "" when none is
 * near; in *hint. */
typedef struct {
    char text[96];
} cs_hint;
const char *cs_choice_hint(const char *text, const char *choices, cs_hint *hint);
