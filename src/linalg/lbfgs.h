/* Minimising a smooth function of many variables by L-BFGS (Nocedal 1980), with the line search of
 * Moré and Thuente (1994). The minimum is a local one.
 *
 * libLBFGS is the same method, and was used before. Debian builds it without vector instructions, and
 * where evaluating f is cheap nearly all the time goes into the products of vectors of the method,
 * which are wide here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    /* f(x) and its gradient. */
    cs_status (*evaluate)(void *ctx, int64_t n, const double *x, double *f, double *gradient);
    /* NULL, or whether the search may end, after each iteration; x was evaluated last. */
    bool (*enough)(void *ctx);
    void *ctx;
    int64_t n;              /* variables */
    int64_t memory;         /* pairs of vectors that are kept */
    int64_t max_iterations; /* 0 leaves x */
    double tolerance;       /* ends at |gradient| <= tolerance max(1, |x|) */
} cs_lbfgs;

/* Moves x from the start to the result. Ends without an error too where max_iterations are spent, and
 * where the line search finds nothing better, which is at the precision of f; x is then the last point
 * that it accepted. Bits do not depend on the
 * number of threads, as far as those of `evaluate` do not. Time: 8 memory n flops an iteration in
 * addition to `evaluate`; memory: (2 memory + 4) n numbers.
 *
 * CS_ERR_INTERRUPT, CS_ERR_MEMORY, and what `evaluate` returns. */
cs_status cs_lbfgs_minimise(const cs_lbfgs *problem, double *x) CS_MUST_CHECK;
