/* The merge of what was collected into the matrix (merge.c). */
#pragma once

#include "cooc/assemble_private.h"
#include "cooc/collect_private.h"

/* Merges what is in memory (runs NULL), and sorts it, or the sorted runs of the scratch file into
 * the assembler: range by range of keys, several at once, the rows in order. In memory: threads
 * parts of a CS_RANGES-th of the result beside the cuts; from the file within `budget` bytes. */
typedef struct {
    const cs_cut *cut;
    int64_t cuts;
    cs_runs *runs;
    int64_t budget;
    int workers;
} cs_sorted;

cs_status cs_merge(const cs_sorted *sorted, cs_assembler *whole) CS_MUST_CHECK;
