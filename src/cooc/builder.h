/** \file
 * Builds the co-occurrence matrix of a corpus for any objective and any context mode, in parallel
 * and within a memory budget.
 *
 * \f[ A[X, v] = \sum_{\mathrm{sequences}} \sum_{(S, k):\, X = \mathrm{context}(S, k),\, x_k = v} w(S, k) \f]
 *
 * with the weights of plan/pairs.h and the rows of cooc/context.h. Source: LA 3.2, with the
 * context modes of cooc/context.h.
 *
 * Contributions (row key, column, class, integer weight) are collected by each thread, sorted and
 * added. If the budget is full, sorted runs are written to disk and merged at the end. Weights are
 * integers over a common denominator if one exists (exact = true), else fixed point in units of
 * 2^-k. Every sum is therefore the same for any number of threads, any budget and any order. Rows
 * ascend by their 128-bit keys.
 *
 * An interrupted build can continue. With `checkpoint` set, the sums so far are written to that
 * folder from time to time, in at most a twentieth of the time, and upon an interrupt, after each
 * thread has finished its block of sequences. Writing that takes longer than CS_INTERRUPT_GRACE
 * then is abandoned, and the previous checkpoint remains. A build with `resume` continues from it,
 * with any number of threads and any budget, and ends with the same bits as an uninterrupted one.
 * `each:w` counted row by row (if its positions fit the budget) and `unique` write no checkpoint
 * and start again, unless they find one of the general method.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "cooc/context.h"
#include "cooc/labelled.h"
#include "dist/comm.h"
#include "text/corpus.h"

/** The documents that a build uses. */
typedef enum {
    /** All. */
    CS_SPLIT_ALL,
    /** Those that are not held out. */
    CS_SPLIT_TRAIN,
    /** The held-out ones. */
    CS_SPLIT_TEST,
} cs_split;

/** A co-occurrence matrix. */
typedef struct cs_cooc cs_cooc;

/** Default seconds between two checkpoints: an interrupt may lose the work since the last one. */
#define CS_CHECKPOINT_EVERY 60.0

/** Default of cs_cooc_options.shard_size. An archive of this size needs no zip64 extension. */
#define CS_COOC_SHARD_SIZE (INT64_C(4) << 30)

/** Sums of the rows of one of several processes. */
typedef struct {
    /** Number of rows. */
    int64_t rows;
    /** Number of nonzeros. */
    int64_t nonzeros;
    /** Labelled mass in units (cs_label_masses). */
    int64_t mass;
    /** Labelled mass of the majority classes. */
    int64_t majority;
} cs_row_sums;

/** Options of a build. */
typedef struct {
    /** The objective. */
    cs_objective objective;
    /** The context mode. */
    cs_context context;
    /** Tokens of a sequence; 0: whole documents (cs_sequences_of). */
    int64_t max_length;
    /** Tokens between windows; 0: pieces do not overlap (cs_sequences_of). */
    int64_t stride;
    /** Sequences have equal weight; otherwise they count by their number of predicted tokens. */
    bool weight_by_document;
    /** The documents that are used. */
    cs_split split;
    /** 0: exact; otherwise this number of sampled plans for each sequence. */
    int64_t draws;
    /** Seed of the draws. */
    uint64_t seed;
    /** nearest: patterns of far positions with less than this share of an event are dropped; 0:
     * 2^-50.
     */
    double tail;
    /** each:w:flat, each:w:linear and each:w:harmonic: a token x whose share f(x) of the tokens of the
     * split is above this is kept with probability \f$\sqrt{t / f(x)}\f$, and a pair has the
     * product of both probabilities as its weight; 0: all are kept.
     */
    double subsample;
    /** Bytes for contributions, and the same again for the matrix; beyond it scratch files are
     * used. At least 1 MiB; 0: a quarter of free memory for the first and half of it for the
     * second.
     */
    int64_t memory_budget;
    /** Folder of the scratch files; NULL: $TMPDIR or /tmp. */
    const char *scratch;
    /** Most bytes of a file of the stored matrix (cs_cooc_write), if no row is larger; 0:
     * CS_COOC_SHARD_SIZE.
     */
    int64_t shard_size;
    /** Folder for the state of an interrupted build, created when needed; NULL: none. */
    const char *checkpoint;
    /** Least seconds between two checkpoints; 0: CS_CHECKPOINT_EVERY. */
    double checkpoint_every;
    /** Internal: rows are (context, document), for estimates of the population. Without checkpoint.
     */
    bool by_document;
    /** Internal: the matrix serves for cs_cooc_write alone, without matrix.mtx. If its rows are
     * counted one by one, its entries are kept in a compact form (cs_cooc.packed).
     */
    bool compact;
    /** Continue from the checkpoint of the folder, if there is one; false: start again, and an
     * interrupt replaces it.
     */
    bool resume;
    /** 0: cs_threads(). */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
    /** Processes that share the work with the same options; NULL: one process. Each has the whole
     * corpus or its part of it (cs_corpus.all_documents), counts its part of the sequences, and
     * receives a range of the rows. The rows of all ranks, in the order of the ranks, are those of
     * one process, bit for bit. Each rank has a separate checkpoint, which an interrupt does not
     * renew.
     */
    cs_comm *comm;
    /** Of several processes: the rows of this one are stored, as an interrupted run has left them
     * (cs_ranks_store_open), and are not made again; NULL: they are made.
     */
    const cs_row_sums *stored;
} cs_cooc_options;

/** A co-occurrence matrix. Free it with cs_cooc_free. */
struct cs_cooc {
    /** The matrix with class masses. matrix.a.val: integer numbers of units if exact, else mass in
     * predicted tokens (or documents). Of several processes: the rows of this rank;
     * matrix.col_label has the class masses of all rows on rank 0, and none elsewhere. All sums
     * below are of all ranks.
     */
    cs_labelled matrix;
    /** Rows of the lower ranks; 0 in one process. */
    int64_t first_row;
    /** Rows of all ranks. */
    int64_t all_rows;
    /** Nonzeros of all ranks. */
    int64_t all_nonzeros;
    /** Records that ranks have sent to the owners of their rows; not a property of the matrix. */
    int64_t exchanged;
    /** Label noise of the matrix (cs_label_noise). */
    double label_noise;
    /** All weights are integers over a common denominator. */
    bool exact;
    /** Mass of one unit in predicted tokens: 1 / D if exact. */
    double unit;
    /** rows: keys, ascending. */
    cs_hash128 *key;
    /** rows: the lowest (sequence, ordinal) that contributed to the row. */
    int64_t *witness_sequence;
    /** rows: its ordinal. */
    int64_t *witness_ordinal;
    /** Sequences that were counted. */
    int64_t sequences;
    /** Sequences that are too short for the objective. */
    int64_t skipped_sequences;
    /** Contributions that were counted. */
    int64_t contributions;
    /** Those of them that an interrupted build had counted; not a property of the matrix. */
    int64_t resumed;
    /** Sum of the matrix in predicted tokens (or documents). */
    double mass;
    /** Mass lost to empty windows or rounding. */
    double dropped_mass;
    /** Sorted runs written to disk; not a property of the matrix. */
    int64_t runs;
    /** For a population (text/synthetic.h): a text for each row, which witnesses refer to. Else empty. */
    cs_corpus texts;
    /** Internal: the entries in a compact form; matrix.a.col and matrix.a.val are then NULL. NULL:
     * they are in matrix.a.
     */
    struct cs_packed *packed;
    /** Scratch files that hold the arrays; NULL: in memory. Do not take arrays out of the struct if
     * it is set.
     */
    struct cs_cooc_files *files;
};

/** Frees a matrix and its scratch files; accepts a zeroed object. */
void cs_cooc_free(cs_cooc *cooc);

/** Mass of a 1 in matrix.a.val, in predicted tokens (or documents): `unit` if exact, else 1. */
double cs_cooc_stored_mass(const cs_cooc *cooc);

/** Builds the matrix.
 *
 * \param out receives the matrix
 * \retval CS_ERR_USAGE an option is out of range, the objective exists at no length, exact
 *     enumeration is too large (it suggests options), or the checkpoint of another build with
 *     `resume`
 * \retval CS_ERR_INPUT the corpus or a plan file is invalid, or a file of the checkpoint is
 *     damaged
 * \retval CS_ERR_IO a scratch file or the checkpoint cannot be written; scratch files are removed
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the message names the folder of the checkpoint, or says that there was
 *     no time to write one. The checkpoint outlives the build: remove it once the matrix is stored
 *     (cs_cooc_checkpoint_remove)
 */
cs_status cs_cooc_build(const cs_corpus *corpus, const cs_cooc_options *options,
                        cs_cooc *out) CS_MUST_CHECK;

/** All errors of cs_cooc_build that are known before anything is counted. O(tokens + tables). */
cs_status cs_cooc_check(const cs_corpus *corpus, const cs_cooc_options *options) CS_MUST_CHECK;

/** Removes the checkpoint in a folder, and the folder unless it holds something else. A missing
 * checkpoint is no error.
 *
 * \retval CS_ERR_IO a file cannot be removed
 */
cs_status cs_cooc_checkpoint_remove(const char *dir) CS_MUST_CHECK;

/** Upper bounds on the size of a build without draws. */
typedef struct {
    /** Number of contributions. */
    double contributions;
    /** Rows of the matrix: within a factor of 2 for at most 2^27 contributions; beyond, a bound from
     * a sample of the sequences.
     */
    double rows;
    /** Nonzeros, as accurate as rows. */
    double entries;
    /** Bytes of matrix.npz. */
    double matrix;
    /** Bytes of all files of the store except plan.json and matrix.mtx. */
    double stored;
    /** Bytes of memory in addition to the corpus. */
    double memory;
    /** Bytes of scratch files. */
    double scratch;
} cs_cooc_size;

/** Estimates the size of a build. Errors of cs_cooc_check. */
cs_status cs_cooc_estimate(const cs_corpus *corpus, const cs_cooc_options *options,
                           cs_cooc_size *out) CS_MUST_CHECK;
