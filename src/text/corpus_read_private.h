/* The readers of each kind of corpus. All take resolved options and leave name and path of *out to
 * the caller. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"
#include "text/corpus_builder_private.h"
#include "text/text_file_private.h"

/* 1-based columns of a tab-separated file; 0: absent. */
typedef struct {
    int64_t label, text, key, split;
} cs_tsv_columns;

/* What the scripts in data/ write (docs/formats.md, "Prepared corpora"). */
extern const cs_tsv_columns cs_prepared_columns;

/* The prepared corpus that `source` names; side not NULL: or names as "NAME:SIDE", *side NULL where
 * it has none. NULL: it names none. */
const cs_corpus_source *cs_corpus_named(const char *source, const char **side);

/* Where it stands, prepared now when it is not there; *path is the caller's, whatever happens. */
cs_status cs_corpus_ready(const char *name, char **path) CS_MUST_CHECK;

cs_status cs_corpus_read_tsv(const char *path, const cs_corpus_options *options,
                             const cs_tsv_columns *columns, cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_text(const char *path, const cs_corpus_options *options,
                              cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_spaced(const char *path, const cs_corpus_options *options,
                                cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_jsonl(const char *path, const cs_corpus_options *options,
                               cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_directory(const char *path, const cs_corpus_options *options,
                                   cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_npy(const char *path, const cs_corpus_options *options,
                             cs_corpus *out) CS_MUST_CHECK;

/* The lines of a text one after the other, and their columns. Set at and end; the rest 0. */
typedef struct {
    const char *at, *end; /* text not read yet */
    const char *line;     /* the current line, without its end */
    int64_t size, number; /* number from 1 */
} cs_lines;

typedef struct {
    const char *text;
    int64_t size;
} cs_field;

/* Moves to the next line that is not empty; false after the last. */
bool cs_lines_next(cs_lines *l);

/* The column of that number (1-based; 0: leaves *out) of the current line: CS_ERR_INPUT names file,
 * line and how many columns it has. */
cs_status cs_lines_column(const char *path, const cs_lines *l, const char *what, int64_t number,
                          cs_field *out) CS_MUST_CHECK;

/* Lists of texts. The copy of no list is none; what was copied stays the caller's on failure. */
cs_status cs_text_list_copy(char *const *text, int64_t count, char ***out) CS_MUST_CHECK;
void cs_text_list_free(char **text, int64_t count);
