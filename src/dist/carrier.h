/* MPI as the carrier of a group. The code that knows MPI and PARPACK is a plug-in, cospec-mpi.so
 * (carrier_mpi.c), opened when a command is given --mpi: without that the program loads no MPI, and
 * it builds and runs where there is none.
 */
#pragma once

#include "dist/comm.h"

/* Raised by every change of cs_comm. */
enum { CS_CARRIER_VERSION = 1 };

#define CS_CARRIER_SYMBOL "cs_mpi_carrier"

typedef struct {
    int32_t version, size; /* sizeof(cs_comm) */
    const char *built;     /* the MPI that it was built with */
    /* Initialises MPI and fills *out; a message where that fails, else NULL. */
    const char *(*open)(cs_comm *out);
} cs_carrier;

typedef const cs_carrier *(*cs_carrier_entry)(void);

/* The group that mpirun has started this process in; alone when it was started without. To be
 * called once. CS_ERR_DEVICE: this build has no MPI, or it cannot be loaded or initialised. */
cs_status cs_comm_open_mpi(cs_comm *out) CS_MUST_CHECK;

/* Checks that all ranks run the same program on processors that compute alike, by OpenBLAS's choice
 * of kernel: each rank computes with its own small matrices, which must give the same bits.
 * CS_ERR_DEVICE names two that differ. Collective; all ranks return the same. */
cs_status cs_comm_check_alike(cs_comm *c, const char *version) CS_MUST_CHECK;
