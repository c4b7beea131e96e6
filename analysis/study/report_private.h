/* Pieces of a report's HTML that its files share. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analysis/study/claims.h"
#include "analysis/study/study.h"
#include "base/status.h"

enum { CS_REPORT_WORDS = 64 };

/* A report as it is written. */
typedef struct {
    const cs_study *study;
    const cs_claims *claims;
    FILE *out;   /* NULL: directives are checked, and nothing is written */
    int figures; /* written so far: the number of the next is one more */
    int words;   /* of the directive at hand */
    char *word[CS_REPORT_WORDS];
} cs_report;

/* Escapes text for HTML. */
void cs_html_text(FILE *out, const char *text);

/* A piece of HTML in which every % is replaced by the next text, escaped. */
void cs_html_put(FILE *out, const char *html, ...);

/* A number, rounded to two digits of its standard error; with none (NaN, 0) to so many digits. */
void cs_html_number(FILE *out, double x, double error, int digits);

/* Directives that read statements.json and tables (report.h). */
cs_status cs_put_statements(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_verdict(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_table(cs_report *r) CS_MUST_CHECK;
cs_status cs_put_value(cs_report *r) CS_MUST_CHECK;

/* A table: how many claims of each paper, or of each source, have each verdict; of papers also at how
 * many budgets. */
void cs_html_tally(FILE *out, const cs_claims *claims, bool sources);

/* The claims whose name starts with the prefix, a table a source, a row a claim; their scopes behind. */
cs_status cs_html_claims(const cs_report *r, const char *prefix) CS_MUST_CHECK;

/* {{claim NAME}}: the two numbers of one, their difference with its interval, and the verdict. */
cs_status cs_put_claim(cs_report *r) CS_MUST_CHECK;

/* Copies a whole report: cells of tables get data-label, the head of their column, and links to files that
 * are not under `dir` become text. */
void cs_report_finish(const char *dir, const char *html, FILE *out);

/* {{standings PREFIX FIRST}}: the claims of such names, a line for each source, a column for each label;
 * FIRST is the head of the column that says who is. */
void cs_html_standings(FILE *out, const cs_claims *claims, const char *prefix, const char *first);
