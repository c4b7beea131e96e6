/* NPY arrays: one loader over any source of bytes, whole arrays in memory.
 *
 * The header is checked against the size of the source and the limit before memory is taken, so a
 * header that lies costs nothing. Limits: little endian hosts; a Fortran array is transposed
 * through a second buffer, item by item. */
#include "io/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/npy_load_private.h"

/* A header is some hundred bytes; NumPy itself refuses more than 10^4. */
enum { MAX_HEADER = 1 << 20, PREFIX = 12, PROBE = 64 };

void cs_array_free(cs_array *array)
{
    cs_free(array->data);
    *array = (cs_array){0};
}

static cs_status read_exactly(const cs_npy_source *s, void *out, int64_t want, int64_t at)
{
    int64_t got = 0;
    cs_status status = s->read(s->ctx, out, want, &got);
    if (status == CS_OK && got < want)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: ends at byte %" PRId64 ", but %" PRId64 " more bytes are expected",
                         s->name, at + got, want - got);
    return status;
}

/* No NPY file: says what it is, if that is known. */
static cs_status not_npy(const cs_npy_source *s, const char *prefix)
{
    char probe[PROBE];
    int64_t got = 0;
    memcpy(probe, prefix, 8);
    cs_status status = s->read(s->ctx, probe + 8, PROBE - 8, &got);
    if (status == CS_OK) status = cs_lfs_check(s->name, probe, got + 8);
    if (status == CS_OK && memcmp(probe, "PK\3\4", 4) == 0)
        return cs_fail(CS_ERR_INPUT, "%s: is a zip archive (NPZ?), not an NPY array", s->name);
    return status == CS_OK ? cs_fail(CS_ERR_INPUT, "%s: not an NPY array (bad magic)", s->name)
                           : status;
}

cs_status cs_npy_load_header(const cs_npy_source *s, cs_npy_info *info, int64_t *at)
{
    unsigned char p[PREFIX];
    cs_status status = read_exactly(s, p, 8, 0);
    if (status != CS_OK) return status;
    if (memcmp(p, "\x93NUMPY", 6) != 0) {
        return not_npy(s, (const char *)p);
    }
    if (p[6] < 1 || p[6] > 3 || p[7] != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: byte 6: NPY version %d.%d is not supported", s->name,
                       p[6], p[7]);
    }
    int64_t width = p[6] == 1 ? 2 : 4, length = 0;
    status = read_exactly(s, p + 8, width, 8);
    if (status != CS_OK) return status;
    for (int64_t i = width - 1; i >= 0; --i) {
        length = length << 8 | p[8 + i];
    }
    int64_t base = 8 + width;
    if (length > MAX_HEADER || (s->size >= 0 && length > s->size - base)) {
        return cs_fail(CS_ERR_INPUT, "%s: byte 8: invalid header length of %" PRId64 " bytes",
                       s->name, length);
    }
    char *dictionary = cs_alloc(length, 1);
    if (!dictionary) return CS_ERR_MEMORY;
    status = read_exactly(s, dictionary, length, base);
    if (status == CS_OK) status = cs_npy_info_parse(s->name, dictionary, length, info);
    cs_free(dictionary);
    *at = base + length;
    return status;
}

cs_status cs_npy_check_size(const cs_npy_source *s, const cs_npy_info *info, int64_t at)
{
    return s->size < 0 || s->size - at == info->bytes
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: byte %" PRId64 ": the header announces %" PRId64
                         " bytes of data, but %" PRId64 " follow",
                         s->name, at, info->bytes, s->size - at);
}

static cs_status check_sizes(const cs_npy_source *s, const cs_npy_info *info, int64_t at,
                             int64_t limit)
{
    cs_status status = cs_npy_check_size(s, info, at);
    if (status != CS_OK) return status;
    if (limit > 0 && info->bytes > limit) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " bytes of data, more than the limit of %" PRId64, s->name,
                       info->bytes, limit);
    }
    int copies = info->fortran && info->ndim > 1 ? 2 : 1;
    return limit > 0 ? CS_OK
                     : cs_mem_check((double)info->bytes * copies, NULL,
                                    "%s: %" PRId64 " bytes of data (%d at once) take", s->name,
                                    info->bytes, copies);
}

/* Copies column-major items into row-major order: the odometer `index` runs over the target, and
 * `from` follows it in the source. */
static void transpose(const cs_npy_info *info, const char *in, char *out)
{
    int64_t stride[CS_NPY_MAX_DIM], index[CS_NPY_MAX_DIM] = {0}, from = 0;
    const size_t item = (size_t)info->item_size;
    for (int d = 0; d < info->ndim; ++d) {
        stride[d] = d == 0 ? 1 : stride[d - 1] * info->shape[d - 1];
    }
    for (int64_t i = 0; i < info->size; ++i) {
        memcpy(out + (size_t)i * item, in + (size_t)from * item, item);
        for (int d = info->ndim - 1; d >= 0; --d) {
            from += stride[d];
            if (++index[d] < info->shape[d]) {
                break;
            }
            from -= stride[d] * info->shape[d];
            index[d] = 0;
        }
    }
}

static cs_status load_data(const cs_npy_source *s, const cs_npy_info *info, int64_t at, void **out)
{
    char extra = 0, *turned = NULL;
    int64_t got = 0;
    char *data = cs_alloc(info->bytes, 1);
    cs_status status = data ? read_exactly(s, data, info->bytes, at) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        /* Also makes a zip member check its CRC, which it does at its end. */
        status = s->read(s->ctx, &extra, 1, &got);
    }
    if (status == CS_OK && got > 0)
        status = cs_fail(CS_ERR_INPUT, "%s: byte %" PRId64 ": more data than the header announces",
                         s->name, at + info->bytes);
    if (status == CS_OK && info->fortran && info->ndim > 1) {
        turned = cs_alloc(info->bytes, 1);
        if (turned) {
            transpose(info, data, turned);
            cs_free(data);
            data = turned;
        } else {
            status = CS_ERR_MEMORY;
        }
    }
    return CS_DELIVER(status, out, data, cs_drop);
}

cs_status cs_npy_load(const cs_npy_source *source, int64_t limit, cs_array *out)
{
    cs_npy_info info = {0};
    int64_t at = 0;
    void *data = NULL;
    cs_status status = cs_npy_load_header(source, &info, &at);
    if (status == CS_OK) status = check_sizes(source, &info, at, limit);
    if (status == CS_OK) status = load_data(source, &info, at, &data);
    if (status != CS_OK) return status;
    *out = (cs_array){.dtype = info.dtype,
                      .item_size = info.item_size,
                      .ndim = info.ndim,
                      .size = info.size,
                      .data = data};
    memcpy(out->shape, info.shape, sizeof out->shape);
    return CS_OK;
}

/* --- sources ---------------------------------------------------------------------------------- */

cs_status cs_npy_read_file(void *ctx, void *out, int64_t want, int64_t *got)
{
    const cs_npy_file *f = ctx;
    *got = 0;
    while (*got < want) {
        ssize_t n = read(f->fd, (char *)out + *got, (size_t)(want - *got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return cs_fail(CS_ERR_IO, "%s: cannot read: %s", f->path, strerror(errno));
        }
        if (n == 0) {
            break;
        }
        *got += n;
    }
    return CS_OK;
}

cs_status cs_npy_read(const char *path, int64_t limit, cs_array *out)
{
    int64_t size = -1;
    if (limit < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: invalid limit of %" PRId64 " bytes", path, limit);
    }
    cs_npy_file file = {path, -1};
    cs_status status = cs_file_open_any(path, &file.fd, &size);
    if (status == CS_OK) {
        cs_npy_source source = {path, size, &file, cs_npy_read_file};
        status = cs_npy_load(&source, limit, out);
    }
    if (file.fd >= 0) {
        (void)close(file.fd); /* opened for reading: nothing to lose */
    }
    return status;
}

cs_status cs_npy_write(const char *path, cs_dtype dtype, int ndim, const int64_t *shape,
                       const void *data)
{
    cs_outfile f = {0};
    cs_npy_info info = {0};
    char *header = NULL;
    int64_t length = 0;
    cs_status status = cs_npy_info_make(dtype, false, ndim, shape, &info);
    if (status == CS_OK) status = cs_npy_info_header(&info, &header, &length);
    if (status == CS_OK) status = cs_outfile_open(path, &f);
    if (status == CS_OK) status = cs_outfile_put(&f, header, length);
    if (status == CS_OK) status = cs_outfile_put(&f, data, info.bytes);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    cs_free(header);
    return status;
}
