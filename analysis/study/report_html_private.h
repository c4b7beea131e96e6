/* Functions for a report's HTML, shared by its files. */
#pragma once

#include <stdio.h>

#include "analysis/study/claims.h"
#include "analysis/study/study.h"

enum { CS_REPORT_WORDS = 64 };

/* A report that is being written. */
typedef struct {
    const cs_study *study;
    const cs_claims *claims;
    FILE *out;   /* NULL: directives are checked, and nothing is written */
    int figures; /* written so far: the number of the next is one more */
    int words;   /* of the current directive */
    char *word[CS_REPORT_WORDS];
} cs_report;

/* Escapes text for HTML. */
void cs_html_text(FILE *out, const char *text);

/* A piece of HTML in which every % is replaced by the next text, escaped. */
void cs_html_put(FILE *out, const char *html, ...);

/* A number, rounded to two digits of its standard error; without one (NaN, 0) with `digits` digits.
 */
void cs_html_number(FILE *out, double x, double error, int digits);

/* A verdict with the mark that it has in figures; the text may have its threshold. */
void cs_html_badge(FILE *out, cs_claim_verdict verdict, const char *text);

/* Directives that read statements.json and tables (report.h). */
cs_status cs_put_statement(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_verdict(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_table(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_value(cs_report *r) CS_MUST_CHECK;

/* A table: numbers of claims with each verdict for each paper, or for each source; for papers also
 * the numbers of budgets. */
void cs_html_tally(FILE *out, const cs_claims *claims, bool sources);

/* The claims whose name starts with the prefix, a table for each source, a row for each claim; then
 * their scopes. */
cs_status cs_html_claims(const cs_report *r, const char *prefix) CS_MUST_CHECK;

/* {{claim NAME}}: the two numbers of one, their difference with its interval, and the verdict. */
cs_status cs_put_claim(cs_report *r) CS_MUST_CHECK;

/* Copies a whole report: cells of tables get data-label, the head of their column, and links to files that
 * are not under `dir` become text. */
void cs_report_finish(const char *dir, const char *html, FILE *out);

/* {{standings PREFIX FIRST}}: the claims with such names, a line for each source, a column for each
 * label; FIRST is the heading of the column of winners. */
void cs_html_standings(FILE *out, const cs_claims *claims, const char *prefix, const char *first);
