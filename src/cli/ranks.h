/* --mpi: a command over the processes that mpirun has started. Every rank runs the command; rank 0
 * alone writes and prints. A failure that all ranks know of ends them in good order with
 * the exit code that one process would have given; a failure of one rank alone ends the others at
 * once.
 */
#pragma once

#include "cli/opt.h"
#include "dist/comm.h"

/* --mpi */
extern const cs_opt cs_group_ranks[];

/* Joins the group, silences all ranks but the first, and shares the machine's threads among the
 * ranks on it unless --threads says how many each has. CS_ERR_DEVICE: no MPI in this build, or
 * processors that compute differently. Once a run. */
cs_status cs_ranks_join(cs_args *args, cs_comm *out) CS_MUST_CHECK;

/* Passes on CS_OK and what the ranks have agreed on; else says what failed here and ends all. */
cs_status cs_ranks_alone(const cs_args *args, cs_comm *comm, cs_status status) CS_MUST_CHECK;

/* Collective: how many ranks, what they sent (PARPACK's own reductions apart), and the processor
 * seconds of all, those in messages (waiting included) apart. */
void cs_ranks_note(const cs_args *args, cs_comm *comm);

/* Agreement on the end, then MPI's. Rank 0 keeps the reason, the others forget it. */
cs_status cs_ranks_leave(cs_comm *comm, cs_status status) CS_MUST_CHECK;
