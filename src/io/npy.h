/* NPY arrays (format versions 1-3 read, 1.0 written; little endian; C or Fortran order).
 * Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
 *
 * Types: bool, integers, floats of 16 to 64 bits, and text of fixed width (U: UCS-4, S: bytes).
 * An array in memory is always C order (last index fastest): Fortran files are transposed on
 * reading. Readers refuse object arrays, big-endian data, sizes that overflow, and data shorter or
 * longer than the header says, naming file and byte.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum {
    CS_BOOL,
    CS_I8,
    CS_U8,
    CS_I16,
    CS_U16,
    CS_I32,
    CS_U32,
    CS_I64,
    CS_U64,
    CS_F16,
    CS_F32,
    CS_F64,
    CS_UNICODE,
    CS_BYTES,
    CS_BF16 /* of safetensors; NPY has no such type */
} cs_dtype;

enum { CS_NPY_MAX_DIM = 8 };

typedef struct {
    cs_dtype dtype;
    int64_t item_size; /* bytes an item (strings: their fixed width) */
    int ndim;          /* 0 for a scalar */
    int64_t shape[CS_NPY_MAX_DIM];
    int64_t size; /* product of shape */
    void *data;   /* C order */
} cs_array;

void cs_array_free(cs_array *array);

/* Reads a whole array. `limit` bounds the data bytes (0: no bound but free memory) and is checked,
 * as is the size of the file, before memory is taken. A Fortran array needs twice its size for a
 * moment. CS_ERR_INPUT names file and byte; CS_ERR_MEMORY when free memory is the bound. */
cs_status cs_npy_read(const char *path, int64_t limit, cs_array *out) CS_MUST_CHECK;

/* Writes a C-order array of numbers atomically. CS_ERR_USAGE for text or more than CS_NPY_MAX_DIM
 * dimensions. */
cs_status cs_npy_write(const char *path, cs_dtype dtype, int ndim, const int64_t *shape,
                       const void *data) CS_MUST_CHECK;

/* The NPY header (magic, version, dictionary, padding) of an array, in fresh memory; data bytes
 * follow it. fortran: the data that follow are column-major. Used by npz members written from
 * files. */
cs_status cs_npy_header(cs_dtype dtype, bool fortran, int ndim, const int64_t *shape, char **out,
                        int64_t *size) CS_MUST_CHECK;

/* Bytes of one item of a numeric dtype, 0 for text. */
int64_t cs_dtype_size(cs_dtype dtype);

/* The item at `index` as double / int64 (any numeric dtype; f16 is decoded). As double, 64-bit
 * integers are rounded and text is NaN. cs_array_i64 fails with CS_ERR_INPUT, naming index and
 * value, when a float is not an integer, a value is out of range or the array is text. */
double cs_array_f64(const cs_array *array, int64_t index);
cs_status cs_array_i64(const cs_array *array, int64_t index, int64_t *out) CS_MUST_CHECK;

/* `count` numbers at `raw`, which need not be aligned, into every stride-th place from to[at] on:
 * doubles when wide, else floats (to the nearest; beyond the range: infinity). */
typedef struct {
    bool wide;
    void *items;
} cs_real_target;
void cs_items_decode(cs_dtype dtype, int64_t count, const void *raw, int64_t at, int64_t stride,
                     cs_real_target to);

/* The text item at `index` as UTF-8 in fresh memory, without the NULs that pad it (bytes are taken
 * as they are). CS_ERR_INPUT when the array is not text or holds no Unicode. */
cs_status cs_array_text(const cs_array *array, int64_t index, char **out) CS_MUST_CHECK;
