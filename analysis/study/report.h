/* The report of a study: a template whose directives read the results of its steps. */
#pragma once

#include "analysis/study/claims.h"
#include "analysis/study/study.h"

/* Fills a template with the study's results. Directives, all of them traced to a file of the
 * study; $NAME in them is a variable of it:
 *
 *   {{head TITLE}}                      plots/head.html, which the shared templates have in common
 *   {{made}}                            a line of all of these, and where the numbers are:
 *   {{version}} {{date}} {{machine}} {{seconds}} {{scale}}
 *   {{command STEP}}                    how to repeat it, its wall time and exit code
 *   {{statement STEP IDS FORM WORD...}} a row of a table: the statement in these words, its form, the worst
 *                                       margin, and the verdict, that of the worst of its cases: those of the
 *                                       form in statements.json whose id fits the pattern IDS (* and ?)
 *   {{verdict STEP ID FORM}}            verdict of one statement
 *   {{table STEP/FILE.csv [columns=a,b] [where=COLUMN:VALUE]... [every=N] [limit=N]}}
 *   {{value STEP/FILE.csv COLUMN [where=COLUMN:VALUE]...}}   one number
 *   {{figure STEP FIGURE caption...}}   the SVG inline, links to PNG, PDF, CSV and script
 *   {{figures PREFIX caption...}}       those of all plots whose steps are named so
 *   {{picture STEP/FILE.png caption...}}   an image of a step
 *   {{grid STEP/FILE.png STEP/FILE.png caption...}}   the sheets of two models from `cospec reconstruct` as one
 *   {{if PREFIX}} ... {{end}}           text that appears only where a step's name begins with PREFIX
 *   {{standings PREFIX FIRST}}          models by measure; FIRST is the head of the column of winners, "best"
 *                                       where more is better and "highest" where it is neither (standings.c)
 *   {{tally [source]}}                  how many claims of each paper, or source, have each verdict
 *   {{claim NAME}}                      its verdict, numbers and interval, in a sentence
 *   {{claims [PREFIX]}}                 a table of each source: claims whose name starts with PREFIX
 *   {{curves caption...}}               the figure of the claims over three budgets or more, where there are any
 *   {{differences caption...}}          that of the claims at one budget, family by family
 *   {{course caption...}}               the figure of measures over checkpoints, where there are any
 *   {{text WORD...}}                    prose with variables of the study
 *   {{steps}}                           all steps with commands, times, exit codes
 *   {{commands}}                        a row a command: its steps, their time, the first of them
 *
 * Links to files that are not in the study's folder are left out, and table cells carry the head of their
 * column for narrow screens. The first function checks, before any step runs, that every directive is known,
 * has its words and names steps of the study. CS_ERR_INPUT "TEMPLATE:LINE: ...". */
cs_status cs_report_check(const cs_study *study, const char *template_path) CS_MUST_CHECK;
cs_status cs_report_write(const cs_study *study, const cs_claims *claims, const char *template_path,
                          const char *path) CS_MUST_CHECK;
