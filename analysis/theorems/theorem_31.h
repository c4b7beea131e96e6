/* The two sides of Theorem 3.1 for given factors: shared by theorem_31_audit.c and
 * learned_factors.c. */
#pragma once

#include "analysis/theorems/theorems.h"
#include "linalg/dense.h"

/* A without its empty rows and columns, divided by its sum, and its marginals. */
typedef struct {
    cs_pool pool;
    cs_csr a;                    /* joint probabilities */
    cs_csr abar;                 /* A / sqrt(P_C P_G) */
    double *root_row, *root_col; /* sqrt(P_C), sqrt(P_G) */
    double abar2;                /* ||Abar||_F^2 */
    int64_t longest_row;         /* most nonzeros of a row */
} cs_31_problem;

/* Values of one pair (f, W). */
typedef struct {
    double first, second;          /* the two expectations of the loss */
    double norm, norm_half;        /* ||Abar - F W'^T||^2, ||Abar / 2 - F W'^T||^2 */
    double loss_error, norm_error; /* loss_error is for b = 2 */
} cs_31_evaluation;

/* Checks A and drops its empty rows and columns; CS_ERR_INPUT when nothing is left. */
cs_status cs_31_problem_of(const cs_csr *a, cs_31_problem *out) CS_MUST_CHECK;
void cs_31_problem_free(cs_31_problem *problem);

/* Both sides for f (rows x t) and W (cols x t). */
cs_status cs_31_evaluate(const cs_31_problem *problem, const cs_dense *f, const cs_dense *w,
                         int threads, cs_31_evaluation *out) CS_MUST_CHECK;

/* diag(root) x, in the pool's memory. */
cs_dense cs_31_scaled(cs_pool *pool, const cs_dense *x, const double *root);

/* Whether norms are formed entry by entry. */
bool cs_31_entry_by_entry(const cs_31_problem *problem);

/* A constant that a statement claims to be the same for all f and W, and its numerical error. */
typedef struct {
    double lhs, rhs, error;
} cs_31_sides;

/* out(i, j) standard normal; `index` numbers the draw. */
void cs_31_normal(uint64_t seed, uint64_t index, cs_dense *out);

/* Eq. 7 on a problem small enough for P_T; *done says whether it was. Appends its statements. */
cs_status cs_31_symmetric(const cs_31_problem *problem, const char *input,
                          const cs_theorem_input *options, cs_statements *out,
                          bool *done) CS_MUST_CHECK;
