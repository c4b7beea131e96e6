/* The JSON header of a safetensors file, checked against the size of its data.
 *
 * Stricter than the reference implementation in one point: a field of a tensor that the format does
 * not know is refused, since it could change the meaning of the data. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/names.h"
#include "io/json.h"
#include "io/safetensors_private.h"

static const struct {
    const char *name;
    cs_dtype dtype;
} types[] = {{"BOOL", CS_BOOL}, {"U8", CS_U8},   {"I8", CS_I8},     {"I16", CS_I16},
             {"I32", CS_I32},   {"I64", CS_I64}, {"BF16", CS_BF16}, {"F16", CS_F16},
             {"F32", CS_F32},   {"F64", CS_F64}};

enum { TYPES = sizeof types / sizeof *types };

const char *cs_safetensors_dtype_name(cs_dtype dtype)
{
    int i = 0;
    while (i < TYPES && types[i].dtype != dtype) {
        ++i;
    }
    assert(i < TYPES);
    return types[i].name;
}

static cs_status parse_dtype(const json_t *value, cs_dtype *out)
{
    const char *name = json_string_value(value);
    if (!name) {
        return cs_fail(CS_ERR_INPUT, "\"dtype\" is absent or not a string");
    }
    int number = 0;
    if (CS_ROW_NAMED("dtype", name, types, &number) != CS_OK) return CS_ERR_INPUT;
    *out = types[number].dtype;
    return CS_OK;
}

cs_status cs_safetensors_size(cs_safetensors_entry *entry)
{
    int64_t size = cs_dtype_size(entry->dtype), items = 1;
    for (int i = 0; i < entry->ndim; ++i) {
        if (entry->shape[i] < 0) {
            return cs_fail(CS_ERR_INPUT, "shape[%d] is negative: %" PRId64, i, entry->shape[i]);
        }
        if (__builtin_mul_overflow(items, entry->shape[i], &items)) {
            return cs_fail(CS_ERR_INPUT, "the number of items in the shape exceeds 63 bits");
        }
    }
    entry->items = items;
    if (__builtin_mul_overflow(items, size, &entry->bytes)) {
        return cs_fail(CS_ERR_INPUT, "the number of bytes in the shape exceeds 63 bits");
    }
    return CS_OK;
}

static cs_status parse_shape(const json_t *value, cs_safetensors_entry *entry)
{
    if (!json_is_array(value)) {
        return cs_fail(CS_ERR_INPUT, "\"shape\" is absent or not an array");
    }
    size_t ndim = json_array_size(value);
    if (ndim > CS_SAFETENSORS_MAX_DIM) {
        return cs_fail(CS_ERR_INPUT, "%zu dimensions, more than %d", ndim, CS_SAFETENSORS_MAX_DIM);
    }
    entry->ndim = (int)ndim;
    for (size_t i = 0; i < ndim; ++i) {
        const json_t *length = json_array_get(value, i);
        if (!json_is_integer(length)) {
            return cs_fail(CS_ERR_INPUT, "shape[%zu] is not an integer", i);
        }
        entry->shape[i] = json_integer_value(length);
    }
    return cs_safetensors_size(entry);
}

/* Offsets within the data section, of the size that the shape asks for. */
static cs_status parse_offsets(const json_t *value, int64_t data, cs_safetensors_entry *entry)
{
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end)) {
        return cs_fail(CS_ERR_INPUT, "\"data_offsets\" is not an array of two integers");
    }
    int64_t b = json_integer_value(begin), e = json_integer_value(end);
    if (b < 0 || e < b) {
        return cs_fail(CS_ERR_INPUT, "data_offsets [%" PRId64 ", %" PRId64 "] are not a range", b,
                       e);
    }
    if (e > data) {
        return cs_fail(CS_ERR_INPUT,
                       "ends at byte %" PRId64 " of the data, which have %" PRId64
                       " bytes (truncated file?)",
                       e, data);
    }
    if (e - b != entry->bytes) {
        return cs_fail(CS_ERR_INPUT,
                       "data_offsets span %" PRId64 " bytes, but shape and dtype require %" PRId64,
                       e - b, entry->bytes);
    }
    entry->offset = b;
    return CS_OK;
}

static cs_status parse_tensor(json_t *value, int64_t data, cs_safetensors_entry *entry)
{
    const char *key;
    json_t *field;
    if (!json_is_object(value)) {
        return cs_fail(CS_ERR_INPUT, "is not an object");
    }
    json_object_foreach(value, key, field)
    {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0) {
            return cs_fail(CS_ERR_INPUT, "unknown field \"%s\"", key);
        }
    }
    cs_status status = parse_dtype(json_object_get(value, "dtype"), &entry->dtype);
    if (status == CS_OK) status = parse_shape(json_object_get(value, "shape"), entry);
    return status == CS_OK ? parse_offsets(json_object_get(value, "data_offsets"), data, entry)
                           : status;
}

static cs_status check_metadata(json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) {
        return cs_fail(CS_ERR_INPUT, "\"%s\" is not an object", CS_SAFETENSORS_META);
    }
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value)) {
            return cs_fail(CS_ERR_INPUT, "\"%s\": the value of \"%s\" is not a string",
                           CS_SAFETENSORS_META, key);
        }
    }
    return CS_OK;
}

/* Empty ones before what begins there. */
CS_RISING(by_offset, cs_safetensors_entry, offset, bytes)

/* The tensors follow each other from the first byte to the last. Sorts them so. */
static cs_status check_cover(cs_safetensors_entry *entry, int64_t count, int64_t data)
{
    int64_t end = 0;
    qsort(entry, (size_t)count, sizeof *entry, by_offset);
    for (int64_t i = 0; i < count; ++i) {
        if (entry[i].offset != end) {
            return cs_fail(CS_ERR_INPUT,
                           "tensor \"%s\" begins at byte %" PRId64 " of the data, %s byte %" PRId64
                           ", the end of %s%s%s",
                           entry[i].name, entry[i].offset,
                           entry[i].offset < end ? "before" : "after a gap from", end,
                           i > 0 ? "\"" : "", i > 0 ? entry[i - 1].name : "the header",
                           i > 0 ? "\"" : "");
        }
        end += entry[i].bytes;
    }
    if (end != data) {
        return cs_fail(CS_ERR_INPUT, "%" PRId64 " bytes follow the last tensor", data - end);
    }
    return CS_OK;
}

static cs_status take_tensors(cs_safetensors *s, int number, json_t *header)
{
    const cs_safetensors_file *file = &s->file[number];
    const int64_t first = s->count;
    const char *name;
    json_t *value;
    json_object_foreach(header, name, value)
    {
        if (strcmp(name, CS_SAFETENSORS_META) == 0) {
            continue;
        }
        cs_safetensors_entry entry = {.file = number};
        cs_status status = parse_tensor(value, file->bytes, &entry);
        if (status != CS_OK) return cs_blame(status, "tensor \"%s\"", name);
        entry.name = cs_strdup(name);
        if (!entry.name) return CS_ERR_MEMORY;
        s->entry[s->count++] = entry;
    }
    cs_status status = check_cover(s->entry + first, s->count - first, file->bytes);
    for (int64_t i = first; i < s->count; ++i) {
        s->entry[i].offset += file->data;
    }
    return status;
}

cs_status cs_safetensors_header_parse(cs_safetensors *s, int file, const char *text, int64_t size)
{
    json_t *header = NULL;
    if (text[0] != '{') { /* the format allows no blanks here, JSON would */
        return cs_fail(CS_ERR_INPUT, "%s: the header does not begin with '{'", s->file[file].path);
    }
    cs_status status = cs_json_parse(s->file[file].path, text, size, &header);
    if (status != CS_OK) return status;
    json_t *metadata = json_object_get(header, CS_SAFETENSORS_META);
    status = metadata ? check_metadata(metadata) : CS_OK;
    if (status == CS_OK) {
        s->file[file].metadata = json_incref(metadata); /* NULL stays NULL */
        int64_t more = (int64_t)json_object_size(header);
        status = cs_reserve(&s->entry, &s->room, s->count + more, sizeof *s->entry);
    }
    if (status == CS_OK) status = take_tensors(s, file, header);
    json_decref(header);
    return cs_blame(status, "%s", s->file[file].path);
}
