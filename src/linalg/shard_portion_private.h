/* The shards that a rank reads, and the exchange of columns among ranks that read different rows. */
#pragma once

#include "dist/comm.h"
#include "linalg/csr.h"
#include "linalg/matrix_index.h"

/* A rank reads the rows low .. high - 1 of the consecutive shards from .. to - 1. */
typedef struct {
    int64_t from, to, low, high;
} cs_portion;

/* Portions of ranks follow each other. Where there are at least as many shards as ranks, each shard is
 * read by one rank, the one in whose share of the nonzeros its middle is; otherwise ranks with the same
 * shard read equal numbers of its rows. */
cs_portion cs_portion_of(const cs_matrix_index *index, int rank, int ranks);

/* The nonempty rows of a portion, with their numbers in the whole matrix. Errors as cs_matrix_read. */
cs_status cs_portion_read(const char *dir, const cs_matrix_index *index, int rank, int ranks,
                          cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* A message from one rank to another: the number of entries of each row, then the entries. */
typedef struct {
    int32_t *count, *col;
    double *val;
} cs_message;

/* Free it with cs_column_swap_free. */
typedef struct {
    int64_t *row; /* the numbers of the rows that all ranks have, in the order of ranks */
    cs_csr all;   /* the entries of these rows that were sent to this rank */
    cs_message out;
    /* Internal: */
    int64_t *first_row, *first_entry, *own; /* places of what each rank sends; own rows */
    int32_t *count;                         /* that arrive */
    int64_t own_rows;
} cs_column_swap;

/* Agrees on `status` and allocates `to[r]` entries that go to rank r, and for what the others
 * send. Collective; all ranks return the same status. Memory: what arrives, and the largest message. */
cs_status cs_column_swap_open(cs_comm *c, cs_status status, const cs_nonempty_rows *rows,
                              const int64_t *to, cs_column_swap *out) CS_MUST_CHECK;

/* Step 0 .. ranks - 1: sends x->out with n entries to rank (own + step) modulo ranks, and receives.
 * x->all is complete after the last. Collective. */
void cs_column_swap_step(cs_comm *c, int step, int64_t n, cs_column_swap *x);

void cs_column_swap_free(cs_column_swap *x);
