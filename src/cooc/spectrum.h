/** \file
 * The normalised SVD of a co-occurrence matrix, with reductions before and certificates after it
 * (docs/explanation/spectra.md).
 *
 * \f[ \bar A[X, v] = \frac{A[X, v]}{\sqrt{P_C(X)\, P_G(v)}} \f]
 *
 * for a matrix A of counts or probabilities in any scale, with its row and column masses P_C and
 * P_G (LA 3.2). Rows and columns without mass are dropped. The stages are: components (sigma = 1
 * in closed form), exact lumping, dense solution of small components, the sparse solver on the
 * deflated operator for large ones, merge, lifting, residuals through the full matrix, moments,
 * certificates.
 *
 * A Gram form (cs_csr.gram) is \f$\sum_X A(X, u) A(X, v) / P_C(X)\f$ of a matrix A that is not
 * available. Divided by its own marginals it is \f$\bar A^T \bar A\f$, and the result describes A:
 * sigma is the root of an eigenvalue, the sum of sigma^2 is the trace, the sum of sigma^4 the
 * squared Frobenius norm. There are only right vectors.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "cooc/matrix_form.h"
#include "cooc/moments.h"
#include "linalg/csr.h"
#include "linalg/density.h"
#include "linalg/svd.h"

enum {
    /** Certificates to compute, added up (0: components and moments, which cost little). This one
 * compares the number of values 1 with the number of components.
 */
    CS_CERTIFY_COMPONENTS = 1,
    /** Compare the sums of powers with the moments. */
    CS_CERTIFY_MOMENTS = 2,
    /** Search for missed values with a random block. */
    CS_CERTIFY_PROBE = 4,
    /** The three above. */
    CS_CERTIFY_USUAL = 7,
    /** Count values by a factorisation. */
    CS_CERTIFY_INERTIA = 8,
    /** None; residuals are computed anyway. */
    CS_CERTIFY_NONE = 16,
};

enum {
    /** Largest order of a matrix that the inertia certificate factors (512 MiB). */
    CS_INERTIA_ORDER = 8192,
};

/** Most multiply-adds of one count of the inertia certificate: about half a minute on one core. */
static const double CS_INERTIA_WORK = 2e11;

/** Options of cs_spectrum_of; zeros are defaults. */
typedef struct {
    /** Number of triplets; 0: all. */
    int64_t k;
    /** The matrix is normalised already: nothing is divided, and sigma_1 of a component comes from
     * the solver.
     */
    bool normalised;
    /** Form of the matrix, whose singular values are computed; NULL: the normalised one. Borrowed.
     */
    const cs_matrix_form *form;
    /** Neither components nor lumping: one solver call on the whole matrix, as a cross-check. */
    bool no_reduction;
    /** Drop the vectors from the result; they are computed for the residuals anyway. */
    bool values_only;
    /** The solver. */
    cs_solver solver;
    /** Device for large blocks; NULL: the CPU. Residuals and certificates are computed on the CPU.
     */
    struct cs_gpu *gpu;
    /** Relative residual; 0: 1e-12 for the solver, and for the residuals unless rounding of long
     * rows or columns may add more.
     */
    double tol;
    /** 0: the default of the solver. */
    int64_t max_iterations;
    /** Seed of start vectors, probe and samples of the fourth moment. */
    uint64_t seed;
    /** 0: cs_threads(). Affects values by rounding only. */
    int threads;
    /** A sum of CS_CERTIFY_... */
    unsigned certify;
    /** Compute the sum of sigma^4: exactly within the budget, else from 64 samples and at least 32
     * known or sketched vectors.
     */
    bool moment4;
    /** Most multiply-adds of the exact sum; 0: CS_MOMENT4_BUDGET; a positive value below 1: never
     * exact.
     */
    double moment4_budget;
    /** Beyond CS_MOMENT4_CHEAP compute the exact sum only if the certificate of moments may pass
     * with it, according to the estimate; never if all triplets are found.
     */
    bool moment4_sparing;
    /** Callback, or NULL. */
    const cs_progress *progress;
    /** If the block solver is interrupted, return the triplets that have converged, not certified,
     * in place of CS_ERR_INTERRUPT.
     */
    bool partial;
    /** Most bytes of the basis of the block solver; 0: the default of linalg/svd.h. */
    int64_t solver_memory;
    /** Guess of left vectors for the block solver, rows x p, p > 0; NULL, as start_v: none.
     * Borrowed.
     */
    const cs_dense *start_u;
    /** Guess of right vectors, cols x p. */
    const cs_dense *start_v;
    /** Number of a component plus 1: its second triplet is returned with its vectors, whatever the
     * other options; 0: none.
     */
    int64_t second;
    /** Rows of a larger matrix that `a` stores; NULL: `a` is the whole. k and the sizes in the
     * result are those of the whole; start_u, u and row_mass have the rows of `a`.
     */
    const cs_nonempty_rows *rows;
    /** If the matrix is symmetric, return its eigenvalues and eigenvectors; not with `second`. */
    bool eigenvalues;
    /** With `eigenvalues`: the column that each row of the whole is, -1 for none; NULL: row i is
     * column i. Borrowed.
     */
    const int64_t *row_column;
} cs_spectrum_options;

/** State of a certificate. */
typedef enum {
    /** Not computed. */
    CS_CERT_NOT_RUN,
    /** Passed. */
    CS_CERT_PASSED,
    /** Failed: the triplets are wrong or incomplete. */
    CS_CERT_FAILED,
    /** The certificate is one-sided and its condition does not hold, which disproves nothing. */
    CS_CERT_INCONCLUSIVE,
} cs_cert_state;

/** A certificate. */
typedef struct {
    /** Its state. */
    cs_cert_state state;
    /** The measured number. */
    double value;
    /** The number that it is compared with. */
    double bound;
    /** No singular value above it is missing; NaN: no statement. */
    double reach;
    /** Reason why it was not computed or proves nothing, or its finding; "" if the numbers suffice.
     */
    char why[320];
} cs_certificate;

/** The matrix of a spectrum, what the reductions found in it, and its marginals. */
typedef struct {
    /** Rows of the input. */
    int64_t rows;
    /** Columns of the input. */
    int64_t cols;
    /** Nonzeros of the input. */
    int64_t nnz;
    /** Sum of A. */
    double mass;
    /** The input is a Gram form. */
    bool gram;
    /** The matrix is known to be symmetric (cs_spectrum_options.eigenvalues). */
    bool symmetric;
    /** Rows without mass, dropped. */
    int64_t zero_rows;
    /** Columns without mass, dropped. */
    int64_t zero_cols;
    /** Connected components of the bipartite graph of A. */
    int64_t components;
    /** Rows after lumping. */
    int64_t lumped_rows;
    /** Columns after lumping. */
    int64_t lumped_cols;
    /** P_C: rows values that sum to 1; NULL if the input was normalised. */
    double *row_mass;
    /** P_G: cols values that sum to 1; NULL if the input was normalised. */
    double *col_mass;
} cs_spectrum_input;

/** The second triplet of a component, by request. */
typedef struct {
    /** Its index among the triplets; -1: none. */
    int64_t index;
    /** Its left vector, rows x 1; else empty. */
    cs_dense u;
    /** Its right vector, cols x 1; else empty. */
    cs_dense v;
} cs_spectrum_second;

/** How the solver ended, and the limits that apply to its triplets. */
typedef struct {
    /** Solver of the largest component. */
    cs_solver solver;
    /** All requested triplets converged. */
    bool converged;
    /** The solver was interrupted: these triplets had converged, are not certified except by
     * residuals, and values between them may be missing.
     */
    bool interrupted;
    /** Relative residual that is allowed. */
    double tol;
    /** Values below it count as zero. */
    double floor;
    /** 0. Internal stages scale all numbers by 2^-exponent. */
    int exponent;
    /** At least \f$\|X^T X - I\|_F\f$ of the left and of the right vectors; NaN without vectors. */
    double departure;
} cs_spectrum_solution;

/** Sums of powers of all singular values, computed from the matrix. */
typedef struct {
    /** \f$\|\bar A\|_F^2\f$. */
    double sum_sigma2;
    /** Sum of sigma^4; NaN: not computed, or beyond the range of double. */
    double sum_sigma4;
    /** Standard error of sum_sigma4; 0: exact. */
    double sum_sigma4_error;
    /** Multiply-adds of the exact sum after the reductions. */
    double sum_sigma4_cost;
    /** How sum_sigma4 was computed, and its interval. */
    cs_sum4 sum4;
} cs_spectrum_moments;

/** The certificates of a spectrum. */
typedef struct {
    /** value: number of returned sigma within 1e-9 of 1; bound: components. It passes if value =
     * min(requested, components) and fails below. It is inconclusive above: then near_ones values
     * are within 1e-9 of 1, from nearly separate parts of a component, and by the theorem are
     * not 1. It is not computed if the input was not reduced, or was normalised and has a negative
     * entry or a component without sigma = 1 (to 1e-9).
     */
    cs_certificate components;
    /** All triplets: value = |sum sigma_j^2 - ||Abar||_F^2|, bound = its rounding bound from the
     * residuals; it fails above. Missing values have squares of at most value + bound in sum, so
     * reach = sqrt(value + bound); it is inconclusive if that is not less than sigma_k, unless no
     * further value can exist.
     *
     * Truncated: value is an upper bound on sigma_{k+1} from the remainders T2 = sum sigma^2 -
     * sum_{j<=k} sigma_j^2 and T4 likewise of the n remaining values: the least of sqrt(T2),
     * T4^(1/4), the root of T2/n + sqrt((n - 1)(T4/n - (T2/n)^2)) (Samuelson's inequality) and,
     * unless the input had larger values or negative entries, 1. bound = sigma_k (1 + 1e-9). It
     * passes up to the bound: nothing was missed. Above it is inconclusive; it fails if the
     * triplets exceed the whole. An estimated T4 enters the value with three standard errors and
     * proves nothing: reach and a pass do not use it.
     */
    cs_certificate moments;
    /** value: largest Ritz value of the doubly deflated operator from a random block; bound =
     * sqrt(sigma_k^2 (1 + 2e-9) + 64 eps sigma_1^2), which includes the rounding of the Gram
     * operator. It fails above: a value was missed. reach = 1.01 value after all steps, at most
     * 1.01 bound before, with the same slack; a missed value above reach escapes with probability
     * probe_failure (cs_svd_probe). It is not computed if all triplets are known.
     */
    cs_certificate probe;
    /** value: number of singular values above tau by an L D L^T factorisation; bound = k. tau is
     * just below sigma_k, or for all triplets as near to 0 as rounding allows. It passes if equal:
     * exactly k values exceed reach, which is tau plus the effect of rounding and is below
     * sigma_k. It fails if fewer, or if a value is missing above those equal to sigma_k, or among
     * all triplets. It is inconclusive if the last of several equal values were not requested
     * (nothing above reach is missing), or if sigma_k is too small to be distinguished from 0. It
     * is not computed above the limits or without vectors.
     */
    cs_certificate inertia;
    /** value: the largest residual; bound = tol sigma_1. Of a Gram form M value is the largest
     * \f$\|M v - \sigma^2 v\| / \sigma_1\f$.
     */
    cs_certificate residual;
    /** Every component has exactly one sigma = 1, by the theorem behind `components`. */
    bool perron;
    /** Values within 1e-9 of 1 that are not 1. */
    int64_t near_ones;
    /** Probability that the probe missed a value; 0 if the Krylov space was exhausted. */
    double probe_failure;
} cs_spectrum_certificates;

/** A certified spectrum. Free it with cs_spectrum_free. */
typedef struct {
    /** The matrix. */
    cs_spectrum_input input;
    /** k if these are all nonzero singular values, else -1. */
    int64_t rank;
    /** Nonzero triplets returned. */
    int64_t k;
    /** Requested triplets that are zero, counted separately. */
    int64_t zeros;
    /** k values, descending. */
    double *sigma;
    /** k eigenvalues +-sigma of a symmetric matrix, if they were requested and their residuals are
     * within the tolerance; then u_j = v_j or u_j = -v_j. Else NULL.
     */
    double *eigenvalue;
    /** k residuals through the full matrix; of a Gram form M \f$\|M v - \sigma^2 v\| / \sigma\f$.
     */
    double *residual;
    /** rows x k in the numbering of the input, zero in dropped rows; empty with values_only, and
     * for a Gram form. The first entry of v_j within 1e-6 of its largest modulus is positive.
     */
    cs_dense u;
    /** cols x k, as u. */
    cs_dense v;
    /** The triplet that cs_spectrum_options.second requests. */
    cs_spectrum_second second;
    /** How the solver ended. */
    cs_spectrum_solution solution;
    /** Sums of powers. */
    cs_spectrum_moments moments;
    /** The certificates. */
    cs_spectrum_certificates cert;
} cs_spectrum;

/** Frees a spectrum; accepts a zeroed object. */
void cs_spectrum_free(cs_spectrum *spectrum);

/** The k largest triplets of the normalised matrix. A solver that stops early is no failure: the
 * known triplets are returned with converged = false.
 *
 * Time: O(nnz) for the reductions; O(m n min(m, n)) for dense components; 2 nnz for each step of
 * sparse ones; 2 nnz for the residuals of each triplet of the largest component; about 25 x 8
 * products with the matrix and its transpose for the probe; for inertia a third of the cube of the
 * smaller side of every component (of the sum of both sides if sigma_k is small), two or three
 * times. Memory: the normalised and the reduced matrix with their transposes, and 2 (rows + cols)
 * k doubles; for inertia the square of the largest smaller side.
 *
 * \param a matrix of counts or probabilities
 * \param out receives the spectrum
 * \retval CS_ERR_USAGE k is negative or above min(rows, cols), another option is out of range, or
 *     the solver does not support a request
 * \retval CS_ERR_INPUT an entry that is NaN, infinite or (unless normalised) negative, with its
 *     place; no nonzero entry; a sum that overflows; more than 2^31 rows; a Gram form that is not
 *     symmetric
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_CONVERGE a solver broke down
 * \retval CS_ERR_DEVICE the GPU failed
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_spectrum_of(const cs_csr *a, const cs_spectrum_options *options,
                         cs_spectrum *out) CS_MUST_CHECK;

/** Multiplicity of sigma = 1: the number of components if the theorem holds
 * (cs_spectrum_certificates.perron), else the number of values within 1e-9 of 1.
 */
int64_t cs_spectrum_ones(const cs_spectrum *spectrum);

/** Name of the first certificate that failed, NULL if none did. Static text. */
const char *cs_spectrum_failed(const cs_spectrum *spectrum);

/** For callers that need all requested triplets.
 *
 * \retval CS_ERR_CONVERGE a solver stopped early, with the number of known triplets and their
 *     largest residual, or a certificate failed
 */
cs_status cs_spectrum_require(const cs_spectrum *spectrum) CS_MUST_CHECK;

/** The normalised matrix of A and its marginals. Rows and columns without mass remain, empty.
 * O(nnz).
 *
 * \param a rows x cols, counts or probabilities
 * \param abar receives the normalised matrix (cs_csr_free)
 * \param row_mass receives P_C, rows values that sum to 1; may be NULL
 * \param col_mass receives P_G, cols values that sum to 1; may be NULL
 * \retval CS_ERR_INPUT an entry is negative, NaN or infinite, or a sum overflows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_normalise(const cs_csr *a, cs_csr *abar, double *row_mass,
                       double *col_mass) CS_MUST_CHECK;

/** The tails \f$\sum_{j>t} \sigma_j^4\f$, t = 0..k, of Theorem 4.1. If all triplets are known they
 * are summed from the last; else sum_sigma4 minus the known values, with Student's interval of an
 * estimated sum. Both are widened by the residuals,
 * \f$|\sigma^4 - \mathrm{exact}| \le 4 (\sigma + r)^3 r\f$, and by rounding.
 *
 * \param level level of the interval; 0: that of sum4
 * \param tail receives k + 1 intervals, none below 0; NaN if the sum is needed and was not
 *     computed, and if sigma^4 exceeds the range of double
 */
void cs_spectrum_tails(const cs_spectrum *spectrum, double level, cs_interval *tail);
