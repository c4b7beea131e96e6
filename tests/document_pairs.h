/* A corpus as the input of estimates of its language, in plain loops: one event a contribution, and
 * all pairs of events. */
#pragma once

#include "cooc/by_document.h"

typedef struct {
    int64_t count;
    cs_hash128 *key; /* of the context */
    int64_t *document;
    int32_t *token;
    double *weight; /* predicted tokens, or documents */
} document_events;

/* The contributions of a build that draws nothing, in test_zeros. */
document_events events_of(const cs_corpus *corpus, const cs_cooc_options *options);

/* P of cs_pairs_of_contexts, vocab x vocab, by all pairs of events; returns the share of mass in the
 * contexts that have such pairs. */
double pairs_by_events(const document_events *events, const cs_pair_options *options, int64_t vocab,
                       double *out);
