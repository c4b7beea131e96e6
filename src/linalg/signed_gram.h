/* Symmetric matrices P = B^T B - E^T E + diag(d) of sparse B and E without negative entries, such
 * as sums of outer products minus others. No function needs cols x cols memory. */
#pragma once

#include "base/progress.h"
#include "linalg/csr.h"
#include "linalg/linop.h"

typedef struct {
    cs_csr plus, minus; /* B, E: of equal numbers of columns */
    double *diagonal;   /* cols */
} cs_signed_gram;

void cs_signed_gram_free(cs_signed_gram *p);

/* tr diag(f) P, f NULL: ones. */
double cs_signed_gram_trace(const cs_signed_gram *p, const double *f);

/* y = P x: x and y cols x k, y allocated by the caller (0 threads: cs_threads()). 2 nnz
 * multiply-adds a column; memory as of cs_csr_apply_normal. */
cs_status cs_signed_gram_apply(const cs_signed_gram *p, const cs_dense *x, int threads,
                               cs_dense *y) CS_MUST_CHECK;

/* *plain = tr P Q = sum_uv P_uv Q_uv; *scaled = sum_uv f_u f_v P_uv Q_uv (f of cols values; NULL:
 * *scaled is not set). Rows of P and Q are computed eight at a time and not stored. Same bits for
 * any number of threads (0: cs_threads()). Memory: 12 bytes an entry, 128 bytes a column and
 * thread. CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_signed_gram_inner(const cs_signed_gram *p, const cs_signed_gram *q, const double *f,
                               int threads, double *plain, double *scaled) CS_MUST_CHECK;

typedef struct {
    uint64_t seed;
    int threads;
    const cs_dense *start; /* guess of the vectors, cols x any; NULL: none */
    const cs_progress *progress;
} cs_signed_gram_options;

/* The k algebraically largest eigenvalues of P, descending, to 1e-9 of the largest modulus (NaN
 * beyond cols), and vectors (cols x k; NULL: not wanted). By the solvers of linalg/svd.h on P + c
 * I, P with fewer rows (signed_gram_compact.c, 12 bytes an entry), c a bound on -lambda_min: on the
 * largest eigenvalue of E^T E - min(diag(d), 0), which has no negative entry, by Collatz and
 * Wielandt. CS_ERR_CONVERGE, CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_signed_gram_leading(const cs_signed_gram *p, int64_t k,
                                 const cs_signed_gram_options *options, double *values,
                                 cs_dense *vectors) CS_MUST_CHECK;

/* The algebraically smallest eigenvalue of P, as the largest of -P. Errors as above. */
cs_status cs_signed_gram_least(const cs_signed_gram *p, const cs_signed_gram_options *options,
                               double *value) CS_MUST_CHECK;

/* P + c I as an operator that is symmetric and positive semidefinite, c as above. Its memory is
 * freed by cs_signed_gram_shift_free, before P. */
typedef struct {
    struct cs_signed_gram_shifted *held;
    cs_linop op;
    double c;
} cs_signed_gram_shift;
cs_status cs_signed_gram_shift_of(const cs_signed_gram *p, int threads,
                                  cs_signed_gram_shift *out) CS_MUST_CHECK;
void cs_signed_gram_shift_free(cs_signed_gram_shift *shift);
