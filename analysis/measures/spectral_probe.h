/* Spectral document features on held-out documents (theorems.md; the practical side of Theorem
 * 4.1).
 *
 * The matrix was built from the training documents only. A document has two kinds of features:
 *
 *   tokens    folding in: sum over its tokens of
 *             P(token | document) v_token / (sigma sqrt(P_G(token)))
 *   contexts  the mean of f*(X) = u_X / sqrt(P_C(X)) over those of its contexts X that also occur in
 *             the training documents, weighted as in the build
 *
 * A ridge classifier (ridge_private.h) is trained on the training documents' features and tested on
 * the held-out ones, against the majority class and multinomial naive Bayes (counts of tokens,
 * Laplace smoothing 1 over the whole vocabulary, <unk> included) on the same documents. With
 * sampled plans (draws > 0) contexts of held-out documents are drawn too. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "io/result.h"

typedef struct {
    double accuracy;
    double se;      /* binomial standard error */
    double penalty; /* of the ridge; NaN if there is none */
    double loo;     /* its leave-one-out squared error a document; NaN */
} cs_spectral_probe_score;

typedef struct {
    int64_t features; /* k */
    int64_t classes;
    int64_t train_documents, test_documents; /* labelled, with a token */
    cs_spectral_probe_score majority, bayes, tokens, contexts;
    double unknown_tokens;   /* share of held-out tokens that are not columns */
    double unknown_contexts; /* share of held-out context mass that is not in a row */
    /* held-out documents without a known context: classified as the average */
    int64_t featureless;
} cs_spectral_probe_result;

/* corpus, options, cooc: as built (options->split must be CS_SPLIT_TRAIN); spectrum of
 * cooc->matrix.a with vectors; features: number of triplets (0: all). Cost: one pass over the
 * contexts of documents and O(documents k^2). CS_ERR_USAGE if the build used the held-out
 * documents, CS_ERR_INPUT if a split has no labelled document. */
cs_status cs_spectral_probe(const cs_corpus *corpus, const cs_cooc_options *options,
                            const cs_cooc *cooc, const cs_spectrum *spectrum, int64_t features,
                            int threads, cs_spectral_probe_result *out) CS_MUST_CHECK;

/* Adds "probe": {"features", "classes", ..., "majority": {"accuracy", "se"}, ...} to a record; the
 * view has its tidy rows: model, metric, value, se, n. */
void cs_spectral_probe_record(const cs_spectral_probe_result *result, cs_item *root);
extern const cs_view cs_spectral_probe_view;
