/* The kernel of linalg/tridiagonal.h. Private to src/linalg. */
#pragma once

#include <stdint.h>

#include "base/simd.h"

enum {
    CS_STURM_POINTS = 32, /* numbers x at a time */
    CS_STURM_STEPS = 8,   /* of the recurrence between two scalings */
};

/* The characteristic polynomial of T at x, sign * 2^exponent (up to one constant for all
 * exponents), and the number of eigenvalues of T below x. */
typedef struct {
    double x[CS_STURM_POINTS], value[CS_STURM_POINTS];
    int64_t exponent[CS_STURM_POINTS], below[CS_STURM_POINTS];
} cs_sturm_batch;

typedef struct {
    /* d: n diagonal entries; e2: n squares, e2[0] = 0 and e2[k] of entry (k, k - 1). All |d - x| and e2
     * are at most 2, so that CS_STURM_STEPS steps stay within the range. */
    void (*count)(int64_t n, const double *d, const double *e2, cs_sturm_batch *batch);
} cs_sturm_kernels;

CS_SIMD_DECLARE(cs_sturm_kernels, cs_sturm_kernels);
