/* Resources of a build, the units it counts in, and the division of its sequences into blocks. */
#pragma once

#include "cooc/build_sequences.h"

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

/* Weight of sequence i, and units of weight 1: an integer number of them in every contribution if
 * *exact, which is never so for documents with weights. */
double cs_build_scale(const cs_cooc_prepared *p, bool *exact);

/* Whole sequences first..last-1, or the outer items from..to-1 of sequence `first` (to > 0). */
typedef struct {
    int64_t first, last, from, to;
    double dropped; /* filled by the worker */
    bool done;
} cs_block;
