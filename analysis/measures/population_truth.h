/* The matrix of the population of a synthetic language (text/law.h), for comparison with estimates
 * from documents. */
#pragma once

#include "analysis/measures/population_rows.h"

/* Adds the rows of that matrix, estimate "population", to those of documents from a synthetic
 * language; to others none. *why (fresh memory; else NULL): why there are none: too many
 * contributions, or other words than those of the language. If rows->as_blind is set, no row is
 * added: as_blind remains set if the population also has plan->blind_population contexts, so that
 * the matrices are equal. */
cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why) CS_MUST_CHECK;
