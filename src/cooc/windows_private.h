/* What the two files of the row-by-row count share: the stream, and what a group of rows becomes.
 */
#ifndef CS_COOC_WINDOWS_PRIVATE_H
#define CS_COOC_WINDOWS_PRIVATE_H

#include "cooc/builder_private.h"

enum { CS_WINDOW_LINE = 512 };

typedef struct {
    int64_t units; /* of each place of this target's window; 0: nothing, or between sequences */
    int32_t token, label;
} cs_window_cell;

/* What one group of rows came to. */
typedef struct {
    cs_growing matrix, row_label;
    int32_t *token; /* of each row */
    int64_t *witness_sequence, *witness_ordinal;
    int64_t first_row, first_entry, first_label; /* of it in the result */
} cs_window_part;

/* Sums and scratch space of one worker. */
typedef struct {
    int64_t contributions, units;
    bool overflow;
    int64_t *in_col;  /* vocab x labels */
    int64_t *row;     /* vocab */
    int64_t *in_row;  /* labels */
    int32_t *touched; /* vocab + 1 */
    uint64_t *bits;   /* of the columns touched, whole lines of CS_WINDOW_LINE */
    uint8_t *lines;   /* whether any bit of a line is set */
} cs_window_tally;

typedef struct {
    const cs_windows_job *job;
    int64_t width;
    bool left; /* places to the left of a context token's occurrence hold targets too */
    int64_t cells;
    cs_window_cell *cell;
    int64_t *first; /* sequences + 1: first cell of each sequence */
    int64_t vocab;
    int64_t *ptr;           /* vocab + 1 */
    uint32_t *at;           /* cells of each token, ascending */
    int32_t *by_key;        /* tokens in order of their rows' keys */
    cs_hash128 *key;        /* vocab */
    int64_t *group;         /* groups + 1: ranges of by_key */
    int64_t *heaviest;      /* groups: the order in which they are counted */
    cs_window_part *part;   /* groups */
    cs_window_tally *tally; /* workers */
    int64_t labels;
    cs_assembler *assembler;
} cs_window_counter;

/* Counts the rows of group heaviest[item] into its part: the item of a parallel loop over a
 * counter. */
cs_status cs_window_group(void *counter, int64_t item, int worker) CS_MUST_CHECK;

#endif
