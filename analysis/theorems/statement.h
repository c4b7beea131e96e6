/* Statements of theorems, evaluated on an input, with a verdict.
 *
 *   lhs <= rhs, lhs < rhs or lhs = rhs;   margin = rhs - lhs, or -|lhs - rhs|
 *
 * and error is a bound on the numerical error of the margin.
 *
 *   PASS          holds beyond the numerical error
 *   FAIL          violated beyond the numerical error; `counterexample` names the input
 *   VACUOUS       true, but the right side is no better than the trivial bound
 *   INCONCLUSIVE  |margin| is below the numerical error, or an assumption could not be checked
 *   UNSPECIFIED   the paper leaves a constant open, or both sides come from one formula, so the
 *                 statement cannot fail; measured values are in the details
 *
 * A bound can be sharp: if lhs <= rhs is attained, rounded arithmetic cannot decide on which side
 * of it a value lies. Such a statement stays INCONCLUSIVE, since nothing proves that the two sides
 * are equal, but it is marked `attained`: |margin| is within the error and the error is at most
 * CS_ATTAINED of the sides, so they agree to eight digits. An attained bound does not fail a run. A
 * strict inequality is never attained.
 *
 *     cs_statement *s = cs_statements_claim(list, &(cs_claim){.id = "3.1", ..., .lhs = x, .rhs = y});
 *     cs_statement_int(s, "trials", trials);
 *     return cs_statements_status(list);
 *
 * The first failure is kept (only memory can fail), so one check at the end suffices. Functions
 * accept NULL for a statement that could not be made. */
#pragma once

#include "io/result.h"

/* Largest relative error at which an undecided `at most` counts as attained. */
#define CS_ATTAINED 1e-8

typedef enum { CS_PASS, CS_FAIL, CS_VACUOUS, CS_INCONCLUSIVE, CS_UNSPECIFIED } cs_verdict;
typedef enum { CS_PRINTED, CS_CORRECTED } cs_statement_form;
typedef enum { CS_RELATION_EQUAL, CS_RELATION_AT_MOST, CS_RELATION_LESS } cs_relation;

const char *cs_verdict_name(cs_verdict verdict); /* "PASS", ... */
/* The same for a reader: "holds", "holds, but vacuous", "false as printed" ("false" of a corrected one),
 * "undetermined", "not specified". */
const char *cs_verdict_words(cs_verdict verdict, cs_statement_form form);
const char *cs_form_name(cs_statement_form form); /* "printed", "corrected" */

typedef struct {
    const char *theorem; /* its entry in the registry, "4.1"; NULL: unknown; borrowed */
    char id[40];         /* "4.1", "4.1-gap", "4.2-ar-ones" */
    cs_statement_form form;
    cs_relation relation;
    char *text;  /* the statement in symbols, one line */
    char *input; /* the input of the evaluation */
    double lhs, rhs;
    double error;   /* numerical error bound of lhs - rhs */
    double trivial; /* the trivial bound (at most): VACUOUS when rhs >= trivial; NaN: none */
    cs_verdict verdict;
    bool attained; /* INCONCLUSIVE because an `at most` is met with equality to rounding */
    /* on an input that is fixed in the program, independent of the options */
    bool example;
    char *counterexample; /* NULL unless FAIL */
    json_t *assumptions;  /* array of {"text":., "holds":true|false|null, "value":.}, or NULL */
    json_t *details;      /* object of measured values, or NULL */
    cs_status status;     /* the first failure of what was added to it */
} cs_statement;

typedef struct {
    int64_t count, capacity;
    cs_statement *item;
    const char *theorem; /* of statements added from now on; NULL: unknown; borrowed */
    cs_status status;    /* a statement that could not be added */
} cs_statements;

void cs_statements_free(cs_statements *list);

/* CS_OK, or the reason why a statement or a part of one is missing. */
cs_status cs_statements_status(const cs_statements *list) CS_MUST_CHECK;

/* Appends a statement without numbers (INCONCLUSIVE until evaluated) and returns it, NULL when out
 * of memory; the pointer is valid until the next one is added. text and input (NULL: "") are
 * copied. */
cs_statement *cs_statements_add(cs_statements *list, const char *id, cs_statement_form form,
                                cs_relation relation, const char *text, const char *input);

/* All members of a statement. */
typedef struct {
    const char *id;
    cs_statement_form form;
    cs_relation relation;
    const char *text, *input;
    double lhs, rhs, error;
} cs_claim;

/* Appends a claim with its verdict; "INPUT: LHS against RHS" is the counterexample of one that
 * fails. Returns as cs_statements_add. */
cs_statement *cs_statements_claim(cs_statements *list, const cs_claim *claim);

/* Marks the statements from `first` on as made on examples. */
void cs_statements_mark(cs_statements *list, int64_t first);

/* rhs - lhs for an inequality, -|lhs - rhs| for an equality; NaN when a side is. */
double cs_statement_margin(const cs_statement *s);

/* Sets lhs, rhs, error and the verdict that follows from them (and from `trivial`, set before; NaN
 * by default). An equality passes when |lhs - rhs| <= error, an inequality when margin >= error, a
 * strict one when its margin is positive besides. */
void cs_statement_evaluate(cs_statement *s, double lhs, double rhs, double error);

/* Distance of lhs <= rhs from failing, the closest first: of many cases the one with the least is
 * reported. A side or an error that is not finite is no evidence. */
typedef enum {
    CS_CLAIM_STATE_FAILS,
    CS_CLAIM_STATE_UNKNOWN,
    CS_CLAIM_STATE_UNDECIDED,
    CS_CLAIM_STATE_HOLDS
} cs_claim_state;
cs_claim_state cs_claim_state_of(double lhs, double rhs, double error);

/* INCONCLUSIVE whatever the sides are: a prerequisite failed, for instance a solver did not
 * converge. */
void cs_statement_withhold(cs_statement *s);

/* UNSPECIFIED whatever the sides are, and without a counterexample: `why` is the assumption that
 * does not hold. */
void cs_statement_unspecify(cs_statement *s, const char *why, double value);

void cs_statement_assume(cs_statement *s, const char *text, bool holds, double value);
void cs_statement_detail(cs_statement *s, const char *key, json_t *value); /* takes over value */
void cs_statement_real(cs_statement *s, const char *key, double x);
void cs_statement_int(cs_statement *s, const char *key, int64_t x);

/* Several details at once, in their order. */
typedef struct {
    const char *key;
    double value;
} cs_detail;
void cs_statement_reals(cs_statement *s, int64_t count, const cs_detail *detail);

/* Sets the input on which a statement fails; ignored for any other verdict. */
void cs_statement_counterexample(cs_statement *s, const char *format, ...) CS_PRINTF(2, 3);

/* Adds the array "statements" to a record: {"id", "form", "relation", "verdict", "attained",
 * "statement", "input", "lhs", "rhs", "margin", "error", "trivial", "assumptions",
 * "counterexample", "details", "example", "theorem"} each. cs_statements_view is its table, a row each. */
void cs_statements_record(const cs_statements *list, cs_item *root);
extern const cs_view cs_statements_view;

/* True when a corrected statement FAILed (exit code 1). */
bool cs_statements_failed(const cs_statements *list);

/* The first corrected statement that is INCONCLUSIVE without being attained (exit code 4 when none
 * failed), or NULL. */
const cs_statement *cs_statements_inconclusive(const cs_statements *list);
