/* The study that compares models (plots/compare.json): its tables and variables, from facts about
 * the models that are known before anything is measured. */
#pragma once

#include <jansson.h>

#include "base/mem.h"

enum { CS_COMPARE_LAYERS = 25, CS_COMPARE_ALIKE = 7, CS_COMPARE_MODELS = 12 };

typedef struct {
    const char *name, *path;
    const char *series, *step; /* of a checkpoint; "": a single model */
    bool last;                 /* the last of its series, or single: compared with the others */
    bool decoder;              /* of two stacks the second */
    const char *arch, *kind;
    int64_t layers, width, parameters;
    const char *pooling; /* mean, first, last: the default of the kind */
    /* "--ask append,pseudo" and similar options; how it predicts the next token; "": not at all */
    const char *ask, *next;
    bool shares;               /* the pass of its states gives the losses of its tokens */
    const char *draws;         /* "--draws 2" where it reads by drawn plans, else "" */
    bool pseudo, masks, tunes; /* predicts from both sides; has [MASK]; can be fine-tuned */
    const char *missing;       /* parts that are not measured and why, each after "; "; "": none */
} cs_compare_model;

typedef struct {
    const char *name, *words,
        *metric; /* words: TRAIN [TEST] and columns, in the form of cospec probe */
} cs_compare_task;

typedef struct {
    int64_t models, tasks;
    const cs_compare_model *model;
    const cs_compare_task *task;
    /* Input of the encoder with each document if a second stack is measured; NULL: the document,
     * and nothing if its tokens are predicted, since it would only copy them. */
    const char *sources;
} cs_model_comparison;

typedef struct {
    int64_t step;
    const char *path;
} cs_checkpoint;

/* The checkpoints in a folder: folders with a config.json whose names end with a number of at most
 * 15 digits, by ascending steps. */
typedef struct {
    cs_pool pool;
    int64_t count;
    cs_checkpoint *at;
} cs_checkpoints;

/* There may be none. */
cs_status cs_checkpoints_of(const char *dir, cs_checkpoints *out) CS_MUST_CHECK;
void cs_checkpoints_free(cs_checkpoints *c); /* accepts a zeroed object */

/* Adds to a study (an object) the tables models, pairs, course, alike, sections, tasks, probes,
 * graded. Layers are all, for deeper models CS_COMPARE_LAYERS evenly spaced ones; at most
 * CS_COMPARE_ALIKE are compared with those of other models. CS_ERR_USAGE: more than
 * CS_COMPARE_MODELS to compare. */
cs_status cs_compare_tables(const cs_model_comparison *c, json_t *study) CS_MUST_CHECK;

/* The models as a table: model, series, step, architecture, stack ("decoder", ""), kind, layers, width,
 * parameters, pooling, path, not_measured. */
cs_status cs_compare_models_write(const cs_model_comparison *c, const char *path) CS_MUST_CHECK;
