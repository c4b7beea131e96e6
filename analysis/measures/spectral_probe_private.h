/* Private to the probe: a feature row for each document of a list. */
#pragma once

#include <stdint.h>

#include "analysis/measures/spectral_probe.h"
#include "linalg/dense.h"

typedef struct {
    const cs_corpus *corpus;
    const cs_cooc_options *options;
    const cs_cooc *cooc;
    const cs_spectrum *spectrum;
    int64_t features;
    int threads;
} cs_spectral_source;

/* out: documents x features. *unknown: share of tokens that are not columns. */
cs_status cs_spectral_token_features(const cs_spectral_source *source, int64_t documents,
                                     const int64_t *document, cs_dense *out,
                                     double *unknown) CS_MUST_CHECK;

/* The same from contexts; rows of NaN for documents without a known one (*featureless of them). All
 * documents must be of `split`. *unknown: share of context mass that is not in a row. */
cs_status cs_spectral_context_features(const cs_spectral_source *source, cs_split split,
                                       int64_t documents, const int64_t *document, cs_dense *out,
                                       double *unknown, int64_t *featureless) CS_MUST_CHECK;
