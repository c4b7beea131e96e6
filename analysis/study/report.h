/* The report of a study: a template whose directives read what the steps left behind. */
#pragma once

#include "analysis/study/claims.h"
#include "analysis/study/study.h"
#include "base/status.h"

/* Fills a template with the study's results. Directives, all of them traced to a file of the
 * study; $NAME in them is a variable of it:
 *
 *   {{head TITLE}}                      plots/head.html, which the shared templates have in common
 *   {{made}}                            a line of all of these, and where the numbers are:
 *   {{version}} {{date}} {{machine}} {{seconds}} {{scale}}
 *   {{command STEP}}                    how to repeat it, its wall time and exit code
 *   {{statements STEP [PREFIX]}}        statements.json as a table, ids starting with PREFIX
 *   {{verdict STEP ID FORM}}            verdict of one statement
 *   {{table STEP/FILE.csv [columns=a,b] [where=COLUMN:VALUE]... [every=N] [limit=N]}}
 *   {{value STEP/FILE.csv COLUMN [where=COLUMN:VALUE]...}}   one number
 *   {{figure STEP FIGURE caption...}}   the SVG inline, links to PNG, PDF, CSV and script
 *   {{figures PREFIX caption...}}       those of all plots whose steps are named so
 *   {{if PREFIX}} ... {{end}}           what stands there only where a step's name begins so
 *   {{standings PREFIX FIRST}}          who is first in what (standings.h); FIRST heads the column
 *   {{tally [source]}}                  how many claims of each paper, or source, have which verdict
 *   {{claim NAME}}                      its verdict, numbers and interval, in a sentence
 *   {{claims [PREFIX]}}                 claims whose name starts with PREFIX, measured
 *   {{curves caption...}}               the figure of the claims over budgets, where there are any
 *   {{differences caption...}}          that of the claims at one budget, family by family
 *   {{course caption...}}               the figure of measures over checkpoints, where there are any
 *   {{text WORD...}}                    prose with variables of the study
 *   {{steps}}                           all steps with commands, times, exit codes
 *
 * The first function looks, before any step runs, whether every directive is known, has its words
 * and names steps of the study. CS_ERR_INPUT "TEMPLATE:LINE: ...". */
cs_status cs_report_check(const cs_study *study, const char *template_path) CS_MUST_CHECK;
cs_status cs_report_write(const cs_study *study, const cs_claims *claims, const char *template_path,
                          const char *path) CS_MUST_CHECK;
