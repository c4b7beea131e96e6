/** \file
 * Linear operators: a matrix defined by its products with blocks of vectors. Solvers use only this
 * interface, and compositions (deflated, transposed) are built from it.
 *
 * - apply: Y = A X, X cols x k, Y rows x k; turned Y = A^T X, X rows x k, Y cols x k.
 * - panel: the same for panels of CS_PANEL columns stored row by row (linalg/csr.h).
 * - normal: Y = A^T A X of panels, turned Y = A A^T X, which may read the matrix once.
 *
 * An operator may be used from one thread at a time; its products use threads themselves.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "linalg/csr.h"
#include "linalg/dense.h"

/** The operator as data, A - U diag(s) V^T, for devices. Borrowed. */
typedef struct {
    /** A; NULL: known by its products only. */
    const cs_csr *a;
    /** A^T; NULL as `a`. */
    const cs_csr *at;
    /** rows x p; NULL: nothing is subtracted. */
    const cs_dense *u;
    /** cols x p; NULL as `u`. */
    const cs_dense *v;
    /** p values. */
    const double *s;
} cs_linop_data;

/** An operator. */
typedef struct cs_linop {
    /** Number of rows. */
    int64_t rows;
    /** Number of columns. */
    int64_t cols;
    /** First argument of the functions; owned by the struct of the composition. */
    void *ctx;
    /** `ctx` describes the transpose. */
    bool turned;
    /** Y = A X, or Y = A^T X with `turn`. Y is allocated by the caller. */
    cs_status (*apply)(void *ctx, bool turn, const cs_dense *x, cs_dense *y);
    /** The same for panels; may be NULL. */
    cs_status (*panel)(void *ctx, bool turn, const double *x, double *y);
    /** The normal product of panels; `work` is scratch aligned to 64 bytes. */
    cs_status (*normal)(void *ctx, bool turn, const double *x, double *y, double *work);
    /** Doubles of scratch for A^T A; -1: not offered. */
    int64_t work_size;
    /** Doubles of scratch for A A^T; -1: not offered. */
    int64_t work_size_t;
    /** A is symmetric and positive semidefinite: a Krylov space of A serves in place of one of A^T
     * A.
     */
    bool semidefinite;
    /** Of sparse matrices, deflated sparse ones and their transposes; borrowed. */
    cs_linop_data data;
} cs_linop;

/** Y = op X, or op^T X with `turn`. */
static inline cs_status cs_linop_apply(const cs_linop *op, bool turn, const cs_dense *x,
                                       cs_dense *y)
{
    return op->apply(op->ctx, op->turned != turn, x, y);
}

/** The same for panels. */
static inline cs_status cs_linop_panel(const cs_linop *op, bool turn, const double *x, double *y)
{
    return op->panel(op->ctx, op->turned != turn, x, y);
}

/** Y = op^T op X for panels. */
static inline cs_status cs_linop_normal(const cs_linop *op, const double *x, double *y,
                                        double *work)
{
    return op->normal(op->ctx, op->turned, x, y, work);
}

/** Context of cs_linop_csr; must outlive the operator. */
typedef struct {
    /** A. */
    const cs_csr *a;
    /** A^T. */
    const cs_csr *at;
    /** 0: cs_threads(). */
    int threads;
} cs_linop_csr_ctx;

/** The operator of a sparse matrix. `a` and its transpose `at` are borrowed. */
cs_linop cs_linop_csr(cs_linop_csr_ctx *ctx, const cs_csr *a, const cs_csr *at, int threads);

/** Context of cs_linop_deflated; must outlive the operator. */
typedef struct {
    /** A. */
    const cs_linop *inner;
    /** U, rows x p. */
    const cs_dense *u;
    /** V, cols x p. */
    const cs_dense *v;
    /** p values. */
    const double *s;
} cs_linop_deflated_ctx;

/** A - U diag(s) V^T. U is rows x p, V is cols x p, s has p values; all borrowed. `singular`: they
 * are singular triplets of A to rounding, with orthonormal U and V; then the normal product A^T
 * A - V diag(s^2) V^T is offered if A find_heuristics its own.
 */
cs_linop cs_linop_deflated(cs_linop_deflated_ctx *ctx, const cs_linop *inner, const cs_dense *u,
                           const double *s, const cs_dense *v, bool singular);

/** Context of cs_linop_outer; must outlive the operator. `minus` comes first: the products of a
 * deflated operator are those of this one.
 */
typedef struct {
    /** The operator as a deflated one. */
    cs_linop_deflated_ctx minus;
    /** l as a matrix of one column. */
    cs_dense left;
    /** r as a matrix of one column. */
    cs_dense right;
    /** \f$A^T l - r |l|^2/2\f$ and \f$A r - l |r|^2/2\f$, for the normal products. */
    const double *correction[2];
    /** Owns the two. */
    cs_pool pool;
} cs_linop_outer_ctx;

/** \f$A - l r^T\f$ for any l of `rows` values and r of `cols` values, borrowed. The normal product
 * A^T A gets its correction of rank two. Free the context with cs_linop_outer_ctx_free, also after a
 * failure.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_linop_outer(cs_linop_outer_ctx *ctx, const cs_linop *inner, double *left,
                         double *right, cs_linop *out) CS_MUST_CHECK;

/** Frees what the context owns; accepts a zeroed one. */
void cs_linop_outer_ctx_free(cs_linop_outer_ctx *ctx);

/** A^T. */
cs_linop cs_linop_transposed(const cs_linop *inner);
