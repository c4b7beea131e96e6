/* Linear probes on one matrix of features, one for each seed: each draws its few training examples,
 * fits with the folds of its seed and predicts the test examples. */
#pragma once

#include "analysis/measures/linear_probe.h"
#include "analysis/trained/predictions.h"

/* The same for all layers. */
typedef struct {
    const char *few;             /* of cs_few_shot: "all", "10%", "16" */
    cs_scoring scoring;          /* of the predictions */
    cs_linear_probe_options fit; /* except the seed */
} cs_probe_study;

/* One layer. Owns everything except its name. */
typedef struct {
    cs_pool pool;
    const char *layer; /* "last", "3"; "-": a matrix */
    int64_t features;
    cs_linear_probe *probe;        /* for each seed */
    double *prediction, *baseline; /* seeds x test->count */
    double penalty, gradient;      /* median of the chosen penalties; largest gradient norm */
    int64_t iterations;            /* most */
    int64_t unconverged;           /* probes */
} cs_probe_layer;

/* Rows of train and test are the examples of study->scoring. The baseline is cs_scoring_constant:
 * of all training examples, since few evenly drawn ones have no most frequent class. Errors of
 * cs_few_shot, cs_linear_probe_fit and cs_linear_probe_predict. */
cs_status cs_probe_layer_of(const cs_probe_study *study, const char *layer, const cs_rows *train,
                            const cs_rows *test, cs_probe_layer *out) CS_MUST_CHECK;
void cs_probe_layer_free(const cs_probe_study *study, cs_probe_layer *layer);

/* The layer in a record: its scores ("metrics"), those of the baseline, each run, and against
 * `reference`, the run of --against, whose file may be NULL. CS_ERR_INPUT if its predictions are
 * for other examples. */
cs_status cs_probe_layer_record(const cs_probe_study *study, const cs_reference *reference,
                                const cs_probe_layer *layer, cs_item *item) CS_MUST_CHECK;
