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

/* The sums of a build over a group of processes. Every rank has records of any key, and the rank
 * that owns a key adds the records of all ranks into rows, which it keeps. Keys are uniform hashes,
 * so a range of them is an even share of the rows, and the ranges in the order of their ranks are
 * all rows in order. */
typedef struct cs_exchange cs_exchange;

typedef struct {
    cs_comm *comm;
    const char *scratch; /* as cs_runs_init */
    int64_t budget;
    int64_t cols, labels;
    bool stored; /* the rows of this rank are in files: no rank sends their records */
} cs_exchange_options;

/* Collective. CS_ERR_MEMORY. */
cs_status cs_exchange_open(const cs_exchange_options *options, cs_exchange **out) CS_MUST_CHECK;
void cs_exchange_free(cs_exchange **exchange);

/* Before the first record: up to `records` of them are held in memory until they are sent. */
void cs_exchange_hold(cs_exchange *exchange, int64_t records);

/* Takes all records of this rank, which stay where they are and must outlive the exchange; instead of
 * cs_exchange_take. False: ranks have stored rows, whose records are not sent; nothing is taken. */
bool cs_exchange_borrow(cs_exchange *exchange, const cs_record *sorted, int64_t count);

/* Takes the records of this rank in order; a cs_record_visit. */
cs_status cs_exchange_take(void *exchange, const cs_record *record) CS_MUST_CHECK;

/* Class masses of columns, cols x labels, of records that come without class. */
void cs_exchange_add_classes(cs_exchange *x, const int64_t *in_col);

/* Records taken that belong to other ranks. */
int64_t cs_exchange_sent(const cs_exchange *x);

/* Collective, once: adds the records of all ranks with `workers` threads each, and makes the rows
 * that this rank owns. A record that belongs to another rank is sent once, 48 bytes, in messages of
 * at most 2^14 records and one of 8 bytes for each rank. A rank uses at most twice its part on disk,
 * and nothing if its records and those of its rows fit in `budget`; in memory `budget`, then its
 * rows. Total and class masses of columns of `rows` are those of
 * the records that this rank has taken. */
cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *rows) CS_MUST_CHECK;
