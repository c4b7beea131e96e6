/* The files of a stored matrix one by one: their names, sizes and content, and the removal of those of
 * an older matrix. */
#include "cooc/store_files_private.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_index.h"
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

cs_status cs_store_rows_write(const char *path, const cs_cooc *m, int64_t from, int64_t to)
{
    cs_store_member member[CS_STORE_ROWS];
    cs_cooc rows = {.key = m->key + from,
                    .witness_sequence = m->witness_sequence + from,
                    .witness_ordinal = m->witness_ordinal + from};
    cs_store_rows(&rows, to - from, member);
    return write_members(path, CS_STORE_ROWS, member);
}

cs_status cs_store_corpus_write(const char *path, const cs_corpus *corpus)
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
cs_status cs_store_vocab_write(const char *path, const cs_corpus *c)
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

cs_status cs_store_plans_write(const char *path, const cs_plan_file *file)
{
    json_auto_t *root = cs_store_plans(file);
    cs_status status =
        root ? cs_json_write(path, root) : cs_fail(CS_ERR_MEMORY, "out of memory for %s", path);
    return status;
}

/* Everything the store may write, sidecar first: with force all of it goes before anything is
 * written, so no file of an older matrix stays. */
static const char *const NAMES[CS_STORE_FILES] = {
    "matrix.json", "matrix.npz", "rows.npz",  "row_labels.npz", "col_labels.npz",
    "corpus.npz",  "vocab.txt",  "plan.json", "matrix.mtx",     CS_MATRIX_INDEX};

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

double cs_store_shards_at_most(double rows, double entries, double row_classes, double bytes)
{
    const double all = cs_archive_bytes(rows, entries) + cs_archive_bytes(rows, row_classes) +
                       rows * (sizeof(cs_hash128) + 2 * sizeof(int64_t));
    const double content = fmax(bytes - CS_STORE_HEADER, 1);
    return all <= content ? 1 : fmin(fmin(2 * all / content + 1, rows), CS_SHARDS_MOST);
}

const char *cs_store_name(int index)
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

/* Calls `visit` with the path of every shard in a folder but those of `keep` files. */
static cs_status each_shard(const char *dir, const cs_store_kept *keep,
                            cs_status (*visit)(void *ctx, const char *path), void *ctx)
{
    static const char of_corpus[] = "corpus-";
    char **name = NULL, rows[32], corpus[32];
    int64_t count = 0;
    (void)snprintf(rows, sizeof rows, "-of-%05lld.npz", (long long)keep->shards);
    (void)snprintf(corpus, sizeof corpus, "-of-%05lld.npz", (long long)keep->corpora);
    cs_status status = cs_path_is_dir(dir) ? cs_dir_names(dir, &name, &count) : CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const bool documents = strncmp(name[i], of_corpus, sizeof of_corpus - 1) == 0;
        if (cs_is_shard_name(name[i]) && !cs_has_suffix(name[i], documents ? corpus : rows)) {
            CS_AUTO_FREE char *path = cs_path_join(dir, name[i]);
            status = path ? visit(ctx, path) : CS_ERR_MEMORY;
        }
    }
    cs_text_list_free(name, count);
    return status;
}

static cs_status add_size(void *ctx, const char *path)
{
    double *sum = ctx;
    struct stat old;
    *sum += stat(path, &old) == 0 ? (double)old.st_size : 0;
    return CS_OK;
}

cs_status cs_store_space(const char *dir, double *out)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    *out = cs_disk_free(dir);
    cs_status status = cs_store_paths(dir, &pool, path);
    for (int i = 0; status == CS_OK && i < CS_STORE_FILES; ++i) {
        status = add_size(out, path[i]);
    }
    return status == CS_OK ? each_shard(dir, &(cs_store_kept){0}, add_size, out) : status;
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

static cs_status remove_old(void *ctx, const char *path)
{
    (void)ctx;
    return unlink(path) == 0 || errno == ENOENT || errno == EISDIR /* whoever writes it says so */
               ? CS_OK
               : cs_fail(CS_ERR_IO, "%s: cannot remove the old file: %s", path, strerror(errno));
}

cs_status cs_store_clear(const char *dir, bool force, const cs_store_kept *keep)
{
    static const bool of_rows[CS_STORE_FILES] = {[CS_STORE_MATRIX] = true,
                                                 [CS_STORE_ROWS_FILE] = true,
                                                 [CS_STORE_ROW_LABELS] = true,
                                                 [CS_STORE_INDEX] = true};
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    cs_status status = cs_store_paths(dir, &pool, path);
    const bool whole = status == CS_OK && cs_path_exists(path[CS_STORE_SIDECAR]);
    if (whole && !force) {
        return cs_fail(CS_ERR_USAGE,
                       "%s already contains a matrix (matrix.json); give --force to overwrite it",
                       dir);
    }
    for (int i = 0; i < CS_STORE_FILES && status == CS_OK; ++i) {
        status = whole || of_rows[i] ? remove_old(NULL, path[i]) : CS_OK;
    }
    return status == CS_OK ? each_shard(dir, keep, remove_old, NULL) : status;
}
