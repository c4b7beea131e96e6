/* Arguments of a command that its caller holds in memory, in place of files: what the Python module passes.
 *
 * On the command line each is the word "memory:NAME" of its item. A command that reads an argument asks
 * here first whether the word is an item. What the command would write into files of -o DIR is left in
 * the members at the end.
 */
#pragma once

#include "base/progress.h"
#include "cli/opt.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "io/npy.h"
#include "io/rows.h"
#include "linalg/csr.h"
#include "text/corpus.h"

typedef enum {
    CS_ITEM_ARRAY,  /* numbers or texts: rows of features, labels, groups, token ids */
    CS_ITEM_MATRIX, /* counts */
    CS_ITEM_IDS,    /* sequences of token ids, one after another */
    CS_ITEM_TEXTS
} cs_item_kind;

/* Borrowed until the run has ended; what it made may refer to it. */
typedef struct {
    const char *word; /* "memory:NAME" */
    cs_item_kind kind;
    cs_array array;          /* ARRAY; IDS: the ids, of one dimension */
    cs_csr matrix;           /* MATRIX, `borrowed` */
    int64_t count;           /* IDS, TEXTS: documents */
    int64_t *doc_ptr;        /* IDS: count + 1 */
    const char *const *text; /* TEXTS: count, in UTF-8 */
    const int64_t *size;     /* TEXTS: count, in bytes */
} cs_memory_item;

typedef struct cs_in_memory {
    int items;
    const cs_memory_item *item;
    void (*note)(
        const char
            *text); /* takes a line that a run writes to standard error; NULL: nothing is said */
    const cs_progress *progress; /* NULL: none */
    /* Results besides the record, zeroed before; the caller's. */
    cs_spectrum spectrum; /* svd */
    cs_cooc cooc;         /* cooc */
    cs_corpus corpus;     /* cooc: what was counted */
    json_t *tables;       /* {"NAME.csv": text} of each table that DIR would receive */
} cs_in_memory;

/* The item of a word; NULL: the word names something else. */
const cs_memory_item *cs_args_item(const cs_args *args, const char *word);

/* Whether the caller holds arguments in memory and takes the results. */
cs_in_memory *cs_args_in_memory(const cs_args *args);

/* The array of the item that an option names; NULL: the option names something else. */
const cs_array *cs_args_array(const cs_args *args, const char *option);

/* Opens rows of a file or item. CS_ERR_INPUT: an item that is no matrix of numbers. */
cs_status cs_args_rows(const cs_args *args, const char *word, cs_rows *out) CS_MUST_CHECK;

/* Reads a matrix of a file or item as cs_matrix_read_filled. Errors of cs_csr_check for an item. */
cs_status cs_args_read_matrix(const cs_args *args, const char *word, cs_nonempty_rows *rows,
                              cs_csr *out) CS_MUST_CHECK;

/* Runs a command with arguments in memory. Nothing is printed; *json (malloc) is what --json prints.
 * CS_ERR_CONVERGE: it is there too. */
cs_status cs_command_in_memory(const cs_command *command, int argc, char **argv,
                               cs_in_memory *memory, char **json) CS_MUST_CHECK;
