/* Token ids from NumPy, in files and in memory: a 1-D array is one document, a 2-D array a document
 * a row, whose end may be padded with -1. Ids are taken as they are: no vocabulary is cut and there
 * is no <unk>. Only where a tokenizer has the numbers of such arrays for words, id v is its token
 * "v": special tokens before the words have moved their ids.
 *
 * Limit: vocabulary and matrix have a column for every id up to the largest, so an id far above the
 * number of tokens would cost memory for columns that no token has. Such ids are refused. */
#include "base/auto.h"
#include "text/corpus_builder_private.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/npy.h"
#include "text/tokenizer.h"

enum { COLUMNS_FREE = 1 << 24, COLUMNS_PER_TOKEN = 64 };

static cs_status no_id(const char *path, int64_t id, int64_t row, int64_t column)
{
    return cs_fail(CS_ERR_INPUT, "%s: token id %lld at row %lld, column %lld is not in 0..%d", path,
                   (long long)id, (long long)row, (long long)column, INT32_MAX - 1);
}

/* Reads row r into out->token; the row's length goes to *length. */
static cs_status read_row(const char *path, const cs_array *array, int64_t r, int64_t columns,
                          int32_t *token, int64_t *length)
{
    *length = 0;
    for (int64_t c = 0; c < columns; ++c) {
        int64_t id = 0;
        cs_status status = cs_array_i64(array, r * columns + c, &id);
        if (status != CS_OK) return cs_blame(status, "%s", path);
        if (id == -1 && array->ndim == 2) {
            continue;
        }
        if (id < 0 || id >= INT32_MAX) {
            return no_id(path, id, r, c);
        }
        if (*length < c) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: padding -1 at row %lld, column %lld precedes token id %lld; "
                           "padding must come last",
                           path, (long long)r, (long long)*length, (long long)id);
        }
        token[(*length)++] = (int32_t)id;
    }
    return CS_OK;
}

/* Where the largest id is, -1 before the first. */
typedef struct {
    int64_t id, row, column;
} largest_id;

static cs_status check_columns(const char *path, const largest_id *largest, int64_t tokens)
{
    int64_t columns = largest->id + 1;
    if (columns <= COLUMNS_FREE || columns <= COLUMNS_PER_TOKEN * tokens) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT,
                   "%s: token id %lld at row %lld, column %lld needs %lld columns for only %lld "
                   "tokens (at most %d columns, or %d per token): renumber the ids, in NumPy by "
                   "numpy.unique(ids, return_inverse=True)",
                   path, (long long)largest->id, (long long)largest->row,
                   (long long)largest->column, (long long)columns, (long long)tokens, COLUMNS_FREE,
                   COLUMNS_PER_TOKEN);
}

/* The ids are those of a tokenizer, or the numbers that are its words. */
static cs_status take_vocabulary(const char *path, const largest_id *largest,
                                 const cs_tokenizer *encoder, cs_corpus *out)
{
    CS_AUTO_FREE int32_t *number = NULL;
    int64_t numbers = 0;
    cs_status status = cs_tokenizer_numbers(encoder, &number, &numbers);
    if (status != CS_OK) return status;
    int64_t ids = numbers > 0 ? numbers : cs_tokenizer_vocab(encoder);
    if (largest->id >= ids) {
        status = cs_fail(CS_ERR_INPUT,
                         "%s: token id %lld at row %lld, column %lld is not in 0..%lld of the "
                         "tokenizer%s",
                         path, (long long)largest->id, (long long)largest->row,
                         (long long)largest->column, (long long)ids - 1,
                         numbers > 0 ? ", whose words are numbers" : "");
    }
    for (int64_t i = 0; i < out->tokens && numbers > 0 && status == CS_OK; ++i) {
        out->token[i] = number[out->token[i]];
    }
    return status == CS_OK ? cs_corpus_take_vocabulary(encoder, out) : status;
}

static cs_status none_left(const char *path, int64_t documents, const cs_corpus_options *options)
{
    return cs_fail(CS_ERR_INPUT, "%s: none of the %lld documents has at least %lld tokens", path,
                   (long long)documents, (long long)options->min_tokens);
}

static cs_status read_rows(const char *path, const cs_array *array,
                           const cs_corpus_options *options, cs_corpus *out)
{
    int64_t rows = array->ndim == 2 ? array->shape[0] : 1;
    int64_t columns = array->shape[array->ndim - 1];
    largest_id largest = {-1, 0, 0};
    cs_status status = cs_corpus_allocate(rows, array->size, out);
    for (int64_t r = 0; status == CS_OK && r < rows; ++r) {
        int64_t length = 0;
        int32_t *token = out->token + out->tokens;
        status = read_row(path, array, r, columns, token, &length);
        if (status != CS_OK) break;
        if (length < options->min_tokens) {
            out->dropped_documents += 1;
            continue;
        }
        for (int64_t i = 0; i < length; ++i) {
            if (token[i] > largest.id) {
                largest = (largest_id){token[i], r, i};
            }
        }
        out->tokens += length;
        out->label[out->documents] = -1;
        out->held_out[out->documents] = cs_corpus_holds_out(options, &r, sizeof r);
        out->documents += 1;
        out->doc_ptr[out->documents] = out->tokens;
    }
    if (status == CS_OK && out->documents == 0) status = none_left(path, rows, options);
    if (status != CS_OK || options->encoder)
        return status == CS_OK ? take_vocabulary(path, &largest, options->encoder, out) : status;
    out->vocab = largest.id + 1;
    return check_columns(path, &largest, out->tokens);
}

static cs_status take_array(const char *name, const cs_array *array,
                            const cs_corpus_options *options, cs_corpus *out)
{
    if ((array->ndim != 1 && array->ndim != 2) || array->dtype == CS_UNICODE ||
        array->dtype == CS_BYTES) {
        return cs_fail(CS_ERR_INPUT, "%s: expected a 1-D or 2-D array of token ids, found %d-D%s",
                       name, array->ndim, array->dtype >= CS_UNICODE ? " of strings" : "");
    }
    return array->size == 0 ? cs_fail(CS_ERR_INPUT, "%s: no documents: the array is empty", name)
                            : read_rows(name, array, options, out);
}

cs_status cs_corpus_read_npy(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    if (options->take) {
        return cs_fail(CS_ERR_INPUT, "%s: contains token ids, but text was expected", path);
    }
    CS_AUTO(cs_array) array = {0};
    cs_corpus made = {0};
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK) status = take_array(path, &array, options, &made);
    if (status == CS_OK) status = cs_sha256_file(path, made.sha256);
    return CS_DELIVER(status, out, made, cs_corpus_free);
}

/* --- in memory -------------------------------------------------------------------------------- */

/* Offsets that rise from 0 to the number of ids. */
static cs_status check_offsets(const char *name, const cs_array *ids, int64_t documents,
                               const int64_t *doc_ptr)
{
    if (ids->ndim != 1 || documents < 1 || doc_ptr[0] != 0 || doc_ptr[documents] != ids->size) {
        return cs_fail(CS_ERR_INPUT, "%s: offsets must run from 0 to the number of token ids, %lld",
                       name, (long long)ids->size);
    }
    for (int64_t d = 0; d < documents; ++d) {
        if (doc_ptr[d + 1] < doc_ptr[d]) {
            return cs_fail(CS_ERR_INPUT, "%s: offset %lld is %lld, below the one before it, %lld",
                           name, (long long)d + 1, (long long)doc_ptr[d + 1],
                           (long long)doc_ptr[d]);
        }
    }
    return CS_OK;
}

/* Takes the documents that are long enough; their ids are where `token`, of all, has them. */
static void take_documents(int64_t documents, const int64_t *doc_ptr, const int32_t *token,
                           const cs_corpus_options *options, largest_id *largest, cs_corpus *out)
{
    for (int64_t d = 0; d < documents; ++d) {
        const int64_t length = doc_ptr[d + 1] - doc_ptr[d];
        const int32_t *of = token + doc_ptr[d];
        if (length < options->min_tokens) {
            out->dropped_documents += 1;
            continue;
        }
        for (int64_t i = 0; i < length; ++i) {
            if (of[i] > largest->id) *largest = (largest_id){of[i], d, i};
        }
        if (!out->borrowed && length > 0)
            memmove(out->token + out->tokens, of, (size_t)length * sizeof *of);
        out->tokens += length;
        out->label[out->documents] = -1;
        out->held_out[out->documents] = cs_corpus_holds_out(options, &d, sizeof d);
        out->documents += 1;
        out->doc_ptr[out->documents] = out->tokens;
    }
}

/* Whether the tokens of the documents that are long enough lie side by side. */
static bool in_one_piece(int64_t documents, const int64_t *doc_ptr, int64_t min_tokens)
{
    for (int64_t d = 0; d < documents; ++d) {
        const int64_t length = doc_ptr[d + 1] - doc_ptr[d];
        if (length > 0 && length < min_tokens) return false;
    }
    return true;
}

static cs_status take_ids(const char *name, const cs_array *ids, int64_t documents,
                          const int64_t *doc_ptr, const cs_corpus_options *options, cs_corpus *out)
{
    largest_id largest = {-1, 0, 0};
    cs_status status = check_offsets(name, ids, documents, doc_ptr);
    if (status != CS_OK) return status;
    out->borrowed = ids->dtype == CS_I32 && !options->encoder &&
                    in_one_piece(documents, doc_ptr, options->min_tokens);
    status = cs_corpus_allocate(documents, out->borrowed ? 0 : ids->size, out);
    if (status != CS_OK) return status;
    if (out->borrowed) {
        cs_free(out->token);
        out->token = ids->data;
    }
    for (int64_t i = 0, d = 0; i < ids->size && status == CS_OK; ++i) {
        int64_t id = 0;
        status = cs_blame(cs_array_i64(ids, i, &id), "%s", name);
        for (; doc_ptr[d + 1] <= i; ++d) {
        }
        if (status == CS_OK && (id < 0 || id >= INT32_MAX))
            status = no_id(name, id, d, i - doc_ptr[d]);
        if (status == CS_OK && !out->borrowed) out->token[i] = (int32_t)id;
    }
    if (status != CS_OK) return status;
    take_documents(documents, doc_ptr, out->token, options, &largest, out);
    if (out->documents == 0) return none_left(name, documents, options);
    if (options->encoder) return take_vocabulary(name, &largest, options->encoder, out);
    out->vocab = largest.id + 1;
    return check_columns(name, &largest, out->tokens);
}

cs_status cs_corpus_of_ids(const char *name, const cs_array *ids, int64_t documents,
                           const int64_t *doc_ptr, const cs_corpus_options *options, cs_corpus *out)
{
    cs_corpus_options resolved;
    cs_corpus made = {0};
    cs_status status = cs_corpus_options_resolve(options, &resolved);
    if (status == CS_OK) status = take_ids(name, ids, documents, doc_ptr, &resolved, &made);
    return cs_corpus_in_memory(status, name, &made, out);
}

/* Rows of int32 without padding, which are borrowed as sequences. */
static cs_status take_rows(const char *name, const cs_array *array,
                           const cs_corpus_options *options, cs_corpus *out)
{
    const int64_t rows = array->ndim == 2 ? array->shape[0] : 1,
                  columns = array->shape[array->ndim - 1];
    CS_AUTO_FREE int64_t *doc_ptr = cs_alloc(rows + 1, sizeof *doc_ptr);
    if (!doc_ptr) return CS_ERR_MEMORY;
    for (int64_t r = 0; r <= rows; ++r) {
        doc_ptr[r] = r * columns;
    }
    cs_array ids = *array;
    ids.ndim = 1;
    ids.shape[0] = array->size;
    return take_ids(name, &ids, rows, doc_ptr, options, out);
}

static bool can_borrow_rows(const cs_array *array, const cs_corpus_options *options)
{
    const int32_t *id = array->data;
    if (array->dtype != CS_I32 || (array->ndim != 1 && array->ndim != 2) || options->encoder)
        return false;
    for (int64_t i = 0; i < array->size; ++i) {
        if (id[i] < 0) return false;
    }
    return array->size > 0;
}

cs_status cs_corpus_of_array(const char *name, const cs_array *array,
                             const cs_corpus_options *options, cs_corpus *out)
{
    cs_corpus_options resolved;
    cs_corpus made = {0};
    cs_status status = cs_corpus_options_resolve(options, &resolved);
    if (status == CS_OK)
        status = can_borrow_rows(array, &resolved) ? take_rows(name, array, &resolved, &made)
                                                   : take_array(name, array, &resolved, &made);
    return cs_corpus_in_memory(status, name, &made, out);
}
