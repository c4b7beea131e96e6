/* The linear programmes of a Frank-Wolfe step, over and over with other costs:
 *
 *     min c'x    subject to    A x = b, x >= 0        (b >= 0)
 *
 * by the revised simplex method (Dantzig 1953). Every column of A has a few entries, and the rows are
 * few: the inverse of the basis is kept dense. Row i has an artificial column e_i, number columns + i.
 */
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

/* Room for the workspace, once the other fields are set. */
cs_status cs_simplex_init(cs_simplex *lp, cs_pool *pool) CS_MUST_CHECK;

/* The basis of artificial columns, from which everything begins. */
void cs_simplex_start(const cs_simplex *lp, int64_t *basis);

/* A vertex x from the basis in `basis` (rows numbers), which becomes its own. cost NULL: one that
 * leaves least on artificial columns, *left. Else one of least cost from such a basis, whose columns of
 * infinite cost are at 0 where that is possible. Returns a lower bound of the cost of any x by the
 * prices alone (weak duality); -infinity where the method stopped early, as it does on an interrupt. */
double cs_simplex_minimise(cs_simplex *lp, const double *cost, int64_t *basis, double *x,
                           double *left);
