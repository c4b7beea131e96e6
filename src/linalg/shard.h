/* A matrix dealt out to a group of processes: the larger of its sides is cut by hash, the smaller
 * one is common to all. A rank holds its part of the nonzeros and what is as long as the smaller
 * side, nothing that grows with the whole.
 */
#pragma once

#include "dist/comm.h"
#include "linalg/csr.h"

typedef struct {
    cs_comm *comm;
    bool transposed; /* the columns are dealt out, for there are more of them */
    int64_t rows, cols;
    int64_t length, width; /* the larger side; the smaller one, as a has it */
    int64_t *index; /* a.rows: the numbers of what this rank holds, ascending; rows that are dealt
                       out and empty are nobody's */
    cs_kept_rows kept; /* with the columns dealt out: the rows that a's columns stand for, without
                          empty ones (but all where too few for the ranks are left) */
    cs_csr a;          /* held x width: the values of the file */
} cs_shard;

/* Every rank reads the file and keeps its part, in the memory of that part where the file is a .npz
 * of format csr (linalg/matrix_stream.h). non_negative: a negative value is an error, as in
 * cs_csr_check. Collective: all ranks return the same state. Errors as cs_matrix_read; CS_ERR_USAGE
 * when the smaller side is shorter than the number of ranks. */
cs_status cs_shard_read(cs_comm *comm, const char *path, bool non_negative,
                        cs_shard *out) CS_MUST_CHECK;

void cs_shard_free(cs_shard *shard);
