/* Patterns of Split and Replace: literal text, or a regular expression. Private to src/text. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"
#include "text/regex_private.h"

/* The first match at or after `from`; *start -1 if there is none. */
typedef void (*cs_finder)(const char *text, int64_t size, int64_t from, int64_t *start,
                          int64_t *end);

/* One of the three is set. Zeroed: none. */
typedef struct {
    char *literal;
    int64_t literal_size;
    /* a regular expression with a hand-written scanner, over the classes of unicode.h */
    cs_finder finder;
    cs_regex *regex;
} cs_pattern;

/* {"String": "..."} or {"Regex": "..."}. CS_ERR_INPUT names `field`. */
cs_status cs_pattern_read(const json_t *json, const char *field, cs_pattern *out) CS_MUST_CHECK;
cs_status cs_pattern_of_text(const char *text, cs_pattern *out) CS_MUST_CHECK;
void cs_pattern_free(cs_pattern *pattern);

/* The next match of the text from `from` on; `past`: the end of the previous one, -1 at first, so
 * that no empty match follows it directly. scratch: for matching. */
cs_status cs_pattern_find(const cs_pattern *pattern, cs_pieces *scratch, const char *text,
                          int64_t size, int64_t past, int64_t *start, int64_t *end) CS_MUST_CHECK;

/* Treatment of a match when a text is split, as in the `tokenizers` package. */
typedef enum {
    CS_CUT_REMOVED,
    CS_CUT_ISOLATED,
    CS_CUT_MERGED_WITH_PREVIOUS,
    CS_CUT_MERGED_WITH_NEXT,
    CS_CUT_CONTIGUOUS
} cs_cut_manner;

/* Splits text[0 .. size-1], which begins at `from` of the pieces' text, at the matches (inverted:
 * at the text between them) and appends to the next pieces. */
cs_status cs_pattern_cut(const cs_pattern *pattern, cs_cut_manner manner, bool inverted,
                         int64_t from, int64_t to, cs_pieces *p) CS_MUST_CHECK;

/* The same where each character of a class is a match. */
cs_status cs_class_cut(bool (*is_in)(int32_t c), cs_cut_manner manner, int64_t from, int64_t to,
                       cs_pieces *p) CS_MUST_CHECK;
