/* Statements as `cospec verify` reports them in the statements.json of a step. Internal to analysis/study. */
#pragma once

#include <jansson.h>

#include "analysis/study/claims.h"

/* The verdict on a statement, printed or corrected, for which `cospec verify` found "PASS", ...;
 * `assumed`: its assumptions hold. */
cs_claim_verdict cs_claim_of_statement(const char *found, bool printed, bool assumed);

/* How bad the verdict on a statement is, from 0 on: of several cases the worst counts. */
int cs_claim_badness(cs_claim_verdict verdict);

/* statements.json of a step, and its statement with an id and form: CS_ERR_INPUT if there is none. Of
 * several cases the worst counts, of built-in examples only where there are no others. *found is part
 * of *file, which belongs to the caller. */
cs_status cs_study_statements(const cs_study *study, const char *step, json_t **file) CS_MUST_CHECK;
cs_status cs_study_statement(const cs_study *study, const char *step, const char *id,
                             const char *form, json_t **file, const json_t **found) CS_MUST_CHECK;

/* Whether no assumption of a statement fails. */
bool cs_study_assumed(const json_t *statement);

/* Whether it is about a built-in example. */
bool cs_study_example(const json_t *statement);
