/* Writing a built matrix as a directory. matrix.json comes last and goes first, so that a directory
 * that has one is complete.
 */
#include "cooc/store.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/store_private.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"
#include "plan/plan_file.h"

void cs_store_rows(cs_cooc *m, int64_t rows, cs_store_member out[CS_STORE_ROWS])
{
    static_assert(offsetof(cs_hash128, high) == 0 && sizeof(cs_hash128) == 2 * sizeof(uint64_t),
                  "keys are stored as they are: high, low");
    out[0] = (cs_store_member){"key", CS_U64, {rows, 2}, &m->key};
    out[1] = (cs_store_member){"witness_sequence", CS_I64, {rows}, &m->witness_sequence};
    out[2] = (cs_store_member){"witness_ordinal", CS_I64, {rows}, &m->witness_ordinal};
}

void cs_store_corpus(cs_corpus *c, cs_store_member out[CS_STORE_CORPUS])
{
    out[0] = (cs_store_member){"token", CS_I32, {c->tokens}, &c->token};
    out[1] = (cs_store_member){"doc_ptr", CS_I64, {c->documents + 1}, &c->doc_ptr};
    out[2] = (cs_store_member){"label", CS_I32, {c->documents}, &c->label};
    out[3] = (cs_store_member){"held_out", CS_U8, {c->documents}, &c->held_out};
}

static cs_status write_members(const char *path, int count, const cs_store_member *member)
{
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const cs_store_member *m = &member[i];
        status = cs_npz_add(w, m->name, m->dtype, m->shape[1] > 0 ? 2 : 1, m->shape,
                            *(void *const *)m->at);
    }
    if (status == CS_OK) status = cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}

static cs_status write_rows(const char *path, const cs_cooc *m)
{
    cs_store_member member[CS_STORE_ROWS];
    cs_cooc rows = *m;
    cs_store_rows(&rows, m->matrix.a.rows, member);
    return write_members(path, CS_STORE_ROWS, member);
}

static cs_status write_corpus(const char *path, const cs_corpus *corpus)
{
    cs_store_member member[CS_STORE_CORPUS];
    cs_corpus c = *corpus;
    CS_AUTO_FREE uint8_t *none = cs_calloc(c.documents, 1);
    if (!none) return CS_ERR_MEMORY;
    c.held_out = c.held_out ? c.held_out : none;
    cs_store_corpus(&c, member);
    cs_status status = write_members(path, CS_STORE_CORPUS, member);
    return status;
}

/* A word a line; line ends and backslashes inside a word (the tokenizer `char` makes such words)
 * are written \n, \r and \\. */
static cs_status write_vocab(const char *path, const cs_corpus *c)
{
    cs_outfile file = {0};
    cs_status status = cs_outfile_open(path, &file);
    for (int64_t i = 0; i < c->vocab && status == CS_OK; ++i) {
        for (const char *p = c->word[i]; *p; ++p) {
            const char *escape = *p == '\n' ? "\\n" : *p == '\r' ? "\\r" : "\\\\";
            if (strchr("\n\r\\", *p)) {
                (void)fputs(escape, file.stream);
            } else {
                (void)fputc(*p, file.stream);
            }
        }
        if (fputc('\n', file.stream) == EOF) {
            status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
        }
    }
    if (status == CS_OK) status = cs_outfile_commit(&file); /* checks the stream's error flag */
    cs_outfile_abort(&file);
    return status;
}

static json_t *plan_json(const cs_plan_file *file, int64_t p)
{
    const cs_plan *plan = &file->plan[p];
    json_t *groups = json_array();
    for (int64_t i = 0; i < plan->length; ++i) {
        (void)json_array_append_new(groups, json_integer(plan->group[i]));
    }
    return json_pack("{s:o, s:o, s:o}", "probability", cs_json_number(file->probability[p]),
                     "groups", groups, "weights", cs_json_numbers(plan->length, plan->weight));
}

json_t *cs_store_plans(const cs_plan_file *file)
{
    json_t *plans = json_array();
    for (int64_t p = 0; p < file->plans; ++p) {
        (void)json_array_append_new(plans, plan_json(file, p));
    }
    return json_pack("{s:o}", "plans", plans);
}

static cs_status write_plans(const char *path, const cs_plan_file *file)
{
    json_auto_t *root = cs_store_plans(file);
    cs_status status =
        root ? cs_json_write(path, root) : cs_fail(CS_ERR_MEMORY, "out of memory for %s", path);
    return status;
}

/* Everything the store may write, sidecar first: with force all of it goes before anything is
 * written, so no file of an older matrix stays. */
static const char *const NAMES[CS_STORE_FILES] = {"matrix.json",    "matrix.npz",     "rows.npz",
                                                  "row_labels.npz", "col_labels.npz", "corpus.npz",
                                                  "vocab.txt",      "plan.json",      "matrix.mtx"};

double cs_archive_bytes(double rows, double entries)
{
    enum { HEADERS = 1300 };
    return HEADERS + (rows + 1) * sizeof(int64_t) + entries * (sizeof(int32_t) + sizeof(double));
}

double cs_store_bytes(const cs_corpus *c, double rows, double entries, double row_classes,
                      double column_classes)
{
    enum { HEADERS = 6000 }; /* of the other archives, and the sidecar */
    const double vocab = (double)c->vocab, documents = (double)c->documents;
    double bytes = HEADERS + cs_archive_bytes(rows, entries) +
                   rows * (sizeof(cs_hash128) + 2 * sizeof(int64_t)) +
                   ((double)c->tokens + documents) * sizeof(int32_t) +
                   documents * (sizeof(int64_t) + 1);
    if (c->labels > 0) {
        bytes += cs_archive_bytes(rows, row_classes) + cs_archive_bytes(vocab, column_classes);
    }
    for (int64_t v = 0; c->word && v < c->vocab; ++v) {
        bytes += (double)strlen(c->word[v]) + 1;
    }
    return bytes;
}

const char *cs_cooc_file(int index)
{
    return index < CS_STORE_FILES ? NAMES[index] : NULL;
}

cs_status cs_store_paths(const char *dir, cs_pool *pool, char *path[CS_STORE_FILES])
{
    for (int i = 0; i < CS_STORE_FILES; ++i) {
        const size_t size = strlen(dir) + strlen(NAMES[i]) + 2;
        path[i] = cs_pool_take(pool, (int64_t)size, 1);
        if (path[i]) {
            (void)snprintf(path[i], size, "%s/%s", dir, NAMES[i]);
        }
    }
    return pool->status;
}

cs_status cs_store_space(const char *dir, double *out)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    struct stat old;
    *out = cs_disk_free(dir);
    cs_status status = cs_store_paths(dir, &pool, path);
    for (int i = 0; status == CS_OK && i < CS_STORE_FILES; ++i) {
        *out += stat(path[i], &old) == 0 ? (double)old.st_size : 0;
    }
    return status;
}

cs_status cs_store_check(const char *dir, double bytes, const char *what)
{
    double space = 0;
    cs_status status = cs_store_space(dir, &space);
    return status || bytes <= space
               ? status
               : cs_disk_check(dir, bytes,
                               "give -o DIR on a larger disk, a larger --tail or a smaller corpus",
                               what);
}

static cs_status check_space(const char *dir, const cs_corpus *corpus, const cs_cooc *cooc)
{
    const cs_labelled *l = &cooc->matrix;
    const bool classes = l->labels > 0;
    return cs_store_check(dir,
                          cs_store_bytes(corpus, (double)l->a.rows, (double)cs_csr_nnz(&l->a),
                                         classes ? (double)cs_csr_nnz(&l->row_label) : 0,
                                         classes ? (double)cs_csr_nnz(&l->col_label) : 0),
                          "the files of the matrix");
}

static cs_status clear_old(const char *dir, char *const *path, bool force)
{
    if (!cs_path_exists(path[CS_STORE_SIDECAR])) {
        return CS_OK;
    }
    if (!force) {
        return cs_fail(CS_ERR_USAGE,
                       "%s already contains a matrix (matrix.json); give --force to overwrite it",
                       dir);
    }
    for (int i = 0; i < CS_STORE_FILES; ++i) {
        if (unlink(path[i]) != 0 && errno != ENOENT) {
            return cs_fail(CS_ERR_IO, "%s: cannot remove the old file: %s", path[i],
                           strerror(errno));
        }
    }
    return CS_OK;
}

static cs_status write_matrices(char *const *path, const cs_cooc *m, bool mtx)
{
    const cs_labelled *l = &m->matrix;
    cs_status status = cs_matrix_write_npz(path[CS_STORE_MATRIX], &l->a, m->exact);
    if (status == CS_OK && l->labels > 0)
        status = cs_matrix_write_npz(path[CS_STORE_ROW_LABELS], &l->row_label, m->exact);
    if (status == CS_OK && l->labels > 0)
        status = cs_matrix_write_npz(path[CS_STORE_COL_LABELS], &l->col_label, m->exact);
    if (status == CS_OK && mtx) status = cs_matrix_write_mtx(path[CS_STORE_MTX], &l->a, m->exact);
    return status;
}

/* The sources of the files. */
typedef struct {
    char *const *path;
    const cs_cooc *cooc;
    const cs_corpus *corpus;
    const cs_cooc_options *options;
    bool mtx;
} store;

/* Files that do not wait for the disk one after the other: the largest first. */
enum { MATRICES, CORPUS, ROWS, OTHERS, PARTS };

static cs_status write_part(void *ctx, int64_t part)
{
    const store *s = ctx;
    cs_status status = CS_OK;
    switch (part) {
    case MATRICES:
        return write_matrices(s->path, s->cooc, s->mtx);
    case CORPUS:
        return write_corpus(s->path[CS_STORE_CORPUS_FILE], s->corpus);
    case ROWS:
        return write_rows(s->path[CS_STORE_ROWS_FILE], s->cooc);
    default:
        if (s->corpus->word) status = write_vocab(s->path[CS_STORE_VOCAB], s->corpus);
        if (status == CS_OK && s->options->objective.kind == CS_OBJ_FILE)
            status = write_plans(s->path[CS_STORE_PLAN], s->options->objective.file);
        return status;
    }
}

cs_status cs_cooc_write(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *cooc, bool mtx, bool force)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    json_auto_t *sidecar = NULL;
    corpus = cooc->texts.documents > 0 ? &cooc->texts : corpus;
    cs_status status = cs_sidecar_make(corpus, options, cooc, &sidecar);
    if (status == CS_OK) status = cs_store_paths(dir, &pool, path);
    if (status == CS_OK) status = cs_dir_make(dir);
    if (status == CS_OK) status = check_space(dir, corpus, cooc);
    if (status == CS_OK) status = clear_old(dir, path, force);
    store s = {path, cooc, corpus, options, mtx};
    if (status == CS_OK) status = cs_parallel(PARTS, options->threads, write_part, &s);
    return status == CS_OK ? cs_json_write(path[CS_STORE_SIDECAR], sidecar) : status;
}
