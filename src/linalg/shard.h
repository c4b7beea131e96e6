/* A matrix distributed over a group of processes: its larger side is divided by hash, the smaller
 * one is common to all. A rank stores its part of the nonzeros and arrays as long as the smaller
 * side, nothing that grows with the whole. */
#pragma once

#include "dist/comm.h"
#include "linalg/csr.h"

typedef struct {
    cs_comm *comm;
    bool transposed; /* the columns are distributed, since there are more of them */
    int64_t rows, cols;
    int64_t length, width; /* the larger side; the smaller one, as `a` has it */
    /* a.rows: the numbers of the stored rows, ascending; empty rows belong to no rank */
    int64_t *index;
    /* with distributed columns: the rows that columns of `a` represent, without empty ones (but all
     * if too few for the ranks are left) */
    cs_nonempty_rows kept;
    cs_csr a; /* held x width: the values of the file */
} cs_shard;

/* Every rank reads the file and keeps its part, in the memory of that part if the file is a .npz of
 * format csr (linalg/matrix_stream_private.h). non_negative: a negative value is an error, as in
 * cs_csr_check. Collective: all ranks return the same status. Errors as cs_matrix_read;
 * CS_ERR_USAGE if the smaller side is shorter than the number of ranks. */
cs_status cs_shard_read(cs_comm *comm, const char *path, bool non_negative,
                        cs_shard *out) CS_MUST_CHECK;

void cs_shard_free(cs_shard *shard);
