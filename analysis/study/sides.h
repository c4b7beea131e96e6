/* Numbers of the tables of a study over several seeds, with their blocks. */
#pragma once

#include <stdint.h>

#include "analysis/study/study.h"
#include "base/status.h"
#include "stats/decide.h"

enum { CS_CLAIM_RUNS = 24 };

/* The number of one run, and its values without each block of documents. */
typedef struct {
    char *seed; /* NULL: the file names none */
    double value, se, bias;
    double p;                 /* of an exact test */
    int64_t blocks, capacity; /* 0: not known */
    double *left_out;
    char partition[40];
} cs_claim_run;

/* Texts belong to the study, except those at a budget and of a number. */
typedef struct cs_claim_side cs_claim_side;
struct cs_claim_side {
    const char *label;
    char *file;                /* STEP/FILE.csv; NULL: a number */
    char *pick, *minus;        /* minus NULL: no second row */
    const char *error;         /* column of the standard error; NULL: exact */
    const char *chance;        /* where an exact p-value is; NULL: none */
    double value, se, freedom; /* the mean over runs; se: the mean of theirs */
    double p;                  /* the largest over runs */
    int64_t runs;              /* seeds; 0: the file names none */
    int64_t measured;          /* as runs; 1 where the file names no seed; 0: a number */
    cs_claim_run run[CS_CLAIM_RUNS];
    double variance;  /* over seeds */
    int64_t blocks;   /* of documents, the same for all runs; 0: not known */
    double *left_out; /* the mean without each */
    double bias;      /* error not measured by blocks */
    char partition[40];
    bool trained;    /* it is about a model trained by a step */
    char digits[32]; /* of a number, its label */
    /* Owned; NULL: none. The number without training, and after four times the steps. */
    cs_claim_side *floor, *longer;
};

/* The number of the side: in "STEP/FILE.csv", or, if the name of the step contains '#', the mean
 * over the seeds of the study, with their variance; in a pair, over those that the other side has
 * too (NULL: no pair). CS_ERR_INPUT as cs_claims_measure. */
cs_status cs_side_measure(const cs_study *study, cs_claim_side *side,
                          const cs_claim_side *other) CS_MUST_CHECK;
void cs_side_free(cs_claim_side *side);

/* The error of left minus right from the documents: one part if both sides have blocks of the same
 * documents (a paired jackknife of the difference), else one for each side. */
void cs_sides_documents(const cs_claim_side *left, const cs_claim_side *right,
                        cs_error_part part[2]);
