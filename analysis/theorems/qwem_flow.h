/* Gradient flow of the quadratic word embedding model (QWEM, Karkada et al. 2025), and its solution
 * in closed form.
 *
 * M is a symmetric n x n matrix with eigenvalues lambda_1 >= lambda_2 >= ..., of any sign, and
 * eigenvectors v_k. The embeddings W, n x d, follow the gradient of L(W) = ||M - W W^T||_F^2 / 4:
 *
 *   dW/dt = (M - W W^T) W
 *
 * X = W W^T then solves a Riccati equation, dX/dt = M X + X M - 2 X^2, which is linear in other
 * coordinates (Yan, Helmke and Moore 1994). For every start W_0,
 *
 *   X(t) = e^(Mt) W_0 (I + W_0^T K_t W_0)^-1 W_0^T e^(Mt),   K_t = int_0^t 2 e^(2 M s) ds.
 *
 * So the range of W(t) is that of e^(Mt) W_0. With Theta the angles between it and the range of the
 * first d eigenvectors,
 *
 *   ||tan Theta(t)||_2 <= e^(-(lambda_d - lambda_(d+1)) t) ||tan Theta(0)||_2.
 *
 * An aligned start, W_0 = sqrt(s) (v_1 ... v_d), makes X diagonal in the eigenvectors, and each of
 * its eigenvalues follows a sigmoid,
 *
 *   s_k(t) = lambda_k / (1 + (lambda_k / s - 1) e^(-2 lambda_k t)),
 *   half of lambda_k at t_k = ln(lambda_k / s - 1) / (2 lambda_k).
 *
 * t_k falls with lambda_k where y = lambda_k / s - 1 has (y + 1) / y < ln y, so for
 * lambda_k > CS_QWEM_ORDERED s. */
#pragma once

#include "linalg/dense.h"

/* Above 1 + y for the root y = 3.591 of (y + 1) / y = ln y. */
#define CS_QWEM_ORDERED 4.6

/* Borrowed. */
typedef struct {
    const cs_dense *m;       /* n x n, symmetric */
    const cs_dense *vectors; /* n x r, orthonormal: all eigenvectors with a nonzero eigenvalue */
    const double *lambda;    /* r eigenvalues, descending */
    int64_t width;           /* d, at most the number of positive eigenvalues */
    int64_t samples;         /* after the start */
    double interval;         /* time between two samples */
} cs_qwem_problem;

/* Samples 0..samples of a path, for one start. */
typedef struct {
    double *share;   /* d values each: v_k^T X v_k */
    double *tangent; /* ||tan Theta||_2; the flow only */
    double distance; /* ||X - sum_(k<=d) lambda_k v_k v_k^T||_F at the end; the flow only */
} cs_qwem_path;

/* A path in memory of the pool; members are NULL after a failure of the pool. */
cs_qwem_path cs_qwem_path_in(cs_pool *pool, const cs_qwem_problem *problem);

/* The flow from W_0 (n x d) by Runge and Kutta's method of order four, `steps` of them between two
 * samples. CS_ERR_INTERRUPT; CS_ERR_MEMORY. */
cs_status cs_qwem_flow(const cs_qwem_problem *problem, const cs_dense *start, int64_t steps,
                       cs_qwem_path *out) CS_MUST_CHECK;

/* The shares of X(t) in closed form. It is composed of one solution per interval, each from the
 * last, since e^(2 M t) exceeds any precision for long t. */
cs_status cs_qwem_solution(const cs_qwem_problem *problem, const cs_dense *start,
                           cs_qwem_path *out) CS_MUST_CHECK;

/* Share and tangent of a sample of W (n x d). */
cs_status cs_qwem_measure(const cs_qwem_problem *problem, const cs_dense *w, int64_t sample,
                          cs_qwem_path *out) CS_MUST_CHECK;

/* The distance of W, whose shares are those of the last sample. */
cs_status cs_qwem_distance(const cs_qwem_problem *problem, const cs_dense *w,
                           cs_qwem_path *out) CS_MUST_CHECK;

/* When mode k first has half of its eigenvalue: between two samples log odds are linear, which is
 * exact for a sigmoid. Infinite: never. */
double cs_qwem_half(const cs_qwem_problem *problem, const double *share, int64_t k);

/* An estimate of the error of this interpolation, from the change where every second sample is left
 * out; at most the time between two samples. */
double cs_qwem_half_error(const cs_qwem_problem *problem, const double *share, int64_t k);

/* Eigenvalues that differ by at most this times lambda_1 are equal. */
#define CS_QWEM_EQUAL 1e-9

/* Two modes with lambda_first > lambda_second, and their half times with the error of both. */
typedef struct {
    int64_t first, second; /* -1: no two eigenvalues differ */
    double before, after, error;
} cs_qwem_pair;

/* Of all such modes the two whose half times are nearest to the wrong order, or most in it. A mode
 * that is never half learned comes after all that are; two of them are chosen only where no mode
 * is. */
cs_qwem_pair cs_qwem_nearest(const cs_qwem_problem *problem, const double *share);

/* s_k(t) and t_k of an aligned start with s. */
double cs_qwem_sigmoid(double lambda, double s, double t);
double cs_qwem_half_time(double lambda, double s);
