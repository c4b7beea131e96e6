/* The contexts of two documents in the form for products of folds: runs of entries, each a column
 * and the number of a pattern, which is the counts of the eight folds there. */
#pragma once

#include "cooc/fold_products.h"

enum { CS_FOLD_SMALL = 256 };

/* A lane for each split (0: unused) or fold. No alignment is required. */
typedef double cs_split_lanes
    __attribute__((vector_size(CS_FOLDS * sizeof(double)), aligned(8), may_alias));

/* Runs of ascending columns. */
typedef struct {
    int64_t runs, run_capacity, entries, col_capacity, pattern_capacity, context_capacity;
    int64_t *ptr;     /* runs + 1 */
    int64_t *context; /* of each run */
    int32_t *col, *pattern;
} cs_fold_list;

typedef struct {
    cs_fold_list contexts;   /* a run a context: T_X by folds */
    cs_fold_list documents;  /* rows c_d of two entries or more */
    double *diagonal;        /* cols x 16: sum of w c_d^2 of rows of one entry, by half */
    int64_t count, capacity; /* contexts */
    /* count x 16: n_h / (n_h^2 - sum_d n_d^2) of half a and b of each split, 0: unseen there; the
     * unused lane 0 of half a has 1 / n of all documents */
    double *weight;
    int64_t patterns, pattern_capacity;
    double *fold;              /* patterns x 8 */
    double mass[CS_FOLDS];     /* N of each fold */
    double held[2 * CS_FOLDS]; /* mass of the contexts that each half contains */
} cs_fold_runs;

/* 1 if fold f is in a half: lanes of half a, then of half b. */
void cs_fold_membership(double in[CS_FOLDS][2 * CS_FOLDS]);

cs_status cs_fold_runs_of(const cs_cooc *rows, const cs_context_index *index,
                          const cs_fold_options *options, cs_fold_runs *out) CS_MUST_CHECK;
void cs_fold_runs_free(cs_fold_runs *runs);
