/* A matrix is what it does to a block of vectors. Solvers see only this interface; compositions
 * (deflated, transposed) are built from it. Every product has a side: of A, or of A^T (`turn`).
 *
 *   apply:   Y = A X      X cols x k, Y rows x k;   turned Y = A^T X
 *
 * An operator may also know the same product of panels: CS_PANEL columns stored row by row
 * (linalg/csr.h), which save the block solver two transpositions a product; and the normal product
 * of panels, Y = A^T A X (turned Y = A A^T X), which may read the matrix once, and takes known triplets
 * out on one side.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "linalg/csr.h"
#include "linalg/dense.h"

/* The operator as data, A - U diag(s) V^T: what a device takes of it. */
typedef struct {
    const cs_csr *a, *at;  /* NULL: known by its products alone */
    const cs_dense *u, *v; /* NULL: nothing to subtract */
    const double *s;
} cs_linop_data;

typedef struct cs_linop {
    int64_t rows, cols;
    void *ctx;   /* owned by the composition struct that made the operator */
    bool turned; /* ctx speaks of the transpose */
    cs_status (*apply)(void *ctx, bool turn, const cs_dense *x, cs_dense *y);
    cs_status (*panel)(void *ctx, bool turn, const double *x, double *y); /* may be NULL */
    /* room: doubles of scratch aligned to 64 */
    cs_status (*normal)(void *ctx, bool turn, const double *x, double *y, double *room);
    int64_t room, room_t; /* of A^T A, of A A^T; -1: that product is not offered */
    bool semidefinite;  /* A = A^T without a negative eigenvalue: a Krylov space of A itself serves
                             where another operator takes one of A^T A */
    cs_linop_data data; /* of sparse, deflated sparse (once) and their transposes; borrowed */
} cs_linop;

/* The products of the operator as it is turned. */
static inline cs_status cs_linop_apply(const cs_linop *op, bool turn, const cs_dense *x,
                                       cs_dense *y)
{
    return op->apply(op->ctx, op->turned != turn, x, y);
}

static inline cs_status cs_linop_panel(const cs_linop *op, bool turn, const double *x, double *y)
{
    return op->panel(op->ctx, op->turned != turn, x, y);
}

static inline cs_status cs_linop_normal(const cs_linop *op, const double *x, double *y,
                                        double *room)
{
    return op->normal(op->ctx, op->turned, x, y, room);
}

/* A sparse matrix; keeps both A and A^T. a and at are borrowed. */
typedef struct {
    const cs_csr *a, *at;
    int threads;
} cs_linop_csr_ctx;
cs_linop cs_linop_csr(cs_linop_csr_ctx *ctx, const cs_csr *a, const cs_csr *at, int threads);

/* A - U diag(s) V^T: known triplets removed. U rows x p, V cols x p, s p values; borrowed.
 * singular: they are singular triplets of A to rounding, U and V orthonormal; then the normal
 * product A^T A - V diag(s^2) V^T is offered where A's is. */
typedef struct {
    const cs_linop *inner;
    const cs_dense *u, *v;
    const double *s;
} cs_linop_deflated_ctx;
cs_linop cs_linop_deflated(cs_linop_deflated_ctx *ctx, const cs_linop *inner, const cs_dense *u,
                           const double *s, const cs_dense *v, bool singular);

/* A^T. */
cs_linop cs_linop_transposed(const cs_linop *inner);
