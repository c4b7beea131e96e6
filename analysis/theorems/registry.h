/* The registry of theorems: their statements, their inputs, and their evaluation.
 *
 * A theorem is one entry, defined in its file: functions that add its statements and the rows of
 * its table to a report. An input for which an entry has no function is not accepted. The list of
 * all is in analysis/trained/theorem_list.h, in the highest module with an entry. */
#pragma once

#include "analysis/theorems/statement.h"
#include "base/progress.h"
#include "cooc/builder.h"
#include "cooc/labelled.h"
#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "model/model.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "toy/toy.h"

/* A trained model and the tokens that it reads (NULL: its own are missing). */
typedef struct {
    const char *name; /* NULL: there is no model */
    const cs_model *model;
    const cs_tokenizer *tokenizer;
    bool likelihood;        /* trained by cross-entropy, else by the spectral loss */
    double spectral_factor; /* b of that */
} cs_theorem_model;

/* Inputs and options of an evaluation. Borrowed. */
typedef struct {
    /* a toy model */
    const cs_toy *toy;

    /* a matrix: its name, and its leading singular triplets if a theorem needs labels */
    const cs_labelled *matrix;
    const char *name;
    const cs_spectrum *leading;
    const int64_t *row_column; /* column that each row is, -1 for none; NULL: row i is column i */

    /* a run: its checkpoints (analysis/trained/learned_order.h), and the matrix of its objective */
    const struct cs_learned_run *run;
    const cs_cooc_store *store;

    /* a corpus, with the options of its sequences; or models on its documents `keep` */
    const cs_cooc_options *build;
    cs_theorem_model model, against;
    const cs_corpus *corpus;
    const char *corpus_name;
    const uint8_t *keep;
    int64_t max_length;          /* most tokens of a piece; 0: the model's positions, at most 512 */
    const cs_objective *masking; /* number of unmasked tokens; NULL: as in training of the model */

    const cs_spectrum_options *spectrum; /* options of singular values; NULL: the defaults */
    int64_t triplets;                    /* 4.1: features t = 1..triplets; 0: all */
    int64_t blocks;                      /* 4.1 of a language: blocks of documents, for errors */
    int64_t rotations;                   /* 4.1 */
    int64_t features, trials;            /* 3.1 */
    int64_t masks;                       /* 4.3 */
    int64_t width, steps;                /* trained; width 0: chosen by the spectrum */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_theorem_input;

/* Output: statements, and a row of the table of the entry for each measurement. */
typedef struct {
    cs_statements statements;
    cs_item *rows, *course; /* arrays, of the table and of a second one; NULL: not wanted */
    /* statements that the last entry left out or could not decide, and the reason; "": none */
    char note[320];
} cs_theorem_report;

typedef cs_status (*cs_theorem_run)(const cs_theorem_input *input, cs_theorem_report *report);

typedef enum {
    CS_ON_TOY,
    CS_ON_MATRIX,
    CS_ON_MODEL,
    CS_ON_CORPUS,
    CS_ON_LANGUAGE, /* of the language of a corpus */
    CS_ON_NOTHING,
    CS_THEOREM_INPUTS
} cs_theorem_on;

/* Most ids of statements with rows of their own in a summary. */
enum { CS_THEOREM_PARTS = 4 };

typedef struct {
    const char *id;      /* "4.1" */
    const char *about;   /* "Theorem 4.1 is about a labelled matrix" */
    const char *paper;   /* "LA", "MAE-LM", "GVP"; "cospec": of this project */
    const char *printed; /* the statement in a line; NULL: it has no printed form */
    const char *corrected;
    const char *printed_words; /* the same in words, at most 49 characters */
    const char *corrected_words;
    /* all ids of its statements, with words for each form, at most 49 characters; none: a summary
     * has one row for each form of the theorem */
    struct {
        const char *id, *words[2];
    } part[CS_THEOREM_PARTS];
    /* of a separate entry: separated by spaces, not combinable with others */
    const char *options;
    bool apart;         /* not part of `all` */
    bool labels;        /* on a matrix: needs labels of its rows, and leading triplets */
    bool course_of_run; /* on a model: on the checkpoints of a run, with a matrix */
    cs_theorem_run run[CS_THEOREM_INPUTS]; /* on nothing: on built-in examples, with the others */
    const char *file, *key;                /* its table, and the array of its rows in a record */
    cs_view view;
    const char *course_file; /* a second table, of the same record; NULL: none */
    const char *course_key;  /* the array of its rows; NULL: they are below those of the first */
    cs_view course;
} cs_theorem;

/* Largest number of nonzeros of a toy matrix that is evaluated as a whole. */
#define CS_THEOREM_TOY_ENTRIES (1 << 22)

extern const cs_theorem cs_entry_22, cs_entry_31, cs_entry_41, cs_entry_42, cs_entry_43,
    cs_entry_refinement, cs_entry_feedback, cs_entry_query_position, cs_entry_qwem, cs_entry_ntp,
    cs_entry_masking_ridge;
