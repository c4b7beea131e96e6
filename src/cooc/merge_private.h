/* The merge of collected records into the matrix (merge.c). */
#pragma once

#include "cooc/assemble_private.h"
#include "cooc/collect_private.h"
#include "dist/comm.h"

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

/* --- over a group of processes --- */

/* The sums of a build over a group of processes. Every rank has records of any key, the rank that
 * owns a key adds the records of all ranks, and rank 0 receives the rows in order. Keys are uniform
 * hashes, so a range of them is an even share of the rows, and the ranges in the order of their
 * ranks are all rows in order. */
typedef struct cs_exchange cs_exchange;

/* scratch: as cs_runs_init. CS_ERR_MEMORY. */
cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget,
                           cs_exchange **out) CS_MUST_CHECK;
void cs_exchange_free(cs_exchange **exchange);

/* Takes the records of this rank in order; a cs_record_visit. */
cs_status cs_exchange_take(void *exchange, const cs_record *record) CS_MUST_CHECK;

/* Collective, once: adds the records of all ranks with `workers` threads each, and makes the rows
 * of `whole` on rank 0; elsewhere `whole` stays empty. Each record that belongs to another rank is
 * sent once, 48 bytes, and the rows to rank 0: 12 bytes an entry, 48 a row, 12 a row and class, 8 a
 * column and class. A rank uses at most twice its part on disk; in memory `budget`, then its rows.
 */
cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *whole) CS_MUST_CHECK;
