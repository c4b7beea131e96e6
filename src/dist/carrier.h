/* MPI as the transport of a group. The code that uses MPI and PARPACK is a plug-in, cospec-mpi.so
 * (carrier_mpi.c), which is opened when a command is given --mpi. Otherwise the program loads no
 * MPI, and it builds and runs without it. */
#pragma once

#include "dist/comm.h"

/* Increased by every change of cs_comm. */
enum { CS_CARRIER_VERSION = 2 };

#define CS_CARRIER_SYMBOL "cs_mpi_carrier"

typedef struct {
    int32_t version, size; /* sizeof(cs_comm) */
    const char *built;     /* the MPI library of the build */
    /* Initialises MPI and fills *out; returns a message on failure, else NULL. */
    const char *(*open)(cs_comm *out);
} cs_carrier;

typedef const cs_carrier *(*cs_carrier_entry)(void);

/* The group that mpirun has started this process in; a single process without mpirun. Call it once.
 * CS_ERR_DEVICE: this build has no MPI, or MPI cannot be loaded or initialised. */
cs_status cs_comm_open_mpi(cs_comm *out) CS_MUST_CHECK;

/* Checks that all ranks run the same program on processors for which OpenBLAS selects the same
 * kernels: each rank solves small problems by itself, which must give the same bits. CS_ERR_DEVICE
 * names two ranks that differ. All ranks call it and return the same. */
cs_status cs_comm_check_alike(cs_comm *c, const char *version) CS_MUST_CHECK;
