/* The sums of a build over a group of processes: every rank has records of any key, the rank that
 * owns a key adds up what all have of it, and rank 0 receives the whole in order. Keys are uniform
 * hashes, so that a range of them is an even part of the rows, and the ranges in the order of their
 * ranks are all rows in order. */
#ifndef CS_COOC_EXCHANGE_PRIVATE_H
#define CS_COOC_EXCHANGE_PRIVATE_H

#include "base/comm.h"
#include "cooc/builder_private.h"

typedef struct cs_exchange cs_exchange;

/* scratch: as cs_runs_init. CS_ERR_MEMORY. */
cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget,
                           cs_exchange **out) CS_MUST_CHECK;
void cs_exchange_free(cs_exchange **exchange);

/* Takes this rank's records in order, a cs_record_visit. */
cs_status cs_exchange_take(void *exchange, const cs_record *record) CS_MUST_CHECK;

/* Collective, once: rank 0 visits every distinct record of all ranks in order, equal ones added up.
 * Sends each record that belongs to another rank once, and each distinct one to rank 0: 48 bytes
 * each. On disk a rank has three times its part at most, in memory `budget`. */
cs_status cs_exchange_finish(cs_exchange *x, cs_record_visit visit, void *ctx) CS_MUST_CHECK;

#endif
