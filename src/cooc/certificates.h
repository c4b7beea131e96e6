/* Certificates of a spectrum whose matrix is not here as a whole: the judgements of
 * cs_spectrum_certify, from what others have found out. */
#ifndef CS_COOC_CERTIFICATES_H
#define CS_COOC_CERTIFICATES_H

#include "cooc/spectrum.h"

typedef struct {
    bool complete;   /* the triplets are all of the nonzero ones */
    bool perron;     /* every component's largest value is 1 and simple */
    int64_t rank;    /* most nonzero singular values that there can be */
    int64_t longest; /* most entries of a row or a column */
    bool probed; /* the probe has run, with this value (cs_svd_probe); its probability of failure
                    stands in the spectrum */
    double probe_value;
} cs_certificate_facts;

/* Fills cert_components, cert_moments, cert_probe, cert_inertia, perron and near_ones from the
 * facts and from k, sigma, residual, floor, components and the sums of *s. */
void cs_certificates_of(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                        cs_spectrum *s);

#endif
