/* The files of a stored matrix one by one. */
#pragma once

#include "base/mem.h"
#include "cooc/store.h"
#include "io/npy.h"
#include "plan/plan_file.h"

/* The files, in the order of cs_cooc_file, as paths in the pool's memory. CS_ERR_MEMORY. */
enum {
    CS_STORE_SIDECAR,
    CS_STORE_MATRIX,
    CS_STORE_ROWS_FILE,
    CS_STORE_ROW_LABELS,
    CS_STORE_COL_LABELS,
    CS_STORE_CORPUS_FILE,
    CS_STORE_VOCAB,
    CS_STORE_PLAN,
    CS_STORE_MTX,
    CS_STORE_INDEX,
    CS_STORE_FILES
};

/* NULL after the last. */
const char *cs_store_name(int index);
cs_status cs_store_paths(const char *dir, cs_pool *pool, char *path[CS_STORE_FILES]) CS_MUST_CHECK;

/* The numbers of files that a matrix in shards and its corpus have; 0: none. */
typedef struct {
    int64_t shards, corpora;
} cs_store_kept;

/* Before the first file is written: refuses a stored matrix without `force`, then removes the files of
 * an older one in any form, except shards in as many files as `keep` says. CS_ERR_USAGE,
 * CS_ERR_IO. */
cs_status cs_store_clear(const char *dir, bool force, const cs_store_kept *keep) CS_MUST_CHECK;

/* Bytes that the files may take: free ones of the file system of `dir`, and those of an older matrix,
 * which is removed first. */
cs_status cs_store_space(const char *dir, double *out) CS_MUST_CHECK;

/* CS_ERR_IO "<dir>: <what> take ..." if the files take more bytes than that. */
cs_status cs_store_check(const char *dir, double bytes, const char *what) CS_MUST_CHECK;

/* Number of shards of at most `bytes` bytes a file: at most. Each file has less than CS_STORE_HEADER
 * bytes in addition to its arrays, and so has its entry in the index. */
enum { CS_STORE_HEADER = 2000 };
double cs_store_shards_at_most(double rows, double entries, double row_classes, double bytes);

/* Bytes of the files but plan.json and matrix.mtx: at most a few kilobytes too many. `row_classes`
 * and `column_classes` are the nonzeros of the class masses. */
double cs_store_bytes(const cs_corpus *c, double rows, double entries, double row_classes,
                      double column_classes);

/* An archive of a matrix (linalg/matrix_file.h). */
double cs_archive_bytes(double rows, double entries);

/* An array of an archive: written from *at, read into it. */
typedef struct {
    const char *name;
    cs_dtype dtype;
    int64_t shape[2]; /* the second is 0 for one dimension */
    void *at;
} cs_store_member;

enum { CS_STORE_ROWS = 3, CS_STORE_CORPUS = 4 };
void cs_store_rows(cs_cooc *m, int64_t rows, cs_store_member out[CS_STORE_ROWS]);
void cs_store_corpus(cs_corpus *c, cs_store_member out[CS_STORE_CORPUS]);

/* rows.npz of rows from .. to - 1; the others of everything. */
cs_status cs_store_rows_write(const char *path, const cs_cooc *m, int64_t from,
                              int64_t to) CS_MUST_CHECK;
cs_status cs_store_corpus_write(const char *path, const cs_corpus *corpus) CS_MUST_CHECK;
cs_status cs_store_vocab_write(const char *path, const cs_corpus *corpus) CS_MUST_CHECK;
cs_status cs_store_plans_write(const char *path, const cs_plan_file *file) CS_MUST_CHECK;

/* {"plans": [...]}, the plans as they were read, in the form of plan_file.h. NULL if memory is
 * exhausted. */
json_t *cs_store_plans(const cs_plan_file *file) CS_MUST_CHECK;
