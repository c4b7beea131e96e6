/* What the files of the row-by-row count share: the stream, and what a group of rows becomes.
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
    int64_t room; /* rows that token and witnesses have room for */
    bool counted; /* and not yet placed */
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
    cs_window_part *part;   /* groups */
    cs_window_tally *tally; /* workers */
    int64_t labels;
    cs_assembler *assembler;
    pthread_mutex_t lock; /* guards what follows, and the sizes of the assembler's matrices */
    int64_t groups, counted, placed;
    int64_t counted_entries, counted_labels;
    int copying; /* parts being copied into the result */
    int64_t spares;
    cs_window_part *spare; /* groups: buffers of placed ones, to be filled again */
} cs_window_counter;

/* Counts the rows of one group into its part, and places it: the item of a parallel loop over a
 * counter. */
cs_status cs_window_group(void *counter, int64_t item, int worker) CS_MUST_CHECK;

/* --- placing (windows_place.c) ---------------------------------------------------------------- */

/* An empty part for a group of so many rows. */
cs_status cs_window_part_begin(cs_window_counter *c, int64_t group, int64_t rows) CS_MUST_CHECK;

/* The group is counted: places it in the result, or leaves it for those before it. */
cs_status cs_window_part_place(cs_window_counter *c, int64_t group) CS_MUST_CHECK;

void cs_window_part_free(cs_window_part *p);

#endif
