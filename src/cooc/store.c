/* Writing a built matrix as a directory, whole or in shards. matrix.json comes last and goes first, so
 * that a directory that has one is complete.
 */
#include "cooc/store.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/store_files_private.h"
#include "cooc/store_shards_private.h"
#include "io/file.h"
#include "linalg/matrix_file.h"

const char *cs_cooc_file(int index)
{
    return cs_store_name(index);
}

static cs_status check_space(const char *dir, const cs_corpus *corpus, const cs_cooc *cooc,
                             int64_t shards)
{
    const cs_labelled *l = &cooc->matrix;
    const bool classes = l->labels > 0;
    return cs_store_check(dir,
                          cs_store_bytes(corpus, (double)l->a.rows, (double)cs_csr_nnz(&l->a),
                                         classes ? (double)cs_csr_nnz(&l->row_label) : 0,
                                         classes ? (double)cs_csr_nnz(&l->col_label) : 0) +
                              (double)(shards - 1) * CS_SHARD_KINDS * CS_STORE_HEADER,
                          "the files of the matrix");
}

/* The sources of the files. Without shards the index lists none. */
typedef struct {
    const char *dir;
    char *const *path;
    const cs_cooc *cooc;
    const cs_corpus *corpus;
    const cs_cooc_options *options;
    const int64_t *limit;
    cs_store_integers integers;
    cs_matrix_index index;
    bool mtx;
} store;

/* Files that do not wait for the disk one after the other: those of rows, the common ones, and
 * matrix.mtx. */
static int64_t files_of_rows(const store *s)
{
    return s->index.shards > 0 ? s->index.shards : CS_SHARD_CORPUS;
}

static cs_status write_part(void *ctx, int64_t part)
{
    static const int file[CS_SHARD_CORPUS] = {CS_STORE_MATRIX, CS_STORE_ROWS_FILE,
                                              CS_STORE_ROW_LABELS};
    store *s = ctx;
    const cs_csr *a = &s->cooc->matrix.a;
    const int64_t common = part - files_of_rows(s);
    if (common == CS_STORE_COMMON_PARTS) {
        return s->mtx ? cs_matrix_write_mtx(s->path[CS_STORE_MTX], a, s->cooc->exact) : CS_OK;
    }
    if (common >= 0) {
        return cs_store_common_write(s->dir, (int)common, s->corpus, s->options, s->cooc, false);
    }
    return s->index.shards == 0
               ? cs_store_kind_write(s->path[file[part]], (int)part, s->cooc, 0, a->rows,
                                     &s->integers)
               : cs_store_shard_write(s->dir, part, s->index.shards, s->cooc, s->limit[part],
                                      s->limit[part + 1], s->limit[part], &s->integers,
                                      &s->index.shard[part]);
}

/* The sizes of the matrix, and its shards if there are several. */
static cs_status list_shards(const cs_cooc *cooc, int64_t count, cs_matrix_index *out)
{
    const cs_csr *a = &cooc->matrix.a;
    *out = (cs_matrix_index){.rows = a->rows,
                             .cols = a->cols,
                             .nonzeros = cs_csr_nnz(a),
                             .labels = cooc->matrix.labels,
                             .mass = cooc->mass,
                             .gram = a->gram,
                             .shards = count > 1 ? count : 0};
    out->shard = cs_calloc(count, sizeof *out->shard);
    return out->shard ? CS_OK : CS_ERR_MEMORY;
}

static cs_status shards_of(const cs_cooc *cooc, const cs_cooc_options *options, int64_t *count,
                           int64_t **limit)
{
    const int64_t bytes = options->shard_size > 0 ? options->shard_size : CS_COOC_SHARD_SIZE;
    return cs_store_shard_limits(cooc, (double)bytes, count, limit);
}

cs_status cs_cooc_files(const cs_cooc *cooc, const cs_cooc_options *options, int64_t *count,
                        char ***out)
{
    int64_t shards = 0;
    CS_AUTO_FREE int64_t *limit = NULL;
    char **name = NULL;
    cs_status status = shards_of(cooc, options, &shards, &limit);
    const int64_t listed = status == CS_OK && shards > 1 ? shards * CS_SHARD_CORPUS : 0;
    if (status == CS_OK) name = cs_calloc(CS_STORE_FILES + listed, sizeof *name);
    if (status == CS_OK && !name) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < CS_STORE_FILES + listed && status == CS_OK; ++i) {
        const int64_t j = i - CS_STORE_FILES;
        char shard[CS_SHARD_NAME];
        if (j >= 0) cs_shard_name((int)(j % CS_SHARD_CORPUS), j / CS_SHARD_CORPUS, shards, shard);
        name[i] = cs_strdup(j < 0 ? cs_store_name((int)i) : shard);
        status = name[i] ? CS_OK : CS_ERR_MEMORY;
    }
    if (status != CS_OK) {
        cs_text_list_free(name, CS_STORE_FILES + listed);
        return status;
    }
    *count = CS_STORE_FILES + listed;
    *out = name;
    return CS_OK;
}

cs_status cs_cooc_write(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *cooc, bool mtx, bool force)
{
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO_FREE int64_t *limit = NULL;
    char *path[CS_STORE_FILES];
    int64_t count = 0;
    store s = {.dir = dir, .path = path, .cooc = cooc, .options = options, .mtx = mtx};
    s.corpus = cooc->texts.documents > 0 ? &cooc->texts : corpus;
    s.integers = cs_store_integers_of(cooc);
    cs_status status = cs_store_paths(dir, &pool, path);
    if (status == CS_OK) status = shards_of(cooc, options, &count, &limit);
    if (status == CS_OK) status = list_shards(cooc, count, &s.index);
    if (status == CS_OK) status = cs_dir_make(dir);
    if (status == CS_OK) status = check_space(dir, s.corpus, cooc, count);
    if (status == CS_OK) status = cs_store_clear(dir, force, &(cs_store_kept){0});
    s.limit = limit;
    if (status == CS_OK)
        status = cs_parallel(files_of_rows(&s) + CS_STORE_COMMON_PARTS + 1, options->threads,
                             write_part, &s);
    if (status == CS_OK)
        status = cs_store_seal(dir, s.corpus, options, cooc, s.index.rows, s.index.nonzeros,
                               count > 1 ? &s.index : NULL);
    cs_matrix_index_free(&s.index);
    return status;
}
