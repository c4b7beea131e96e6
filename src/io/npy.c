/* NPY files: the header, whole arrays, one loader over any source of bytes, and arrays that grow by
 * rows. NumPy Enhancement Proposal 1; numpy.lib.format.
 *
 * The header is a Python dictionary literal with the keys descr, fortran_order and shape. Only what
 * NumPy writes is understood, not Python: its literals are those of JSON except for a few
 * characters, so the dictionary is turned into JSON in its place and read by Jansson, which names
 * line and column of any other text. Structured types, objects, complex numbers, dates are
 * refused by name. Big-endian items are turned into little endian after reading. The header is checked against the size of the source and the
 * limit before memory is taken, so a header that lies costs nothing. A stream writes its header
 * twice: for no rows when the array begins, for all of them when it ends. Both have the same
 * length, because headers are padded to multiples of 64 bytes and a shape of one or two numbers, of
 * one digit or of nineteen, takes 128.
 *
 * Limits: little endian hosts; a Fortran array is transposed through a second buffer, item by
 * item. */
#include "io/npy.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/float16_private.h"
#include "io/gzip.h"
#include "io/json.h"
#include "io/npy_private.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are moved as they are in memory");

/* The alignment of the data in the file lets it be mapped. A header is some hundred bytes; NumPy
 * itself refuses more than 10^4. */
enum { ALIGNMENT = 64, PREFIX = 10, MAX_HEADER = 1 << 20, PROBE = 64, CHUNK = 4096 };

static const char VERSION_1[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};

static const struct {
    char kind;
    int64_t size;
    cs_dtype dtype;
} numeric[] = {
    {'b', 1, CS_BOOL}, {'i', 1, CS_I8},  {'u', 1, CS_U8},    {'i', 2, CS_I16}, {'u', 2, CS_U16},
    {'i', 4, CS_I32},  {'u', 4, CS_U32}, {'i', 8, CS_I64},   {'u', 8, CS_U64}, {'f', 2, CS_F16},
    {'f', 4, CS_F32},  {'f', 8, CS_F64}, {'\0', 2, CS_BF16},
};
enum { NUMERIC = sizeof numeric / sizeof *numeric };

int64_t cs_dtype_size(cs_dtype dtype)
{
    for (int i = 0; i < NUMERIC; ++i) {
        if (numeric[i].dtype == dtype) {
            return numeric[i].size;
        }
    }
    return 0;
}

/* Sets size and bytes from shape and item_size; CS_ERR_INPUT when they overflow. */
static cs_status measure(cs_npy_info *info)
{
    int64_t size = 1, bytes = 0;
    for (int d = 0; d < info->ndim; ++d) {
        if (info->shape[d] < 0) {
            return cs_fail(CS_ERR_INPUT, "dimension %d is negative: %" PRId64, d, info->shape[d]);
        }
        if (__builtin_mul_overflow(size, info->shape[d], &size)) {
            return cs_fail(CS_ERR_INPUT, "the shape overflows at dimension %d (%" PRId64 ")", d,
                           info->shape[d]);
        }
    }
    if (__builtin_mul_overflow(size, info->item_size, &bytes)) {
        return cs_fail(CS_ERR_INPUT, "%" PRId64 " items of %" PRId64 " bytes overflow", size,
                       info->item_size);
    }
    info->size = size;
    info->bytes = bytes;
    return CS_OK;
}

/* --- the header, read -------------------------------------------------------------------------- */

/* Turns the dictionary into JSON of the same length: tuples into arrays, their last commas and the L
 * of Python 2's long integers into blanks, quotes and truth values as JSON has them. */
static void make_json(char *text, int64_t length)
{
    int64_t comma = -1; /* the last character but blanks, where it is a comma */
    char quote = '\0';  /* of the current string */
    for (int64_t i = 0; i < length; ++i) {
        const char c = text[i];
        if (quote) {
            text[i] = (char)(c == quote ? '"' : c);
            quote = (char)(c == quote ? '\0' : quote);
        } else if (c == '\'' || c == '"') {
            quote = c;
            text[i] = '"';
        } else if ((c == ')' || c == '}') && comma >= 0) {
            text[comma] = ' ';
        }
        if (!quote) {
            static const char python[] = "()LTF", json[] = "[] tf";
            const char *known = c ? strchr(python, c) : NULL;
            text[i] = known ? json[known - python] : text[i];
        }
        comma = !quote && c == ',' ? i : strchr(" \t\r\n", c) ? comma : -1;
    }
}

static cs_status take_shape(const char *name, const json_t *shape, cs_npy_info *info)
{
    const json_t *length;
    size_t d;
    if (!json_is_array(shape) || json_array_size(shape) > CS_NPY_MAX_DIM) {
        return cs_fail(CS_ERR_INPUT, "%s: the shape is not a tuple of at most %d sizes", name,
                       CS_NPY_MAX_DIM);
    }
    json_array_foreach(shape, d, length)
    {
        if (!json_is_integer(length)) {
            return cs_fail(CS_ERR_INPUT, "%s: size %zu in the shape is not an integer", name, d);
        }
        info->shape[info->ndim++] = json_integer_value(length);
    }
    return cs_blame(measure(info), "%s", name);
}

static cs_status bad_dtype(const char *name, const char *descr, const char *why)
{
    return cs_fail(CS_ERR_INPUT, "%s: dtype '%s' %s", name, descr, why);
}

static cs_status take_dtype(const char *name, const char *descr, cs_npy_info *info)
{
    if (!descr) {
        return cs_fail(CS_ERR_INPUT, "%s: a structured dtype is not supported", name);
    }
    info->swapped = descr[0] == '>';
    if (!strchr("<>|=", descr[0]) || !descr[0]) {
        return bad_dtype(name, descr, "has no byte order");
    }
    char kind = descr[1];
    if (kind == 'O') {
        return bad_dtype(name, descr, "contains Python objects, which could execute code");
    }
    char *end = NULL;
    errno = 0;
    long long size = kind && isdigit((unsigned char)descr[2]) ? strtoll(descr + 2, &end, 10) : -1;
    if (size < 0 || errno == ERANGE || *end != '\0' || size > INT32_MAX) {
        return bad_dtype(name, descr, "is not understood");
    }
    if (kind == 'U' || kind == 'S') {
        info->dtype = kind == 'U' ? CS_UNICODE : CS_BYTES;
        info->item_size = kind == 'U' ? 4 * size : size;
        return CS_OK;
    }
    for (int i = 0; i < NUMERIC; ++i) {
        if (numeric[i].kind == kind && numeric[i].size == size && (descr[0] != '|' || size == 1)) {
            info->dtype = numeric[i].dtype;
            info->item_size = size;
            return CS_OK;
        }
    }
    return bad_dtype(name, descr, "is not supported");
}

/* Parses the dictionary, which is overwritten. */
static cs_status parse_info(const char *name, char *dictionary, int64_t length, cs_npy_info *out)
{
    cs_npy_info info = {0};
    json_auto_t *header = NULL;
    make_json(dictionary, length);
    cs_status status = cs_json_parse(name, dictionary, length, &header);
    const json_t *descr = json_object_get(header, "descr"),
                 *order = json_object_get(header, "fortran_order"),
                 *shape = json_object_get(header, "shape");
    if (status == CS_OK &&
        (!descr || !json_is_boolean(order) || !shape || json_object_size(header) != 3))
        status = cs_fail(CS_ERR_INPUT,
                         "%s: the header is not a dictionary of descr, fortran_order (True or "
                         "False) and shape",
                         name);
    info.fortran = json_is_true(order);
    if (status == CS_OK) status = take_dtype(name, json_string_value(descr), &info);
    if (status == CS_OK) status = take_shape(name, shape, &info);
    if (status == CS_OK) *out = info;
    return status;
}

/* --- the header, written ----------------------------------------------------------------------- */

static void describe(const cs_npy_info *info, char out[32])
{
    if (info->dtype == CS_BYTES) { /* all text that is written */
        (void)snprintf(out, 32, "|S%" PRId64, info->item_size);
        return;
    }
    for (int i = 0; i < NUMERIC; ++i) {
        if (numeric[i].dtype == info->dtype) {
            (void)snprintf(out, 32, "%c%c%" PRId64, numeric[i].size == 1 ? '|' : '<',
                           numeric[i].kind, numeric[i].size);
        }
    }
}

cs_status cs_npy_info_make(cs_dtype dtype, bool fortran, int ndim, const int64_t *shape,
                           cs_npy_info *out)
{
    cs_npy_info info = {
        .dtype = dtype, .item_size = cs_dtype_size(dtype), .fortran = fortran, .ndim = ndim};
    if (info.item_size == 0 || dtype == CS_BF16) {
        return cs_fail(CS_ERR_USAGE, "dtype %d is not numeric", (int)dtype);
    }
    if (ndim < 0 || ndim > CS_NPY_MAX_DIM) {
        return cs_fail(CS_ERR_USAGE, "%d dimensions, not 0 to %d", ndim, CS_NPY_MAX_DIM);
    }
    for (int d = 0; d < ndim; ++d) {
        info.shape[d] = shape[d];
    }
    if (measure(&info) != CS_OK) {
        return CS_ERR_USAGE; /* here the shape is an argument */
    }
    *out = info;
    return CS_OK;
}

cs_status cs_npy_info_header(const cs_npy_info *info, char **out, int64_t *size)
{
    char descr[32] = "", text[384] = ""; /* at most 8 sizes of 19 digits */
    describe(info, descr);
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (", descr,
                        info->fortran ? "True" : "False");
    for (int d = 0; d < info->ndim; ++d) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s%" PRId64 "%s", d > 0 ? " " : "",
                     info->shape[d], d + 1 < info->ndim || info->ndim == 1 ? "," : "");
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "), }");
    assert(used < (int)sizeof text);
    int total = (PREFIX + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *header = cs_alloc(total, 1);
    if (!header) return CS_ERR_MEMORY;
    int dictionary = total - PREFIX;
    memset(header, ' ', (size_t)total);
    memcpy(header, VERSION_1, sizeof VERSION_1);
    header[8] = (char)(dictionary & 0xFF);
    header[9] = (char)(dictionary >> 8);
    memcpy(header + PREFIX, text, (size_t)used);
    header[total - 1] = '\n';
    *out = header;
    *size = total;
    return CS_OK;
}

cs_status cs_npy_header(cs_dtype dtype, bool fortran, int ndim, const int64_t *shape, char **out,
                        int64_t *size)
{
    cs_npy_info info = {0};
    cs_status status = cs_npy_info_make(dtype, fortran, ndim, shape, &info);
    return status == CS_OK ? cs_npy_info_header(&info, out, size) : status;
}

/* --- loading ---------------------------------------------------------------------------------- */

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
    unsigned char p[12];
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
    CS_AUTO_FREE char *dictionary = cs_alloc(length, 1);
    if (!dictionary) return CS_ERR_MEMORY;
    status = read_exactly(s, dictionary, length, base);
    if (status == CS_OK) status = parse_info(s->name, dictionary, length, info);
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

static cs_status load_data(const cs_npy_source *s, const cs_npy_info *info, int64_t at, void **out)
{
    char extra = 0, *turned = NULL;
    int64_t got = 0;
    char *data = cs_alloc(info->bytes, 1);
    cs_status status = data ? read_exactly(s, data, info->bytes, at) : CS_ERR_MEMORY;
    if (status == CS_OK) status = s->read(s->ctx, &extra, 1, &got);
    if (status == CS_OK && got > 0)
        status = cs_fail(CS_ERR_INPUT, "%s: byte %" PRId64 ": more data than the header announces",
                         s->name, at + info->bytes);
    if (status == CS_OK) cs_npy_swap(info, data, info->size);
    if (status == CS_OK && info->fortran && info->ndim > 1) {
        turned = cs_alloc(info->bytes, 1);
        if (turned) {
            cs_npy_transpose(info, data, turned);
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

/* --- files ------------------------------------------------------------------------------------- */

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

bool cs_npy_named(const char *path)
{
    return cs_has_suffix(path, ".npy") || cs_has_suffix(path, ".npy.gz");
}

bool cs_npy_begins(const char *path)
{
    char head[6];
    int64_t size = 0;
    const bool read = cs_stream_head(path, head, sizeof head, &size) == CS_OK;
    if (!read) cs_reason_clear(); /* whoever reads all of it will report it */
    return read && size == sizeof head && memcmp(head, VERSION_1, sizeof head) == 0;
}

cs_status cs_npy_read(const char *path, int64_t limit, cs_array *out)
{
    int64_t size = -1;
    if (limit < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: invalid limit of %" PRId64 " bytes", path, limit);
    }
    cs_npy_file file = {path, -1};
    cs_file_stream packed = {path, NULL};
    bool is = false;
    cs_status status = cs_file_open_any(path, &file.fd, &size);
    if (status == CS_OK && size >= 0) status = cs_gzip_begins(file.fd, path, &is);
    if (status == CS_OK && is) status = cs_stream_open(path, &packed.stream);
    cs_npy_source source = {path, size, &file, cs_npy_read_file};
    if (is) source = (cs_npy_source){path, -1, &packed, cs_stream_read};
    if (status == CS_OK) status = cs_npy_load(&source, limit, out);
    if (packed.stream) (void)fclose(packed.stream); /* opened for reading: nothing to lose */
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
    CS_AUTO_FREE char *header = NULL;
    int64_t length = 0;
    cs_status status = cs_npy_info_make(dtype, false, ndim, shape, &info);
    if (status == CS_OK) status = cs_npy_info_header(&info, &header, &length);
    if (status == CS_OK) status = cs_outfile_open(path, &f);
    if (status == CS_OK) status = cs_outfile_put(&f, header, length);
    if (status == CS_OK) status = cs_outfile_put(&f, data, info.bytes);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    return status;
}

/* --- arrays that grow by rows ------------------------------------------------------------------ */

struct cs_npy_stream {
    cs_outfile file;
    cs_dtype dtype;
    int64_t columns, rows, header;
    uint16_t half[CHUNK];
};

static cs_status write_header(cs_npy_stream *s)
{
    int64_t shape[2] = {s->rows, s->columns}, size = 0;
    CS_AUTO_FREE char *header = NULL;
    cs_status status =
        cs_npy_header(s->dtype, false, s->columns > 0 ? 2 : 1, shape, &header, &size);
    if (status == CS_OK) {
        assert(s->header == 0 || s->header == size);
        s->header = size;
        status = cs_outfile_put(&s->file, header, size);
    }
    return status;
}

cs_status cs_npy_stream_open(const char *path, cs_dtype dtype, int64_t columns, cs_npy_stream **out)
{
    if (columns < 0 || cs_dtype_size(dtype) == 0) {
        return cs_fail(CS_ERR_USAGE, "%s: cannot write rows of %lld columns%s", path,
                       (long long)columns, cs_dtype_size(dtype) == 0 ? " of text" : "");
    }
    cs_npy_stream *s = cs_calloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    s->dtype = dtype;
    s->columns = columns;
    cs_status status = cs_outfile_open(path, &s->file);
    if (status == CS_OK) status = write_header(s);
    return CS_DELIVER(status, out, s, cs_npy_stream_abort);
}

static int64_t items_a_row(const cs_npy_stream *s)
{
    return s->columns > 0 ? s->columns : 1;
}

static cs_status put(cs_npy_stream *s, const void *items, int64_t count)
{
    return cs_outfile_put(&s->file, items, count * cs_dtype_size(s->dtype));
}

cs_status cs_npy_stream_append(cs_npy_stream *s, const void *rows, int64_t count)
{
    cs_status status = put(s, rows, count * items_a_row(s));
    s->rows += count; /* what is left unfinished has no header to say so in */
    return status;
}

static cs_status put_halves(cs_npy_stream *s, const float *x, int64_t items)
{
    cs_status status = CS_OK;
    for (int64_t at = 0; at < items && status == CS_OK; at += CHUNK) {
        int64_t n = items - at < CHUNK ? items - at : CHUNK;
        for (int64_t i = 0; i < n; ++i) {
            s->half[i] = cs_f16_encode(x[at + i]);
            if ((s->half[i] & 0x7fff) == 0x7c00 && isfinite(x[at + i])) {
                return cs_fail(CS_ERR_INPUT,
                               "%s: row %lld: %g is out of the range of 16-bit floats",
                               s->file.path, (long long)(s->rows + (at + i) / items_a_row(s)),
                               (double)x[at + i]);
            }
        }
        status = put(s, s->half, n);
    }
    return status;
}

cs_status cs_npy_stream_floats(cs_npy_stream *s, const float *rows, int64_t count)
{
    if (s->dtype == CS_F32) {
        return cs_npy_stream_append(s, rows, count);
    }
    if (s->dtype != CS_F16) {
        return cs_fail(CS_ERR_USAGE, "%s: floats cannot be written to an array of another type",
                       s->file.path);
    }
    cs_status status = put_halves(s, rows, count * items_a_row(s));
    s->rows += count; /* what is left unfinished has no header to say so in */
    return status;
}

cs_status cs_npy_stream_close(cs_npy_stream **stream)
{
    cs_npy_stream *s = *stream;
    cs_status status = CS_OK;
    if (fseek(s->file.stream, 0, SEEK_SET) != 0) {
        status = cs_fail(CS_ERR_IO, "%s: cannot write: %s", s->file.path, strerror(errno));
    }
    if (status == CS_OK && (status = write_header(s)) == CS_OK)
        status = cs_outfile_commit(&s->file);
    cs_npy_stream_abort(stream);
    return status;
}

void cs_npy_stream_abort(cs_npy_stream **stream)
{
    if (*stream) {
        cs_outfile_abort(&(*stream)->file);
        cs_free(*stream);
        *stream = NULL;
    }
}
