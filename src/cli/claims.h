/* Claims of papers held against what a study measured.
 *
 * Claims file, a block a claim ("#" starts a comment line, an empty line ends a block):
 *
 *   claim NAME
 *   source WHERE IT STANDS
 *   says WHAT IT SAYS
 *   left  SIDE
 *   want  > | <
 *   right SIDE
 *   scope WHAT THE INTERVAL COVERS, WHAT THIS SCALE CANNOT SHOW
 *   seed-one SIDE           optional: one objective's measurement in two training runs of other
 *   seed-two SIDE           seeds, for what another seed would change
 *   not-at SCALE            optional: a scale of the study too small to tell
 *
 * $NAME is a variable of the study. SIDE is a number, or  LABEL | STEP/FILE.csv COLUMN [se=COLUMN |
 * exact] [where=COLUMN:VALUE]... (cli/table_pick.h). In place of left, want and right:  statement
 * STEP ID FORM,  a verdict of statements.json. With difference d = left - right and its standard
 * error e, e^2 = e_left^2 + e_right^2 + (one - two)^2: sides are taken as independent (too wide
 * where both are of the same documents), and (one - two)^2 / 2 estimates the variance over seeds of
 * one run, with one degree of freedom:
 *
 *   agree         d has the sign wanted and |d| > 1.96 e;  PASS
 *   disagree      it has the other and |d| > 1.96 e;       FAIL
 *   cannot tell   else, or a side that is not `exact` has no error;  VACUOUS, INCONCLUSIVE,
 *                 UNSPECIFIED
 */
#ifndef CS_CLI_CLAIMS_H
#define CS_CLI_CLAIMS_H

#include <stdint.h>

#include "base/status.h"
#include "cli/study.h"

typedef struct {
    char *label; /* of the line; empty for a number */
    char *path;  /* STEP/FILE.csv; NULL for a number */
    char *pick;  /* the words behind it */
    double value, se;
} cs_claim_side;

typedef enum { CS_CLAIM_AGREES, CS_CLAIM_DISAGREES, CS_CLAIM_OPEN } cs_claim_verdict;

typedef struct {
    char *name, *source, *says, *scope;
    char *not_at;    /* NULL: no such scale */
    char *statement; /* STEP ID FORM; NULL: two sides */
    char *want;
    cs_claim_side left, right;
    cs_claim_side seed_one, seed_two; /* label NULL: not given */
    /* measured */
    double difference, se;
    char *found;     /* of a statement: its verdict */
    const char *why; /* a few words */
    cs_claim_verdict verdict;
} cs_claim;

typedef struct {
    int64_t count;
    cs_claim *claim;
} cs_claims;

/* CS_ERR_INPUT names file and line: an unknown key, a claim that lacks one, a name given twice. */
cs_status cs_claims_read(const char *path, const cs_study *study, cs_claims *out) CS_MUST_CHECK;
void cs_claims_free(cs_claims *claims);

/* Reads every side from the study's folder. CS_ERR_INPUT names
 * the claim, and the file, column or row that is missing. */
cs_status cs_claims_measure(const cs_study *study, cs_claims *claims) CS_MUST_CHECK;

/* "agree", "disagree", "cannot tell" */
const char *cs_claim_verdict_name(cs_claim_verdict verdict);

/* A row a claim: claim, source, says, left, left_value, left_se, right, right_value, right_se,
 * seeds, difference, se, verdict, why, scope. */
cs_status cs_claims_write(const cs_claims *claims, const char *path) CS_MUST_CHECK;

#endif
