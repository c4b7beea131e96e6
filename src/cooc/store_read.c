/* Reading a stored matrix. Nothing is taken on trust: sizes must agree between files, keys ascend,
 * tokens lie in the vocabulary, sequences cut anew from the stored corpus are as many as recorded.
 * Every error names the file.
 *
 * A row's text, recovered from its witness: the part of the sequence that holds the witness is
 * walked again and the contribution with its ordinal written out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"
#include "cooc/store_private.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"
#include "plan/plan_file.h"

static const int64_t VOCAB_LIMIT = INT64_C(1) << 32;

/* Members of the wanted types and sizes. */
static cs_status read_members(const char *path, int count, const cs_store_member *member)
{
    cs_npz *npz = NULL;
    cs_status status = cs_npz_open(path, 0, &npz);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const cs_store_member *m = &member[i];
        const int64_t size = m->shape[0] * (m->shape[1] > 0 ? m->shape[1] : 1);
        CS_AUTO(cs_array) array = {0};
        status = cs_npz_read(npz, m->name, &array);
        if (status == CS_OK && (array.dtype != m->dtype || array.size != size))
            status = cs_fail(CS_ERR_INPUT, "member %s has %lld items, expected %lld of type %d",
                             m->name, (long long)array.size, (long long)size, (int)m->dtype);
        if (status == CS_OK) {
            *(void **)m->at = array.data;
            array.data = NULL;
        }
    }
    cs_npz_close(npz);
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

static cs_status read_rows(const char *path, int64_t rows, cs_cooc *m)
{
    cs_store_member member[CS_STORE_ROWS];
    cs_store_rows(m, rows, member);
    cs_status status = read_members(path, CS_STORE_ROWS, member);
    if (status == CS_OK) status = check_rows(m, rows);
    return cs_blame(status, "%s", path);
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

static cs_status read_corpus(const char *path, cs_corpus *c)
{
    cs_store_member member[CS_STORE_CORPUS];
    cs_store_corpus(c, member);
    cs_status status = read_members(path, CS_STORE_CORPUS, member);
    if (status == CS_OK) status = check_corpus(c);
    return cs_blame(status, "%s", path);
}

/* Undoes the escapes of write_vocab in place. */
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

static cs_status read_matrix(const char *path, int64_t rows, int64_t cols, bool integers,
                             cs_csr *out)
{
    cs_status status = cs_matrix_read(path, out);
    if (status == CS_OK && (out->rows != rows || out->cols != cols))
        status =
            cs_fail(CS_ERR_INPUT, "%s is %lld x %lld, expected %lld x %lld", path,
                    (long long)out->rows, (long long)out->cols, (long long)rows, (long long)cols);
    if (status == CS_OK) status = cs_blame(cs_csr_check(out, true), "%s", path);
    int64_t nnz = status == CS_OK && integers ? cs_csr_nnz(out) : 0;
    for (int64_t e = 0; e < nnz; ++e) {
        if (out->val[e] != floor(out->val[e])) {
            return cs_fail(CS_ERR_INPUT, "%s: entry %lld is %.17g, not an integer", path,
                           (long long)e, out->val[e]);
        }
    }
    return status;
}

static cs_status read_labels(const char *row_path, const char *col_path,
                             const cs_sidecar_sizes *sizes, cs_cooc *m)
{
    cs_labelled *l = &m->matrix;
    l->labels = sizes->labels;
    if (sizes->labels == 0) {
        cs_status status = cs_csr_init(&l->row_label, sizes->rows, 0, 0);
        return status == CS_OK ? cs_csr_init(&l->col_label, sizes->cols, 0, 0) : status;
    }
    cs_status status = read_matrix(row_path, sizes->rows, sizes->labels, m->exact, &l->row_label);
    return status == CS_OK
               ? read_matrix(col_path, sizes->cols, sizes->labels, m->exact, &l->col_label)
               : status;
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

static cs_status read_all(const char *dir, char *const *path, cs_cooc_store *s)
{
    cs_sidecar_sizes sizes = {0};
    cs_status status = cs_cooc_sidecar(dir, &s->sidecar);
    if (status == CS_OK) status = cs_sidecar_parse(path[CS_STORE_SIDECAR], s->sidecar, s, &sizes);
    if (status == CS_OK && sizes.plan_file) status = read_plans(path[CS_STORE_PLAN], s);
    if (status == CS_OK)
        status = read_matrix(path[CS_STORE_MATRIX], sizes.rows, sizes.cols, s->cooc.exact,
                             &s->cooc.matrix.a);
    const bool gram = cs_context_gram(&s->options.context);
    if (status == CS_OK && s->cooc.matrix.a.gram != gram)
        status =
            cs_fail(CS_ERR_INPUT, "%s is %s Gram form, but the context in matrix.json is %s",
                    path[CS_STORE_MATRIX], gram ? "not a" : "a", gram ? "unique" : "not unique");
    if (status == CS_OK && cs_csr_nnz(&s->cooc.matrix.a) != sizes.nnz)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld nonzeros, but matrix.json says %lld",
                         path[CS_STORE_MATRIX], (long long)cs_csr_nnz(&s->cooc.matrix.a),
                         (long long)sizes.nnz);
    if (status == CS_OK)
        status =
            read_labels(path[CS_STORE_ROW_LABELS], path[CS_STORE_COL_LABELS], &sizes, &s->cooc);
    if (status == CS_OK) status = read_rows(path[CS_STORE_ROWS_FILE], sizes.rows, &s->cooc);
    if (status == CS_OK) status = read_corpus(path[CS_STORE_CORPUS_FILE], &s->corpus);
    if (status == CS_OK && sizes.words) status = read_vocab(path[CS_STORE_VOCAB], &s->corpus);
    if (status == CS_OK) status = recut(path[CS_STORE_SIDECAR], s);
    return status ? status
                  : cs_blame(check_witnesses(&s->cooc, s->sequences.count), "%s",
                             path[CS_STORE_ROWS_FILE]);
}

cs_status cs_cooc_read(const char *dir, cs_cooc_store *out)
{
    CS_AUTO(cs_pool) pool = {0};
    char *path[CS_STORE_FILES];
    cs_cooc_store store = {0};
    cs_status status = cs_store_paths(dir, &pool, path);
    if (status == CS_OK) status = read_all(dir, path, &store);
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

/* The keys of a directory: a array of rows x 2 words. */
static cs_status read_keys(const char *dir, int64_t rows, cs_array *out)
{
    cs_npz *npz = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, "rows.npz");
    cs_status status = path ? cs_npz_open(path, 0, &npz) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_npz_read(npz, "key", out);
    if (status == CS_OK && (out->dtype != CS_U64 || out->size != 2 * rows))
        status = cs_fail(CS_ERR_INPUT, "%s: 'key' does not have two words for each of %lld rows",
                         path, (long long)rows);
    cs_npz_close(npz);
    return status;
}

cs_status cs_cooc_row_tokens(const char *dir, int64_t rows, int64_t cols, int64_t **out)
{
    json_auto_t *sidecar = NULL;
    CS_AUTO(cs_array) words = {0};
    CS_AUTO_FREE cs_hash128 *key = NULL;
    *out = NULL;
    cs_status status = cs_cooc_sidecar(dir, &sidecar);
    if (status != CS_OK || !rows_are_tokens(sidecar)) return status;
    int64_t *token = cs_alloc(rows, sizeof *token);
    key = cs_alloc(rows, sizeof *key);
    status = token && key ? read_keys(dir, rows, &words) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        const uint64_t *word = (const uint64_t *)words.data + 2 * i;
        key[i] = (cs_hash128){.high = word[0], .low = word[1]};
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

/* --- texts of rows --- */

typedef struct {
    const cs_cooc_store *store;
    const cs_context_walker *walker;
    int64_t ordinal;
    cs_hash128 key;
    bool found;
    FILE *stream;
} writer;

static int by_position(const void *x, const void *y)
{
    const cs_context_item *a = x, *b = y;
    return (a->position > b->position) - (a->position < b->position);
}

static cs_status write_row(void *ctx, const cs_contribution *c)
{
    writer *w = ctx;
    if (w->found || c->ordinal != w->ordinal || cs_hash_compare(c->key, w->key) != 0) {
        return CS_OK;
    }
    CS_AUTO_FREE cs_context_item *items = cs_alloc(c->items, sizeof *items);
    if (!items) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < c->items; ++i) {
        items[i] = (cs_context_item){c->position[i], c->content[i]};
    }
    qsort(items, (size_t)c->items, sizeof *items, by_position);
    w->walker->plan->kind->text(w->walker, c, items, w->stream);
    w->found = true;
    return CS_OK;
}

/* Walks the outer item that holds the witness. */
static cs_status walk_witness(writer *w, int64_t row)
{
    const cs_cooc_store *store = w->store;
    int64_t sequence = store->cooc.witness_sequence[row];
    cs_sequences one = {.count = 1,
                        .start = store->sequences.start + sequence,
                        .length = store->sequences.length + sequence,
                        .document = store->sequences.document + sequence};
    cs_context_options options = cs_cooc_context_options(&store->options);
    CS_AUTO(cs_context_plan) *plan = NULL;
    CS_AUTO(cs_context_walker) walker = {0};
    cs_status status = cs_context_prepare(&one, &options, &plan);
    if (status == CS_OK)
        status = cs_context_walker_init(&walker, plan, &store->corpus, write_row, w);
    if (status == CS_OK) {
        int64_t length = one.length[0];
        const cs_context_table *t = cs_context_table_of(plan, length);
        int64_t outer = w->ordinal / (t->inner > 0 ? t->inner : 1);
        outer /= store->options.draws > 0 ? length : 1;
        w->walker = &walker;
        if (outer < cs_context_outer(plan, length)) {
            status = cs_context_walk(&walker, sequence, one.start[0], length, one.document[0],
                                     outer, outer + 1);
        }
    }
    if (status == CS_OK && !w->found)
        status = cs_fail(
            CS_ERR_INPUT,
            "row %lld: its witness, contribution %lld of sequence %lld, does not produce its key",
            (long long)row, (long long)w->ordinal, (long long)sequence);
    w->walker = NULL;
    return status;
}

cs_status cs_cooc_row_text(const cs_cooc_store *store, int64_t row, char **out)
{
    if (row < 0 || row >= store->cooc.matrix.a.rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld does not exist: the matrix has %lld rows",
                       (long long)row, (long long)store->cooc.matrix.a.rows);
    }
    char *text = NULL;
    size_t size = 0;
    writer w = {.store = store,
                .ordinal = store->cooc.witness_ordinal[row],
                .key = store->cooc.key[row],
                .stream = open_memstream(&text, &size)};
    if (!w.stream) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the text of row %lld", (long long)row);
    }
    cs_status status = walk_witness(&w, row);
    if (fclose(w.stream) != 0 && status == CS_OK)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the text of row %lld", (long long)row);
    if (status == CS_OK) { /* memory streams come from malloc, results from cs_alloc */
        char *copy = cs_strdup(text);
        status = copy ? CS_OK : CS_ERR_MEMORY;
        *out = copy ? copy : *out;
    }
    free(text);
    return status;
}
