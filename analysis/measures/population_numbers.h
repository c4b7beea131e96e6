/* The numbers of a selection of documents, for the rows of a corpus (population_rows.h) and
 * of its null: one list of values, so that jackknife, smaller corpora and null differ only in their
 * selection. */
#pragma once

#include "analysis/measures/connectivity.h"
#include "analysis/measures/population.h"

typedef struct {
    const char *metric, *estimate, *definition;
    double value, se, low, high; /* NaN: none */
    int64_t documents, blocks;   /* 0: unknown; no jackknife */
    bool corrected_interval;     /* the interval is of the bias-corrected value, the value is not */
    double *left_out;            /* the number without each block; NULL: no jackknife */
} cs_population_row;

typedef struct {
    int64_t count, capacity;
    cs_population_row *row;
    cs_connectivity plug_in;                 /* of the corpus; empty for a null */
    char partition[33];                      /* of the blocks (cs_corpus_partition); "": none */
    double sigma_se[CS_CONNECTIVITY_SIGMAS]; /* of its leading values below 1 */
    /* of the documents of the split; of these in no sequence, -1: no corpus */
    int64_t tokens, uncovered;
    /* nothing was measured: the matrix equals that of the blind target position */
    bool as_blind;
} cs_population_rows;

void cs_population_rows_free(cs_population_rows *rows);

typedef struct {
    cs_cooc_options build;
    /* for the corpus; in the jackknife k is CS_CONNECTIVITY_SIGMAS and only cheap certificates run
     */
    cs_connectivity_options spectrum;
    int64_t blocks; /* B; 0: no intervals */
    /* also the corpora of 1/2, 1/4, ... 1/2^sizes of the documents: sums and mass seen, and from
     * the largest two the sums extrapolated to mass seen 1: x(n) + (x(n) - x(n/2)) m(n/2) (1 -
     * m(n)) / (m(n) - m(n/2)); x(n) if m(n) = 1, NaN if otherwise m(n) = m(n/2) */
    int64_t sizes;
    /* only sums and mass seen: no spectra, which take most of the time */
    bool sums;
    /* also the drift of the sums if contexts of fewer than 4, 8, 16 documents count as unseen: a
     * test that the unseen are like the seen */
    bool hold_back;
    int64_t shuffles; /* of the null */
    /* contexts with the target position blind, which a known position subdivides: if the numbers
     * are equal, so are the matrices except for the order of rows. 0: unknown */
    int64_t blind;
    int64_t blind_population; /* the same for the population of a synthetic corpus; 0: unknown */
    uint64_t seed;
} cs_population_plan;

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
    /* Not a row: intervals of the sums rest on them. */
    CS_POP_CORRECTED2 = CS_POP_HELD + CS_POP_HOLDS * CS_POP_OF_HOLD,
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
    int64_t documents;         /* of the split */
    int64_t filled;            /* of these, that have sequences */
    int64_t tokens, uncovered; /* as of cs_cooc_prepared */
    int32_t *rank;             /* by document of the corpus, -1: not in the split */
    uint8_t *part;             /* of the current selection */
    cs_dense start[2];         /* leading vectors of all documents: of M and of Q */
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

/* The rows of the null: the same corpus with its tokens permuted over the documents, so that words
 * are independent, every sum of its language is 1, and every sigma_j beyond the first is 0. Over
 * the shuffles: value is their mean, se their standard deviation, low and high the 95% prediction
 * interval of another shuffle (of distinct-document sums, with P_G from pairs of documents: it
 * contains 1 if the estimate is unbiased); NaN for a single one. Shuffle i is a function of (seed,
 * i). Sums of the plug-in beyond its moment budget are NaN. */
cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out) CS_MUST_CHECK;
