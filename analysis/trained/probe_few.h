/* The training examples that a study of few labels reads: those that some seed draws. Only their
 * features are computed. */
#pragma once

#include "analysis/trained/probe_runs.h"
#include "text/corpus.h"

typedef struct {
    int64_t count; /* of the examples that are read */
    uint8_t *keep; /* of all: 1 if it is read */
} cs_few_read;

/* Errors of cs_few_shot. */
cs_status cs_few_read_of(const cs_probe_study *study, cs_few_read *out) CS_MUST_CHECK;
void cs_few_read_free(cs_few_read *few);

/* The texts that are read. *out borrows them; cs_few_texts_free frees the lists. CS_ERR_MEMORY. */
cs_status cs_few_texts(const cs_few_read *few, const cs_labelled_text *all,
                       cs_labelled_text *out) CS_MUST_CHECK;
void cs_few_texts_free(cs_labelled_text *texts);

/* Features of the examples that are read, `layers` matrices of count rows of `width` values, become
 * matrices of all examples; the others have zeros, which no probe reads. Memory that is not written
 * costs nothing. *values is replaced. CS_ERR_MEMORY. */
cs_status cs_few_spread(const cs_few_read *few, int64_t examples, int64_t layers, int64_t width,
                        float **values) CS_MUST_CHECK;
