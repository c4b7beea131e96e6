/* What the files of the store share. */
#pragma once

#include "cooc/store.h"

/* The sidecar of a build, and back: options, sums and the corpus' small fields (names, labels,
 * counts) of *store. `file` is for messages. Reading leaves arrays of the corpus but label_name
 * unset. */
cs_status cs_sidecar_make(const cs_corpus *corpus, const cs_cooc_options *o, const cs_cooc *m,
                          json_t **out) CS_MUST_CHECK;

typedef struct {
    int64_t rows, cols, nnz, labels;
    bool plan_file, words;
} cs_sidecar_sizes;
cs_status cs_sidecar_parse(const char *file, const json_t *sidecar, cs_cooc_store *store,
                           cs_sidecar_sizes *sizes) CS_MUST_CHECK;
