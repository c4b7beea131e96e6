/* Items of an array as double, int64 or text, whatever they are stored as, and in C order and little
 * endian. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/float16_private.h"
#include "io/npy_private.h"

/* Loads one item of type T: members of archives and views need not be aligned. */
#define ITEM(T, array, index)                                                                      \
    (*(T *)memcpy(&(T){0}, (const char *)(array)->data + (size_t)(index) * sizeof(T), sizeof(T)))

double cs_array_f64(const cs_array *array, int64_t index)
{
    assert(index >= 0 && index < array->size);
    switch (array->dtype) {
    case CS_BOOL:
        return ITEM(uint8_t, array, index) != 0;
    case CS_I8:
        return ITEM(int8_t, array, index);
    case CS_U8:
        return ITEM(uint8_t, array, index);
    case CS_I16:
        return ITEM(int16_t, array, index);
    case CS_U16:
        return ITEM(uint16_t, array, index);
    case CS_I32:
        return ITEM(int32_t, array, index);
    case CS_U32:
        return ITEM(uint32_t, array, index);
    case CS_I64:
        return (double)ITEM(int64_t, array, index);
    case CS_U64:
        return (double)ITEM(uint64_t, array, index);
    case CS_F16:
        return (double)cs_f16_decode(ITEM(uint16_t, array, index));
    case CS_BF16:
        return (double)cs_bf16_decode(ITEM(uint16_t, array, index));
    case CS_F32:
        return (double)ITEM(float, array, index);
    case CS_F64:
        return ITEM(double, array, index);
    case CS_UNICODE:
    case CS_BYTES:
        break;
    }
    return NAN;
}

void cs_items_decode(cs_dtype dtype, int64_t count, const void *raw, int64_t at, int64_t stride,
                     cs_real_target to)
{
    const cs_array items = {.dtype = dtype, .size = count, .data = (void *)(uintptr_t)raw};
    if (stride == 1 && dtype == (to.wide ? CS_F64 : CS_F32)) {
        const size_t size = to.wide ? sizeof(double) : sizeof(float);
        memcpy((char *)to.items + (size_t)at * size, raw, (size_t)count * size);
        return;
    }
    if (stride == 1 && dtype == CS_F32) {
        for (int64_t i = 0; i < count; ++i) {
            ((double *)to.items)[at + i] = (double)ITEM(float, &items, i);
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i, at += stride) {
        /* the two floats of 16 bits fill most large files */
        double x = dtype == CS_BF16  ? (double)cs_bf16_decode(ITEM(uint16_t, &items, i))
                   : dtype == CS_F16 ? (double)cs_f16_decode(ITEM(uint16_t, &items, i))
                                     : cs_array_f64(&items, i);
        if (to.wide) {
            ((double *)to.items)[at] = x;
        } else {
            ((float *)to.items)[at] = (float)x;
        }
    }
}

cs_status cs_array_i64(const cs_array *array, int64_t index, int64_t *out)
{
    assert(index >= 0 && index < array->size);
    if (array->dtype == CS_I64) {
        *out = ITEM(int64_t, array, index);
        return CS_OK;
    }
    if (array->dtype == CS_U64) {
        uint64_t x = ITEM(uint64_t, array, index);
        if (x > INT64_MAX) {
            return cs_fail(CS_ERR_INPUT,
                           "item %" PRId64 " is %" PRIu64 ", out of the range of int64", index, x);
        }
        *out = (int64_t)x;
        return CS_OK;
    }
    if (array->dtype == CS_UNICODE || array->dtype == CS_BYTES) {
        return cs_fail(CS_ERR_INPUT, "item %" PRId64 " is text, not an integer", index);
    }
    /* All other types fit into a double exactly. */
    double x = cs_array_f64(array, index);
    if (!(x >= -0x1p63 && x < 0x1p63) || x != floor(x)) {
        return cs_fail(CS_ERR_INPUT, "item %" PRId64 " is %.17g, not a 64-bit integer", index, x);
    }
    *out = (int64_t)x;
    return CS_OK;
}

/* NULs pad an item at its end, and are nowhere else. */
static cs_status check_padding(const char *text, int64_t size, int64_t index)
{
    const size_t length = strlen(text);
    for (int64_t i = (int64_t)length; i < size; ++i) {
        if (text[i]) {
            return cs_fail(CS_ERR_INPUT, "item %" PRId64 " contains a NUL after \"%.40s\"", index,
                           text);
        }
    }
    return CS_OK;
}

/* Appends a code point as UTF-8; 0 when it is none. */
static int encode(uint32_t c, char out[4])
{
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        return 0;
    }
    int tail = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[tail] | c >> (6 * tail));
    for (int i = 1; i <= tail; ++i) {
        out[i] = (char)(0x80 | (c >> (6 * (tail - i)) & 0x3F));
    }
    return tail + 1;
}

cs_status cs_array_text(const cs_array *array, int64_t index, char **out)
{
    assert(index >= 0 && index < array->size);
    if (array->dtype != CS_UNICODE && array->dtype != CS_BYTES) {
        return cs_fail(CS_ERR_INPUT, "item %" PRId64 " is a number, not text", index);
    }
    const char *item = (const char *)array->data + index * array->item_size;
    char *text = cs_calloc(array->item_size + 1, 1); /* UTF-8 never takes more than UCS-4 */
    if (!text) return CS_ERR_MEMORY;
    if (array->dtype == CS_BYTES) {
        memcpy(text, item, (size_t)array->item_size);
        cs_status status = check_padding(text, array->item_size, index);
        return CS_DELIVER(status, out, text, cs_drop);
    }
    char *put = text;
    for (int64_t i = 0; i < array->item_size; i += 4) {
        uint32_t c = 0;
        memcpy(&c, item + i, 4);
        int n = encode(c, put);
        if (n == 0) {
            cs_free(text);
            return cs_fail(CS_ERR_INPUT,
                           "item %" PRId64 " contains U+%" PRIX32
                           ", which is not a Unicode character",
                           index, c);
        }
        put += n;
    }
    cs_status status = check_padding(text, put - text, index);
    return CS_DELIVER(status, out, text, cs_drop);
}

void cs_npy_swap(const cs_npy_info *info, void *data, int64_t items)
{
    const int64_t unit = info->dtype == CS_UNICODE ? 4
                         : info->dtype == CS_BYTES ? 1
                                                   : info->item_size;
    const int64_t units = info->swapped && unit > 1 ? items * (info->item_size / unit) : 0;
    char *at = data;
    for (int64_t i = 0; i < units; ++i, at += unit) {
        for (int64_t low = 0, high = unit - 1; low < high; ++low, --high) {
            const char kept = at[low];
            at[low] = at[high];
            at[high] = kept;
        }
    }
}

/* Copies column-major items into row-major order: the odometer `index` runs over the target, and
 * `from` follows it in the source. */
void cs_npy_transpose(const cs_npy_info *info, const char *in, char *out)
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
