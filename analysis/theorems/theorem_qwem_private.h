/* The audit of QWEM on one input: shared by theorem_qwem.c and theorem_qwem_trained.c. */
#pragma once

#include "analysis/theorems/qwem_train.h"
#include "analysis/theorems/registry.h"

/* A training: the problem with its interval, its path, and the eigenvalues of W W^T at the end,
 * descending. */
typedef struct {
    cs_qwem_problem problem;
    cs_qwem_path path;
    double *value;
} cs_qwem_run;

/* One input: M*, its eigenvalues, and the paths of both starts. */
typedef struct {
    cs_pool pool;
    const cs_theorem_input *options;
    const char *name;
    cs_dense m, vectors;
    double *lambda, next; /* next: lambda_(d+1), which may be 0 */
    double residual, gap; /* largest residual; least gap between two of lambda_1..lambda_(d+1) */
    double s;             /* of the start */
    cs_qwem_problem problem;
    cs_qwem_path coarse, aligned, random, solution;
    double aligned_error, random_error; /* of shares */
    double ordered;                     /* a start from which modes come in order, / lambda_d */
    int64_t steps;
    cs_qwem_run run[CS_QWEM_TRAININGS];
} cs_qwem_audit;

/* Trains every cs_qwem_training from W_0 (n x d). Errors of cs_qwem_train. */
cs_status cs_qwem_trainings(const cs_csr *a, const cs_dense *start, cs_qwem_audit *q) CS_MUST_CHECK;

/* Adds their statements, and to the row of mode k its half times and its course "~course". */
void cs_qwem_state_trainings(const cs_qwem_audit *q, cs_statements *out);
void cs_qwem_add_trainings(const cs_qwem_audit *q, int64_t k, cs_item *row);
