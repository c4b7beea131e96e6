/* Reading of safetensors: headers at once, data by pread when asked.
 *
 * pread rather than a mapping: a file cut short while it is open is an error to return and not a
 * signal, and threads share one descriptor without a position. Data are taken as they are, so the
 * machine must be little endian. */
#include "io/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors_private.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are read as they are");

enum { LENGTH_SIZE = 8, MARK_SIZE = 64, STAGE = 1 << 14, VERIFY_STEP = 1 << 20 };

/* --- the header -------------------------------------------------------------------------------- */

/* Stricter than the reference implementation in one point: a field of a tensor that the format does
 * not know is refused, since it could change the meaning of the data. */

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
    if (cs_name_number("dtype", name, &types->name, sizeof *types, sizeof types / sizeof *types,
                       true, &number) != CS_OK)
        return CS_ERR_INPUT;
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
    if (!json_is_object(metadata) && !json_is_null(metadata)) {
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

/* Appends the tensors of a header to s->entry and its metadata to the file; performs all checks
 * that involve a single file. */
static cs_status parse_header(cs_safetensors *s, int file, const char *text, int64_t size)
{
    json_auto_t *header = NULL;
    if (text[0] != '{') { /* the format allows no blanks here, JSON would */
        return cs_fail(CS_ERR_INPUT, "%s: the header does not begin with '{'", s->file[file].path);
    }
    cs_status status = cs_json_parse(s->file[file].path, text, size, &header);
    if (status != CS_OK) return status;
    json_t *metadata = json_object_get(header, CS_SAFETENSORS_META); /* null: none */
    status = metadata ? check_metadata(metadata) : CS_OK;
    if (status == CS_OK) {
        s->file[file].metadata = json_incref(metadata); /* NULL stays NULL */
        int64_t more = (int64_t)json_object_size(header);
        /* One more, so that a file without tensors has a list too. */
        status = cs_reserve(&s->entry, &s->capacity, s->count + more + 1, sizeof *s->entry);
    }
    if (status == CS_OK) status = take_tensors(s, file, header);
    return cs_blame(status, "%s", s->file[file].path);
}

/* The length of the header, from the first bytes of a file of `size`. */
static cs_status header_length(const cs_safetensors_file *file, int64_t size, int64_t *out)
{
    char mark[MARK_SIZE];
    uint64_t length = 0;
    int64_t known = size < MARK_SIZE ? size : MARK_SIZE;
    cs_status status = cs_file_read_at(file->fd, file->path, 0, known, mark);
    if (status == CS_OK) status = cs_lfs_check(file->path, mark, known);
    if (status != CS_OK) return status;
    if (size < LENGTH_SIZE) {
        return cs_fail(CS_ERR_INPUT, "%s: %" PRId64 " bytes are too short for a safetensors file",
                       file->path, size);
    }
    memcpy(&length, mark, LENGTH_SIZE);
    if (length > (uint64_t)CS_SAFETENSORS_MAX_HEADER) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: a header of %" PRIu64 " bytes, more than %" PRId64
                       " (not a safetensors file?)",
                       file->path, length, CS_SAFETENSORS_MAX_HEADER);
    }
    if ((int64_t)length > size - LENGTH_SIZE) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: a header of %" PRIu64 " bytes in a file of %" PRId64
                       " (truncated, or not a safetensors file)",
                       file->path, length, size);
    }
    *out = (int64_t)length;
    return CS_OK;
}

/* Opens the next file, whose path it takes over, and appends its tensors. */
static cs_status add_file(cs_safetensors *s, char *path)
{
    int64_t size = 0, length = 0;
    cs_status status = path ? cs_reserve(&s->file, &s->file_capacity, s->files + 1, sizeof *s->file)
                            : CS_ERR_MEMORY;
    if (status != CS_OK) {
        cs_free(path);
        return status;
    }
    const int number = s->files++;
    cs_safetensors_file *file = &s->file[number];
    *file = (cs_safetensors_file){.path = path, .fd = -1};
    status = cs_file_open(file->path, &file->fd, &size);
    if (status == CS_OK) status = header_length(file, size, &length);
    if (status != CS_OK) return status;
    file->data = LENGTH_SIZE + length;
    file->bytes = size - file->data;
    CS_AUTO_FREE char *text = cs_alloc(length + 1, 1);
    if (!text) return CS_ERR_MEMORY;
    text[length] = '\0';
    status = cs_file_read_at(file->fd, file->path, LENGTH_SIZE, length, text);
    return status == CS_OK ? parse_header(s, number, text, length) : status;
}

void cs_safetensors_free(cs_safetensors *s)
{
    if (!s) {
        return;
    }
    for (int i = 0; i < s->files; ++i) {
        if (s->file[i].fd >= 0) {
            (void)close(s->file[i].fd); /* opened for reading: nothing to lose */
        }
        json_decref(s->file[i].metadata);
        cs_free(s->file[i].path);
    }
    for (int64_t i = 0; i < s->count; ++i) {
        cs_free((char *)(uintptr_t)s->entry[i].name);
    }
    CS_FREE_FIELDS(s, entry, file);
    cs_free(s);
}

const char *cs_safetensors_path(const cs_safetensors *s, const cs_safetensors_entry *entry)
{
    return s->file[entry->file].path;
}

static int by_name(const void *pa, const void *pb)
{
    const cs_safetensors_entry *a = pa, *b = pb;
    return strcmp(a->name, b->name);
}

/* The end of opening: consumes s. */
static cs_status opened(cs_status status, cs_safetensors *s, cs_safetensors **out)
{
    if (status == CS_OK) {
        *out = s;
    } else {
        cs_safetensors_free(s);
    }
    return status;
}

cs_status cs_safetensors_open(const char *path, cs_safetensors **out)
{
    cs_safetensors *s = cs_calloc(1, sizeof *s);
    cs_status status = s ? add_file(s, cs_strdup(path)) : CS_ERR_MEMORY;
    if (status == CS_OK) qsort(s->entry, (size_t)s->count, sizeof *s->entry, by_name);
    return opened(status, s, out);
}

/* Its name in the weight map. */
static const char *name_of(const cs_safetensors *s, int file)
{
    return strrchr(s->file[file].path, '/') + 1;
}

/* Opens the shards of a weight map, in the order in which it names them. */
static cs_status add_shards(const char *directory, json_t *map, cs_safetensors *s)
{
    const char *tensor;
    json_t *value;
    if (json_object_size(map) == 0) {
        return cs_fail(CS_ERR_INPUT, "weight_map names no tensor");
    }
    json_object_foreach(map, tensor, value)
    {
        const char *file = json_string_value(value);
        int i = 0;
        if (!file) {
            return cs_fail(CS_ERR_INPUT, "weight_map: \"%s\" is not the name of a file", tensor);
        }
        if (file[0] == '\0' || strchr(file, '/')) {
            return cs_fail(CS_ERR_INPUT,
                           "weight_map: \"%s\" is in \"%s\", which is not a file of this directory",
                           tensor, file);
        }
        while (i < s->files && strcmp(name_of(s, i), file) != 0) {
            ++i;
        }
        cs_status status = i < s->files ? CS_OK : add_file(s, cs_format("%s/%s", directory, file));
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* Every tensor of the shards is where the map says, once, and the map names no other. */
static cs_status check_map(const cs_safetensors *s, json_t *map)
{
    for (int64_t i = 0; i < s->count; ++i) {
        const cs_safetensors_entry *e = &s->entry[i];
        if (i > 0 && strcmp(e[-1].name, e->name) == 0) {
            return cs_fail(CS_ERR_INPUT, "tensor \"%s\" is in both %s and %s", e->name,
                           s->file[e[-1].file].path, s->file[e->file].path);
        }
        const char *said = json_string_value(json_object_get(map, e->name));
        if (!said || strcmp(said, name_of(s, e->file)) != 0) {
            return cs_fail(CS_ERR_INPUT, "tensor \"%s\" is in %s, but weight_map says %s", e->name,
                           s->file[e->file].path, said ? said : "nothing");
        }
    }
    const char *tensor;
    json_t *value;
    json_object_foreach(map, tensor, value)
    {
        if (!cs_safetensors_find(s, tensor)) {
            return cs_fail(CS_ERR_INPUT, "tensor \"%s\" is not in %s, although weight_map says so",
                           tensor, json_string_value(value));
        }
    }
    return CS_OK;
}

/* The form with an index. */
static cs_status open_index(const char *directory, const char *index, cs_safetensors **out)
{
    json_auto_t *content = NULL;
    cs_safetensors *s = cs_calloc(1, sizeof *s);
    cs_status status = s ? cs_json_read(index, &content) : CS_ERR_MEMORY;
    json_t *map = json_object_get(content, "weight_map");
    if (status == CS_OK && !json_is_object(map))
        status = cs_fail(CS_ERR_INPUT, "\"weight_map\" is absent or not an object");
    if (status == CS_OK) status = add_shards(directory, map, s);
    if (status == CS_OK) {
        qsort(s->entry, (size_t)s->count, sizeof *s->entry, by_name);
        status = check_map(s, map);
    }
    return opened(cs_blame(status, "%s", index), s, out);
}

cs_status cs_safetensors_open_model(const char *directory, cs_safetensors **out)
{
    CS_AUTO_FREE char *pickled = cs_path_join(directory, "pytorch_model.bin"),
                      *single = cs_path_join(directory, "model.safetensors"),
                      *index = cs_path_join(directory, "model.safetensors.index.json");
    cs_status status = pickled && single && index ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(single)) {
        status = cs_safetensors_open(single, out);
    } else if (status == CS_OK && cs_path_exists(index)) {
        status = open_index(directory, index, out);
    } else if (status == CS_OK && cs_path_exists(pickled)) {
        status = cs_fail(
            CS_ERR_INPUT,
            "%s is not supported; convert it in its folder: python3 -c \"import torch, "
            "safetensors.torch as s; s.save_file({k: v.clone() for k, v in "
            "torch.load('pytorch_model.bin', weights_only=True).items()}, 'model.safetensors')\"",
            pickled);
    } else if (status == CS_OK) {
        status = cs_fail(CS_ERR_INPUT,
                         "%s: contains neither model.safetensors nor model.safetensors.index.json",
                         directory);
    }
    return status;
}

int64_t cs_safetensors_count(const cs_safetensors *s)
{
    return s->count;
}

const cs_safetensors_entry *cs_safetensors_at(const cs_safetensors *s, int64_t i)
{
    assert(i >= 0 && i < s->count);
    return &s->entry[i];
}

const cs_safetensors_entry *cs_safetensors_find(const cs_safetensors *s, const char *name)
{
    const cs_safetensors_entry key = {.name = name};
    return bsearch(&key, s->entry, (size_t)s->count, sizeof key, by_name);
}

static cs_status check_range(const cs_safetensors_entry *e, int64_t first, int64_t count)
{
    if (first < 0 || count < 0 || first > e->items || count > e->items - first) {
        return cs_fail(CS_ERR_USAGE,
                       "tensor \"%s\": %" PRId64 " items from index %" PRId64
                       " requested, but it has only %" PRId64,
                       e->name, count, first, e->items);
    }
    return CS_OK;
}

cs_status cs_safetensors_read(const cs_safetensors *s, const cs_safetensors_entry *entry,
                              int64_t first, int64_t count, void *out)
{
    cs_status status = check_range(entry, first, count);
    if (status != CS_OK) return status;
    int64_t size = cs_dtype_size(entry->dtype);
    const cs_safetensors_file *file = &s->file[entry->file];
    return cs_file_read_at(file->fd, file->path, entry->offset + first * size, count * size, out);
}

cs_status cs_safetensors_read_f32(const cs_safetensors *s, const cs_safetensors_entry *entry,
                                  int64_t first, int64_t count, float *out)
{
    const cs_dtype dtype = entry->dtype;
    if (dtype == CS_F32) {
        return cs_safetensors_read(s, entry, first, count, out);
    }
    if (dtype != CS_BF16 && dtype != CS_F16 && dtype != CS_F64) {
        return cs_fail(CS_ERR_INPUT, "%s: tensor \"%s\" is %s, not a float",
                       cs_safetensors_path(s, entry), entry->name,
                       cs_safetensors_dtype_name(dtype));
    }
    char stage[STAGE];
    const int64_t step = STAGE / cs_dtype_size(dtype);
    cs_status status = check_range(entry, first, count);
    for (int64_t at = 0; at < count && status == CS_OK; at += step) {
        int64_t n = count - at < step ? count - at : step;
        status = cs_safetensors_read(s, entry, first + at, n, stage);
        if (status == CS_OK) cs_items_decode(dtype, n, stage, at, 1, (cs_real_target){false, out});
    }
    return status;
}

static cs_status verify_file(const cs_safetensors_file *file, const char *want, char *buffer)
{
    CS_AUTO(cs_hasher) hasher = {0};
    cs_status status = cs_hasher_make(0, &hasher);
    for (int64_t at = 0; at < file->bytes && status == CS_OK; at += VERIFY_STEP) {
        int64_t n = file->bytes - at < VERIFY_STEP ? file->bytes - at : VERIFY_STEP;
        status = cs_interrupt_check();
        if (status == CS_OK)
            status = cs_file_read_at(file->fd, file->path, file->data + at, n, buffer);
        if (status == CS_OK) cs_hasher_add(&hasher, buffer, (size_t)n);
    }
    if (status == CS_OK) {
        char hex[33];
        cs_hash_hex(cs_hasher_value(&hasher), hex);
        if (strcmp(hex, want) != 0) {
            status = cs_fail(CS_ERR_INPUT, "%s: the data have hash %s, but the header says %s",
                             file->path, hex, want);
        }
    }
    return status;
}

cs_status cs_safetensors_verify(const cs_safetensors *s)
{
    cs_status status = CS_OK;
    CS_AUTO_FREE char *buffer = cs_alloc(VERIFY_STEP, 1);
    if (!buffer) return CS_ERR_MEMORY;
    for (int i = 0; i < s->files && status == CS_OK; ++i) {
        const json_t *hash = json_object_get(s->file[i].metadata, CS_SAFETENSORS_HASH);
        status = hash ? verify_file(&s->file[i], json_string_value(hash), buffer) : CS_OK;
    }
    return status;
}
