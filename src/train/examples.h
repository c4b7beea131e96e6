/* The training sequences of a model, and their order.
 *
 * One document for each sequence, cut into pieces of at most `length` tokens; or packed: documents
 * joined, an end token after each, and cut into blocks of `length`. Every epoch is a permutation
 * fixed by (seed, epoch), so that example n of a run depends on n only. With groups, windows of 64
 * batches of that order are sorted by length and the batches of each window shuffled again: less
 * padding, and an example still occurs once in an epoch. */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "plan/objective.h"
#include "text/corpus.h"

typedef struct {
    const cs_objective *objective; /* sequences for which one of them has no plan are left out */
    int64_t objectives;            /* their number; 0: 1 */
    int64_t length;
    bool pack;
    int32_t end_token; /* packed: -1 is CS_ERR_USAGE */
    bool held_out;     /* the held-out documents, else the others */
    uint64_t seed;
    int64_t group; /* sequences of similar length in a batch; 0: any */
} cs_examples_options;

typedef struct {
    const int32_t *token; /* the corpus's, or `joined` */
    const float *real;    /* the corpus's; NULL: it is of ids */
    int64_t real_width;
    const float *extra; /* of the corpus, by document; NULL: none */
    int64_t extra_width;
    int64_t *document; /* count, of extra vectors; else NULL */
    int32_t *joined;
    int64_t count;   /* sequences */
    int64_t *start;  /* count: first token */
    int32_t *length; /* count */
    int64_t longest;
    int64_t too_short; /* sequences left out */
    uint64_t seed;
    int64_t group;
    int64_t epoch;  /* of the current order, -1: none */
    cs_pool pool;   /* of all arrays but those of the corpus */
    int32_t *order; /* count */
    int32_t *place; /* count, scratch of grouping; NULL: group is 0 */
} cs_examples;

/* Ascending lengths, ties by ascending places: a unique order. */
typedef struct {
    int64_t length, place, number;
} cs_by_length;
void cs_sort_by_length(int64_t count, cs_by_length *item);

/* No sequence left is no error: count is 0. Borrows the tokens of the corpus. Memory: 20 bytes a
 * sequence (24 with groups), packed: 4 bytes a token more. CS_ERR_USAGE for a length below 1;
 * CS_ERR_INPUT for more than 2^31 - 1 sequences. */
cs_status cs_examples_of(const cs_corpus *corpus, const cs_examples_options *options,
                         cs_examples *out) CS_MUST_CHECK;
void cs_examples_free(cs_examples *examples);

/* The sequence of example n (0, 1, ...) of the run: number n % count of the order of epoch n /
 * count. Shuffles if the epoch has changed. CS_ERR_MEMORY (groups). */
cs_status cs_examples_at(cs_examples *examples, int64_t n, int64_t *out) CS_MUST_CHECK;

/* The distribution of target tokens, P_G: mass[v] is the share of token v in the predictions of the
 * objective, over all plans and sequences, exactly; `vocab` values. Cost: one cs_pairs_of for each
 * occurring length and one pass over the tokens. */
cs_status cs_examples_mass(const cs_examples *examples, const cs_objective *objective,
                           int64_t vocab, double *mass) CS_MUST_CHECK;
