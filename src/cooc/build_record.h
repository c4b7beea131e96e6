/* A build as the record of a result. */
#pragma once

#include "cooc/builder.h"
#include "io/result.h"

/* What was counted, and what came of it: the members of cooc.json. source: the corpus as it was
 * named. Errors of cs_cooc_uncovered. */
cs_status cs_cooc_record(const char *source, const cs_corpus *corpus,
                         const cs_cooc_options *options, const cs_cooc *cooc,
                         cs_item *item) CS_MUST_CHECK;
