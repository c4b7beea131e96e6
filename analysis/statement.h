/* Statements: what a theorem says, evaluated on an input, with a verdict.
 *
 *   lhs <= rhs, lhs < rhs or lhs = rhs; margin = rhs - lhs (or -|lhs - rhs|), error = bound on the
 * numerical error of the margin.
 *
 * PASS          holds beyond the numerical error
 * FAIL          violated beyond the numerical error; `counterexample` says on what
 * VACUOUS       true, but the right side is no better than the trivial bound
 * INCONCLUSIVE  |margin| is below the numerical error, or an assumption could not be checked
 * UNSPECIFIED   the paper leaves a constant open, so the statement cannot fail; measured values
 *               stand in the details
 *
 * A bound can be sharp: where lhs <= rhs is attained, no arithmetic that rounds tells which side of
 * it one stands on. Such a statement stays INCONCLUSIVE, since nothing here proves that the two
 * sides are one expression, but it says `attained`: |margin| is within the error and the error is
 * CS_ATTAINED of the sides at most, so they agree to eight digits. An attained bound is no reason
 * to fail a run. A strict inequality is never attained.
 */
#ifndef CS_ANALYSIS_STATEMENT_H
#define CS_ANALYSIS_STATEMENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "io/table.h"

/* Largest relative error at which an undecided `at most` counts as attained. */
#define CS_ATTAINED 1e-8

typedef enum { CS_PASS, CS_FAIL, CS_VACUOUS, CS_INCONCLUSIVE, CS_UNSPECIFIED } cs_verdict;
typedef enum { CS_PRINTED, CS_CORRECTED } cs_statement_form;
typedef enum { CS_RELATION_EQUAL, CS_RELATION_AT_MOST, CS_RELATION_LESS } cs_relation;

const char *cs_verdict_name(cs_verdict verdict); /* "PASS", ... */

typedef struct {
    char id[40]; /* "4.1", "4.1-gap", "4.2-ar-ones" */
    cs_statement_form form;
    cs_relation relation;
    char *text;  /* the statement in symbols, one line */
    char *input; /* on what it was evaluated */
    double lhs, rhs;
    double error;   /* numerical error bound of lhs - rhs */
    double trivial; /* the trivial bound (at most): VACUOUS when rhs >= trivial; NaN: none */
    cs_verdict verdict;
    bool attained;        /* INCONCLUSIVE because an `at most` is met with equality to rounding */
    char *counterexample; /* NULL unless FAIL */
    json_t *assumptions;  /* array of {"text":., "holds":true|false|null, "value":.}, or NULL */
    json_t *details;      /* object of measured values, or NULL */
} cs_statement;

typedef struct {
    int64_t count, room;
    cs_statement *item;
} cs_statements;

void cs_statements_free(cs_statements *list);

/* Appends a statement without numbers (INCONCLUSIVE until judged) and returns it, NULL when out of
 * memory; the pointer is good until the next one is added. text and input (NULL: "") are copied. */
cs_statement *cs_statements_add(cs_statements *list, const char *id, cs_statement_form form,
                                cs_relation relation, const char *text,
                                const char *input) CS_MUST_CHECK;

/* rhs - lhs for an inequality, -|lhs - rhs| for an equality; NaN when a side is. */
double cs_statement_margin(const cs_statement *s);

/* Sets lhs, rhs, error and the verdict that follows from them (and from `trivial`, set before; NaN
 * by default). An equality passes when |lhs - rhs| <= error, an inequality when margin >= error, a
 * strict one when its margin is positive besides. */
void cs_statement_judge(cs_statement *s, double lhs, double rhs, double error);

/* INCONCLUSIVE whatever the sides say: something that they rest on failed, for instance a solver
 * that did not converge. */
void cs_statement_withhold(cs_statement *s);

cs_status cs_statement_assume(cs_statement *s, const char *text, bool holds,
                              double value) CS_MUST_CHECK;
cs_status cs_statement_detail(cs_statement *s, const char *key,
                              json_t *value) CS_MUST_CHECK; /* steals value */
cs_status cs_statement_counterexample(cs_statement *s, const char *format, ...)
    CS_PRINTF(2, 3) CS_MUST_CHECK;

/* {"statements": [{"id", "form", "relation", "verdict", "attained", "statement", "input", "lhs",
 * "rhs", "margin", "error", "trivial", "assumptions", "counterexample", "details"}, ...]} */
json_t *cs_statements_json(const cs_statements *list);

/* A row a statement: id, form, verdict, lhs, relation, rhs, margin, error, statement, input,
 * counterexample; the last two not when brief. */
cs_status cs_statements_table(const cs_statements *list, bool brief, cs_table *out) CS_MUST_CHECK;

/* True when a corrected statement FAILed (exit code 1). */
bool cs_statements_failed(const cs_statements *list);

/* The first corrected statement that is INCONCLUSIVE without being attained (exit code 4 when none
 * failed), or NULL. */
const cs_statement *cs_statements_inconclusive(const cs_statements *list);

#endif
