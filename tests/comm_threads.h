/* A group of threads as a carrier (dist/comm.h): what is built over a group is tested without MPI.
 */
#pragma once

#include "dist/comm.h"

/* One rank's work; it must not assert, since it runs on a separate thread. */
typedef cs_status (*rank_fn)(cs_comm *comm, void *ctx);

enum { MOST_RANKS = 8 };

/* Runs fn on `ranks` threads. status[r] receives what rank r returned, reason[r] why. Returns the
 * bytes that all ranks have sent. A rank that calls end() aborts the program. */
int64_t run_ranks(int ranks, rank_fn fn, void *ctx, cs_status *status, char (*reason)[1024]);
