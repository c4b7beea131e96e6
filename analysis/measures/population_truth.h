/* The matrix of a law of text itself (text/law.h), beside which estimates from its documents stand. */
#pragma once

#include "analysis/measures/population_rows.h"

/* The corpus of every text, with its probability, that sequences of these options have: cs_cooc_build
 * with the same options makes the matrix of the population of it. CS_ERR_USAGE: no law; rows that are
 * documents where sequences are parts of them; errors of cs_law_parse and cs_law_texts. */
cs_status cs_population_texts(const char *source, const cs_cooc_options *options,
                              cs_corpus *out) CS_MUST_CHECK;

/* Adds the rows of that matrix, estimate "population", to those of documents that were drawn from a
 * law; to others none. *why (fresh memory; else NULL): why there are none, the texts too many or words
 * other than the law's. */
cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why) CS_MUST_CHECK;
