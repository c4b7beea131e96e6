/* The kernels of the space in memory, for several instruction sets (space_kernels.c). Panels are
 * rows of CS_PANEL doubles aligned to a cache line; numbers of rows are multiples of CS_PANEL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/simd.h"

typedef struct {
    const char *name; /* "avx512", "avx2", "base" */

    /* h[l * 8 + j] += sum_i p[i * 8 + l] w[i * 8 + j], i in order. */
    void (*gram)(int64_t rows, const double *p, const double *w, double *h);

    /* to[i * 8 + j] = keep to[..] + sum_q sum_l panels[q][(first + i) * 8 + l] c[q * 64 + l * 8 + j], in the order of q and l. */
    void (*combine)(int64_t rows, int64_t first, int64_t p, double *const *panels, const double *c,
                    bool keep, double *to);
} cs_space_kernels;

CS_SIMD_DECLARE(cs_space_kernels, cs_space_kernels);
