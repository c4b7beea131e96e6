/* NPZ archives, reading (libzip).
 *
 * A member is unpacked straight into its array. Before memory is taken, its declared size is held
 * against the limit, against the packed size (deflate expands at most 1032-fold) and against its
 * own NPY header; afterwards it must end there and its CRC must hold. So neither a bomb nor a
 * header that lies makes us allocate or unpack more than the limit. */
#include "io/npz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zip.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/npy_load.h"

struct cs_npz {
    zip_t *zip;
    char *path;
    int64_t limit, used; /* bytes that members may unpack to; bytes they did */
};

/* 258 bytes from a match of 2 bits: the densest a deflate stream can be. */
enum { DEFLATE_RATIO = 1032 };

/* libzip (up to 1.11 at least) inflates at most 2^32 - 1 bytes a call but reports as many as were
 * asked for, so a call never asks for more than this. */
enum { MOST_A_READ = 1 << 30 };

static int64_t default_limit(void)
{
    int64_t available = cs_mem_available();
    return available > 0 ? available / 5 * 4 : INT64_MAX;
}

/* libzip says "not a zip archive" to everything; the first bytes tell more. */
static cs_status check_start(const char *path)
{
    char start[64] = {0};
    FILE *f = fopen(path, "rbe");
    if (!f) {
        return cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    int64_t got = (int64_t)fread(start, 1, sizeof start, f);
    bool failed = ferror(f) != 0;
    int code = errno;
    (void)fclose(f); /* opened for reading: nothing to lose */
    if (failed) {
        return cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(code));
    }
    cs_status status = cs_lfs_check(path, start, got);
    if (status != CS_OK) {
        return status;
    }
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
    cs_status status = code == ZIP_ER_MEMORY
                           ? cs_fail(CS_ERR_MEMORY, "%s: out of memory", path)
                           : cs_fail(CS_ERR_INPUT, "%s: truncated or damaged archive (%s)", path,
                                     zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

cs_status cs_npz_open(const char *path, int64_t limit, cs_npz **out)
{
    if (limit < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: limit of %" PRId64 " bytes", path, limit);
    }
    cs_status status = check_start(path);
    if (status != CS_OK) {
        return status;
    }
    cs_npz *npz = cs_calloc(1, sizeof *npz);
    if (!npz || !(npz->path = cs_strdup(path))) {
        cs_npz_close(npz);
        return CS_ERR_MEMORY;
    }
    npz->limit = limit > 0 ? limit : default_limit();
    int code = 0;
    npz->zip = zip_open(path, ZIP_RDONLY, &code);
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

static cs_status check_member(const cs_npz *npz, const char *what, const zip_stat_t *st)
{
    const zip_uint64_t need =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((st->valid & need) != need || st->size > INT64_MAX || st->comp_size > INT64_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: has no size", what);
    }
    if (st->encryption_method != ZIP_EM_NONE) {
        return cs_fail(CS_ERR_INPUT, "%s: is encrypted", what);
    }
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE) {
        return cs_fail(CS_ERR_INPUT, "%s: compression method %d is not supported", what,
                       st->comp_method);
    }
    if ((int64_t)st->size > npz->limit - npz->used) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: unpacks to %" PRIu64 " bytes, of the limit of %" PRId64 " only %" PRId64
                       " are left",
                       what, (uint64_t)st->size, npz->limit, npz->limit - npz->used);
    }
    bool stored = st->comp_method == ZIP_CM_STORE;
    if (stored ? st->size != st->comp_size : st->size / DEFLATE_RATIO > st->comp_size) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: says it unpacks to %" PRIu64 " bytes, impossible from %" PRIu64, what,
                       (uint64_t)st->size, (uint64_t)st->comp_size);
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
            return cs_fail(CS_ERR_INPUT, "%s: cannot unpack: %s", m->what,
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

static cs_status unpack(cs_npz *npz, zip_uint64_t member, const char *what, cs_array *out)
{
    zip_stat_t st;
    zip_stat_init(&st);
    if (zip_stat_index(npz->zip, member, 0, &st) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: %s", what, zip_strerror(npz->zip));
    }
    cs_status status = check_member(npz, what, &st);
    if (status != CS_OK) {
        return status;
    }
    member_ctx ctx = {zip_fopen_index(npz->zip, member, 0), what};
    if (!ctx.file) {
        return cs_fail(CS_ERR_INPUT, "%s: cannot unpack: %s", what, zip_strerror(npz->zip));
    }
    cs_npy_source source = {what, (int64_t)st.size, &ctx, read_member};
    status = cs_npy_load(&source, npz->limit - npz->used, out);
    (void)zip_fclose(ctx.file); /* what it could say was said by the last read */
    if (status == CS_OK) {
        npz->used += (int64_t)st.size;
    }
    return status;
}

cs_status cs_npz_read(cs_npz *npz, const char *name, cs_array *out)
{
    zip_int64_t member = locate(npz, name);
    if (member < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: has no member '%s.npy'", npz->path, name);
    }
    char *what = cs_format("%s: member %s.npy", npz->path, name);
    if (!what) {
        return CS_ERR_MEMORY;
    }
    cs_status status = unpack(npz, (zip_uint64_t)member, what, out);
    cs_free(what);
    return status;
}
