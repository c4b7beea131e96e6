/* Matrices in shards: files of consecutive rows, listed by matrix.index.json in the same folder
 * (docs/reference/matrices.md).
 *
 * Shard k of n of a matrix is matrix-0000k-of-0000n.npz. Files that have an item for each row have
 * shards with the same rows. A corpus may be in shards of consecutive documents. The index records
 * size and XXH3-128 of every file, so that a shard of another run is not taken for one of this. */
#pragma once

#include "io/npz.h"

#define CS_MATRIX_INDEX "matrix.index.json"

enum { CS_SHARDS_MOST = 99999, CS_SHARD_NAME = 48 };

/* The kinds of files: the first CS_SHARD_CORPUS belong to rows. */
enum { CS_SHARD_MATRIX, CS_SHARD_ROWS, CS_SHARD_ROW_LABELS, CS_SHARD_CORPUS, CS_SHARD_KINDS };

typedef struct {
    int64_t bytes; /* 0: there is no such file */
    char xxh3[33]; /* of its bytes, as cs_xxh3_file */
} cs_shard_file;

/* Records have no pointers, so that they can be sent to another process. */
typedef struct {
    int64_t first_row, rows, nonzeros;
    int64_t label_nonzeros; /* of row_labels */
    cs_shard_file file[CS_SHARD_CORPUS];
} cs_shard_record;

typedef struct {
    int64_t first_document, documents, tokens;
    cs_shard_file file;
} cs_corpus_record;

/* Free it with cs_matrix_index_free, which frees both lists. */
typedef struct {
    int64_t rows, cols, nonzeros;
    int64_t labels; /* classes of the rows; 0: no row_labels */
    double mass;    /* as in matrix.json */
    bool gram;
    int64_t shards, corpora; /* corpora 0: the corpus is not in shards */
    cs_shard_record *shard;
    cs_corpus_record *corpus;
} cs_matrix_index;

/* The file that a folder stands for: its index, or matrix.npz in a folder without index. */
const char *cs_matrix_name(const char *dir);

/* Whether a path names an index. */
bool cs_matrix_is_index(const char *path);

/* Name of shard `number`, from 0, of `count`. */
void cs_shard_name(int kind, int64_t number, int64_t count, char name[CS_SHARD_NAME]);

/* Whether a file name is that of a shard, of any kind, number and count. */
bool cs_is_shard_name(const char *name);

/* Size and digest of a file that was written. CS_ERR_IO, CS_ERR_INTERRUPT. */
cs_status cs_shard_file_of(const char *path, cs_shard_file *out) CS_MUST_CHECK;

/* Writes DIR/matrix.index.json, atomically. CS_ERR_IO, CS_ERR_MEMORY. */
cs_status cs_matrix_index_write(const char *dir, const cs_matrix_index *index) CS_MUST_CHECK;

/* Reads it. CS_ERR_INPUT: damaged; ranges with gaps or overlaps, or sums that differ from the totals;
 * names of another number of shards; a matrix.npz in the same folder. No shard is opened. */
cs_status cs_matrix_index_read(const char *dir, cs_matrix_index *out) CS_MUST_CHECK;

void cs_matrix_index_free(cs_matrix_index *index);

/* Checks size and digest of a shard against the index, and opens it. CS_ERR_INPUT: it is missing,
 * truncated or of another run; the message says what to do. */
cs_status cs_matrix_index_open(const char *dir, const cs_matrix_index *index, int kind,
                               int64_t number, char **path, cs_npz **out) CS_MUST_CHECK;
