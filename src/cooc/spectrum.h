/* The normalised SVD of a co-occurrence matrix, with reductions before and certificates after
 * (spectra.md).
 *
 * A (rows X, columns X+; counts or probabilities, any scale) -> Abar = A / sqrt(P_C P_G). Rows and
 * columns of zero mass are dropped. Then: components (closed-form sigma = 1 triplets), exact
 * lumping, small components dense in batches, large ones by the sparse solver on the deflated
 * operator, merge, lift back, residuals through the full Abar, moments, certificates.
 *
 * A Gram form (cs_csr.gram) is sum_X A(X, u) A(X, v) / P_C(X), for an A that is not at hand.
 * Divided by its own marginals it is Abar^T Abar, and everything below is said of A: sigma is the
 * root of an eigenvalue, sum sigma^2 the trace, sum sigma^4 the squared Frobenius norm. There are
 * right vectors alone.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "cooc/moments.h"
#include "linalg/csr.h"
#include "linalg/density.h"
#include "linalg/svd.h"

/* Certificates to run, added up. 0: components and moments, which cost next to nothing.
 */
enum {
    CS_CERTIFY_COMPONENTS = 1,
    CS_CERTIFY_MOMENTS = 2,
    CS_CERTIFY_PROBE = 4,
    CS_CERTIFY_USUAL = 7, /* the three above */
    CS_CERTIFY_INERTIA = 8,
    CS_CERTIFY_NONE = 16 /* none of them; residuals are taken all the same */
};

/* Limits of the inertia certificate: the order of the largest matrix factored (512 MiB), and the
 * multiply-adds of one count (about half a minute on one core). */
enum { CS_INERTIA_ORDER = 8192 };
static const double CS_INERTIA_WORK = 2e11;

typedef struct {
    int64_t k;       /* triplets wanted; 0: all. More than min(rows, cols) is CS_ERR_USAGE */
    bool normalised; /* the matrix is Abar already: nothing is divided; sigma_1 of a component comes
                        from the solver */
    bool scaled;     /* with it: solve it at the scale it has (certificates.h) */
    bool no_reduction; /* neither components nor lumping: one solver call on the whole matrix (a
                          cross-check) */
    bool values_only;  /* drop u and v from the result (they are computed all the same for the
                          residuals) */
    cs_solver solver;
    struct cs_gpu *gpu; /* where large blocks are solved (linalg/gpu.h); NULL: on the CPU. Residuals
                           and certificates are the CPU's either way */
    double tol; /* relative residual wanted; 0: 1e-12 of the solver, and of the residuals too
                           but where rounding of long rows or columns may add more */
    int64_t max_iterations;
    uint64_t seed;
    int threads;
    unsigned certify;      /* CS_CERTIFY_... */
    bool moment4;          /* compute sum sigma^4: exact within the budget, else estimated from 64
                              samples beside the triplets found and at least 32 vectors in all */
    double moment4_budget; /* multiply-adds the exact sum may cost; 0: CS_MOMENT4_BUDGET
                              (moments.h), a positive value below 1: never exact */
    double moment4_cost;   /* of the matrix as it is given, where that is known already; 0: not */
    bool moment4_sparing;  /* beyond CS_MOMENT4_CHEAP only where the certificate of moments may pass
                              with the exact sum, as the estimate says; never where all are found */
    const cs_progress *progress;
    bool departure;        /* take how far u and v are from orthonormal */
    bool partial;          /* interrupted in the block solver: give what had converged by then,
                              uncertified, rather than CS_ERR_INTERRUPT */
    int64_t solver_memory; /* most bytes of the block solver's basis; 0: linalg/svd.h's */
    const cs_dense *start_u, *start_v; /* guess of left and right vectors for the block solver (rows
                              x p and cols x p, p not 0, such as those of an earlier result); both
                              NULL: none */
    int64_t second; /* 1 more than a component's number (reduce.h): its second triplet comes with
                       its vectors, whatever is done with the others; 0: of none */
    const cs_kept_rows
        *rows; /* which rows of a larger matrix `a` has, the others being empty: k and
                               the sizes in the result are those of the whole, start_u, u and
                               row_mass have a's rows. NULL: a is the whole */
} cs_spectrum_options;

/* Inconclusive: the certificate is one-sided and its condition does not hold, which disproves
 * nothing.
 */
typedef enum {
    CS_CERT_NOT_RUN,
    CS_CERT_PASSED,
    CS_CERT_FAILED,
    CS_CERT_INCONCLUSIVE
} cs_cert_state;

typedef struct {
    cs_cert_state state;
    double value, bound; /* meaning by certificate, below */
    double reach;        /* no singular value above it is missing; NaN: this is not said */
    char why[320]; /* why it was not run or proves nothing, or what it found; "" where the numbers
                      say it all */
} cs_certificate;

typedef struct {
    int64_t rows, cols;           /* of the input */
    int64_t zero_rows, zero_cols; /* dropped */
    int64_t nnz;
    double mass; /* sum of A */
    bool gram;   /* the input is a Gram form */
    int64_t components;
    int64_t lumped_rows, lumped_cols; /* sizes after lumping */
    int64_t rank;                     /* k when these are all nonzero singular values, else -1 */
    int64_t k;                        /* nonzero triplets returned */
    int64_t zeros;                    /* wanted, but zero: counted apart */
    double *sigma;                    /* k descending */
    double *residual; /* k, through the full Abar; of a Gram form M ||M v - sigma^2 v|| / sigma */
    cs_dense u, v;    /* rows x k, cols x k in the input's numbering (zero rows for dropped ones);
                         empty if values_only, of a Gram form u always. The first entry of v_j within
                         1e-6 of its largest modulus is positive */
    int64_t second;   /* which triplet is the one that `second` asks for; -1: none */
    cs_dense second_u, second_v; /* its vectors as u and v; rows x 1, cols x 1; else empty */
    double *row_mass,
        *col_mass; /* P_C, P_G: rows, cols values summing to 1 (unset when normalised) */
    bool converged;
    bool interrupted; /* what had converged when the solver was stopped, not
                         certified (but for residuals): values between may be
                         missing */
    cs_solver solver; /* of the largest component */
    double tol;       /* relative residual that is allowed */
    double floor;     /* values below it are counted as zero */
    int exponent; /* 0; within the stages, and in what they are given, all numbers represent those
                     of 2^exponent times the matrix */
    double departure; /* at least ||X^T X - I||_F of the left and of the right vectors; NaN where it
                         was not asked for and no certificate needed it */
    double sum_sigma2;                   /* ||Abar||_F^2 */
    double sum_sigma4, sum_sigma4_error; /* error 0: exact; NaN value: not computed, or out of the
                                            range of doubles (sum4) */
    double sum_sigma4_cost; /* multiply-adds that the exact sum costs after the reductions */
    cs_sum4 sum4;           /* how sum_sigma4 was computed, and its interval */
    /* Passed when value <= bound, slack included, but for components and inertia.
     *
     * components  value = number of returned sigma within 1e-9 of 1, bound = components. Passed
     *             when value = min(wanted, components), failed below. Inconclusive above: then
     *             near_ones values come within 1e-9 of 1, from nearly separate parts of one
     *             component, which the theorem says are not 1. Not run when a matrix that came
     *             normalised has a negative entry (the theorem does not speak of it), was not
     *             reduced, or has a component without sigma = 1 (to 1e-9).
     *
     * moments     All triplets: value = |sum sigma_j^2 - ||Abar||^2|, bound = its rounding bound,
     *             from the residuals; failed above. What is missing has squares of value + bound
     *             at most in sum, so reach = sqrt(value + bound): inconclusive where that is no
     *             smaller than sigma_k, unless there is no room for another value.
     *             Truncated: value = an upper bound on sigma_{k+1} from what the sums leave over,
     *             T2 = sum sigma^2 - sum_{j<=k} sigma_j^2 and T4 likewise, for the n values that
     *             remain: the least of sqrt(T2), T4^(1/4), the square root of T2/n +
     *             sqrt((n - 1)(T4/n - (T2/n)^2)) (Samuelson's inequality) and, unless the matrix
     *             came with larger values or signs, 1; bound = sigma_k (1 + 1e-9). Passed: nothing
     *             was missed. Above it inconclusive; failed when the triplets hold more than the
     *             whole. An estimated T4 enters the value with three standard errors, and is no
     *             proof: reach, and passing, do without it.
     *
     * probe       value = largest Ritz value of the doubly deflated operator from a random block,
     *             bound = sqrt(sigma_k^2 (1 + 2e-9) + 64 eps sigma_1^2), the rounding of the Gram
     *             operator; failed above: a value was missed. It stops where 1.01 bound is surely
     *             out of reach; reach = 1.01 value after all its steps, at most 1.01 bound before,
     *             with the same slack; probe_failure = probability that a missed sigma > reach
     *             escapes (cs_svd_probe), 0 when the Krylov space ended. Not run when all triplets
     *             were computed.
     *
     * inertia     value = number of singular values above tau, by L D L^T, bound = k. tau lies just
     *             below sigma_k or, of all triplets, as near 0 as rounding allows. Passed when
     *             equal: exactly k values exceed reach, which is tau with what rounding may have
     *             moved the count by, and is below sigma_k. Failed when fewer; when a value is
     *             missing above those that equal sigma_k; when one is missing of all triplets.
     *             Inconclusive when the last of several equal values were not asked for (nothing
     *             above reach is missing), and when sigma_k is too small to be told from 0. Not run
     *             above the limits, or without vectors.
     *
     * residual    value = largest residual, bound = tol sigma_1. Of a Gram form M value is the
     *             largest ||M v - sigma^2 v|| / sigma_1. */
    cs_certificate cert_components, cert_moments, cert_probe, cert_inertia, cert_residual;
    bool perron; /* every component has one sigma = 1: the theorem behind `components` applies */
    int64_t near_ones;
    double probe_failure;
} cs_spectrum;

void cs_spectrum_free(cs_spectrum *spectrum);

/* The `k` largest triplets of Abar (LA 3.2), by the stages above. seed fixes the solver's start
 * vectors, the probe and the fourth moment's samples; threads (0: cs_threads()) change values by
 * rounding only.
 *
 * Time: O(nnz) for the reductions; dense components O(m n min(m, n)); sparse ones 2 nnz a solver
 * step; 2 nnz products for the residuals of each triplet of the largest component; about 25 x 8
 * products with Abar and its transpose for the probe; for inertia a third of the cube of every
 * component's smaller side (of the sum of both where sigma_k is small), two or three times, its
 * Gram matrix, and the products of the vectors with each other. Memory: Abar, its transpose and the
 * reduced matrix with its transpose, (rows + cols) k doubles for the vectors of the result and as
 * much for those of the blocks; for inertia the square of the largest smaller side.
 *
 * CS_ERR_USAGE: k negative or above min(rows, cols), tol, max_iterations out of range, or a solver
 * asked for what it cannot do (linalg/svd.h). CS_ERR_INPUT: an entry that is NaN, infinite or
 * (unless normalised) negative, with its place; no nonzero entry; a sum that overflows; more than
 * 2^31 rows; a Gram form that is not symmetric. CS_ERR_MEMORY, CS_ERR_CONVERGE (a solver broke
 * down), CS_ERR_INTERRUPT. A solver that stops early is no failure: the triplets known come back
 * with converged = false. */
cs_status cs_spectrum_of(const cs_csr *a, const cs_spectrum_options *options,
                         cs_spectrum *out) CS_MUST_CHECK;

/* The multiplicity of sigma = 1: the number of components where that theorem holds, elsewhere the
 * number of values within 1e-9 of 1. */
int64_t cs_spectrum_ones(const cs_spectrum *spectrum);

/* The name of the first certificate that failed, NULL when none did. */
const char *cs_spectrum_failed(const cs_spectrum *spectrum);

/* For callers that can use nothing less than the triplets they asked for: CS_ERR_CONVERGE, naming
 * how many are known and their largest residual, when a solver stopped early; naming the
 * certificate when one failed. */
cs_status cs_spectrum_require(const cs_spectrum *spectrum) CS_MUST_CHECK;

/* Abar of A with its marginals: row_mass (rows values) and col_mass (cols values), either NULL.
 * Each sums to 1. Zero rows and columns stay, empty. O(nnz). CS_ERR_INPUT: a negative, NaN or
 * infinite entry, or a sum that overflows; CS_ERR_MEMORY. */
cs_status cs_normalise(const cs_csr *a, cs_csr *abar, double *row_mass,
                       double *col_mass) CS_MUST_CHECK;

/* Tails sum_{j>t} sigma_j^4, t = 0..k, into k + 1 intervals, none below 0 (Theorem 4.1's right
 * side). All triplets known: summed from the last one. Else sum sigma^4 less the k values, with
 * Student's interval of an estimated sum at `level` (0: that of sum4). Both are widened by the
 * residuals, |sigma^4 - exact| <= 4 (sigma + r)^3 r, and by rounding. NaN where the sum is needed
 * and was not computed, and where sigma^4 leaves the range of doubles. */
void cs_spectrum_tails(const cs_spectrum *spectrum, double level, cs_interval *tail);
