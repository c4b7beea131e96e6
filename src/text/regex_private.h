/* Regular expressions of tokenizer.json. They have Oniguruma's syntax and run in PCRE2; differences
 * are translated. Private to src/text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cs_regex cs_regex;
typedef struct cs_regex_scratch cs_regex_scratch;

/* CS_ERR_INPUT names a construct that PCRE2 does not support: intersections and negated sets within
 * a set, options except i, back-references, \W within a set, or an error and its place. */
cs_status cs_regex_compile(const char *pattern, cs_regex **out) CS_MUST_CHECK;
void cs_regex_free(cs_regex *regex);

/* The expression for PCRE2, in fresh memory: only the translation. newer: for texts with characters
 * whose category PCRE2 may not know; it is slower. */
cs_status cs_regex_translate(const char *pattern, bool newer, char **out) CS_MUST_CHECK;

/* Memory of matching, for one thread; made at the first use of a zeroed pointer. */
cs_status cs_regex_scratch_make(cs_regex_scratch **scratch) CS_MUST_CHECK;
void cs_regex_scratch_free(cs_regex_scratch *scratch);

/* A text is searched from 0 first, and then with the same scratch until the next one. The first
 * match in text[from .. size-1], of valid UTF-8; *start -1 if there is none. Lookbehind assertions
 * see the text before `from`. CS_ERR_INPUT if the search takes more steps or memory than PCRE2
 * allows. */
cs_status cs_regex_find(const cs_regex *regex, cs_regex_scratch *scratch, const char *text,
                        int64_t size, int64_t from, int64_t *start, int64_t *end) CS_MUST_CHECK;
