/* The header of an NPY file: a Python dictionary literal with the keys descr, fortran_order and
 * shape. NumPy Enhancement Proposal 1; numpy.lib.format.
 *
 * Only what NumPy writes is understood, not Python: its literals are those of JSON but for a few
 * characters, so the dictionary is turned into JSON in its place and read by Jansson, which names
 * line and column of any other text.
 * Structured types, objects, complex numbers, dates and big-endian data are refused by name. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"
#include "io/npy_load_private.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are moved as they are in memory");

/* Alignment of the data in the file, which lets it be mapped. */
enum { ALIGNMENT = 64, PREFIX = 10 };

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

/* --- reading ---------------------------------------------------------------------------------- */

/* Turns the dictionary into JSON of the same length: tuples into arrays, their last commas and the L
 * of Python 2's long integers into blanks, quotes and truth values as JSON has them. */
static void make_json(char *text, int64_t length)
{
    int64_t comma = -1; /* the last character but blanks, where it is a comma */
    char quote = '\0';  /* of the string at hand */
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
    if (descr[0] == '>') {
        return bad_dtype(name, descr, "is big-endian");
    }
    if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=') {
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

cs_status cs_npy_info_parse(const char *name, char *dictionary, int64_t length, cs_npy_info *out)
{
    cs_npy_info info = {0};
    json_t *header = NULL;
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
    json_decref(header);
    if (status == CS_OK) *out = info;
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

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
