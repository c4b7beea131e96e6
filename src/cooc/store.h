/** \file
 * A built matrix as a self-contained directory (docs/reference/matrices.md):
 *
 * - matrix.npz: scipy CSR; int64 units if exact, else float64
 * - matrix.json: objective, context, weights, unit, sums, corpus
 * - rows.npz: key (rows x 2 uint64: high, low), witness_sequence, witness_ordinal
 * - row_labels.npz, col_labels.npz: class masses as scipy CSR; absent if unlabelled
 * - corpus.npz: token, doc_ptr, label, held_out
 * - vocab.txt: a word a line, with line ends and backslashes escaped; absent without words
 * - plan.json: the plans, if the objective came from a file
 * - matrix.mtx: if requested
 *
 * A matrix whose files would exceed `shard_size` is stored in shards of consecutive rows: in place of
 * matrix.npz, rows.npz and row_labels.npz come files matrix-00001-of-00003.npz and so on, and
 * matrix.index.json, which lists them with their rows, sizes and digests.
 *
 * The text of a row, contexts of held-out documents and all audits need nothing else.
 */
#pragma once

#include "base/status.h"
#include "cooc/builder.h"
#include "io/json.h"

/** A stored matrix in memory. Free it with cs_cooc_store_free. */
typedef struct {
    /** The corpus. */
    cs_corpus corpus;
    /** Options of the build; options.objective.file points to plan_file if the objective came from
     * a file.
     */
    cs_cooc_options options;
    /** Owned; NULL without a file. */
    struct cs_plan_file *plan_file;
    /** The matrix. */
    cs_cooc cooc;
    /** Sequences of the build, which witnesses number. */
    cs_sequences sequences;
    /** matrix.json; owned. */
    json_t *sidecar;
} cs_cooc_store;

/** Writes all files, matrix.json last, so that its presence means that the others are complete.
 *
 * \param dir the directory, created if needed
 * \param options options of the build
 * \param mtx write matrix.mtx too
 * \param force replace an existing matrix
 * \retval CS_ERR_USAGE the directory holds a matrix.json, without `force`; or as cs_cooc_files
 * \retval CS_ERR_IO a file cannot be written
 */
cs_status cs_cooc_write(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *cooc, bool mtx, bool force) CS_MUST_CHECK;

/** A folder that the ranks of a group write together. Free it with cs_ranks_store_free. */
typedef struct cs_ranks_store cs_ranks_store;

/** \retval CS_ERR_USAGE the folder has records or checkpoints of an interrupted build (cs_ranks_store_open)
 */
cs_status cs_ranks_store_check(const char *dir) CS_MUST_CHECK;

/** Opens the folder for the build of `options`, with its group; collective. A rank that has stored
 * its rows leaves a record of them, rank-NUMBER-of-COUNT.bin, until the matrix is complete, and one
 * that has counted for a while a checkpoint (cs_ranks_store_checkpoint). With
 * `resume`, rows of such records are kept if their files have the recorded sizes and digests.
 *
 * \param force remove what an interrupted run has left
 * \param resume continue an interrupted run
 * \retval CS_ERR_USAGE there are records, and neither `force` nor `resume`; or records of another
 *     build
 * \retval CS_ERR_IO a file cannot be read or removed
 */
cs_status cs_ranks_store_open(const char *dir, const cs_corpus *corpus,
                              const cs_cooc_options *options, bool force, bool resume,
                              cs_ranks_store **out) CS_MUST_CHECK;

/** The folder for the checkpoint of this rank, checkpoint-NUMBER-of-COUNT. */
const char *cs_ranks_store_checkpoint(const cs_ranks_store *store);

/** Frees it; the files stay. */
void cs_ranks_store_free(cs_ranks_store **store);

/** The rows of this rank that are kept, for cs_cooc_options.stored; NULL: none. */
const cs_row_sums *cs_ranks_store_rows(const cs_ranks_store *store);

/** cs_cooc_write for a matrix that the ranks of options->comm have built, each its rows: collective.
 * Every rank writes its rows as shards, and its part of the corpus where each has one; rank 0 writes
 * the rest. The folder must be the same for all ranks.
 *
 * \retval CS_ERR_USAGE as cs_cooc_write, on all ranks
 * \retval CS_ERR_IO a file cannot be written, on all ranks; the files of other ranks stay
 */
cs_status cs_cooc_write_ranks(cs_ranks_store *store, const cs_corpus *corpus, const cs_cooc *cooc,
                              bool force) CS_MUST_CHECK;

/** Name of file number `index`, from 0, that cs_cooc_write may write in addition to shards, matrix.json
 * first; NULL after the last.
 */
const char *cs_cooc_file(int index);

/** The names of all files that cs_cooc_write may write for a matrix: those of cs_cooc_file, then the
 * shards. Free them with cs_text_list_free.
 *
 * \retval CS_ERR_USAGE the matrix would have more than 99,999 shards
 */
cs_status cs_cooc_files(const cs_cooc *cooc, const cs_cooc_options *options, int64_t *count,
                        char ***out) CS_MUST_CHECK;

/** Reads a stored matrix.
 *
 * \retval CS_ERR_INPUT a file is damaged, or files are inconsistent
 * \retval CS_ERR_IO a file is missing or cannot be read
 */
cs_status cs_cooc_read(const char *dir, cs_cooc_store *out) CS_MUST_CHECK;

/** Frees a stored matrix; accepts a zeroed object. */
void cs_cooc_store_free(cs_cooc_store *store);

/** matrix.json of a directory in the form of docs/reference/matrices.md, whatever its version; a
 * new reference.
 */
cs_status cs_cooc_sidecar(const char *dir, json_t **out) CS_MUST_CHECK;

/** The text of a row, in the form of its context mode. Free it with cs_free. Costs a visit of one
 * event of one sequence, and the tables of its length.
 *
 * - all: "the _ of", _ an unknown position (_*9: nine of them); given adds the position of the
 *   target from 1, "the _ of [2]"; "(empty)" or "(empty: class)"
 * - nearest: "of[-3] * the", `*` the target, with offsets where other positions are between; # a
 *   boundary mark
 * - each: "the"; given "the[+2]"
 * - document: "document 12"; given "document 12 [2]"
 */
cs_status cs_cooc_row_text(const cs_cooc_store *store, int64_t row, char **out) CS_MUST_CHECK;

/** The tokens that are the contexts of a stored matrix of contexts each:W, target position unknown.
 *
 * \param rows rows of the matrix
 * \param cols its columns, the tokens
 * \param out receives `rows` tokens, -1 for an unknown context (cs_free); NULL for other contexts
 * \retval CS_ERR_INPUT rows.npz is damaged
 * \retval CS_ERR_IO a file is missing or cannot be read
 */
cs_status cs_cooc_row_tokens(const char *dir, int64_t rows, int64_t cols,
                             int64_t **out) CS_MUST_CHECK;

/** Number of the row with a key, -1 if there is none. O(log rows). */
int64_t cs_cooc_row_of(const cs_cooc *cooc, cs_hash128 key);
