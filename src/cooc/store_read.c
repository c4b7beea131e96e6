/* Reading a stored matrix. Nothing is taken on trust: sizes must agree between files, keys ascend,
 * tokens lie in the vocabulary, sequences cut anew from the stored corpus are as many as recorded.
 * Every error names the file.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"
#include "cooc/store_files_private.h"
#include "cooc/store_sidecar_private.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_index.h"
#include "linalg/matrix_shards.h"
#include "plan/plan_file.h"

static const int64_t VOCAB_LIMIT = INT64_C(1) << 32;

/* Where the files of a directory are; index.shards is 0 unless the rows are in shards. */
typedef struct {
    const char *dir;
    char **path; /* of cs_store_paths */
    cs_matrix_index index;
} source;

/* A member of the wanted type and size. */
static cs_status read_member(cs_npz *npz, const cs_store_member *m, cs_array *out)
{
    const int64_t size = m->shape[0] * (m->shape[1] > 0 ? m->shape[1] : 1);
    cs_status status = cs_npz_read(npz, m->name, out);
    if (status == CS_OK && (out->dtype != m->dtype || out->size != size))
        status = cs_fail(CS_ERR_INPUT, "member %s has %lld items, expected %lld of type %d",
                         m->name, (long long)out->size, (long long)size, (int)m->dtype);
    return status;
}

static cs_status read_members(const char *path, int count, const cs_store_member *member)
{
    cs_npz *npz = NULL;
    cs_status status = cs_npz_open(path, 0, &npz);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO(cs_array) array = {0};
        status = read_member(npz, &member[i], &array);
        if (status == CS_OK) {
            *(void **)member[i].at = array.data;
            array.data = NULL;
        }
    }
    cs_npz_close(npz);
    return cs_blame(status, "%s", path);
}

/* The same of a shard: copied into arrays, from item first[i] of member i on. */
static cs_status read_shard(const source *from, int kind, int64_t number, int count,
                            const cs_store_member *member, const int64_t *first)
{
    cs_npz *npz = NULL;
    CS_AUTO_FREE char *path = NULL;
    cs_status status = cs_matrix_index_open(from->dir, &from->index, kind, number, &path, &npz);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO(cs_array) array = {0};
        const cs_store_member *m = &member[i];
        const size_t item = (size_t)cs_dtype_size(m->dtype);
        status = cs_blame(read_member(npz, m, &array), "%s", path);
        if (status == CS_OK && array.size > 0)
            memcpy(*(char **)m->at +
                       (size_t)(first[i] * (m->shape[1] > 0 ? m->shape[1] : 1)) * item,
                   array.data, (size_t)array.size * item);
    }
    cs_npz_close(npz);
    return status;
}

/* Arrays for the members of all shards. */
static cs_status make_arrays(int count, const cs_store_member *member)
{
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const cs_store_member *m = &member[i];
        void *array = cs_alloc(m->shape[0] * (m->shape[1] > 0 ? m->shape[1] : 1),
                               (size_t)cs_dtype_size(m->dtype));
        *(void **)m->at = array;
        status = array ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

static cs_status read_row_shards(const source *from, int64_t rows, cs_cooc *m)
{
    cs_store_member member[CS_STORE_ROWS];
    cs_store_rows(m, rows, member);
    cs_status status = make_arrays(CS_STORE_ROWS, member);
    for (int64_t i = 0; i < from->index.shards && status == CS_OK; ++i) {
        const cs_shard_record *s = &from->index.shard[i];
        const int64_t first[CS_STORE_ROWS] = {s->first_row, s->first_row, s->first_row};
        cs_store_rows(m, s->rows, member);
        status = read_shard(from, CS_SHARD_ROWS, i, CS_STORE_ROWS, member, first);
    }
    return status;
}

static cs_status check_rows(const cs_cooc *m, int64_t rows)
{
    for (int64_t i = 0; i < rows; ++i) {
        if (i > 0 && cs_hash_compare(m->key[i - 1], m->key[i]) >= 0) {
            return cs_fail(CS_ERR_INPUT, "keys do not ascend at row %lld", (long long)i);
        }
    }
    return CS_OK;
}

/* The file to name in a message about all rows. */
static const char *path_of(const source *from, int file)
{
    return from->path[from->index.shards > 0 ? CS_STORE_INDEX : file];
}

static cs_status read_rows(const source *from, int64_t rows, cs_cooc *m)
{
    cs_store_member member[CS_STORE_ROWS];
    cs_store_rows(m, rows, member);
    cs_status status = from->index.shards > 0
                           ? read_row_shards(from, rows, m)
                           : read_members(from->path[CS_STORE_ROWS_FILE], CS_STORE_ROWS, member);
    return status ? status : cs_blame(check_rows(m, rows), "%s", path_of(from, CS_STORE_ROWS_FILE));
}

static cs_status check_corpus(const cs_corpus *c)
{
    if (c->doc_ptr[0] != 0 || c->doc_ptr[c->documents] != c->tokens) {
        return cs_fail(CS_ERR_INPUT, "doc_ptr runs from %lld to %lld, not from 0 to %lld",
                       (long long)c->doc_ptr[0], (long long)c->doc_ptr[c->documents],
                       (long long)c->tokens);
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        if (c->doc_ptr[d + 1] < c->doc_ptr[d]) {
            return cs_fail(CS_ERR_INPUT, "doc_ptr descends at document %lld", (long long)d);
        }
        if (c->label[d] < -1 || c->label[d] >= c->labels) {
            return cs_fail(CS_ERR_INPUT, "document %lld: label %d is not one of the %lld labels",
                           (long long)d, (int)c->label[d], (long long)c->labels);
        }
        if (c->held_out[d] > 1) {
            return cs_fail(CS_ERR_INPUT, "document %lld: held_out is %d, not 0 or 1", (long long)d,
                           (int)c->held_out[d]);
        }
    }
    for (int64_t i = 0; i < c->tokens; ++i) {
        if (c->token[i] < 0 || c->token[i] >= c->vocab) {
            return cs_fail(CS_ERR_INPUT, "token %lld is %d, not in 0..%lld", (long long)i,
                           (int)c->token[i], (long long)c->vocab - 1);
        }
    }
    return CS_OK;
}

/* Documents of a shard begin at its first token. */
static cs_status read_corpus_shards(const source *from, cs_corpus *c)
{
    const cs_matrix_index *x = &from->index;
    const cs_corpus_record *last = &x->corpus[x->corpora - 1];
    const cs_corpus whole = *c;
    cs_store_member member[CS_STORE_CORPUS];
    int64_t token = 0;
    if (last->first_document + last->documents != c->documents) {
        return cs_fail(CS_ERR_INPUT, "%s: the corpus has %lld documents, but matrix.json says %lld",
                       from->path[CS_STORE_INDEX],
                       (long long)(last->first_document + last->documents),
                       (long long)c->documents);
    }
    cs_store_corpus(c, member);
    cs_status status = make_arrays(CS_STORE_CORPUS, member);
    for (int64_t i = 0; i < x->corpora && status == CS_OK; ++i) {
        const cs_corpus_record *s = &x->corpus[i];
        const int64_t document = s->first_document;
        const int64_t first[CS_STORE_CORPUS] = {token, document, document, document};
        if (s->tokens > whole.tokens - token) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: the corpus has more than the %lld tokens of matrix.json",
                           from->path[CS_STORE_INDEX], (long long)whole.tokens);
        }
        c->documents = s->documents;
        c->tokens = s->tokens;
        cs_store_corpus(c, member);
        status = read_shard(from, CS_SHARD_CORPUS, i, CS_STORE_CORPUS, member, first);
        for (int64_t d = 0; d <= s->documents && status == CS_OK; ++d) {
            c->doc_ptr[document + d] += token;
        }
        token += s->tokens;
    }
    c->documents = whole.documents;
    c->tokens = whole.tokens;
    return status;
}

static cs_status read_corpus(const source *from, cs_corpus *c)
{
    const bool shards = from->index.corpora > 0;
    cs_store_member member[CS_STORE_CORPUS];
    cs_store_corpus(c, member);
    cs_status status =
        shards ? read_corpus_shards(from, c)
               : read_members(from->path[CS_STORE_CORPUS_FILE], CS_STORE_CORPUS, member);
    return status ? status
                  : cs_blame(check_corpus(c), "%s",
                             from->path[shards ? CS_STORE_INDEX : CS_STORE_CORPUS_FILE]);
}

/* Undoes the escapes of cs_store_vocab_write in place. */
static void unescape(char *word)
{
    char *to = word;
    for (const char *from = word; *from; ++from) {
        if (*from == '\\' && from[1]) {
            ++from;
            *to++ = (char)(*from == 'n' ? '\n' : *from == 'r' ? '\r' : *from);
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static cs_status read_vocab(const char *path, cs_corpus *c)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read_text(path, VOCAB_LIMIT, &text, &size);
    if (status != CS_OK) return status;
    c->word = cs_calloc(c->vocab, sizeof *c->word);
    status = c->word ? CS_OK : CS_ERR_MEMORY;
    char *line = text;
    for (int64_t i = 0; i < c->vocab && status == CS_OK; ++i) {
        char *end = memchr(line, '\n', (size_t)(text + size - line));
        if (!end) {
            status = cs_fail(CS_ERR_INPUT, "%s: %lld lines, expected %lld", path, (long long)i,
                             (long long)c->vocab);
            break;
        }
        *end = '\0';
        unescape(line);
        c->word[i] = cs_strdup(line);
        status = c->word[i] ? CS_OK : CS_ERR_MEMORY;
        line = end + 1;
    }
    if (status == CS_OK && line != text + size)
        status = cs_fail(CS_ERR_INPUT, "%s: more than %lld lines", path, (long long)c->vocab);
    return status;
}

static cs_status check_matrix(const char *path, int64_t rows, int64_t cols, bool integers,
                              const cs_csr *a)
{
    cs_status status = CS_OK;
    if (a->rows != rows || a->cols != cols) {
        return cs_fail(CS_ERR_INPUT, "%s is %lld x %lld, expected %lld x %lld", path,
                       (long long)a->rows, (long long)a->cols, (long long)rows, (long long)cols);
    }
    status = cs_blame(cs_csr_check(a, true), "%s", path);
    int64_t nnz = status == CS_OK && integers ? cs_csr_nnz(a) : 0;
    for (int64_t e = 0; e < nnz; ++e) {
        if (a->val[e] != floor(a->val[e])) {
            return cs_fail(CS_ERR_INPUT, "%s: entry %lld is %.17g, not an integer", path,
                           (long long)e, a->val[e]);
        }
    }
    return status;
}

/* A matrix with a row for each row of the matrix: `file`, or its shards of `kind`. */
static cs_status read_by_rows(const source *from, int file, int kind, int64_t rows, int64_t cols,
                              bool integers, cs_csr *out)
{
    cs_status status = from->index.shards > 0 ? cs_shards_read(from->dir, &from->index, kind, out)
                                              : cs_matrix_read(from->path[file], out);
    return status ? status : check_matrix(path_of(from, file), rows, cols, integers, out);
}

static cs_status read_labels(const source *from, const cs_sidecar_sizes *sizes, cs_cooc *m)
{
    cs_labelled *l = &m->matrix;
    l->labels = sizes->labels;
    if (sizes->labels == 0) {
        cs_status status = cs_csr_init(&l->row_label, sizes->rows, 0, 0);
        return status == CS_OK ? cs_csr_init(&l->col_label, sizes->cols, 0, 0) : status;
    }
    const char *columns = from->path[CS_STORE_COL_LABELS];
    cs_status status = read_by_rows(from, CS_STORE_ROW_LABELS, CS_SHARD_ROW_LABELS, sizes->rows,
                                    sizes->labels, m->exact, &l->row_label);
    if (status == CS_OK) status = cs_matrix_read(columns, &l->col_label);
    return status ? status
                  : check_matrix(columns, sizes->cols, sizes->labels, m->exact, &l->col_label);
}

static cs_status read_plans(const char *path, cs_cooc_store *store)
{
    store->options.objective.file = store->plan_file;
    return cs_plan_file_read(path, store->plan_file);
}

static cs_status check_witnesses(const cs_cooc *m, int64_t sequences)
{
    for (int64_t i = 0; i < m->matrix.a.rows; ++i) {
        if (m->witness_sequence[i] < 0 || m->witness_sequence[i] >= sequences ||
            m->witness_ordinal[i] < 0) {
            return cs_fail(CS_ERR_INPUT,
                           "row %lld: witness (%lld, %lld) is not in one of the %lld sequences",
                           (long long)i, (long long)m->witness_sequence[i],
                           (long long)m->witness_ordinal[i], (long long)sequences);
        }
    }
    return CS_OK;
}

/* The sequences of the build, cut from the stored corpus. */
static cs_status recut(const char *path, cs_cooc_store *store)
{
    cs_status status = cs_cooc_sequences(&store->corpus, &store->options, &store->sequences, NULL);
    const int64_t cut = cs_cooc_windows(&store->options, &store->sequences);
    if (status == CS_OK && cut != store->cooc.sequences)
        status = cs_fail(CS_ERR_INPUT, "%lld sequences are recorded, but the corpus gives %lld",
                         (long long)store->cooc.sequences, (long long)cut);
    return cs_blame(status, "%s", path);
}

/* The index, if the matrix is in shards. It is of the run that wrote matrix.json. */
static cs_status read_index(source *from, const cs_sidecar_sizes *sizes, double mass)
{
    const cs_matrix_index *x = &from->index;
    if (strcmp(cs_matrix_name(from->dir), CS_MATRIX_INDEX) != 0) return CS_OK;
    cs_status status = cs_matrix_index_read(from->dir, &from->index);
    const bool same = x->rows == sizes->rows && x->cols == sizes->cols &&
                      x->nonzeros == sizes->nnz && x->labels == sizes->labels && x->mass == mass;
    return status || same
               ? status
               : cs_fail(
                     CS_ERR_INPUT,
                     "%s: lists a matrix of %lld x %lld, %lld nonzeros, %lld labels and mass "
                     "%.17g, but matrix.json says %lld x %lld, %lld, %lld and %.17g: one of the "
                     "two is of another run; build the matrix again (cospec cooc ... --force)",
                     from->path[CS_STORE_INDEX], (long long)x->rows, (long long)x->cols,
                     (long long)x->nonzeros, (long long)x->labels, x->mass, (long long)sizes->rows,
                     (long long)sizes->cols, (long long)sizes->nnz, (long long)sizes->labels, mass);
}

static cs_status check_form(const source *from, const cs_cooc_store *s, int64_t nnz)
{
    const cs_csr *a = &s->cooc.matrix.a;
    const bool gram = cs_context_gram(&s->options.context);
    const char *path = path_of(from, CS_STORE_MATRIX);
    if (a->gram != gram) {
        return cs_fail(CS_ERR_INPUT, "%s is %s Gram form, but the context in matrix.json is %s",
                       path, gram ? "not a" : "a", gram ? "unique" : "not unique");
    }
    return cs_csr_nnz(a) == nnz
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: %lld nonzeros, but matrix.json says %lld", path,
                         (long long)cs_csr_nnz(a), (long long)nnz);
}

static cs_status read_all(source *from, cs_cooc_store *s)
{
    char *const *path = from->path;
    cs_sidecar_sizes sizes = {0};
    cs_status status = cs_cooc_sidecar(from->dir, &s->sidecar);
    if (status == CS_OK) status = cs_sidecar_parse(path[CS_STORE_SIDECAR], s->sidecar, s, &sizes);
    if (status == CS_OK && sizes.plan_file) status = read_plans(path[CS_STORE_PLAN], s);
    if (status == CS_OK) status = read_index(from, &sizes, s->cooc.mass);
    if (status == CS_OK)
        status = read_by_rows(from, CS_STORE_MATRIX, CS_SHARD_MATRIX, sizes.rows, sizes.cols,
                              s->cooc.exact, &s->cooc.matrix.a);
    if (status == CS_OK) status = check_form(from, s, sizes.nnz);
    if (status == CS_OK) status = read_labels(from, &sizes, &s->cooc);
    if (status == CS_OK) status = read_rows(from, sizes.rows, &s->cooc);
    if (status == CS_OK) status = read_corpus(from, &s->corpus);
    if (status == CS_OK && sizes.words) status = read_vocab(path[CS_STORE_VOCAB], &s->corpus);
    if (status == CS_OK) status = recut(path[CS_STORE_SIDECAR], s);
    return status ? status
                  : cs_blame(check_witnesses(&s->cooc, s->sequences.count), "%s",
                             path_of(from, CS_STORE_ROWS_FILE));
}

cs_status cs_cooc_read(const char *dir, cs_cooc_store *out)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    cs_cooc_store store = {0};
    source from = {.dir = dir, .path = path};
    cs_status status = cs_store_paths(dir, &pool, path);
    if (status == CS_OK) status = read_all(&from, &store);
    cs_matrix_index_free(&from.index);
    return CS_DELIVER(status, out, store, cs_cooc_store_free);
}

void cs_cooc_store_free(cs_cooc_store *store)
{
    cs_corpus_free(&store->corpus);
    cs_sequences_free(&store->sequences);
    if (store->plan_file) {
        cs_plan_file_free(store->plan_file);
        cs_free(store->plan_file);
    }
    cs_cooc_free(&store->cooc);
    json_decref(store->sidecar);
    memset(store, 0, sizeof *store);
}

static int64_t find_key(const cs_hash128 *all, int64_t count, cs_hash128 key)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cs_hash_compare(all[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && cs_hash_compare(all[low], key) == 0 ? low : -1;
}

int64_t cs_cooc_row_of(const cs_cooc *cooc, cs_hash128 key)
{
    return find_key(cooc->key, cooc->matrix.a.rows, key);
}

/* Whether the rows of a sidecar are single tokens, whatever their place. */
static bool rows_are_tokens(const json_t *sidecar)
{
    const char *context = json_string_value(json_object_get(sidecar, "context"));
    const char *position = json_string_value(json_object_get(sidecar, "target_position"));
    cs_context c = {0};
    const bool known = context && position && cs_context_parse(context, &c) == CS_OK;
    if (context && !known) cs_reason_clear();
    return known && c.mode == CS_CONTEXT_EACH && strcmp(position, "blind") == 0;
}

/* The keys of one file of rows. */
static cs_status read_keys(cs_npz *npz, const char *path, int64_t rows, cs_hash128 *key)
{
    CS_AUTO(cs_array) words = {0};
    cs_status status = cs_npz_read(npz, "key", &words);
    if (status == CS_OK && (words.dtype != CS_U64 || words.size != 2 * rows))
        return cs_fail(CS_ERR_INPUT, "%s: 'key' does not have two words for each of %lld rows",
                       path, (long long)rows);
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        const uint64_t *word = (const uint64_t *)words.data + 2 * i;
        key[i] = (cs_hash128){.high = word[0], .low = word[1]};
    }
    return status;
}

/* The keys of a directory. */
static cs_status read_all_keys(const char *dir, int64_t rows, cs_hash128 *key)
{
    CS_AUTO(cs_matrix_index) x = {0};
    const bool sharded = strcmp(cs_matrix_name(dir), CS_MATRIX_INDEX) == 0;
    cs_status status = sharded ? cs_matrix_index_read(dir, &x) : CS_OK;
    if (status == CS_OK && sharded && x.rows != rows)
        status = cs_fail(CS_ERR_INPUT, "%s/" CS_MATRIX_INDEX ": %lld rows, expected %lld", dir,
                         (long long)x.rows, (long long)rows);
    for (int64_t i = 0; status == CS_OK && i < (sharded ? x.shards : 1); ++i) {
        cs_npz *npz = NULL;
        CS_AUTO_FREE char *path = sharded ? NULL : cs_path_join(dir, "rows.npz");
        if (sharded) {
            status = cs_matrix_index_open(dir, &x, CS_SHARD_ROWS, i, &path, &npz);
        } else {
            status = path ? cs_npz_open(path, 0, &npz) : CS_ERR_MEMORY;
        }
        if (status == CS_OK)
            status = read_keys(npz, path, sharded ? x.shard[i].rows : rows,
                               key + (sharded ? x.shard[i].first_row : 0));
        cs_npz_close(npz);
    }
    return status;
}

cs_status cs_cooc_row_tokens(const char *dir, int64_t rows, int64_t cols, int64_t **out)
{
    json_auto_t *sidecar = NULL;
    CS_AUTO_FREE cs_hash128 *key = NULL;
    *out = NULL;
    cs_status status = cs_cooc_sidecar(dir, &sidecar);
    if (status != CS_OK || !rows_are_tokens(sidecar)) return status;
    int64_t *token = cs_alloc(rows, sizeof *token);
    key = cs_alloc(rows, sizeof *key);
    status = token && key ? read_all_keys(dir, rows, key) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        token[i] = -1;
    }
    for (int64_t v = 0; status == CS_OK && v < cols; ++v) {
        const int64_t row = find_key(key, rows, cs_key_of(CS_KEY_ITEM, 0, v));
        if (row >= 0) token[row] = v;
    }
    if (status != CS_OK) {
        cs_free(token);
        return status;
    }
    *out = token;
    return CS_OK;
}
