/* Whether two builds are the same, bit for bit, and builds that fail, or are of a group. */
#pragma once

#include "cooc/builder.h"
#include "linalg/csr.h"

void assert_same_csr(const cs_csr *a, const cs_csr *b);
void assert_same_cooc(const cs_cooc *a, const cs_cooc *b);

/* Valid CSR, keys ascending, and the sums that must agree. */
void assert_consistent(const cs_cooc *m);

/* Nothing is built, and the reason holds `words` and the place of the checkpoint where there is one. */
void assert_build_fails(const cs_corpus *corpus, const cs_cooc_options *options, cs_status expected,
                        const char *words);

/* For run_ranks, with a build_job: a result for each rank. */
typedef struct {
    const cs_corpus *corpus;
    cs_cooc_options options;
    cs_cooc *result;
    bool parts;                   /* each rank has a part of the corpus, not the whole */
    int64_t sent[8], messages[8]; /* by rank */
} build_job;

cs_status build_rank(cs_comm *comm, void *job);

/* Appends the rows of the other ranks to those of rank 0, and frees the others. */
void join_ranks(cs_cooc *all, int ranks);
