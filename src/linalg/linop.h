/* A matrix is what it does to a block of vectors. Solvers see only this interface; compositions
 * (normalised, deflated, transposed) are built from it.
 *
 *   apply:    Y = A X      X cols x k, Y rows x k
 *   apply_t:  Y = A^T X    X rows x k, Y cols x k
 *
 * An operator may also know the same products of panels: CS_PANEL columns stored row by row
 * (linalg/csr.h), which save the block solver two transpositions a product; and the normal product
 * of panels of the right side, Y = A^T A X, where it costs less than one product after the other.
 */
#ifndef CS_LINALG_LINOP_H
#define CS_LINALG_LINOP_H

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
/* Y = A^T A X of panels; apply NULL: not offered. room: doubles of scratch aligned to 64. */
typedef struct {
    cs_status (*apply)(void *ctx, const double *x, double *y, double *room);
    int64_t room;
} cs_normal_product;

typedef struct cs_linop {
    int64_t rows, cols;
    cs_status (*apply)(void *ctx, const cs_dense *x, cs_dense *y);
    cs_status (*apply_t)(void *ctx, const cs_dense *x, cs_dense *y);
    void *ctx; /* owned by the composition struct that made the operator */
    cs_status (*panel)(void *ctx, const double *x, double *y); /* both or neither; may be NULL */
    cs_status (*panel_t)(void *ctx, const double *x, double *y);
    cs_linop_data data; /* of sparse, deflated sparse (once) and their transposes; borrowed */
    cs_normal_product normal, normal_t; /* normal_t: Y = A A^T X */
} cs_linop;

/* A sparse matrix; keeps both A and A^T. a and at are borrowed. */
typedef struct {
    const cs_csr *a, *at;
    int threads;
} cs_linop_csr_ctx;
cs_linop cs_linop_csr(cs_linop_csr_ctx *ctx, const cs_csr *a, const cs_csr *at, int threads);

/* D_r A D_c: rows scaled by r (rows values), columns by c (cols values); either NULL for 1. */
typedef struct {
    const cs_linop *inner;
    const double *r, *c;
    cs_dense scratch_rows, scratch_cols; /* grown as needed; freed by cs_linop_scaled_free */
} cs_linop_scaled_ctx;
cs_linop cs_linop_scaled(cs_linop_scaled_ctx *ctx, const cs_linop *inner, const double *r,
                         const double *c);
void cs_linop_scaled_free(cs_linop_scaled_ctx *ctx);

/* A - U diag(s) V^T: known triplets removed. U rows x p, V cols x p, s p values; borrowed. */
typedef struct {
    const cs_linop *inner;
    const cs_dense *u, *v;
    const double *s;
} cs_linop_deflated_ctx;
cs_linop cs_linop_deflated(cs_linop_deflated_ctx *ctx, const cs_linop *inner, const cs_dense *u,
                           const double *s, const cs_dense *v);

/* The same of triplets that are singular ones of A to rounding, U and V orthonormal: then A - U
 * diag(s) V^T has the normal product A^T A - V diag(s^2) V^T, which is offered where A's is. */
cs_linop cs_linop_deflated_singular(cs_linop_deflated_ctx *ctx, const cs_linop *inner,
                                    const cs_dense *u, const double *s, const cs_dense *v);

/* A^T. */
cs_linop cs_linop_transposed(const cs_linop *inner);

#endif
