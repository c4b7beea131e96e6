/* Labelled texts for classification and regression: what probes and fine-tuning are taught with.
 *
 * FILE.tsv, FILE.tsv.gz (.txt, .csv are refused by name): a line an example, columns separated by
 * tabs; UTF-8, no quoting, LF or CR LF. Columns are 1-based: label, text, and for pairs a second
 * text. A file whose name ends in .xz or .zst is refused: unpack it first. A first line whose label
 * column is the word "label" or "score" (any case) is a header and skipped.
 *
 *   classes     any text is a label; classes are numbered in byte order of their names, whole
 *               numbers in their numerical order, over the training file
 *   regression  the label is a finite number
 *
 * A prepared labelled corpus (cs_corpus_sources: "wordnet") is taken by name: single texts, its own
 * split. `wordnet:train` and `wordnet:test` are the two sides; `wordnet` is the first where classes
 * are numbered, the second where they are those of a training file.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t label_column, text_column; /* 1-based; 0: 1 and 2 */
    int64_t pair_column;               /* 0: single texts */
    bool regression;
    int64_t limit; /* examples read; 0: all */
} cs_labelled_options;

typedef struct {
    char *path;
    int64_t count;
    char **text;       /* count */
    char **pair;       /* count, or NULL */
    double *value;     /* count: class number, or the number */
    int64_t classes;   /* 0: regression */
    char **class_name; /* classes */
} cs_labelled_text;

/* *out holds every text, copied. classes_of: the training examples, whose classes a test file must
 * keep to (NULL: number them here). CS_ERR_USAGE: a source that is no FILE.tsv and has no labels
 * and split of its own. CS_ERR_INPUT names file and line: a column that is missing, text that is
 * not UTF-8 or empty, a label that is no finite number, a class that training has not; no examples.
 * One class alone is read: who needs two says so. */
cs_status cs_labelled_text_read(const char *source, const cs_labelled_options *options,
                                const cs_labelled_text *classes_of,
                                cs_labelled_text *out) CS_MUST_CHECK;

/* Labels alone, one a row of some matrix: FILE.npy (one dimension; whole numbers, or any for
 * regression), FILE.txt or FILE.tsv (a line each, the first column; empty lines and a header are
 * passed over). text and pair stay NULL. Errors as above; CS_ERR_USAGE for another ending. */
cs_status cs_label_file_read(const char *path, bool regression, const cs_labelled_text *classes_of,
                             cs_labelled_text *out) CS_MUST_CHECK;
void cs_labelled_text_free(cs_labelled_text *t);

/* Which examples a run with few labels is taught with: "all", "1%", "10%" (of each class, half up,
 * at least 1), "16" (that many per class; regression: in all). Chosen by (seed, stream, example);
 * rising numbers in fresh memory. Of `examples` count, value, classes and class_name are read, its
 * texts are not. CS_ERR_USAGE names a text of another form; CS_ERR_INPUT a class that has fewer. */
cs_status cs_few_shot(const char *text, const cs_labelled_text *examples, uint64_t seed,
                      int64_t *chosen, int64_t **index) CS_MUST_CHECK;
