/* --mpi: a command over the processes started by mpirun. Every rank runs the command; only rank 0
 * writes and prints. A failure known to all ranks ends them in an orderly way with the exit code of
 * one process; a failure of one rank ends the others at once. */
#pragma once

#include "cli/opt.h"
#include "dist/comm.h"

/* --mpi */
extern const cs_opt cs_group_ranks[];

/* Joins the group, silences all ranks but the first, and divides the threads of the machine among
 * the ranks on it unless --threads sets the number for each. CS_ERR_DEVICE: no MPI in this build,
 * or processors that compute differently. Call it once. */
cs_status cs_ranks_join(cs_args *args, cs_comm *out) CS_MUST_CHECK;

/* Passes on CS_OK and agreed failures; else reports the failure of this rank and ends all. */
cs_status cs_ranks_alone(const cs_args *args, cs_comm *comm, cs_status status) CS_MUST_CHECK;

/* Collective: notes the number of ranks, the bytes they sent (without PARPACK's own reductions),
 * and the processor seconds of all, with those in messages (waiting included) separate. */
void cs_ranks_note(const cs_args *args, cs_comm *comm);

/* Agrees on the end, then finalises MPI. Rank 0 keeps the reason, the others discard it. */
cs_status cs_ranks_leave(cs_comm *comm, cs_status status) CS_MUST_CHECK;
