/* What someone may have meant who mistyped a name. */
#pragma once

/* The name in the NULL-terminated list nearest to `text` in edit distance (transpositions count
 * one), NULL when none is near enough to be meant. */
const char *cs_nearest_name(const char *text, const char *const *names);
