/* Writing of safetensors as a stream: header with a hash of zeros, data, then the hash over the
 * zeros.
 *
 * The hash is the first key of the metadata, and these the first key of the header, so its place in
 * the file is known. The hash covers the data only; names and shapes are covered by the reader's
 * checks against the size. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors_private.h"

/* The bytes before the hash: the header's length and {"__metadata__":{"xxh3":" */
enum { LENGTH_SIZE = 8, ALIGNMENT = 8, HASH_PLACE = LENGTH_SIZE + 25, HASH_SIZE = 32 };

static const char ZEROS[] = "00000000000000000000000000000000";

struct cs_safetensors_writer {
    cs_outfile file;
    cs_hasher hasher;
    json_t *header;
    void *at;             /* the tensor being filled, an iterator of the header */
    int64_t end, written; /* its end; bytes so far */
};

static bool is_utf8(const char *text)
{
    const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
    while (*at) {
        utf8proc_int32_t code;
        utf8proc_ssize_t bytes = utf8proc_iterate(at, -1, &code); /* stops at the NUL */
        if (bytes < 1) {
            return false;
        }
        at += bytes;
    }
    return true;
}

static cs_status set_pair(json_t *metadata, const cs_safetensors_pair *pair)
{
    if (json_object_get(metadata, pair->key)) {
        return cs_fail(CS_ERR_USAGE, "metadata key \"%s\" %s", pair->key,
                       strcmp(pair->key, CS_SAFETENSORS_HASH) == 0 ? "is reserved for the writer"
                                                                   : "is given twice");
    }
    if (!is_utf8(pair->key) || !is_utf8(pair->value)) {
        return cs_fail(CS_ERR_USAGE, "metadata \"%s\": \"%s\" is not valid UTF-8", pair->key,
                       pair->value);
    }
    return cs_json_set(metadata, pair->key, json_string(pair->value));
}

/* Describes the next tensor, which begins at *end, and moves *end behind it. */
static cs_status set_tensor(json_t *header, const cs_safetensors_entry *given, int64_t *end)
{
    cs_safetensors_entry e = *given;
    if (json_object_get(header, e.name)) {
        return cs_fail(CS_ERR_USAGE, "name %s",
                       strcmp(e.name, CS_SAFETENSORS_META) == 0 ? "is reserved" : "is given twice");
    }
    if (!is_utf8(e.name)) {
        return cs_fail(CS_ERR_USAGE, "the name is not valid UTF-8");
    }
    if (e.ndim < 0 || e.ndim > CS_SAFETENSORS_MAX_DIM) {
        return cs_fail(CS_ERR_USAGE, "%d dimensions, not in 0..%d", e.ndim, CS_SAFETENSORS_MAX_DIM);
    }
    if (cs_safetensors_size(&e) != CS_OK) return CS_ERR_USAGE;
    const int64_t begin = *end, size = cs_dtype_size(e.dtype);
    if (begin % size != 0) {
        return cs_fail(CS_ERR_USAGE,
                       "would begin at byte %" PRId64 " of the data, not at a multiple of %" PRId64
                       ": tensors of larger items must come first",
                       begin, size);
    }
    if (__builtin_add_overflow(begin, e.bytes, end)) {
        return cs_fail(CS_ERR_USAGE, "the number of bytes of the data exceeds 63 bits");
    }
    json_t *shape = json_array(); /* what lacks memory is not written */
    for (int i = 0; i < e.ndim; ++i) {
        (void)json_array_append_new(shape, json_integer(e.shape[i]));
    }
    return cs_json_set(header, e.name,
                       json_pack("{s:s, s:o, s:[I, I]}", "dtype",
                                 cs_safetensors_dtype_name(e.dtype), "shape", shape, "data_offsets",
                                 (json_int_t)begin, (json_int_t)*end));
}

static cs_status describe(json_t *header, int64_t count, const cs_safetensors_entry *entries,
                          int64_t pairs, const cs_safetensors_pair *metadata)
{
    json_t *texts = json_object();
    cs_status status = cs_json_set(header, CS_SAFETENSORS_META, texts);
    if (status == CS_OK) status = cs_json_set(texts, CS_SAFETENSORS_HASH, json_string(ZEROS));
    for (int64_t i = 0; i < pairs && status == CS_OK; ++i) {
        status = set_pair(texts, &metadata[i]);
    }
    int64_t end = 0;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        status = cs_blame(set_tensor(header, &entries[i], &end), "tensor \"%s\"", entries[i].name);
    }
    return status;
}

static cs_status write_error(const cs_safetensors_writer *w)
{
    return cs_fail(CS_ERR_IO, "%s: cannot write: %s", w->file.path, strerror(errno));
}

/* Length, JSON, blanks up to a multiple of 8. */
static cs_status write_header(cs_safetensors_writer *w)
{
    char *text = json_dumps(w->header, JSON_COMPACT);
    cs_status status = cs_json_check();
    if (status != CS_OK || !text) {
        free(text);
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", w->file.path);
    }
    uint64_t length = strlen(text), padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (padded > (uint64_t)CS_SAFETENSORS_MAX_HEADER) {
        status = cs_fail(CS_ERR_USAGE, "%s: a header of %" PRIu64 " bytes, more than %" PRId64,
                         w->file.path, padded, CS_SAFETENSORS_MAX_HEADER);
    } else if (fwrite(&padded, 1, LENGTH_SIZE, w->file.stream) != LENGTH_SIZE ||
               fwrite(text, 1, length, w->file.stream) != length ||
               fprintf(w->file.stream, "%*s", (int)(padded - length), "") < 0) {
        status = write_error(w);
    }
    free(text); /* jansson's own */
    return status;
}

/* Moves on to the next tensor with bytes still to come, if any. */
static void skip_filled(cs_safetensors_writer *w)
{
    while (w->at && w->written == w->end) {
        w->at = json_object_iter_next(w->header, w->at);
        if (w->at) {
            const json_t *offsets = json_object_get(json_object_iter_value(w->at), "data_offsets");
            w->end = json_integer_value(json_array_get(offsets, 1));
        }
    }
}

cs_status cs_safetensors_writer_open(const char *path, int64_t count,
                                     const cs_safetensors_entry *entries, int64_t pairs,
                                     const cs_safetensors_pair *metadata,
                                     cs_safetensors_writer **out)
{
    cs_safetensors_writer *w = cs_calloc(1, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    w->header = json_object();
    cs_status status = cs_blame(describe(w->header, count, entries, pairs, metadata), "%s", path);
    if (status == CS_OK) status = cs_hasher_make(0, &w->hasher);
    if (status == CS_OK) status = cs_outfile_open(path, &w->file);
    if (status == CS_OK) status = write_header(w);
    if (status != CS_OK) {
        cs_safetensors_writer_abort(&w);
        return status;
    }
    w->at = json_object_iter(w->header); /* the metadata, a tensor without bytes */
    skip_filled(w);
    *out = w;
    return CS_OK;
}

cs_status cs_safetensors_writer_put(cs_safetensors_writer *writer, const void *bytes, int64_t size)
{
    cs_safetensors_writer *w = writer;
    if (size < 0 || size > (w->at ? w->end - w->written : 0)) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: %" PRId64 " bytes for tensor \"%s\", which has space for only %" PRId64
                       " more",
                       w->file.path, size, w->at ? json_object_iter_key(w->at) : "(none)",
                       w->at ? w->end - w->written : 0);
    }
    cs_status status = cs_outfile_put(&w->file, bytes, size);
    if (status != CS_OK) return status;
    if (size > 0) {
        cs_hasher_add(&w->hasher, bytes, (size_t)size);
    }
    w->written += size;
    skip_filled(w);
    return CS_OK;
}

/* Puts the hash over the zeros that hold its place. */
static cs_status set_hash(cs_safetensors_writer *w)
{
    char hex[HASH_SIZE + 1];
    cs_hash_hex(cs_hasher_value(&w->hasher), hex);
    if (fseeko(w->file.stream, HASH_PLACE, SEEK_SET) != 0 ||
        fwrite(hex, 1, HASH_SIZE, w->file.stream) != HASH_SIZE) {
        return write_error(w);
    }
    return CS_OK;
}

cs_status cs_safetensors_writer_commit(cs_safetensors_writer **writer)
{
    cs_safetensors_writer *w = *writer;
    cs_status status = CS_OK;
    if (w->at) {
        status = cs_fail(CS_ERR_USAGE, "%s: tensor \"%s\" lacks its last %" PRId64 " bytes",
                         w->file.path, json_object_iter_key(w->at), w->end - w->written);
    } else if (ferror(w->file.stream)) {
        status = cs_fail(CS_ERR_IO, "%s: a write failed (disk full?)", w->file.path);
    } else {
        status = set_hash(w);
    }
    if (status == CS_OK) status = cs_outfile_commit(&w->file);
    cs_safetensors_writer_abort(writer); /* what is left */
    return status;
}

void cs_safetensors_writer_abort(cs_safetensors_writer **writer)
{
    cs_safetensors_writer *w = *writer;
    if (w) {
        cs_outfile_abort(&w->file);
        cs_hasher_free(&w->hasher);
        json_decref(w->header);
        cs_free(w);
    }
    *writer = NULL;
}
