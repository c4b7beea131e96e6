/* matrix.json, and the options of a build as JSON. */
#pragma once

#include "cooc/store.h"
#include "plan/plan_file.h"

/* The options that a matrix depends on, with all parameters of the objective: part of the sidecar, and
 * of the identity of a build. */
cs_status cs_sidecar_options(const cs_cooc_options *o, json_t *to) CS_MUST_CHECK;

typedef struct {
    int64_t rows, cols, nnz, labels;
    bool plan_file, words; /* set by reading */
} cs_sidecar_sizes;

/* The sidecar of a build, and back: options, sums of `m`, whose arrays are not read, and the small
 * fields of the corpus (names, labels, counts) of *store. `file` is for messages. Reading leaves
 * arrays of the corpus except label_name unset. */
cs_status cs_sidecar_make(const cs_corpus *corpus, const cs_cooc_options *o, const cs_cooc *m,
                          const cs_sidecar_sizes *sizes, json_t **out) CS_MUST_CHECK;
cs_status cs_sidecar_parse(const char *file, const json_t *sidecar, cs_cooc_store *store,
                           cs_sidecar_sizes *sizes) CS_MUST_CHECK;
