/* Builds the co-occurrence matrix of a corpus: any objective x any context mode, in parallel,
 * within a memory budget.
 *
 * Contributions (row key, column, class, integer weight) are collected a thread at a time, sorted
 * and added up; when the budget is full, sorted runs go to disk and are merged at the end. Weights
 * are integers over a common denominator where one exists (exact = true), else fixed point with
 * 2^-k units, so every sum is the same for any number of threads, any budget, any order. Rows are
 * in ascending order of their 128-bit keys.
 *
 * For the same reason an interrupted build can go on: with `checkpoint` set, the sums so far are
 * written to that folder from time to time, for a twentieth of the time at most, and when an interrupt
 * comes, after which each thread finishes its block of sequences. What takes longer than
 * CS_INTERRUPT_GRACE then (gigabytes) is not waited for: the checkpoint before stays. A build with
 * `resume` takes it up, under any threads and budget, and ends with the same bits as one that was never
 * interrupted. `each:w` counted row by row (where its positions fit in the budget; seconds on any
 * corpus that does) and `unique` (windows_unique.c) write no checkpoint and start again, unless they
 * find one that the general way has left.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "cooc/context.h"
#include "cooc/labelled.h"
#include "dist/comm.h"
#include "text/corpus.h"

typedef enum { CS_SPLIT_ALL, CS_SPLIT_TRAIN, CS_SPLIT_TEST } cs_split;

typedef struct cs_cooc cs_cooc;

/* An interrupt may lose what was counted since the last one. */
#define CS_CHECKPOINT_EVERY 60.0

typedef struct {
    cs_objective objective;
    cs_context context;
    int64_t max_length, stride; /* see sequences.h */
    bool weight_by_document;    /* sequences count equally instead of by their number of predicted
                                   tokens */
    cs_split split;
    int64_t draws;
    uint64_t seed;
    double tail;            /* see context.h; 0: 2^-50 */
    int64_t memory_budget;  /* bytes for contributions, and as many again for the matrix, beyond
                               which either goes to scratch files; 0: a quarter of free memory, and
                               half of it; below 1 MiB is refused */
    const char *scratch;    /* directory of these files; NULL: $TMPDIR or /tmp */
    const char *checkpoint; /* folder for the state of an interrupted build, made when it is needed;
                               NULL: none is written */
    double checkpoint_every; /* seconds between two at least; 0: CS_CHECKPOINT_EVERY */
    bool by_document; /* rows are (context, document), the documents of a context side by side
                         (cooc/by_document.h); without checkpoint */
    bool resume;      /* go on from the checkpoint of the folder, if any; false: begin anew, and an
                    interrupt replaces it */
    int threads;
    const cs_progress *progress;
    /* Called with the matrix before what it was counted from is freed, if not NULL: an interrupt of it,
     * such as one while the matrix is written, is one of the build, which leaves its checkpoint. */
    cs_status (*use)(void *use_ctx, const cs_cooc *made);
    void *use_ctx;
    cs_comm *comm; /* processes that share the work, all with the same corpus and options: each
                      walks its part of the sequences, rows are added up by the rank that owns their
                      keys, and rank 0 alone receives the matrix (the others an empty one), the same
                      bits as one process makes. Without checkpoint. NULL: one process */
} cs_cooc_options;

struct cs_cooc {
    cs_labelled
        matrix; /* a.val: integer units when exact, else mass in predicted tokens (or documents) */
    bool exact;
    double unit;     /* mass of one unit, in predicted tokens: 1 / D when exact */
    cs_hash128 *key; /* rows */
    int64_t
        *witness_sequence; /* rows: the lowest (sequence, ordinal) that contributed to the row */
    int64_t *witness_ordinal;
    int64_t sequences, skipped_sequences; /* skipped: too short for the objective */
    int64_t contributions;                /* emitted */
    double mass, dropped_mass; /* in predicted tokens (or documents): kept, and lost to empty
                                    windows or rounding */
    int64_t runs;              /* sorted runs spilled to disk: no property of the matrix */
    cs_corpus texts; /* of a population (text/law.h): a text for each row, which are its sequences:
                        witnesses lead to them. Else empty */
    struct cs_cooc_files *files; /* scratch files in which the arrays lie; NULL: in memory. Arrays
                                   must not be taken out then */
};

void cs_cooc_free(cs_cooc *cooc);

/* CS_ERR_USAGE/INPUT as for plans and corpora; CS_ERR_IO when a run cannot be written (the runs are
 * removed). CS_ERR_INTERRUPT: where a checkpoint could be written, the reason names its folder;
 * where there was no time for it, the reason says so; where writing it failed, that failure is returned
 * instead; an older checkpoint stays as it was then. Under `resume`, CS_ERR_USAGE names the option or size in which the checkpoint is of another
 * build, CS_ERR_INPUT the file that is damaged. The checkpoint outlives the build: its caller
 * removes it once the matrix is stored. */
cs_status cs_cooc_build(const cs_corpus *corpus, const cs_cooc_options *options,
                        cs_cooc *out) CS_MUST_CHECK;

/* Every error of cs_cooc_build that is known before anything is counted. O(tokens + tables). */
cs_status cs_cooc_check(const cs_corpus *corpus, const cs_cooc_options *options) CS_MUST_CHECK;

/* *bytes: the memory_budget with which the build would count row by row, several times faster than by
 * sorted records, where that alone is lacking; else 0. */
cs_status cs_cooc_lacking(const cs_corpus *corpus, const cs_cooc_options *options,
                          double *bytes) CS_MUST_CHECK;

/* Removes the checkpoint of a folder, and the folder unless it holds something else. None is no
 * error. CS_ERR_IO names what cannot be removed. */
cs_status cs_cooc_checkpoint_remove(const char *dir) CS_MUST_CHECK;

/* Whether the exact weights of every context can be had, so that draws would only add noise.
 * O(tokens + tables); `draws` and budget are not looked at. Errors as for cs_cooc_build. */
cs_status cs_cooc_enumerable(const cs_corpus *corpus, const cs_cooc_options *options,
                             bool *out) CS_MUST_CHECK;

/* Estimates from above (where nothing is drawn), for --dry-run: contributions; rows and entries of
 * the matrix, within a factor 2 where there are at most 2^28 contributions, and under `nearest`
 * always; bytes of matrix.npz and of all files of the store but plan.json and matrix.mtx; of memory
 * beside the corpus, within the budgets of both; and of scratch files. */
typedef struct {
    double contributions, rows, entries, matrix, stored, memory, scratch;
} cs_cooc_size;
cs_status cs_cooc_estimate(const cs_corpus *corpus, const cs_cooc_options *options,
                           cs_cooc_size *out) CS_MUST_CHECK;

/* The least tail of 1e-6..1e-1 under which the matrix is a tenth of `whole` (0: none), and its size
 * then. A few estimates. */
cs_status cs_cooc_smaller_tail(const cs_corpus *corpus, const cs_cooc_options *options,
                               const cs_cooc_size *whole, double *tail,
                               cs_cooc_size *size) CS_MUST_CHECK;
