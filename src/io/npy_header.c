/* The header of an NPY file: a Python dictionary literal with the keys descr, fortran_order and
 * shape. NumPy Enhancement Proposal 1; numpy.lib.format.
 *
 * Only what NumPy writes is understood, not Python: any other text is refused at its byte.
 * Structured types, objects, complex numbers, dates and big-endian data are refused by name. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/npy_load_private.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are moved as they stand in memory");

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
            return cs_fail(CS_ERR_INPUT, "dimension %d is %" PRId64, d, info->shape[d]);
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

typedef struct {
    const char *name, *text;
    int64_t at, length, base;
} scanner;

static cs_status bad(const scanner *s, const char *what)
{
    return cs_fail(CS_ERR_INPUT, "%s: byte %" PRId64 ": %s", s->name, s->base + s->at, what);
}

/* The next character after blanks, '\0' at the end. */
static char peek(scanner *s)
{
    while (s->at < s->length && strchr(" \t\r\n", s->text[s->at]) && s->text[s->at] != '\0') {
        s->at += 1;
    }
    return (char)(s->at < s->length ? s->text[s->at] : '\0');
}

static bool take(scanner *s, char c)
{
    if (peek(s) != c) {
        return false;
    }
    s->at += 1;
    return true;
}

static bool take_word(scanner *s, const char *word)
{
    int64_t n = (int64_t)strlen(word);
    (void)peek(s);
    if (s->length - s->at < n || memcmp(s->text + s->at, word, (size_t)n) != 0) {
        return false;
    }
    s->at += n;
    return true;
}

/* A string without escapes, in either quotes. */
static cs_status take_string(scanner *s, char out[64])
{
    char quote = peek(s);
    if (quote != '\'' && quote != '"') {
        return bad(s,
                   quote == '[' ? "a structured dtype is not supported" : "a string is expected");
    }
    int64_t start = s->at + 1, end = start;
    while (end < s->length && s->text[end] != quote) {
        ++end;
    }
    if (end == s->length || end - start >= 64) {
        return bad(s, "a string without an end");
    }
    memcpy(out, s->text + start, (size_t)(end - start));
    out[end - start] = '\0';
    s->at = end + 1;
    return CS_OK;
}

static cs_status take_size(scanner *s, int64_t *out)
{
    int64_t x = 0;
    if (!isdigit((unsigned char)peek(s))) {
        return bad(s, "a size in the shape is expected");
    }
    while (s->at < s->length && isdigit((unsigned char)s->text[s->at])) {
        if (__builtin_mul_overflow(x, 10, &x) ||
            __builtin_add_overflow(x, s->text[s->at] - '0', &x)) {
            return bad(s, "a size in the shape is beyond 64 bits");
        }
        s->at += 1;
    }
    (void)take(s, 'L'); /* Python 2 wrote long integers so */
    *out = x;
    return CS_OK;
}

static cs_status take_shape(scanner *s, cs_npy_info *info)
{
    info->ndim = 0;
    if (!take(s, '(')) {
        return bad(s, "the shape is not a tuple");
    }
    while (!take(s, ')')) {
        if (info->ndim == CS_NPY_MAX_DIM) {
            return bad(s, "more than 8 dimensions");
        }
        cs_status status = take_size(s, &info->shape[info->ndim]);
        if (status != CS_OK) return status;
        info->ndim += 1;
        if (!take(s, ',') && peek(s) != ')') {
            return bad(s, "',' or ')' is expected in the shape");
        }
    }
    return CS_OK;
}

static cs_status bad_dtype(const scanner *s, const char *descr, const char *why)
{
    return cs_fail(CS_ERR_INPUT, "%s: byte %" PRId64 ": dtype '%s' %s", s->name, s->base + s->at,
                   descr, why);
}

static cs_status take_dtype(scanner *s, cs_npy_info *info)
{
    char descr[64];
    cs_status status = take_string(s, descr);
    if (status != CS_OK) return status;
    if (descr[0] == '>') {
        return bad_dtype(s, descr, "is big-endian");
    }
    if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=') {
        return bad_dtype(s, descr, "has no byte order");
    }
    char kind = descr[1];
    if (kind == 'O') {
        return bad_dtype(s, descr, "holds Python objects, which are code");
    }
    char *end = NULL;
    errno = 0;
    long long size = kind && isdigit((unsigned char)descr[2]) ? strtoll(descr + 2, &end, 10) : -1;
    if (size < 0 || errno == ERANGE || *end != '\0' || size > INT32_MAX) {
        return bad_dtype(s, descr, "is not understood");
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
    return bad_dtype(s, descr, "is not supported");
}

static cs_status take_order(scanner *s, cs_npy_info *info)
{
    info->fortran = take_word(s, "True");
    return info->fortran || take_word(s, "False") ? CS_OK : bad(s, "True or False is expected");
}

static cs_status take_entry(scanner *s, cs_npy_info *info, bool seen[3])
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    static cs_status (*const take_value[])(scanner *, cs_npy_info *) = {take_dtype, take_order,
                                                                        take_shape};
    char key[64];
    cs_status status = take_string(s, key);
    if (status != CS_OK) return status;
    for (int k = 0; k < 3; ++k) {
        if (strcmp(key, keys[k]) == 0) {
            if (seen[k]) {
                return bad(s, "a key is given twice");
            }
            seen[k] = true;
            return take(s, ':') ? take_value[k](s, info) : bad(s, "':' is expected");
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s: byte %" PRId64 ": unknown key '%s'", s->name, s->base + s->at,
                   key);
}

cs_status cs_npy_info_parse(const char *name, const char *dictionary, int64_t length, int64_t base,
                            cs_npy_info *out)
{
    scanner s = {.name = name, .text = dictionary, .length = length, .base = base};
    cs_npy_info info = {0};
    bool seen[3] = {false, false, false};
    if (!take(&s, '{')) {
        return bad(&s, "the header is not a dictionary");
    }
    while (!take(&s, '}')) {
        cs_status status = take_entry(&s, &info, seen);
        if (status != CS_OK) return status;
        if (!take(&s, ',') && peek(&s) != '}') {
            return bad(&s, "',' or '}' is expected in the header");
        }
    }
    if (peek(&s) != '\0' || s.at < s.length) {
        return bad(&s, "text after the header's dictionary");
    }
    if (!seen[0] || !seen[1] || !seen[2]) {
        return bad(&s, "the header lacks descr, fortran_order or shape");
    }
    cs_status status = measure(&info);
    if (status != CS_OK) {
        return cs_blame(status, "%s", name);
    }
    *out = info;
    return CS_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void describe(const cs_npy_info *info, char out[32])
{
    if (info->dtype == CS_UNICODE || info->dtype == CS_BYTES) {
        bool wide = info->dtype == CS_UNICODE;
        (void)snprintf(out, 32, "%s%" PRId64, wide ? "<U" : "|S", info->item_size / (wide ? 4 : 1));
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
