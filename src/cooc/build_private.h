/* Resources of a build, the units it counts in, and the division of its sequences into blocks. */
#pragma once

#include "cooc/build_sequences.h"
#include "cooc/exact_sum_private.h"

/* Resources of a build: threads, bytes for contributions, bytes of the matrix in memory. */
enum { CS_BUILD_WORKERS = 256 };
typedef struct {
    int workers;
    int64_t budget;
    double limit;
} cs_build_resources;

/* CS_ERR_USAGE: a budget below 1 MiB. */
cs_status cs_build_resources_of(const cs_cooc_options *options,
                                cs_build_resources *out) CS_MUST_CHECK;

/* Units of weight 1: an integer number of them in every contribution if `exact`, which is never so
 * for documents with weights; and the exponent for sums of dropped weight. */
typedef struct {
    double scale;
    bool exact;
    int exponent;
} cs_build_units;

/* The same for any division of the corpus among ranks: collective where each has a part.
 */
cs_build_units cs_build_units_of(const cs_cooc_prepared *p);

/* Whether each rank has a part of the corpus, and not all have the whole. */
static inline bool cs_cooc_parted(const cs_cooc_prepared *p)
{
    return p->options.comm && p->corpus->all_documents > 0;
}

/* Whole sequences first..last-1, or the outer items from..to-1 of sequence `first` (to > 0). */
typedef struct {
    int64_t first, last, from, to;
    cs_exact_sum dropped; /* filled by the worker */
    bool done;
} cs_block;
