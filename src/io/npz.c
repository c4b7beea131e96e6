/* NPZ archives, reading (zip_private.h).
 *
 * An archive that has a member twice, or whose directory differs from the header of a member, is
 * refused. A member is unpacked straight into its array. Before memory is taken, its declared size
 * is checked against the limit, against the packed size (deflate expands at most 1032-fold) and
 * against its own NPY header; afterwards it must end there and its CRC must hold. So neither a bomb
 * nor a header that lies makes us allocate or unpack more than the limit. */
#include "io/npz.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "io/npy_private.h"
#include "io/zip_private.h"

struct cs_npz {
    cs_zip zip;
    int64_t limit, used; /* bytes that members may unpack to; bytes they did */
};

/* 258 bytes from a match of 2 bits: the densest a deflate stream can be. */
enum { DEFLATE_RATIO = 1032 };

static int64_t default_limit(void)
{
    int64_t available = cs_mem_available();
    return available > 0 ? available / 5 * 4 : INT64_MAX;
}

cs_status cs_npz_open(const char *path, int64_t limit, cs_npz **out)
{
    if (limit < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: invalid limit of %" PRId64 " bytes", path, limit);
    }
    cs_zip zip = {.fd = -1};
    cs_status status = cs_zip_open(path, &zip);
    if (status != CS_OK) return status;
    cs_npz *npz = cs_calloc(1, sizeof *npz);
    if (!npz) {
        cs_zip_free(&zip);
        return CS_ERR_MEMORY;
    }
    npz->zip = zip;
    npz->limit = limit > 0 ? limit : default_limit();
    *out = npz;
    return CS_OK;
}

void cs_npz_close(cs_npz *npz)
{
    if (npz) {
        cs_zip_free(&npz->zip);
        cs_free(npz);
    }
}

/* Member "<name>.npy", NULL when there is none or the name is beyond 255 bytes. */
static const cs_zip_entry *locate(const cs_npz *npz, const char *name)
{
    char member[256];
    int length = snprintf(member, sizeof member, "%s.npy", name);
    return length < (int)sizeof member ? cs_zip_find(&npz->zip, member) : NULL;
}

bool cs_npz_has(const cs_npz *npz, const char *name)
{
    return locate(npz, name) != NULL;
}

int64_t cs_npz_count(const cs_npz *npz)
{
    return npz->zip.entries;
}

const char *cs_npz_member(const cs_npz *npz, int64_t i)
{
    return npz->zip.entry[i].name;
}

/* All members unpacked at once must stay within the limit. */
static cs_status check_limit(const cs_npz *npz, const char *what, int64_t size)
{
    return size <= npz->limit - npz->used
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: decompresses to %" PRId64 " bytes; of the limit of %" PRId64
                         " bytes only %" PRId64 " are left",
                         what, size, npz->limit, npz->limit - npz->used);
}

static cs_status check_member(const char *what, const cs_zip_entry *e)
{
    if (e->flags & CS_ZIP_ENCRYPTED) {
        return cs_fail(CS_ERR_INPUT, "%s: is encrypted", what);
    }
    if (e->method != CS_ZIP_STORED && e->method != CS_ZIP_DEFLATED) {
        return cs_fail(CS_ERR_INPUT, "%s: compression method %d is not supported", what, e->method);
    }
    bool stored = e->method == CS_ZIP_STORED;
    if (stored ? e->size != e->packed : e->size / DEFLATE_RATIO > e->packed) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: announces %" PRId64
                       " decompressed bytes, which is impossible from %" PRId64,
                       what, e->size, e->packed);
    }
    return CS_OK;
}

/* The member and its name in messages. Its sizes are checked but not compared with the limit. */
static cs_status find_member(const cs_npz *npz, const char *name, const cs_zip_entry **member,
                             char **what)
{
    *member = locate(npz, name);
    if (!*member) {
        return cs_fail(CS_ERR_INPUT, "%s: has no member '%s.npy'", npz->zip.path, name);
    }
    *what = cs_format("%s: member %s.npy", npz->zip.path, name);
    return *what ? check_member(*what, *member) : CS_ERR_MEMORY;
}

cs_status cs_npz_read(cs_npz *npz, const char *name, cs_array *out)
{
    const cs_zip_entry *member = NULL;
    CS_AUTO_FREE char *what = NULL;
    cs_zip_stream *stream = NULL;
    cs_status status = find_member(npz, name, &member, &what);
    if (status == CS_OK) status = check_limit(npz, what, member->size);
    if (status == CS_OK) status = cs_zip_stream_open(&npz->zip, member, what, &stream);
    if (status != CS_OK) return status;
    const cs_npy_source source = {what, member->size, stream, cs_zip_stream_read};
    status = cs_npy_load(&source, npz->limit - npz->used, out);
    cs_zip_stream_free(stream);
    if (status == CS_OK) npz->used += member->size;
    return status;
}

/* --- piece by piece --------------------------------------------------------------------------- */

struct cs_npz_items {
    cs_zip_stream *stream;
    char *what;
    int64_t left; /* items */
    cs_npy_info info;
    cs_array piece;
    int64_t capacity; /* bytes */
};

cs_status cs_npz_items_open(cs_npz *npz, const char *name, cs_npz_items **out, int64_t *count)
{
    const cs_zip_entry *member = NULL;
    int64_t at = 0;
    cs_npz_items *items = cs_calloc(1, sizeof *items);
    cs_status status = items ? find_member(npz, name, &member, &items->what) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_zip_stream_open(&npz->zip, member, items->what, &items->stream);
    if (status == CS_OK) {
        cs_npy_source source = {items->what, member->size, items->stream, cs_zip_stream_read};
        status = cs_npy_load_header(&source, &items->info, &at);
    }
    if (status == CS_OK && (items->info.ndim != 1 || cs_dtype_size(items->info.dtype) == 0))
        status = cs_fail(CS_ERR_INPUT, "%s: %s", items->what,
                         items->info.ndim != 1 ? "is not one-dimensional" : "is not numeric");
    if (status == CS_OK && items->info.bytes != member->size - at)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: %" PRId64 " bytes of data, but its header announces %" PRId64,
                         items->what, member->size - at, items->info.bytes);
    if (status != CS_OK) {
        cs_npz_items_close(items);
        return status;
    }
    items->left = *count = items->info.size;
    items->piece =
        (cs_array){.dtype = items->info.dtype, .item_size = items->info.item_size, .ndim = 1};
    *out = items;
    return CS_OK;
}

void cs_npz_items_close(cs_npz_items *items)
{
    if (items) {
        cs_zip_stream_free(items->stream);
        cs_array_free(&items->piece);
        cs_free(items->what);
        cs_free(items);
    }
}

cs_status cs_npz_items_next(cs_npz_items *items, int64_t count, const cs_array **piece)
{
    cs_array *p = &items->piece;
    int64_t bytes = count * p->item_size, got = 0;
    if (count > items->left) {
        return cs_fail(CS_ERR_INPUT, "%s: ends %" PRId64 " items early", items->what,
                       count - items->left);
    }
    cs_status status = cs_reserve(&p->data, &items->capacity, bytes, 1);
    if (status == CS_OK) status = cs_zip_stream_read(items->stream, p->data, bytes, &got);
    if (status == CS_OK && got < bytes)
        status = cs_fail(CS_ERR_INPUT, "%s: is truncated", items->what);
    if (status == CS_OK) cs_npy_swap(&items->info, p->data, count);
    items->left -= count;
    p->size = p->shape[0] = count;
    *piece = p;
    return status;
}
