/* Certificates of a spectrum whose matrix is distributed over processes: the verdicts of
 * cs_spectrum_certify, from values computed elsewhere. */
#pragma once

#include "cooc/spectrum.h"

/* Facts asserted by earlier stages, which the certificates test. */
typedef struct {
    bool complete; /* the triplets are all nonzero ones */
    /* the largest value of every component is 1 and simple: by normalisation, or, with no negative
     * entry, as solved */
    bool perron;
    bool lumped;      /* the sums are of a lumped matrix */
    int64_t rank;     /* upper bound on the number of nonzero singular values */
    int64_t longest;  /* most entries of a row or a column: terms of an entry of a Gram matrix */
    double magnitude; /* of a form with a part of rank one, cs_matrix_form_magnitude; else 0 */
    bool probed;      /* the probe has run; its probability of failure is in the spectrum */
    cs_probe probe;   /* its value and reach */
} cs_certificate_facts;

/* Fills the certificates `components`, `moments` and `probe`, perron and near_ones from the facts,
 * from k, sigma, residual, floor, components and the sums of *s; `inertia` is not run. */
void cs_certificates_of(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                        cs_spectrum *s);

/* Whether the exact sum sigma^4 is within the budget. */
bool cs_moment4_affordable(const cs_spectrum_options *options, double cost);

/* Whether to compute the exact sum sigma^4 at `cost` multiply-adds: within the budget and, if it is
 * to be spared, when it is cheap or when the estimate in s->moments.sum4, if any, indicates that
 * the certificate of moments may pass with it and not without. */
bool cs_moment4_exact(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                      double cost, const cs_spectrum *s);

/* Sets tol and the certificate `residual`, the largest residual against tol sigma_1; above it *s
 * has not converged. */
void cs_certificate_residual(double tol, cs_spectrum *s);

/* The spectrum of a normalised input is computed for 2^-e Abar, whose largest modulus is in [1/2,
 * 1) (spectrum_scale.c); e is 0 for a zero matrix. */
int cs_scale_exponent(double largest);
void cs_scale_down(int exponent, cs_csr *a);

/* Multiplies everything in *s by its power of 2^s->exponent, which becomes 0, and sets the sign of
 * each pair of vectors (spectrum.h). Sums of powers beyond the range of double become NaN. */
void cs_spectrum_restore(cs_spectrum *s);

/* The reason of a certificate that does not run, or that proves nothing. */
void cs_certificate_why(cs_certificate *certificate, cs_cert_state state, const char *format, ...)
    CS_PRINTF(3, 4);

/* The certificate `inertia`, for Abar (in the numbering of the input) and the vectors in *s on one
 * process: reduces Abar and counts as one process does. Memory: cs_inertia_bytes and the factored
 * matrix. Errors as cs_spectrum_of. */
cs_status cs_certificate_inertia(const cs_csr *abar, const cs_spectrum_options *options,
                                 const cs_certificate_facts *facts, cs_spectrum *s) CS_MUST_CHECK;

/* Upper bound of the bytes of Abar, its transpose, and the reduced matrix with its transpose, for
 * this total number of rows and columns. */
double cs_inertia_bytes(double sides, double nnz);
