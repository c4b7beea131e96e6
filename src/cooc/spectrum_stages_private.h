/* The stages of the normalised SVD, private to src/cooc and its tests:
 *
 *   cs_system_of       A -> Abar and its transpose, the reduced matrix and the lifting
 *   cs_parts_solve     triplets of every component of the reduced matrix
 *   cs_spectrum_merge  the largest of all, lifted to the numbering of the input, with residuals
 *   cs_spectrum_certify
 */
#pragma once

#include <math.h>

#include "base/ints.h"
#include "cooc/certificates.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_density.h"

/* The rows (CS_LEFT) or the columns (CS_RIGHT) of a reduction. */
typedef struct {
    int64_t *start; /* count + 1 */
    /* P_C, P_G scaled to sum 1 in each component: the squares of its sigma = 1 vectors; NULL if
     * unknown */
    double *weight;
    int32_t *of; /* for each row of the input: its row here, -1 if it is empty */
    double *lift;
    int64_t *list, *list_start; /* rows of the input by component */
} cs_reduction_side;

/* The matrix after lumping, with its rows and columns ordered by component, so that component c is
 * the block of rows side[CS_LEFT].start[c] .. start[c + 1] - 1 and of columns alike. A triplet of
 * the reduced matrix is one of Abar: U[X] = lift[X] U_reduced[of[X]], 0 where of[X] < 0. */
typedef struct {
    int64_t count; /* blocks: components, or 1 without reduction */
    cs_reduction_side side[2];
    cs_csr a, at;
    bool shared; /* a and at are Abar and its transpose */
    bool known;  /* the sigma = 1 triplet of every block is known, by the weights */
    /* of a form: l and r of the one block a - l r^T; NULL: no part of rank one */
    double *term[2];
    cs_pool pool;
} cs_reduction;

typedef struct {
    const cs_csr *abar; /* the input if it was normalised and in scale, else `own` */
    cs_csr own, abar_t;
    cs_csr_entries entries;      /* of Abar if the input was normalised, else of the input */
    double *row_mass, *col_mass; /* NULL if the input was normalised */
    double *term[2];             /* as of the reduction: the matrix is Abar - l r^T */
    int exponent;                /* Abar is 2^-exponent times the input */
    int64_t components;
    cs_reduction reduced;
    /* of residuals, relative to sigma_1: as requested, or the default */
    double tol;
} cs_system;

void cs_system_free(cs_system *system);

/* Rows of the whole matrix. */
static inline int64_t cs_spectrum_rows(const cs_csr *a, const cs_spectrum_options *options)
{
    return options->rows ? options->rows->rows : a->rows;
}

/* Default tolerance of residuals for products of this rounding (cs_csr_rounding;
 * docs/explanation/spectra.md). */
static inline double cs_default_tolerance(double rounding)
{
    return fmax(1e-12, 4 * rounding);
}

/* Whether the matrix is the normalised one of counts: sigma = 1 once for every component. */
static inline bool cs_spectrum_normalises(const cs_spectrum_options *o)
{
    return !o->normalised && cs_matrix_form_is_normalised(o->form);
}

/* Of a form: the sparse matrix `own` and its part of rank one, scaled by 2^-exponent, and the sums of
 * rows and columns of A. `entries` become those of the form if it has no such part, or is stored
 * whole; else they stay those of A. Errors as cs_matrix_form_apply; CS_ERR_INPUT: it is 0. */
cs_status cs_system_form(const cs_csr *a, const cs_matrix_form *form,
                         cs_system *system) CS_MUST_CHECK;
void cs_matrix_form_scale(int exponent, cs_csr *a, double *left);

/* A sparse matrix, minus its part of rank one if there is one, as an operator. The struct does not
 * move once opened; closed by the caller, also after a failure. */
typedef struct {
    cs_linop_csr_ctx csr;
    cs_linop_outer_ctx outer;
    cs_linop sparse, op;
} cs_matrix_form_operator;
cs_status cs_matrix_form_operator_open(const cs_csr *a, const cs_csr *at, double *const term[2],
                                       int threads, cs_matrix_form_operator *out) CS_MUST_CHECK;
void cs_matrix_form_operator_close(cs_matrix_form_operator *op);

/* (||S||_F + |l| |r|)^2 of a form with a part of rank one, which bounds what its sums round; else
 * 0. */
double cs_matrix_form_magnitude(const cs_csr *a, double *const term[2]);

/* *sum, the sum of sigma^4 of S, becomes that of S - l r^T. CS_ERR_MEMORY. */
cs_status cs_matrix_form_moment4(const cs_csr *a, const cs_csr *at, double *const term[2],
                                 int threads, double *sum) CS_MUST_CHECK;

/* The orientation in which one pass over the matrix gives both products, if there is one. */
const cs_csr *cs_system_one_pass(const cs_system *system);

/* scaled: a normalised matrix is solved in its present scale, not divided by a power of two.
 * CS_ERR_INPUT for NaN, infinite, negative (unless normalised) entries or none at all. */
cs_status cs_system_of(const cs_csr *a, const cs_spectrum_options *options, bool scaled,
                       cs_system *out) CS_MUST_CHECK;

static inline int64_t cs_block_size(const cs_reduction *r, cs_side side, int64_t block)
{
    return r->side[side].start[block + 1] - r->side[side].start[block];
}

/* Upper bound of the nonzero singular values of a block. */
static inline int64_t cs_block_rank(const cs_reduction *r, int64_t block)
{
    int64_t m = cs_block_size(r, CS_LEFT, block), n = cs_block_size(r, CS_RIGHT, block);
    return cs_least(m, n);
}

/* Triplets of one block, without the closed-form one. */
typedef struct {
    cs_svd svd;     /* solver: CS_SOLVER_AUTO if none had to run */
    bool complete;  /* every other singular value is below the floor */
    bool unchecked; /* residuals are left to the merge */
} cs_part;

/* Drops the values below the floor; `asked` of `most` possible ones were computed. */
void cs_part_trim(cs_part *part, int64_t asked, int64_t most);

typedef struct {
    int64_t count, wanted;
    cs_part *part;
    bool interrupted; /* the parts that had not begun are empty and not converged */
} cs_parts;

void cs_parts_free(cs_parts *parts);

/* The options of a solver for k triplets. */
cs_svd_options cs_spectrum_solver_options(const cs_spectrum_options *o, int64_t k);

/* Enough triplets of every block for the `wanted` largest of all. */
cs_status cs_parts_solve(const cs_system *system, const cs_spectrum_options *options,
                         int64_t wanted, cs_parts *out) CS_MUST_CHECK;

/* Fills k, zeros, rank, sigma, residual, floor, converged, solver and the certificate `residual`;
 * keep: also u and v. */
cs_status cs_spectrum_merge(const cs_system *system, const cs_parts *parts,
                            const cs_spectrum_options *options, bool keep,
                            cs_spectrum *out) CS_MUST_CHECK;

/* Whether Abar, or the form, is symmetric, with the rows as the columns that the options say.
 * CS_ERR_MEMORY. */
cs_status cs_system_symmetric(const cs_system *system, const cs_spectrum_options *options,
                              bool *out) CS_MUST_CHECK;

/* Replaces the triplets of a symmetric matrix by those of its eigenvectors (spectrum_signed.c). Time:
 * k products, rows times k^2. CS_ERR_MEMORY. */
cs_status cs_spectrum_signed(const cs_system *system, const cs_spectrum_options *options,
                             cs_spectrum *spectrum) CS_MUST_CHECK;

/* Of the reduced matrix: rank, longest, lumped; and of its triplets too: complete, perron. */
cs_certificate_facts cs_reduction_facts(const cs_reduction *r);
cs_certificate_facts cs_certificate_facts_of(const cs_system *system,
                                             const cs_spectrum_options *options,
                                             const cs_parts *parts, const cs_spectrum *spectrum);

/* Fills the sums and the certificates except `residual`, from Abar and the triplets in
 * `spectrum`. Probe and inertia are not run without u and v. */
cs_status cs_spectrum_certify(const cs_system *system, const cs_spectrum_options *options,
                              const cs_certificate_facts *facts,
                              cs_spectrum *spectrum) CS_MUST_CHECK;

/* Only the certificate `inertia` (spectrum_inertia.c). */
cs_status cs_spectrum_inertia(const cs_system *system, const cs_spectrum_options *options,
                              const cs_certificate_facts *facts,
                              cs_spectrum *spectrum) CS_MUST_CHECK;

/* *departure >= ||X^T X - I||_F for X the left and the right vectors in `spectrum` (both present).
 * Time: the rows and columns of each component times the square of its triplets; those of the whole
 * matrix if a vector extends over several components. CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_spectrum_departure(const cs_reduction *r, const cs_spectrum *spectrum,
                                double *departure) CS_MUST_CHECK;

/* Bound on the change of a singular value by lumping, relative to || |Abar| ||: entries that differ
 * by 1e-13, in rows and then in columns (reduce.h). */
static const double CS_LUMPED = 1e-12;

/* Whether the stages work on a Gram form, whose values are squares of singular values
 * (spectrum_scale.c). The other functions: CS_ERR_INPUT if it is not symmetric; replace sigma^2 by
 * sigma in the results of the stages, probe and inertia. */
static inline bool cs_system_gram(const cs_system *system)
{
    return system->abar->gram;
}
cs_status cs_gram_check(const cs_csr *reduced) CS_MUST_CHECK;
void cs_gram_to_sigma(cs_spectrum *spectrum);

/* A value of the stages in the scale of the result, for messages. */
static inline double cs_stage_value(const cs_spectrum *s, double x)
{
    return s->input.gram ? sqrt(ldexp(x, s->solution.exponent)) : ldexp(x, s->solution.exponent);
}

/* sum sigma^2. Of a Gram form its trace, with rows and columns in the same order. */
double cs_system_moment2(const cs_system *system);

/* As cs_spectrum_restore, of a density. */
void cs_spectrum_density_restore(int exponent, cs_spectrum_density *density);

/* *top >= ||  |A|  ||_2 of the reduced matrix (spectrum_reduce.c). O(nnz). CS_ERR_MEMORY. */
cs_status cs_reduction_bound(const cs_reduction *r, double *top) CS_MUST_CHECK;
