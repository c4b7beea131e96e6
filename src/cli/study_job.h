/* A study as the work of a command: its steps, claims, tables and report. */
#pragma once

#include "analysis/study/claims.h"
#include "analysis/study/compare.h"
#include "cli/opt.h"

/* --jobs --any-version */
extern const cs_opt cs_group_study_job[];

typedef struct {
    cs_study study;
    cs_claims claims;
    const char *steps, *template; /* files */
    bool compares, series;        /* models: scores.csv; checkpoints: their figure */
    cs_status (*begin)(cs_args *args,
                       void *ctx); /* writes initial files of the folder; NULL: nothing */
    /* further checks, before the first step and --dry-run; NULL: nothing is checked */
    cs_status (*check)(cs_args *args, const cs_study *study, void *ctx);
    /* --dry-run: replaces the run; NULL: the command has none */
    cs_status (*times)(cs_args *args, const cs_study *study, void *ctx);
    void *ctx;
    /* set by the run */
    const char *report, *verdicts;
    cs_args *args;
} cs_study_job;

/* The file that an option names, or the shared one (NULL: no option). */
cs_status cs_args_shared(cs_args *args, const char *option, const char *shared,
                         const char **out) CS_MUST_CHECK;

/* Checks the commands and the template before the first step. */
cs_status cs_study_job_run(cs_args *args, cs_study_job *job) CS_MUST_CHECK;
void cs_study_job_free(cs_study_job *job);

/* Estimated times of cospec compare --dry-run, as its result: the steps that are not kept, with estimated seconds, and their total.
 * Models and texts are read and one batch of each model is run; nothing is prepared or written.
 * CS_ERR_INPUT as in the steps. */
cs_status cs_compare_times(cs_args *args, const cs_model_comparison *models,
                           const cs_study *study) CS_MUST_CHECK;

/* CS_ERR_INPUT: a named corpus or task has not been prepared, which a first run does and --dry-run
 * does not. */
cs_status cs_compare_prepared(cs_args *args) CS_MUST_CHECK;
