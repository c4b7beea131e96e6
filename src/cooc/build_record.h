/* A build as the record of a result. */
#pragma once

#include "cooc/builder.h"
#include "io/result.h"

/* The members of cooc.json: options, counts and sizes. source: the name of the corpus as given.
 * Errors of cs_cooc_uncovered. */
cs_status cs_cooc_record(const char *source, const cs_corpus *corpus,
                         const cs_cooc_options *options, const cs_cooc *cooc,
                         cs_item *item) CS_MUST_CHECK;
