/* Writing a stored matrix in parts, each by this process or by another rank. A rank writes the shard
 * of its rows; when all are there, one rank writes the rest (cs_store_finish). */
#pragma once

#include "cooc/store.h"
#include "linalg/matrix_index.h"

/* Whether values of a matrix and of its class masses are stored as int64: the build is exact, and all
 * are integers below 2^53. Shards of one matrix have values of one type, so that ranks combine theirs
 * by `and`. */
typedef struct {
    bool matrix, row_labels;
} cs_store_integers;

cs_store_integers cs_store_integers_of(const cs_cooc *part);

/* One file of rows from .. to - 1 of `part`; `kind` is below CS_SHARD_CORPUS. Without classes there are
 * no row_labels, and nothing is written. CS_ERR_IO. */
cs_status cs_store_kind_write(const char *path, int kind, const cs_cooc *part, int64_t from,
                              int64_t to, const cs_store_integers *integers) CS_MUST_CHECK;

/* Rows from .. to - 1 of `part` as shard `number`, from 0, of `count`. Row `from` is row `first_row` of
 * the matrix. Writes two files, three if labelled, each atomic. Needs no other rank.
 * CS_ERR_IO. */
cs_status cs_store_shard_write(const char *dir, int64_t number, int64_t count, const cs_cooc *part,
                               int64_t from, int64_t to, int64_t first_row,
                               const cs_store_integers *integers,
                               cs_shard_record *out) CS_MUST_CHECK;

/* The documents of `part` as shard `number` of `count`; its first document is `first_document` of the
 * corpus. CS_ERR_IO. */
cs_status cs_store_corpus_shard_write(const char *dir, int64_t number, int64_t count,
                                      const cs_corpus *part, int64_t first_document,
                                      cs_corpus_record *out) CS_MUST_CHECK;

/* Divides the rows of `part` into the fewest shards whose files have at most `bytes` bytes each, one
 * row at least, and about equal sizes: shard i has the rows limit[i] .. limit[i + 1] - 1. The caller
 * frees *limit. CS_ERR_USAGE: more than CS_SHARDS_MOST. */
cs_status cs_store_shard_limits(const cs_cooc *part, double bytes, int64_t *count,
                                int64_t **limit) CS_MUST_CHECK;

/* The files that are not of rows, in two parts that may be written at once; corpus.npz unless the
 * corpus is in shards. */
enum { CS_STORE_COMMON_CORPUS, CS_STORE_COMMON_OTHERS, CS_STORE_COMMON_PARTS };
cs_status cs_store_common_write(const char *dir, int part, const cs_corpus *corpus,
                                const cs_cooc_options *options, const cs_cooc *totals,
                                bool corpus_in_shards) CS_MUST_CHECK;

/* The index (NULL: none), then matrix.json, of sizes `rows` and `nonzeros`. */
cs_status cs_store_seal(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *totals, int64_t rows, int64_t nonzeros,
                        const cs_matrix_index *index) CS_MUST_CHECK;

/* After all shards: common files, index and matrix.json. Sizes are those of `index`, whose records are
 * complete; `corpora` 0 writes corpus.npz. Of `totals` are used exact, unit, mass, dropped_mass,
 * sequences, skipped_sequences, contributions, matrix.labels and matrix.col_label; of `corpus` all but
 * the arrays of documents if they are in shards. */
cs_status cs_store_finish(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                          const cs_cooc *totals, const cs_matrix_index *index) CS_MUST_CHECK;
