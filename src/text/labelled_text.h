/* Labelled texts for classification and regression: what probes and fine-tuning are taught with.
 *
 * They are the documents of a corpus (text/corpus.h), every one of which has a label and a text
 * that is not blank, and of pairs a second text (columns, JSON lines).
 *
 *   classes     any text is a label; classes are numbered in byte order of their names, whole
 *               numbers in their numerical order, over the training side
 *   regression  the label is a finite number
 *
 * A corpus known by name is its training side (not held out) where classes are numbered, its test
 * side where they are those of a training side; `wordnet:train` and `wordnet:test` say which. Any
 * other source is taken whole, or divided in the same way by `split`.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct {
    cs_corpus_options corpus; /* how the source is read; pair_column not 0: pairs may be */
    bool regression;
    bool split;         /* a source is both sides: its documents held out are the test side */
    int64_t limit;      /* examples read; 0: all */
    int64_t test_label; /* of both sides: the label's column on the test side; 0: the same */
} cs_labelled_options;

typedef struct {
    char *path;
    int64_t count;
    char **text;                              /* count */
    char **pair;                              /* count, or NULL */
    double *value;                            /* count: class number, or the number */
    int64_t classes;                          /* 0: regression */
    char **class_name;                        /* classes */
    int64_t invalid_bytes, invalid_documents; /* as in cs_corpus */
    cs_columns read;
} cs_labelled_text;

/* *out holds every text, copied. classes_of: the training examples, whose classes a test side must
 * keep to (NULL: number them here). CS_ERR_USAGE: a corpus known by name that has no labels.
 * CS_ERR_INPUT names file and line: what cs_corpus_load refuses, a document without label or text,
 * a label that is no finite number, a class that training has not; no examples. One class alone is
 * read: who needs two says so. */
cs_status cs_labelled_text_read(const char *source, const cs_labelled_options *options,
                                const cs_labelled_text *classes_of,
                                cs_labelled_text *out) CS_MUST_CHECK;

/* CS_ERR_INPUT where all that is to be trained on is of one class, which leaves nothing to learn:
 * often the first `limit` lines (0: all) of what is sorted by class. */
cs_status cs_labelled_check(const cs_labelled_text *train, int64_t limit) CS_MUST_CHECK;

/* Both sides of a task, of `limit` examples each: out[0] to train on, out[1] with its classes.
 * CS_ERR_INPUT as above, naming the files of both that are not UTF-8. */
cs_status cs_labelled_sides_read(const char *const source[2], const cs_labelled_options *options,
                                 const int64_t limit[2], cs_labelled_text out[2]) CS_MUST_CHECK;

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

/* The documents of one side of a labelled corpus, at most `limit` (0: all), and their labels; their texts
 * are not wanted: text is NULL. side 0: those not held out, 1: those held out, -1: all. CS_ERR_INPUT: a
 * document without a label, a class that training has not, no document. */
cs_status cs_labelled_side(const cs_corpus *corpus, int side, int64_t limit,
                           const cs_labelled_text *classes_of, cs_labelled_text *out,
                           cs_corpus *documents) CS_MUST_CHECK;
