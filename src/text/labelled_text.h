/* Labelled texts for classification and regression: the data of probes and fine-tuning.
 *
 * They are the documents of a corpus (text/corpus.h), each with a label and a text that is not
 * blank, and for pairs a second text (columns, JSON lines).
 *
 *   classes     any text is a label; classes are numbered in byte order of their names, integers
 *               in their numerical order, over the training side
 *   regression  the label is a finite number
 *
 * A named corpus is its training side (not held out) when classes are numbered, and its test side
 * when they are those of a training side; `wordnet:train` and `wordnet:test` select a side. Any
 * other source is read whole, or divided in the same way by `split`. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npy.h"
#include "text/corpus.h"

typedef struct {
    cs_corpus_options corpus; /* how the source is read; pair_column not 0: pairs are allowed */
    bool regression;
    /* a source contains both sides: its held-out documents are the test side */
    bool split;
    int64_t limit; /* examples read; 0: all */
    /* of both sides: the column of the label on the test side; 0: the same */
    int64_t test_label;
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
 * use (NULL: number them here). CS_ERR_USAGE: a named corpus without labels. CS_ERR_INPUT names
 * file and line: errors of cs_corpus_load, a document without label or text, a label that is not a
 * finite number, a class that does not occur in training; no examples. A single class is accepted;
 * callers that need two check for it. */
cs_status cs_labelled_text_read(const char *source, const cs_labelled_options *options,
                                const cs_labelled_text *classes_of,
                                cs_labelled_text *out) CS_MUST_CHECK;

/* CS_ERR_INPUT if all training examples are of one class, so that there is nothing to learn: often
 * the first `limit` lines (0: all) of a file that is sorted by class. */
cs_status cs_labelled_check(const cs_labelled_text *train, int64_t limit) CS_MUST_CHECK;

/* Both sides of a task, of `limit` examples each: out[0] for training, out[1] with its classes.
 * CS_ERR_INPUT as above, naming the files of both that are not UTF-8. */
cs_status cs_labelled_sides_read(const char *const source[2], const cs_labelled_options *options,
                                 const int64_t limit[2], cs_labelled_text out[2]) CS_MUST_CHECK;

/* Only labels, one for each row of some matrix: FILE.npy (one dimension; integers, any numbers
 * for regression, or texts), FILE.txt or FILE.tsv (a line each, the first column; empty lines and a header
 * are skipped). text and pair stay NULL. Errors as above; CS_ERR_USAGE for another suffix. */
cs_status cs_label_file_read(const char *path, bool regression, const cs_labelled_text *classes_of,
                             cs_labelled_text *out) CS_MUST_CHECK;

/* The same of an array in memory, which messages call `name`. */
cs_status cs_labels_of_array(const char *name, const cs_array *array, bool regression,
                             const cs_labelled_text *classes_of,
                             cs_labelled_text *out) CS_MUST_CHECK;
void cs_labelled_text_free(cs_labelled_text *t);

/* The examples of a run with few labels: "all", "1%", "10%" (of each class, halves rounded up, at
 * least 1), "16" (that many per class; regression: in total). Chosen by (seed, stream, example);
 * ascending numbers in fresh memory. Of `examples` count, value, classes and class_name are read,
 * its texts are not. CS_ERR_USAGE names a text of another form; CS_ERR_INPUT a class that has
 * fewer. */
cs_status cs_few_shot(const char *text, const cs_labelled_text *examples, uint64_t seed,
                      int64_t *chosen, int64_t **index) CS_MUST_CHECK;

/* The documents of one side of a labelled corpus, at most `limit` (0: all), and their labels
 * without their texts: text is NULL. side 0: not held out, 1: held out, -1: all. CS_ERR_INPUT: a
 * document without a label, a class that does not occur in training, no document. */
cs_status cs_labelled_side(const cs_corpus *corpus, int side, int64_t limit,
                           const cs_labelled_text *classes_of, cs_labelled_text *out,
                           cs_corpus *documents) CS_MUST_CHECK;
