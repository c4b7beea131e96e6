/* --mpi. */
#include "cli/ranks.h"

#include <stdio.h>
#include <time.h>

#include "base/threads.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "dist/carrier.h"
#include "version.h"

const cs_opt cs_group_ranks[] = {
    CS_HEADING("Parallel runs"),
    CS_FLAG("mpi",
            "Share the work among the processes that mpirun started. --threads is per process; "
            "default: the machine's threads divided among its processes."),
    {0},
};

cs_status cs_ranks_join(cs_args *args, cs_comm *out)
{
    cs_status status = cs_comm_open_mpi(out);
    if (status != CS_OK) return status;
    if (out->rank > 0) {
        cs_output_elsewhere(args);
    }
    if (!cs_args_given(args, "threads")) {
        int each = cs_threads() / out->neighbours;
        cs_threads_set(each > 0 ? each : 1);
    }
    status = cs_comm_check_alike(out, CS_VERSION " (" CS_COMMIT ")");
    return status ? cs_ranks_leave(out, cs_ranks_alone(args, out, status)) : CS_OK;
}

cs_status cs_ranks_alone(const cs_args *args, cs_comm *comm, cs_status status)
{
    if (status != CS_OK && !comm->agreed) {
        (void)fprintf(stderr, "cospec %s: rank %d of %d: %s\n", cs_args_command(args)->name,
                      comm->rank, comm->ranks, cs_reason());
        (void)fflush(stderr);
        comm->end(comm, cs_exit_code(status));
    }
    return status;
}

void cs_ranks_note(const cs_args *args, cs_comm *comm)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    double all = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    double sums[] = {(double)comm->sent, comm->seconds, all};
    if (cs_comm_sum(comm, 3, sums) != CS_OK) { /* the others wait for no more than this */
        cs_reason_clear();
        return;
    }
    cs_output_note(args,
                   "%d ranks, %d on this machine; %.4g MB sent; %.3g processor seconds, and %.3g "
                   "in messages",
                   comm->ranks, comm->neighbours, sums[0] * 1e-6, sums[2] - sums[1], sums[1]);
}

cs_status cs_ranks_leave(cs_comm *comm, cs_status status)
{
    if (!comm->agreed) {
        status = cs_comm_agree(comm, status);
    }
    if (comm->rank > 0) {
        cs_reason_clear(); /* rank 0 says it */
    }
    comm->close(comm);
    return status;
}
