/* Word vectors trained by gradient descent in the graph of src/tensor, to be compared with the flow
 * and its closed form (qwem_flow.h). One table W serves both sides of a pair, as in the paper.
 *
 * With z = w_i . w_j, V tokens, joint probabilities a(i, j) and their marginal p, the gradient is
 * that of
 *
 *   full       1/4 sum_ij (M(i, j) - z)^2, all pairs in every step
 *   uniform    the same sum, over pairs drawn uniformly
 *   counts     V^2/2 (E_a[z^2/4 - z] + E_pp[z^2/4 + z]), pairs drawn from a and from p p^T
 *   skip-gram  V^2 (E_a[log(1 + e^-z)] + E_pp[log(1 + e^z)]), pairs drawn as in `counts`
 *
 * `counts` is QWEM's loss with word2vec's weights (a + p p)/2 of pairs, and `skip-gram` is that of
 * word2vec with one negative sample a pair (Mikolov et al. 2013), whose expansion to second order
 * is `counts`. The factors make the four equal where all weights are 1/V^2. Steps have no momentum
 * and no adaptive rate. Time is the sum of their rates, so that small steps of `full` are the flow.
 *
 * Under `counts` and `skip-gram` small embeddings follow D = V^2 (a - p p^T), not M. Their step is
 * in units of the largest modulus of an eigenvalue of D. */
#pragma once

#include "analysis/theorems/qwem_flow.h"
#include "linalg/csr.h"

typedef enum {
    CS_QWEM_FULL,
    CS_QWEM_UNIFORM,
    CS_QWEM_COUNTS,
    CS_QWEM_SKIP_GRAM,
    CS_QWEM_TRAININGS
} cs_qwem_training;

const char *cs_qwem_training_name(cs_qwem_training training);

/* Whether every pair has the same weight, as the closed form needs. */
bool cs_qwem_equal_weights(cs_qwem_training training);

/* Steps between two samples of a path. */
enum { CS_QWEM_STEPS = 20 };

/* Borrowed. */
typedef struct {
    const cs_csr *a;           /* counts of pairs, symmetric up to the order of rows */
    const int64_t *row_column; /* token of each row; NULL: row i is token i */
    cs_qwem_training training;
    uint64_t seed;
} cs_qwem_recipe;

/* Trains from W_0 (n x d), with problem->interval of time between two samples of the path and
 * CS_QWEM_STEPS steps. end: W (n x d). In single precision. Equal bits for any number of threads.
 * CS_ERR_CONVERGE when W is not finite; CS_ERR_INTERRUPT; CS_ERR_MEMORY. */
cs_status cs_qwem_train(const cs_qwem_problem *problem, const cs_qwem_recipe *recipe,
                        const cs_dense *start, cs_qwem_path *out, cs_dense *end) CS_MUST_CHECK;

/* The interval between two samples: 1 / lambda_1, or 1 over the largest modulus of an eigenvalue of
 * D, so that a step is stable for all of them. */
cs_status cs_qwem_interval(const cs_qwem_problem *problem, const cs_qwem_recipe *recipe,
                           double *out) CS_MUST_CHECK;
