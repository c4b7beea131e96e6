/* Singular values by the plug-in against the CPU's: for the emulation and for a GPU, without
 * cmocka.
 */
#pragma once

#include <stdbool.h>

#include "linalg/gpu.h"
#include "linalg/svd.h"

enum { CS_SVD_WHY = 400 };

enum { CS_OUT_NOTHING, CS_OUT_LARGEST, CS_OUT_OUTER }; /* the largest triplet, an outer product */

typedef struct {
    const char *name;
    cs_status (*make)(cs_csr *out);
    cs_solver solver;
    int64_t k;
    int out;   /* what is taken out of the matrix */
    bool gram; /* no dense copy allowed */
} cs_svd_case;

extern const cs_svd_case cs_svd_cases[]; /* ends with a NULL name */

/* The case on `gpu` and by LAPACK: values within 1e-10 sigma_1, residuals (recomputed on the CPU)
 * within the solver's tolerance, orthonormal vectors, and every bit again when repeated. False with
 * the reason in why. */
bool cs_svd_compare(cs_gpu *gpu, const cs_svd_case *c, char why[CS_SVD_WHY]);

/* An operator and what it needs alive; does not move once opened. */
typedef struct {
    cs_csr a, at;
    cs_linop_csr_ctx csr;
    cs_linop_deflated_ctx deflated;
    cs_linop_outer_ctx outer;
    cs_linop sparse, op;
    cs_svd first;
} cs_svd_world;
cs_status cs_svd_world_open(const cs_svd_case *c, cs_svd_world *w);
void cs_svd_world_close(cs_svd_world *w);
