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
 *   needs SIDE > SIDE       optional, repeated (or <): without it the comparison has no ground
 *   runs  RUNS              optional, repeated: what another training seed would change
 *   scope WHAT THE INTERVAL COVERS, WHAT THIS SCALE CANNOT SHOW
 *   not-at SCALE            optional: a scale of the study too small to tell
 *
 * $NAME is a variable of the study. SIDE is a number, or
 *
 *   LABEL | STEP/FILE.csv COLUMN [se=COLUMN | exact] [df=N | df=inf] [pair] WHERE... [minus
 * WHERE...]
 *
 * the number in COLUMN of the one row that fits every WHERE (where=COLUMN:VALUE), less that of a
 * second row of the file; its standard error in column se, with N degrees of freedom (19: a
 * jackknife of 20 blocks; the least of the study's); `pair`: the number is a difference of two
 * trained models. RUNS is  LABEL | FILE FILE COLUMN WHERE... [minus WHERE...], the same number in
 * two runs a_i, b_i of one objective under two seeds. In place of left, want and right:
 * statement STEP ID FORM,  a verdict of statements.json.
 *
 * With d = left - right, m the number of trained models in it and P the RUNS,
 *
 *   e^2 = e_left^2 + e_right^2 + m s^2,   s^2 = sum_i (a_i - b_i)^2 / 2P   (variance over seeds)
 *   nu  = e^4 / (e_left^4 / nu_left + e_right^4 / nu_right + (m s^2)^2 / P)  (Welch, Satterthwaite)
 *
 * and t the 0.975 quantile of Student's distribution with nu degrees of freedom (rounded down, 1 at
 * least). Sides are taken as independent, which is too wide where both are of the same documents.
 *
 *   agree         d has the sign wanted and |d| > t e;  PASS
 *   disagree      it has the other and |d| > t e;       FAIL
 *   cannot tell   a `needs` is not met: its difference has not its sign, or lies within t times
 *                 the error of its two sides (without seeds); so for models that pass no baseline
 *                 that knows nothing of what is compared;
 *                 else, or a side that is not `exact` has no error;  VACUOUS, INCONCLUSIVE,
 *                 UNSPECIFIED, and the PASS of a printed statement one of whose assumptions fails
 */
#ifndef CS_CLI_CLAIMS_H
#define CS_CLI_CLAIMS_H

#include <stdint.h>

#include "base/status.h"
#include "cli/study.h"

typedef struct {
    char *label; /* of the line; of a number its text */
    char *path;  /* STEP/FILE.csv; NULL for a number */
    char *pick;  /* the words behind it */
    double value, se, freedom;
    int models; /* trained models in it: 0, 1, or 2 with `pair` */
} cs_claim_side;

typedef struct {
    char *label, *path[2], *pick;
    double value[2];
} cs_claim_runs;

typedef struct {
    cs_claim_side left, right;
    char want; /* '>' or '<' */
} cs_claim_need;

typedef enum { CS_CLAIM_AGREES, CS_CLAIM_DISAGREES, CS_CLAIM_OPEN } cs_claim_verdict;

typedef struct {
    char *name, *source, *says, *scope;
    char *not_at;    /* NULL: no such scale */
    char *statement; /* STEP ID FORM; NULL: two sides */
    char *want;
    cs_claim_side left, right;
    int64_t pairs, needs;
    cs_claim_runs *runs;
    cs_claim_need *need;
    /* measured */
    double seeds;          /* s; NaN without RUNS */
    double difference, se; /* d, e */
    double critical;       /* t */
    char *found;           /* of a statement: its verdict */
    char *unmet;           /* the first of its needs that is not met, in words; NULL: none */
    const char *why;       /* a few words */
    cs_claim_verdict verdict;
} cs_claim;

typedef struct {
    int64_t count;
    cs_claim *claim;
} cs_claims;

/* CS_ERR_INPUT names file and line: an unknown key, a claim that lacks one, a name given twice. */
cs_status cs_claims_read(const char *path, const cs_study *study, cs_claims *out) CS_MUST_CHECK;
void cs_claims_free(cs_claims *claims);

/* Reads every side from the study's folder. CS_ERR_INPUT names the claim, and the file, column or
 * row that is missing, or rows of which more than one fits. */
cs_status cs_claims_measure(const cs_study *study, cs_claims *claims) CS_MUST_CHECK;

/* "agree", "disagree", "cannot tell" */
const char *cs_claim_verdict_name(cs_claim_verdict verdict);

/* A row a claim: claim, source, says, left, left_value, left_se, want, right, right_value,
 * right_se, seeds, difference, se, critical, verdict, why, scope. */
cs_status cs_claims_write(const cs_claims *claims, const char *path) CS_MUST_CHECK;

#endif
