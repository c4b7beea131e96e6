/* Names: which of a list one is, and what someone may have meant who mistyped one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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

/* NOLINTBEGIN(bugprone-macro-parentheses): a type in parentheses declares nothing */
/* Defines TYPE_name(x) and TYPE_by_name(name, &x), the two directions of an array of the names of an
 * enumeration. */
#define CS_NAMES(type, what, array)                                                                \
    const char *type##_name(type x)                                                                \
    {                                                                                              \
        return (array)[x];                                                                         \
    }                                                                                              \
    cs_status type##_by_name(const char *name, type *out)                                          \
    {                                                                                              \
        return CS_NAME_AMONG(what, name, array, out);                                              \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* The ending of a noun after a number: "%lld row%s" with n and cs_plural(n). */
static inline const char *cs_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Whether a name is in a list of names parted by bars, blanks or commas; NULL: an empty one. */
bool cs_listed(const char *list, const char *name);

/* The number of a name among choices parted by bars, from 0; -1: it is none of them. */
int cs_choice_number(const char *choices, const char *name);

/* The nearest of the names considered so far; begins as zeros. */
typedef struct {
    char name[80]; /* "": none was near */
    int distance;
    char text[512]; /* cs_hint_text */
} cs_hint;

/* Considers one more name (of 64 bytes at most) for a mistyped text: by edit distance, where a
 * transposition counts one and case nothing, to the name or to a beginning of it. Of equal names the
 * first stays. */
void cs_hint_consider(const char *text, const char *name, cs_hint *hint);

/* "; did you mean BEFORE" with the name and "?", "" when none is near; in *hint. */
const char *cs_hint_text(const char *before, cs_hint *hint);

/* The same for choices parted by bars, blanks or commas. One that ends in ":N" is for a text with
 * any number there, which the hint keeps. */
const char *cs_choice_hint(const char *text, const char *choices, cs_hint *hint);
