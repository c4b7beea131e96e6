/* The registry of theorems: what each says, what it takes, and how it is evaluated on that.
 *
 * A theorem is one entry, defined in its own file: functions that add its statements and the rows
 * of its table to a report. What an entry has no function for, it does not take. The list of all is
 * in analysis/trained/theorem_list.h, the highest room that has one.
 */
#pragma once

#include <stdint.h>

#include "analysis/theorems/statement.h"
#include "base/progress.h"
#include "cooc/builder.h"
#include "cooc/labelled.h"
#include "cooc/spectrum.h"
#include "model/model.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "toy/toy.h"

/* A trained model and the tokens that it reads (NULL: it has none of its own). */
typedef struct {
    const char *name; /* NULL: there is no model */
    const cs_model *model;
    const cs_tokenizer *tokenizer;
    bool likelihood;        /* trained by cross-entropy, else by the spectral loss */
    double spectral_factor; /* b of that */
} cs_theorem_model;

/* What theorems are evaluated on, and how. Borrowed. */
typedef struct {
    /* a toy model */
    const cs_toy *toy;

    /* a matrix: its name, and its leading singular triplets where a theorem needs labels */
    const cs_labelled *matrix;
    const char *name;
    const cs_spectrum *leading;

    /* a corpus, and how it is cut and read; or models on its documents `keep` */
    const cs_cooc_options *build;
    cs_theorem_model model, against;
    const cs_corpus *corpus;
    const char *corpus_name;
    const uint8_t *keep;
    int64_t max_length;          /* most tokens of a piece; 0: the model's positions, at most 512 */
    const cs_objective *masking; /* how many tokens are unmasked; NULL: as the model was trained */

    const cs_spectrum_options *spectrum; /* how singular values are found; NULL: by default */
    int64_t triplets;                    /* 4.1: features t = 1..triplets; 0: all */
    int64_t blocks;                      /* 4.1 of a language: of documents, for its errors */
    int64_t rotations;                   /* 4.1 */
    int64_t features, trials;            /* 3.1 */
    int64_t masks;                       /* 4.3 */
    int64_t width, steps;                /* trained; width 0: chosen by the spectrum */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_theorem_input;

/* What comes out: statements, and a row of the entry's table for each thing measured. */
typedef struct {
    cs_statements statements;
    cs_item *rows; /* an array; NULL: not wanted */
} cs_theorem_report;

typedef cs_status (*cs_theorem_run)(const cs_theorem_input *input, cs_theorem_report *report);

typedef enum {
    CS_ON_TOY,
    CS_ON_MATRIX,
    CS_ON_MODEL,
    CS_ON_CORPUS,
    CS_ON_LANGUAGE, /* behind a corpus */
    CS_ON_NOTHING,
    CS_THEOREM_INPUTS
} cs_theorem_on;

typedef struct {
    const char *id;      /* "4.1" */
    const char *about;   /* "Theorem 4.1 is about a labelled matrix" */
    const char *paper;   /* "LA", "MAE-LM", "GVP"; "cospec": of this project */
    const char *printed; /* the statement in a line; NULL: there is none of this form */
    const char *corrected;
    const char *printed_words; /* the same in words, at most 49 characters */
    const char *corrected_words;
    const char
        *options; /* of an entry that is apart: parted by blanks, they go with nothing else */
    bool apart;   /* not part of `all` */
    bool labels;  /* on a matrix: needs labels of its rows, and leading triplets */
    cs_theorem_run run[CS_THEOREM_INPUTS]; /* on nothing: on examples of its own, beside the rest */
    const char *file, *key;                /* its table, and the array of its rows in a record */
    cs_view view;
} cs_theorem;

/* Nonzeros up to which a toy model's whole matrix is looked at. */
#define CS_THEOREM_TOY_ENTRIES (1 << 22)

extern const cs_theorem cs_entry_22, cs_entry_31, cs_entry_41, cs_entry_42, cs_entry_43,
    cs_entry_refinement, cs_entry_feedback, cs_entry_query_position;
