/* The numbers of a selection of documents, private to the rows of a corpus (population_rows.c) and
 * of its null: one list of values, so that jackknife, smaller corpora and null differ only in their
 * selection. */
#pragma once

#include "analysis/measures/population_rows.h"

/* Indices of each estimate: sum sigma^2, sum sigma^4, sigma_j, tails. */
enum {
    CS_POP_SUM2,
    CS_POP_SUM4,
    CS_POP_SIGMA,
    CS_POP_TAIL = CS_POP_SIGMA + CS_LEADING,
    CS_POP_OF_ESTIMATE = CS_POP_TAIL + 4
};
enum { CS_POP_PLUG_IN, CS_POP_CROSS_FIT, CS_POP_DISTINCT, CS_POP_ESTIMATES };

/* Contexts held back: of each of HOLDS least numbers of documents, both drifts and the mass left. */
enum { CS_POP_DRIFT2, CS_POP_DRIFT4, CS_POP_LEFT, CS_POP_OF_HOLD, CS_POP_HOLDS = 3 };

/* Indices of the list: metrics of the matrix of the corpus, its values below 1, the three
 * estimates, and the numbers of the distinct-document one. */
enum {
    CS_POP_BELOW = CS_CONNECTIVITY_METRICS,
    CS_POP_ESTIMATED = CS_POP_BELOW + CS_CONNECTIVITY_SIGMAS,
    CS_POP_SEEN = CS_POP_ESTIMATED + CS_POP_ESTIMATES * CS_POP_OF_ESTIMATE,
    CS_POP_SEEN_HALVES,
    CS_POP_HELD,
    CS_POP_CORRECTED2 = CS_POP_HELD + CS_POP_HOLDS * CS_POP_OF_HOLD, /* not a row: intervals of the
                                                                        sums rest on them */
    CS_POP_CORRECTED4,
    CS_POP_NOISE, /* of all documents; not a row */
    CS_POP_VALUES
};

/* Numbers that are computed for a selection of documents: the sums; also lambda, except that of the
 * plug-in; all; all, and with contexts held back. */
typedef enum { CS_POP_SUMS, CS_POP_LEADING, CS_POP_SPECTRA, CS_POP_HELD_BACK } cs_population_taken;

static inline int cs_population_number(int estimate, int number)
{
    return CS_POP_ESTIMATED + estimate * CS_POP_OF_ESTIMATE + number;
}

typedef struct {
    const cs_corpus *corpus;
    const cs_population_plan *plan;
    /* no stored contexts: a corpus is counted again for every selection */
    bool gram;
    cs_population_counts counts;
    int64_t documents; /* of the split */
    int64_t filled;    /* of these, that have sequences */
    int32_t *rank;     /* by document of the corpus, -1: not in the split */
    uint8_t *part;     /* of the current selection */
    cs_dense start[2]; /* leading vectors of all documents: of M and of Q */
    cs_pool pool;
} cs_population_study;

cs_status cs_population_study_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                 cs_population_study *out) CS_MUST_CHECK;
void cs_population_study_free(cs_population_study *study);

/* `size` documents of the order from number `first` on, without those of one block (-1: none). A
 * document is in the same block whatever the size, so that differences between sizes are paired. */
void cs_population_choose(cs_population_study *s, int64_t first, int64_t size, int64_t block);

/* The block of a document. */
int64_t cs_population_block(const cs_population_study *s, int64_t document);

/* The list of CS_POP_VALUES values of the selection; NaN if not computed. keep: receives the
 * connectivity of all documents, NULL for a part of them. */
cs_status cs_population_measure(cs_population_study *s, cs_population_taken what,
                                cs_connectivity *keep, double *values) CS_MUST_CHECK;

/* The same of a single matrix. */
cs_status cs_population_measure_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_connectivity *keep, double *values) CS_MUST_CHECK;

/* The name of value i; false: it is not a row. The sums of the plug-in are among the metrics of the
 * matrix if these are computed. */
bool cs_population_describe(int i, cs_population_taken what, cs_population_row *row);

/* t of a tail, for number >= CS_POP_TAIL of an estimate. */
int cs_population_tail_from(int number);

/* The value whose interval value i has. */
int cs_population_basis(int i);

cs_status cs_population_add(cs_population_rows *rows, const cs_population_row *row) CS_MUST_CHECK;
