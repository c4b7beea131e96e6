/* Results of the steps of a study: files, statements, and rows of tables selected by words:
 * where=COLUMN:VALUE (all of them), every=N and limit=N of the matching ones, columns=a,b.
 * Directives of templates and claims read results only through this header. */
#pragma once

#include "analysis/study/study.h"
#include "io/table.h"

/* The step that a text "STEP", "STEP/..." or "STEP ..." names, *out NULL: not wanted; CS_ERR_INPUT
 * with the most similar name if the study has none. */
cs_status cs_study_step(const cs_study *study, const char *text, const cs_step **out) CS_MUST_CHECK;

/* The path of "STEP/FILE", or of a table of the study, in fresh memory, out NULL: not wanted;
 * CS_ERR_INPUT for a text of another form, and if the study has no such step. */
cs_status cs_study_file(const cs_study *study, const char *text, char **out) CS_MUST_CHECK;

/* Splits a text at spaces; returns the number of words, at most `most`. */
int cs_study_words(char *text, int most, char **word);

/* The words of `seeds` that replace the '#' of "STEP/FILE": those for which the study has the step,
 * or all if it has it for none; "-" for a file without a mark. They are in *text, fresh memory. */
cs_status cs_study_seeds(const cs_study *study, const char *file, int most, char **text,
                         char **word, int *count) CS_MUST_CHECK;

enum { CS_PICK_FILTERS = 8 };

/* A table of a step and its selected rows. */
typedef struct {
    char *path;
    cs_table table;
    int filters;
    int column[CS_PICK_FILTERS];
    const char *value[CS_PICK_FILTERS]; /* borrowed from the words, as is `columns` */
    int64_t every, limit;
    char *columns; /* NULL: all */
} cs_pick;

/* Reads "STEP/FILE.csv" and the words, which are split in place. CS_ERR_INPUT names a word of
 * another form, a column that the file does not have. Free it in every case. */
cs_status cs_pick_open(const cs_study *study, const char *file, int words, char **word,
                       cs_pick *out) CS_MUST_CHECK;
void cs_pick_free(cs_pick *pick);

/* CS_ERR_INPUT when the table has no such column. */
cs_status cs_pick_column(const cs_pick *pick, const char *name, int *column) CS_MUST_CHECK;
const char *cs_pick_cell(const cs_pick *pick, int64_t row, int column);

/* Whether a row fits every where=. */
bool cs_pick_takes(const cs_pick *pick, int64_t row);

/* The first row that fits. CS_ERR_INPUT when none does. */
cs_status cs_pick_first(const cs_pick *pick, int64_t *row) CS_MUST_CHECK;

/* --- rows of the tables of a study become steps and claims --- */

/* Expands the sections and claims with "each" once for every row of their table (of those that
 * match "where"), in place; a variable with "each" becomes one text of all rows. A table is a
 * variable too: the names of its rows. CS_ERR_INPUT names the place of a missing table, row or
 * field, of a row without a name, and of duplicates. */
cs_status cs_study_expand(json_t *study) CS_MUST_CHECK;

/* The row of that name among the rows of a table; NULL: none. */
const json_t *cs_study_row(const json_t *rows, const char *name);

/* Replaces every text in a value by the result of `put`, in fresh memory. */
typedef cs_status cs_put_text(const void *ctx, const char *text, char **out);
cs_status cs_study_put_texts(json_t *value, cs_put_text *put, const void *ctx) CS_MUST_CHECK;
