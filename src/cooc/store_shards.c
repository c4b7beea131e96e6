/* Files of rows, and the limits of shards.
 *
 * Limits: the number of shards is that of a greedy division at the largest allowed size. Then the size
 * is reduced, by bisection, as far as the same number of shards is sufficient, so that no shard is a
 * small rest. */
#include "cooc/store_shards_private.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/packed_private.h"
#include "cooc/store_files_private.h"
#include "cooc/store_sidecar_private.h"
#include "io/file.h"
#include "linalg/matrix_file.h"

/* --- one shard -------------------------------------------------------------------------------- */

cs_store_integers cs_store_integers_of(const cs_cooc *part)
{
    const cs_labelled *l = &part->matrix;
    return (cs_store_integers){.matrix = part->exact && (part->packed || cs_csr_is_integer(&l->a)),
                               .row_labels = part->exact && cs_csr_is_integer(&l->row_label)};
}

static cs_status write_matrix(const char *path, const cs_cooc *part, int64_t from, int64_t to,
                              bool integers)
{
    const cs_csr *a = &part->matrix.a;
    const cs_packed_rows rows = {.packed = part->packed,
                                 .ptr = a->ptr,
                                 .begin = a->ptr[from],
                                 .unit = part->exact ? 1 : part->unit};
    const cs_made_entries made = {.columns = cs_packed_columns,
                                  .values = integers ? cs_packed_integers : cs_packed_reals,
                                  .columns_written = cs_packed_columns_written,
                                  .values_written = cs_packed_values_written,
                                  .ctx = &rows};
    cs_status status =
        cs_matrix_write_rows(path, a, from, to, integers, part->packed ? &made : NULL);
    return status;
}

cs_status cs_store_kind_write(const char *path, int kind, const cs_cooc *part, int64_t from,
                              int64_t to, const cs_store_integers *integers)
{
    const cs_labelled *l = &part->matrix;
    switch (kind) {
    case CS_SHARD_MATRIX:
        return write_matrix(path, part, from, to, integers->matrix);
    case CS_SHARD_ROWS:
        return cs_store_rows_write(path, part, from, to);
    default:
        return l->labels > 0
                   ? cs_matrix_write_rows(path, &l->row_label, from, to, integers->row_labels, NULL)
                   : CS_OK;
    }
}

cs_status cs_store_shard_write(const char *dir, int64_t number, int64_t count, const cs_cooc *part,
                               int64_t from, int64_t to, int64_t first_row,
                               const cs_store_integers *integers, cs_shard_record *out)
{
    const cs_labelled *l = &part->matrix;
    const bool labelled = l->labels > 0;
    const int kinds = labelled ? CS_SHARD_CORPUS : CS_SHARD_ROW_LABELS;
    cs_shard_record record;
    memset(&record, 0, sizeof record); /* with its padding: it is sent as bytes */
    record.first_row = first_row;
    record.rows = to - from;
    record.nonzeros = l->a.ptr[to] - l->a.ptr[from];
    record.label_nonzeros = labelled ? l->row_label.ptr[to] - l->row_label.ptr[from] : 0;
    cs_status status = CS_OK;
    for (int kind = 0; kind < kinds && status == CS_OK; ++kind) {
        char name[CS_SHARD_NAME];
        cs_shard_name(kind, number, count, name);
        CS_AUTO_FREE char *path = cs_path_join(dir, name);
        status = path ? cs_store_kind_write(path, kind, part, from, to, integers) : CS_ERR_MEMORY;
        if (status == CS_OK) status = cs_shard_file_of(path, &record.file[kind]);
    }
    if (status == CS_OK) *out = record;
    return status;
}

cs_status cs_store_corpus_shard_write(const char *dir, int64_t number, int64_t count,
                                      const cs_corpus *part, int64_t first_document,
                                      cs_corpus_record *out)
{
    char name[CS_SHARD_NAME];
    cs_corpus_record record;
    memset(&record, 0, sizeof record);
    record.first_document = first_document;
    record.documents = part->documents;
    record.tokens = part->tokens;
    cs_shard_name(CS_SHARD_CORPUS, number, count, name);
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    cs_status status = path ? cs_store_corpus_write(path, part) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_shard_file_of(path, &record.file);
    if (status == CS_OK) *out = record;
    return status;
}

/* --- limits ----------------------------------------------------------------------------------- */

/* Bytes of the largest file of rows from .. to - 1: from above. */
static double largest_file(const cs_cooc *part, int64_t from, int64_t to)
{
    const cs_labelled *l = &part->matrix;
    const double rows = (double)(to - from), entry = sizeof(int32_t) + sizeof(double),
                 pointers = sizeof(int64_t) * (rows + 1);
    const double matrix = pointers + entry * (double)(l->a.ptr[to] - l->a.ptr[from]);
    const double keys = rows * (sizeof(cs_hash128) + 2 * sizeof(int64_t));
    const double labels =
        l->labels > 0 ? pointers + entry * (double)(l->row_label.ptr[to] - l->row_label.ptr[from])
                      : 0;
    return CS_STORE_HEADER + fmax(matrix, fmax(keys, labels));
}

/* The end of the shard that begins at row `from`. */
static int64_t end_of_shard(const cs_cooc *part, int64_t from, double bytes)
{
    int64_t low = from + 1, high = part->matrix.a.rows;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (largest_file(part, from, middle) <= bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The number of shards; stops behind `most`. */
static int64_t count_shards(const cs_cooc *part, double bytes, int64_t most)
{
    int64_t count = 0;
    for (int64_t row = 0; row < part->matrix.a.rows && count <= most; ++count) {
        row = end_of_shard(part, row, bytes);
    }
    return cs_most(count, 1);
}

cs_status cs_store_shard_limits(const cs_cooc *part, double bytes, int64_t *count, int64_t **limit)
{
    enum { STEPS = 40 };
    const int64_t rows = part->matrix.a.rows, shards = count_shards(part, bytes, CS_SHARDS_MOST);
    if (shards > CS_SHARDS_MOST) {
        return cs_fail(CS_ERR_USAGE,
                       "files of %.0f bytes make more than %d shards; give a larger --shard-size",
                       bytes, CS_SHARDS_MOST);
    }
    double low = 0, high = bytes;
    for (int i = 0; i < STEPS && shards > 1; ++i) {
        const double middle = low + (high - low) / 2;
        if (count_shards(part, middle, shards) <= shards) {
            high = middle;
        } else {
            low = middle;
        }
    }
    int64_t *end = cs_calloc(shards + 1, sizeof *end);
    if (!end) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < shards && end[i] < rows; ++i) {
        end[i + 1] = shards == 1 ? rows : end_of_shard(part, end[i], high);
    }
    *count = shards;
    *limit = end;
    return CS_OK;
}

/* --- the rest --------------------------------------------------------------------------------- */

cs_status cs_store_common_write(const char *dir, int part, const cs_corpus *corpus,
                                const cs_cooc_options *options, const cs_cooc *totals,
                                bool corpus_in_shards)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    const cs_labelled *l = &totals->matrix;
    cs_status status = cs_store_paths(dir, &pool, path);
    if (part == CS_STORE_COMMON_CORPUS) {
        return status || corpus_in_shards
                   ? status
                   : cs_store_corpus_write(path[CS_STORE_CORPUS_FILE], corpus);
    }
    if (status == CS_OK && l->labels > 0)
        status = cs_matrix_write_npz(path[CS_STORE_COL_LABELS], &l->col_label, totals->exact);
    if (status == CS_OK && corpus->word)
        status = cs_store_vocab_write(path[CS_STORE_VOCAB], corpus);
    if (status == CS_OK && options->objective.kind == CS_OBJ_FILE)
        status = cs_store_plans_write(path[CS_STORE_PLAN], options->objective.file);
    return status;
}

cs_status cs_store_seal(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *totals, int64_t rows, int64_t nonzeros,
                        const cs_matrix_index *index)
{
    const cs_sidecar_sizes sizes = {
        .rows = rows, .cols = corpus->vocab, .nnz = nonzeros, .labels = totals->matrix.labels};
    json_auto_t *sidecar = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, cs_store_name(CS_STORE_SIDECAR));
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_sidecar_make(corpus, options, totals, &sizes, &sidecar);
    if (status == CS_OK && index) status = cs_matrix_index_write(dir, index);
    return status == CS_OK ? cs_json_write(path, sidecar) : status;
}

typedef struct {
    const char *dir;
    const cs_corpus *corpus;
    const cs_cooc_options *options;
    const cs_cooc *totals;
    bool corpus_in_shards;
} common;

static cs_status write_common(void *ctx, int64_t part)
{
    const common *c = ctx;
    return cs_store_common_write(c->dir, (int)part, c->corpus, c->options, c->totals,
                                 c->corpus_in_shards);
}

cs_status cs_store_finish(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                          const cs_cooc *totals, const cs_matrix_index *index)
{
    common c = {dir, corpus, options, totals, index->corpora > 0};
    cs_status status = cs_parallel(CS_STORE_COMMON_PARTS, options->threads, write_common, &c);
    return status == CS_OK
               ? cs_store_seal(dir, corpus, options, totals, index->rows, index->nonzeros, index)
               : status;
}
