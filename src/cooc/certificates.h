/* Certificates of a spectrum whose matrix is not in this process as a whole: the verdicts of
 * cs_spectrum_certify, from values computed elsewhere. */
#pragma once

#include "cooc/spectrum.h"

/* What the stages before assert; the certificates put it to the test. */
typedef struct {
    bool complete;   /* the triplets are all of the nonzero ones */
    bool perron;     /* every component's largest value is 1 and simple: by normalisation, or, with
                        no negative entry, as solved */
    bool lumped;     /* the sums are of a matrix that was lumped */
    int64_t rank;    /* most nonzero singular values that there can be */
    int64_t longest; /* most entries of a row or a column: terms of an entry of a Gram matrix */
    bool probed;     /* the probe has run; its probability of failure is in the spectrum */
    cs_probe probe;  /* its value and reach */
} cs_certificate_facts;

/* Fills cert_components, cert_moments, cert_probe, perron and near_ones from the facts and from k,
 * sigma, residual, floor, components and the sums of *s; cert_inertia is left not run. */
void cs_certificates_of(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                        cs_spectrum *s);

/* Whether the exact sum sigma^4 is within the budget. */
bool cs_moment4_affordable(const cs_spectrum_options *options, double cost);

/* Whether the exact sum sigma^4 is taken at `cost` multiply-adds: within the budget and, where it is
 * to be spared, when cheap, or when the estimate in s->sum4, if there is one, says that the
 * certificate of moments may pass with it and not without. */
bool cs_moment4_exact(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                      double cost, const cs_spectrum *s);

/* Fills tol and cert_residual, the largest against tol sigma_1; above it *s has not converged. */
void cs_certificate_residual(double tol, cs_spectrum *s);

/* The spectrum of a matrix that came normalised is taken of 2^-e Abar, whose largest modulus is in
 * [1/2, 1) (spectrum_scale.c); e is 0 for a largest modulus of 0. */
int cs_scale_exponent(double largest);
void cs_scale_down(int exponent, cs_csr *a);

/* Everything in *s times its power of 2^s->exponent, which becomes 0, and each pair of vectors with
 * the sign that spectrum.h says. Sums of powers out of the range of doubles become NaN. */
void cs_spectrum_restore(cs_spectrum *s);

/* For a certificate that does not run, or that proves nothing. */
void cs_certificate_why(cs_certificate *certificate, cs_cert_state state, const char *format, ...)
    CS_PRINTF(3, 4);

/* cert_inertia, where Abar (input's numbering) and the vectors in *s have been brought together
 * after all: reduces Abar and counts as one process does. Bytes beside them: cs_inertia_bytes and
 * the matrix that is factored. Errors as cs_spectrum_of. */
cs_status cs_certificate_inertia(const cs_csr *abar, const cs_spectrum_options *options,
                                 const cs_certificate_facts *facts, cs_spectrum *s) CS_MUST_CHECK;

/* At most what Abar, its transpose and the reduced matrix with its own take, of this many rows and
 * columns together. */
double cs_inertia_bytes(double sides, double nnz);
