/* Names: the index of a name in a list, and suggestions for misspelled names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Writes the index of `name` among `count` names to *out, an int or enumeration. The first name is
 * at `first`, and two are `stride` bytes apart, so a table of structs can be searched. CS_ERR_USAGE
 * "unknown WHAT 'NAME' (A, B, ...); did you mean B?": a name that is spelled alike, with the same
 * digits if both have any. of_things: other things have such names too, and one of them may be a
 * letter away (bart, bert), so only case and separators may differ. */
cs_status cs_name_number(const char *what, const char *name, const char *const *first,
                         size_t stride, size_t count, bool of_things, void *out) CS_MUST_CHECK;

/* The same for an array of names, and for a table whose rows have a `name`. */
#define CS_NAME_AMONG(what, name, array, out)                                                      \
    cs_name_number(what, name, array, sizeof *(array), sizeof(array) / sizeof *(array), false, out)
#define CS_THING_AMONG(what, name, array, out)                                                     \
    cs_name_number(what, name, array, sizeof *(array), sizeof(array) / sizeof *(array), true, out)
#define CS_ROW_NAMED(what, word, rows, out)                                                        \
    cs_name_number(what, word, &(rows)->name, sizeof *(rows), sizeof(rows) / sizeof *(rows),       \
                   false, out)

/* NOLINTBEGIN(bugprone-macro-parentheses): a type in parentheses declares nothing */
/* Defines TYPE_name(x) and TYPE_by_name(name, &x), which convert between an enumeration and the
 * array of its names. */
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

/* Whether a name is in a list of names separated by bars, spaces or commas; NULL is an empty list.
 */
bool cs_listed(const char *list, const char *name);

/* Index, from 0, of a name among choices separated by bars; -1 if absent. */
int cs_choice_number(const char *choices, const char *name);

/* The most similar name found so far; starts as zeros. */
typedef struct {
    char name[80]; /* "": no similar name */
    int distance;
    char text[512]; /* result of cs_hint_text */
} cs_hint;

/* Compares one more name (at most 64 bytes) with a misspelled text by edit distance. A
 * transposition counts as one edit, case is ignored, and the text may match a prefix of the name.
 * The first of equally similar names is kept. */
void cs_hint_consider(const char *text, const char *name, cs_hint *hint);

/* "; did you mean BEFORE" with the name and "?", or "" without a similar name; stored in *hint. */
const char *cs_hint_text(const char *before, cs_hint *hint);

/* The same for choices separated by bars, spaces or commas. A choice that ends in ":N" matches text
 * with any number there, and the hint keeps the number. */
const char *cs_choice_hint(const char *text, const char *choices, cs_hint *hint);
/* For names of things (cs_name_number). */
const char *cs_choice_respelled(const char *text, const char *choices, cs_hint *hint);
