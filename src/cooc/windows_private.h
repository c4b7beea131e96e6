/* Shared by the files of the row-by-row count: the stream, and the results of groups of rows. */
#pragma once

#include <math.h>
#include <pthread.h>

#include "base/mem.h"
#include "cooc/assemble_private.h"
#include "cooc/build_private.h"
#include "cooc/context_private.h"

typedef struct {
    const cs_corpus *corpus;
    const cs_sequences *sequences;
    const cs_context_plan *plan;
    const cs_cooc_options *options;
    const double *keep; /* subsampling: probability of each token; or NULL */
    double scale;       /* units per predicted token (or document) */
    int exponent;       /* of sums of dropped weight */
    int64_t blocks;
    cs_block *block;
    int workers;
    int64_t budget;
    /* receives the rows as records, in order, with a raw assembler; NULL: the assembler has them */
    cs_status (*take)(void *to, const cs_record *record);
    void *to;
} cs_windows_job;

/* Whether the job can be counted row by row: `unique`; or `each` without offsets, exact, under `ar`
 * or an invariant objective; with its stream within the budget. *bytes: the required budget, if
 * only that is missing; else 0. */
bool cs_windows_apply(const cs_windows_job *job, double *bytes);

/* Counts into the assembler (before cs_assembler_finish), fills the dropped mass of blocks, and
 * adds contributions; the same bits as the general method. */
cs_status cs_windows_count(const cs_windows_job *job, cs_assembler *assembler,
                           int64_t *contributions) CS_MUST_CHECK;

/* Common data of the sequences of one length. */
typedef struct {
    /* length, with w zeros before and after: of each position of a target's window; 0: nothing.
     * Begins at the first target. Where pairs count, [d] of a pair at distance d = 1..w */
    int64_t *units;
    /* positions that add one number of units to each position of their windows, the longest run of
     * them; from == to: none */
    int64_t from, to;
    int64_t contributions, mass; /* mass: in units */
    double missed, lost;         /* to empty windows; to rounding, in units */
    bool overflow;
    double *weight; /* subsampling: [d] of a pair whose tokens are kept */
    double scale;   /* subsampling: units per weight */
} cs_window_length;

/* One sequence in the stream. */
typedef struct {
    uint32_t first;       /* its first cell */
    uint32_t from, to;    /* of its length, as cells */
    int32_t label;        /* -1: none */
    int64_t units;        /* of the places of these */
    const int64_t *cells; /* units of its length */
} cs_window_span;

/* Where a token occurs. */
typedef struct {
    uint32_t cell, sequence;
} cs_window_place;

/* Result of one group of rows. */
typedef struct {
    cs_assembler *rows;
    bool counted; /* and not yet placed */
} cs_window_part;

/* Sums and scratch space of one worker. */
typedef struct {
    int64_t contributions, units;
    bool overflow;
    int64_t *in_col; /* vocab x labels */
    /* 64 CS_WINDOW_WORDS(vocab): [vocab] collects the gaps between sequences, always 0 */
    int64_t *row;
    int32_t *touched; /* vocab + 1 */
    /* CS_WINDOW_WORDS(vocab): a bit a column, set while columns are sorted */
    uint64_t *bits;
    int64_t *around; /* unique: 2 reach + 1 of the largest reach */
    uint8_t *used;   /* the same number: whether any bit of a word is set */
    int32_t *word;   /* the same number and CS_WINDOW_SLACK: the words used */
    int32_t *col;    /* vocab + CS_WINDOW_SLACK: the entries of a row that is packed */
    double *val;     /* the same number */
} cs_window_tally;

/* Groups of rows. */
enum { CS_WINDOW_GROUPS = 1024 };

/* Words of 64 columns, in multiples of sixty-four. */
#define CS_WINDOW_WORDS(vocab) (((vocab) / 4096 + 1) * 64)

/* Capacity that lists of columns need beyond their end. */
enum { CS_WINDOW_SLACK = 4 };

typedef struct {
    const cs_windows_job *job;
    int64_t width;
    bool left;  /* targets may also be to the left of a context token */
    bool pairs; /* units depend on the distance, and not on the target */
    int64_t cells;
    int32_t *token;           /* cells; vocab between sequences */
    cs_window_length *length; /* as the tables of the plan */
    int64_t *units;           /* of all lengths */
    cs_window_span *span;     /* sequences */
    int64_t vocab;
    int64_t *ptr;           /* vocab + 1 */
    cs_window_place *at;    /* of each token, ascending */
    int32_t *by_key;        /* tokens in order of their rows' keys */
    cs_hash128 *key;        /* vocab */
    int64_t *group;         /* groups + 1: ranges of by_key */
    cs_window_part *part;   /* groups */
    cs_window_tally *tally; /* workers */
    int64_t labels;
    cs_assembler *assembler;
    cs_pool pool; /* of all arrays */
    /* guards the members below, and the sizes of the assembler's matrices */
    pthread_mutex_t lock;
    int64_t groups, counted, placed;
    int64_t counted_entries;
    int copying; /* parts that are being copied into the result */
    int64_t spares;
    cs_assembler **spare; /* groups: buffers of placed parts, to be reused */
} cs_window_counter;

/* The data of a sequence's length. */
static inline const cs_window_length *cs_window_length_of(const cs_window_counter *c,
                                                          int64_t sequence)
{
    return &c->length[c->job->plan->table_of[c->job->sequences->length[sequence]]];
}

/* Subsampling: units of a pair at distance d whose tokens are both kept with probability `keep`. */
static inline int64_t cs_window_kept(const cs_window_length *l, int64_t d, double keep)
{
    return llrint(l->weight[d] * keep * l->scale);
}

/* The first sequence of a worker's share. */
static inline int64_t cs_window_first(const cs_window_counter *c, int64_t share)
{
    return c->job->sequences->count * share / c->job->workers;
}

/* Bytes of accumulators and of the arrays that order the rows. */
double cs_window_row_bytes(const cs_windows_job *job);

/* Orders the rows by their keys, and divides them into groups with about equal numbers of
 * occurrences (ptr). */
cs_status cs_window_order_rows(cs_window_counter *c) CS_MUST_CHECK;
cs_status cs_window_group_rows(cs_window_counter *c) CS_MUST_CHECK;

/* --- rows (windows_rows.c) ----------------------------------------------------------------- */

/* Counts the rows of one group into its part, and places the part: an item of a parallel loop over
 * a counter. */
cs_status cs_window_group(void *counter, int64_t item, int worker) CS_MUST_CHECK;

/* Moves y->row into the matrix of a part, or packs it there: of a sparse row only the columns touched. */
cs_status cs_window_put_row(const cs_window_counter *c, cs_window_tally *y, cs_assembler *p,
                            bool sparse, int64_t touched) CS_MUST_CHECK;

/* Moves a row from y->row to col and val, ascending, times `unit`, or 0: the bits of its integers;
 * leaves y->row empty. Returns the
 * number of its entries. Only the columns y->touched[0..touched-1] (each once), or all. col and val
 * have a capacity of touched + CS_WINDOW_SLACK entries, or vocab + CS_WINDOW_SLACK. */
int64_t cs_window_take_touched(cs_window_tally *y, int64_t vocab, int64_t touched, double unit,
                               int32_t *col, double *val);
int64_t cs_window_take_all(cs_window_tally *y, int64_t vocab, double unit, int32_t *col,
                           double *val);

/* --- pairs of a series of windows (windows_unique.c) ---------------------------------------- */

/* `unique`: whether everything except the lists of places fits the budget, in which it makes as
 * many lists at a time as fit; and the whole count, with rows ordered. */
bool cs_window_unique_applies(const cs_windows_job *job);
cs_status cs_window_unique(cs_window_counter *c) CS_MUST_CHECK;

/* --- placing (windows_rows.c) ----------------------------------------------------------------- */

/* An empty part for a group, with keys and witnesses for this number of rows. */
cs_status cs_window_part_begin(cs_window_counter *c, int64_t group, int64_t rows) CS_MUST_CHECK;

/* The group is counted: places it in the result, or leaves it for earlier groups. */
cs_status cs_window_part_place(cs_window_counter *c, int64_t group) CS_MUST_CHECK;
