/* The plug-in: the one file that knows MPI and PARPACK. It calls nothing of the program.
 *
 * Errors of MPI keep its default handler, which ends all ranks with MPI's own message. Messages are
 * cut into pieces below 2^30 bytes, since MPI counts in int.
 */
#include <stdlib.h>
#include <time.h>

#include <mpi.h>

#include <arpack/arpackdef.h>
/* parpack.h takes MPI_Fint from mpi.h */
#include <arpack/parpack.h>

#include "dist/carrier.h"

enum { PIECE = 1 << 30, TAG = 1 };

static int piece(int64_t bytes, int64_t at)
{
    int64_t left = bytes - at;
    return (int)(left < 0 ? 0 : left < PIECE ? left : PIECE);
}

static double processor_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void swap(cs_comm *c, int to, const void *out, int64_t out_bytes, int from, void *in,
                 int64_t in_bytes)
{
    MPI_Comm *comm = c->ctx;
    int64_t most = out_bytes > in_bytes ? out_bytes : in_bytes;
    const double start = processor_seconds();
    c->messages += to >= 0 && out_bytes > 0;
    for (int64_t at = 0; at < most; at += PIECE) {
        int sends = to < 0 ? 0 : piece(out_bytes, at), takes = from < 0 ? 0 : piece(in_bytes, at);
        const void *sent = sends > 0 ? (const char *)out + at : NULL;
        void *taken = takes > 0 ? (char *)in + at : NULL;
        (void)MPI_Sendrecv(sent, sends, MPI_BYTE, sends > 0 ? to : MPI_PROC_NULL, TAG, taken, takes,
                           MPI_BYTE, takes > 0 ? from : MPI_PROC_NULL, TAG, *comm,
                           MPI_STATUS_IGNORE);
        c->sent += sends;
    }
    c->seconds += processor_seconds() - start;
}

static void end_all(cs_comm *c, int code)
{
    (void)MPI_Abort(*(MPI_Comm *)c->ctx, code);
    exit(code); /* MPI_Abort of a lone process may come back */
}

static void finish(cs_comm *c)
{
    (void)MPI_Comm_free(c->ctx);
    free(c->ctx);
    (void)MPI_Finalize();
}

static void dsaupd(cs_comm *c, int *ido, const char *bmat, int n, const char *which, int nev,
                   double tol, double *resid, int ncv, double *v, int ldv, int *iparam, int *ipntr,
                   double *workd, double *workl, int lworkl, int *info)
{
    pdsaupd_c(MPI_Comm_c2f(*(MPI_Comm *)c->ctx), ido, bmat, n, which, nev, tol, resid, ncv, v, ldv,
              iparam, ipntr, workd, workl, lworkl, info);
}

static void dseupd(cs_comm *c, int rvec, const char *howmny, const int *select, double *d,
                   double *z, int ldz, double sigma, const char *bmat, int n, const char *which,
                   int nev, double tol, double *resid, int ncv, double *v, int ldv, int *iparam,
                   int *ipntr, double *workd, double *workl, int lworkl, int *info)
{
    pdseupd_c(MPI_Comm_c2f(*(MPI_Comm *)c->ctx), rvec, howmny, select, d, z, ldz, sigma, bmat, n,
              which, nev, tol, resid, ncv, v, ldv, iparam, ipntr, workd, workl, lworkl, info);
}

static const char *open_group(cs_comm *out)
{
    static const cs_comm_arpack parpack = {dsaupd, dseupd};
    int given = 0;
    MPI_Comm machine, *own = malloc(sizeof *own);
    if (!own) {
        return "out of memory";
    }
    /* Only the thread that opened the group may call MPI (MPI_THREAD_FUNNELED). */
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS ||
        given < MPI_THREAD_FUNNELED) {
        free(own);
        return "MPI cannot be initialised with thread support";
    }
    *out = (cs_comm){.ctx = own, .swap = swap, .end = end_all, .close = finish, .arpack = &parpack};
    (void)MPI_Comm_dup(MPI_COMM_WORLD, own);
    (void)MPI_Comm_rank(*own, &out->rank);
    (void)MPI_Comm_size(*own, &out->ranks);
    (void)MPI_Comm_split_type(*own, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    (void)MPI_Comm_size(machine, &out->neighbours);
    (void)MPI_Comm_free(&machine);
    return NULL;
}

__attribute__((visibility("default"))) const cs_carrier *cs_mpi_carrier(void);

const cs_carrier *cs_mpi_carrier(void)
{
    static const cs_carrier carrier = {
        .version = CS_CARRIER_VERSION,
        .size = (int32_t)sizeof(cs_comm),
#if defined(OMPI_MAJOR_VERSION)
        .built = "Open MPI",
#else
        .built = "MPI",
#endif
        .open = open_group
    };
    return &carrier;
}
