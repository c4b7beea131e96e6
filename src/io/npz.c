/* NPZ archives, reading (libzip).
 *
 * An archive that has a member twice, or whose directory differs from the header of a member, is
 * refused. A member is unpacked straight into its array. Before memory is taken, its declared size
 * is checked against the limit, against the packed size (deflate expands at most 1032-fold) and
 * against its own NPY header; afterwards it must end there and its CRC must hold. So neither a bomb
 * nor a header that lies makes us allocate or unpack more than the limit. */
#include "io/npz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "base/auto.h"
#include "base/ints.h"
#include "io/file.h"
#include "io/npy_private.h"

struct cs_npz {
    zip_t *zip;
    char *path;
    int64_t limit, used; /* bytes that members may unpack to; bytes they did */
};

/* 258 bytes from a match of 2 bits: the densest a deflate stream can be. */
enum { DEFLATE_RATIO = 1032 };

/* libzip (up to 1.11 at least) inflates at most 2^32 - 1 bytes a call but reports the number
 * requested, so a call never requests more than this. */
enum { MOST_A_READ = 1 << 30 };

static int64_t default_limit(void)
{
    int64_t available = cs_mem_available();
    return available > 0 ? available / 5 * 4 : INT64_MAX;
}

/* libzip says "not a zip archive" to everything; the first bytes say more. */
static cs_status check_start(const char *path)
{
    char start[64] = {0};
    int fd = -1;
    int64_t size = 0;
    cs_status status = cs_file_open(path, &fd, &size);
    const int64_t got = cs_least(size, sizeof start);
    if (status == CS_OK) status = cs_file_read_at(fd, path, 0, got, start);
    if (fd >= 0) {
        (void)close(fd); /* opened for reading: nothing to lose */
    }
    if (status == CS_OK) status = cs_lfs_check(path, start, got);
    if (status != CS_OK) return status;
    if (memcmp(start, "\x93NUMPY", 6) == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: is an NPY array, not an NPZ archive", path);
    }
    if (memcmp(start, "PK", 2) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: not a zip archive (bad magic)", path);
    }
    return CS_OK;
}

static cs_status open_failure(const char *path, int code)
{
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    cs_status status = code == ZIP_ER_MEMORY ? cs_fail(CS_ERR_MEMORY, "%s: out of memory", path)
                       : code == ZIP_ER_EXISTS
                           ? cs_fail(CS_ERR_INPUT, "%s: has two members of the same name", path)
                           : cs_fail(CS_ERR_INPUT, "%s: truncated or damaged archive (%s)", path,
                                     zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

cs_status cs_npz_open(const char *path, int64_t limit, cs_npz **out)
{
    if (limit < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: invalid limit of %" PRId64 " bytes", path, limit);
    }
    cs_status status = check_start(path);
    if (status != CS_OK) return status;
    cs_npz *npz = cs_calloc(1, sizeof *npz);
    if (!npz || !(npz->path = cs_strdup(path))) {
        cs_npz_close(npz);
        return CS_ERR_MEMORY;
    }
    npz->limit = limit > 0 ? limit : default_limit();
    int code = 0;
    /* CHECKCONS: no member is there twice, and the header before each says what the directory at the
     * end says. */
    npz->zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
    if (!npz->zip) {
        cs_npz_close(npz);
        return open_failure(path, code);
    }
    *out = npz;
    return CS_OK;
}

void cs_npz_close(cs_npz *npz)
{
    if (npz) {
        if (npz->zip) {
            zip_discard(npz->zip); /* opened for reading: nothing to write */
        }
        cs_free(npz->path);
        cs_free(npz);
    }
}

/* The number of member "<name>.npy", -1 when there is none or the name is beyond 255 bytes. */
static zip_int64_t locate(const cs_npz *npz, const char *name)
{
    char member[256];
    int length = snprintf(member, sizeof member, "%s.npy", name);
    return length < (int)sizeof member ? zip_name_locate(npz->zip, member, 0) : -1;
}

bool cs_npz_has(const cs_npz *npz, const char *name)
{
    return locate(npz, name) >= 0;
}

int64_t cs_npz_count(const cs_npz *npz)
{
    return zip_get_num_entries(npz->zip, 0);
}

const char *cs_npz_member(const cs_npz *npz, int64_t i)
{
    const char *name = zip_get_name(npz->zip, (zip_uint64_t)i, 0);
    return name ? name : "";
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

static cs_status check_member(const char *what, const zip_stat_t *st)
{
    const zip_uint64_t need =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((st->valid & need) != need || st->size > INT64_MAX || st->comp_size > INT64_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: its size is not recorded", what);
    }
    if (st->encryption_method != ZIP_EM_NONE) {
        return cs_fail(CS_ERR_INPUT, "%s: is encrypted", what);
    }
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE) {
        return cs_fail(CS_ERR_INPUT, "%s: compression method %d is not supported", what,
                       st->comp_method);
    }
    bool stored = st->comp_method == ZIP_CM_STORE;
    if (stored ? st->size != st->comp_size : st->size / DEFLATE_RATIO > st->comp_size) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: announces %" PRIu64
                       " decompressed bytes, which is impossible from %" PRIu64,
                       what, (uint64_t)st->size, (uint64_t)st->comp_size);
    }
    return CS_OK;
}

typedef struct {
    zip_file_t *file;
    const char *what;
} member_ctx;

static cs_status read_member(void *ctx, void *out, int64_t want, int64_t *got)
{
    member_ctx *m = ctx;
    int64_t total = 0;
    while (total < want) {
        int64_t step = want - total < MOST_A_READ ? want - total : MOST_A_READ;
        zip_int64_t n = zip_fread(m->file, (char *)out + total, (zip_uint64_t)step);
        if (n < 0) {
            return cs_fail(CS_ERR_INPUT, "%s: cannot decompress: %s", m->what,
                           zip_file_strerror(m->file));
        }
        if (n == 0) {
            break;
        }
        total += n;
    }
    *got = total;
    return CS_OK;
}

/* Opens a member, its sizes checked but not compared with the limit. */
static cs_status open_member(cs_npz *npz, zip_uint64_t member, const char *what, zip_file_t **file,
                             int64_t *size)
{
    zip_stat_t st;
    zip_stat_init(&st);
    if (zip_stat_index(npz->zip, member, 0, &st) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: %s", what, zip_strerror(npz->zip));
    }
    cs_status status = check_member(what, &st);
    if (status != CS_OK) return status;
    *size = (int64_t)st.size;
    *file = zip_fopen_index(npz->zip, member, 0);
    return *file ? CS_OK
                 : cs_fail(CS_ERR_INPUT, "%s: cannot decompress: %s", what, zip_strerror(npz->zip));
}

static cs_status unpack(cs_npz *npz, zip_uint64_t member, const char *what, cs_array *out)
{
    int64_t size = 0;
    member_ctx ctx = {.what = what};
    cs_status status = open_member(npz, member, what, &ctx.file, &size);
    if (status != CS_OK) return status;
    cs_npy_source source = {what, size, &ctx, read_member};
    status = check_limit(npz, what, size);
    status = status ? status : cs_npy_load(&source, npz->limit - npz->used, out);
    (void)zip_fclose(ctx.file); /* what it could say was said by the last read */
    if (status == CS_OK) npz->used += size;
    return status;
}

/* The member's name in messages. */
static cs_status name_member(const cs_npz *npz, const char *name, zip_int64_t *member, char **what)
{
    *member = locate(npz, name);
    if (*member < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: has no member '%s.npy'", npz->path, name);
    }
    *what = cs_format("%s: member %s.npy", npz->path, name);
    return *what ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_npz_read(cs_npz *npz, const char *name, cs_array *out)
{
    zip_int64_t member = -1;
    CS_AUTO_FREE char *what = NULL;
    cs_status status = name_member(npz, name, &member, &what);
    return status ? status : unpack(npz, (zip_uint64_t)member, what, out);
}

/* --- piece by piece --------------------------------------------------------------------------- */

struct cs_npz_items {
    member_ctx member;
    char *what;
    int64_t left; /* items */
    cs_npy_info info;
    cs_array piece;
    int64_t capacity; /* bytes */
};

cs_status cs_npz_items_open(cs_npz *npz, const char *name, cs_npz_items **out, int64_t *count)
{
    zip_int64_t member = -1;
    int64_t size = 0, at = 0;
    cs_npz_items *items = cs_calloc(1, sizeof *items);
    cs_status status = items ? name_member(npz, name, &member, &items->what) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        items->member.what = items->what;
        status = open_member(npz, (zip_uint64_t)member, items->what, &items->member.file, &size);
    }
    if (status == CS_OK) {
        cs_npy_source source = {items->what, size, &items->member, read_member};
        status = cs_npy_load_header(&source, &items->info, &at);
    }
    if (status == CS_OK && (items->info.ndim != 1 || cs_dtype_size(items->info.dtype) == 0))
        status = cs_fail(CS_ERR_INPUT, "%s: %s", items->what,
                         items->info.ndim != 1 ? "is not one-dimensional" : "is not numeric");
    if (status == CS_OK && items->info.bytes != size - at)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: %" PRId64 " bytes of data, but its header announces %" PRId64,
                         items->what, size - at, items->info.bytes);
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
        if (items->member.file) {
            (void)zip_fclose(items->member.file);
        }
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
    if (status == CS_OK) status = read_member(&items->member, p->data, bytes, &got);
    if (status == CS_OK && got < bytes)
        status = cs_fail(CS_ERR_INPUT, "%s: is truncated", items->what);
    if (status == CS_OK) cs_npy_swap(&items->info, p->data, count);
    items->left -= count;
    p->size = p->shape[0] = count;
    /* reading beyond the end makes libzip check the CRC */
    if (status == CS_OK && items->left == 0) {
        char beyond;
        status = read_member(&items->member, &beyond, 1, &got);
    }
    *piece = p;
    return status;
}
