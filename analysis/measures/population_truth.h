/* The matrix of the population of a law (text/law.h), beside which estimates from documents stand. */
#pragma once

#include "analysis/measures/population_rows.h"

/* Adds the rows of that matrix, estimate "population", to those of documents that were drawn from a
 * law; to others none. *why (fresh memory; else NULL): why there are none, contributions too many or
 * words other than the law's. If rows->as_blind is set, no row is added: as_blind remains set if the
 * population has plan->blind_population contexts too, so that the matrices are equal. */
cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why) CS_MUST_CHECK;
