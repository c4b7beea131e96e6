/* The sums of a build over a group of processes: every rank has records of any key, the rank that
 * owns a key adds up what all have of it, and rank 0 receives the rows in order. Keys are uniform
 * hashes, so that a range of them is an even part of the rows, and the ranges in the order of their
 * ranks are all rows in order. */
#pragma once

#include "cooc/merge_private.h"
#include "dist/comm.h"

typedef struct cs_exchange cs_exchange;

/* scratch: as cs_runs_init. CS_ERR_MEMORY. */
cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget,
                           cs_exchange **out) CS_MUST_CHECK;
void cs_exchange_free(cs_exchange **exchange);

/* Takes this rank's records in order, a cs_record_visit. */
cs_status cs_exchange_take(void *exchange, const cs_record *record) CS_MUST_CHECK;

/* Collective, once: adds up what all ranks have, by `workers` threads of each, and on rank 0 makes
 * the rows of `whole` of it, which elsewhere stays empty. Sends each record that belongs to another
 * rank once, 48 bytes, and to rank 0 the rows: 12 bytes an entry, 48 a row, 12 a row and class, 8 a
 * column and class. On disk a rank has twice its part at most; in memory `budget`, then its rows.
 */
cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *whole) CS_MUST_CHECK;
