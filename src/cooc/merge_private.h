/* The merge of collected records into the matrix (merge.c). */
#pragma once

#include "cooc/assemble_private.h"
#include "cooc/collect_private.h"

/* Sorts and merges records in memory (runs NULL), or merges the sorted runs of the scratch file,
 * into the assembler: by ranges of keys, several at once, with the rows in order. In memory: for
 * each thread a CS_RANGES-th of the result in addition to the cuts; from the file within `budget`
 * bytes. */
typedef struct {
    const cs_cut *cut;
    int64_t cuts;
    cs_runs *runs;
    int64_t budget;
    int workers;
} cs_sorted;

cs_status cs_merge(const cs_sorted *sorted, cs_assembler *whole) CS_MUST_CHECK;
