/* Shared by the files of the count of pairs (windows_unique.c, windows_units.c). */
#pragma once

#include <math.h>

#include "cooc/context_private.h"
#include "cooc/windows_private.h"

/* Result of a list of units: their sum, the number of pairs with weight, and the loss by rounding
 * in units. */
typedef struct {
    int64_t mass, pairs;
    double lost;
} cs_unit_sums;

/* Lists of units of positions in series (or single sequences) of one length, 2 reach + 1 each. */
typedef struct {
    int64_t rows; /* 0: none is kept */
    int64_t *units, *mass, *pairs;
    double *lost;
} cs_unit_lists;

typedef struct {
    cs_window_counter *c;
    const cs_context_plan *plan;
    cs_unit_lists *run, *one; /* by table: of series of more than one window, and of one */
    bool types;               /* sequences are lists of distinct tokens */
    int64_t *begin;           /* types: sequences + 1; else NULL */
    int32_t *type, *times;
    int64_t first_group, base; /* of the pass */
    double *lost;              /* groups */
} cs_unique;

/* Units of one unit of R in a sequence of this table. */
static inline double cs_unique_scale(const cs_windows_job *job, const cs_context_table *t)
{
    return (job->options->weight_by_document ? 1 : t->predicted) * job->scale;
}

/* Stored lists take at most a quarter of the budget that rows leave: their bytes, and the lists. */
double cs_unit_lists_bytes(const cs_windows_job *job);
cs_status cs_unit_lists_make(cs_unique *u) CS_MUST_CHECK;

/* The units of position p of a sequence, those of p + d at [reach + d]: stored, or computed in
 * y->around. */
const int64_t *cs_units_at(const cs_unique *u, int64_t length, int64_t p, cs_window_tally *y,
                           cs_unit_sums *sums);

/* The largest reach of any length. */
int64_t cs_unique_reach(const cs_context_plan *plan);
