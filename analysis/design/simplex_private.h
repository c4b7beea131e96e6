/* The linear programmes of Frank-Wolfe steps, which differ in their costs only:
 *
 *     min c'x    subject to    A x = b, x >= 0        (b >= 0)
 *
 * by the revised simplex method (Dantzig 1953). Every column of A has few entries, and there are
 * few rows: the inverse of the basis is dense. Row i has an artificial column e_i, number columns +
 * i. */
#pragma once

#include "base/mem.h"

typedef struct {
    int64_t rows, columns;
    int64_t *ptr, *row; /* columns + 1; A by columns */
    double *value;
    double *right;  /* b */
    double largest; /* sum x <= largest for every x that meets the constraints */
    /* Workspace: */
    double *inverse; /* rows x rows, by rows */
    double *level, *price, *entering;
} cs_simplex;

/* Allocates the workspace, once the other fields are set. */
cs_status cs_simplex_init(cs_simplex *lp, cs_pool *pool) CS_MUST_CHECK;

/* The basis of artificial columns, which is the initial one. */
void cs_simplex_start(const cs_simplex *lp, int64_t *basis);

/* A vertex x from the basis in `basis` (rows numbers), which is replaced by that of x. cost NULL: a
 * vertex with the least remainder on artificial columns, *left. Else one of least cost from such a
 * basis, whose columns of infinite cost are at 0 if possible. Returns a lower bound of the cost of
 * any x by the prices (weak duality); -infinity if the method stopped early, as on an interrupt. */
double cs_simplex_minimise(cs_simplex *lp, const double *cost, int64_t *basis, double *x,
                           double *left);
