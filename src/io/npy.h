/** \file
 * NPY arrays: format versions 1 to 3 are read, 1.0 is written, little endian; C or Fortran order.
 * Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
 *
 * Types: bool, integers, floats of 16 to 64 bits, and text of fixed width (U: UCS-4, S: bytes). An
 * array in memory is little endian, in C order (the last index varies fastest); big-endian and
 * Fortran files are converted on reading. Object arrays, sizes that overflow, and data shorter or
 * longer than the header says are refused, with file and byte.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** Type of an item. */
typedef enum {
    /** bool, 1 byte. */
    CS_BOOL,
    /** int8. */
    CS_I8,
    /** uint8. */
    CS_U8,
    /** int16. */
    CS_I16,
    /** uint16. */
    CS_U16,
    /** int32. */
    CS_I32,
    /** uint32. */
    CS_U32,
    /** int64. */
    CS_I64,
    /** uint64. */
    CS_U64,
    /** float16 (IEEE half precision). */
    CS_F16,
    /** float32. */
    CS_F32,
    /** float64. */
    CS_F64,
    /** Text of fixed width, UCS-4. */
    CS_UNICODE,
    /** Text of fixed width, bytes. */
    CS_BYTES,
    /** bfloat16, of safetensors files; NPY has no such type. */
    CS_BF16,
} cs_dtype;

enum {
    /** Largest number of dimensions. */
    CS_NPY_MAX_DIM = 8,
};

/** An array in memory. */
typedef struct {
    /** Type of the items. */
    cs_dtype dtype;
    /** Bytes of an item; of text, its fixed width. */
    int64_t item_size;
    /** Number of dimensions; 0 for a scalar. */
    int ndim;
    /** `ndim` sizes. */
    int64_t shape[CS_NPY_MAX_DIM];
    /** Number of items: the product of `shape`. */
    int64_t size;
    /** `size` items in C order, owned. */
    void *data;
} cs_array;

/** Frees the data; accepts a zeroed object. */
void cs_array_free(cs_array *array);

/** Whether a name ends in `.npy`, or in `.npy.gz` of a compressed file. Files are decompressed by
 * their content, whatever their name.
 */
bool cs_npy_named(const char *path);

/** Whether a file is an NPY array by its first bytes, after decompression, whatever its name. False
 * where they cannot be read.
 */
bool cs_npy_begins(const char *path);

/** Reads a whole array. A Fortran array needs twice its size while it is transposed.
 *
 * \param limit most bytes of data; 0: only free memory limits them. Checked against the header and
 *     the size of the file before memory is allocated
 * \param out receives the array; free it with cs_array_free
 * \retval CS_ERR_INPUT the file is malformed; names file and byte
 * \retval CS_ERR_IO the file cannot be read
 * \retval CS_ERR_MEMORY the array exceeds free memory
 */
cs_status cs_npy_read(const char *path, int64_t limit, cs_array *out) CS_MUST_CHECK;

/** Writes an array of numbers in C order, atomically.
 *
 * \param dtype type of the items
 * \param ndim number of dimensions
 * \param shape ndim sizes
 * \param data the items, borrowed
 * \retval CS_ERR_USAGE text, or more than CS_NPY_MAX_DIM dimensions
 * \retval CS_ERR_IO the file cannot be written
 */
cs_status cs_npy_write(const char *path, cs_dtype dtype, int ndim, const int64_t *shape,
                       const void *data) CS_MUST_CHECK;

/** The NPY header of an array (magic, version, dictionary, padding), which the bytes of the data
 * follow.
 *
 * \param dtype type of the items
 * \param fortran the data are column-major
 * \param ndim number of dimensions
 * \param shape ndim sizes
 * \param out receives the header; free it with cs_free
 * \param size receives its size in bytes
 */
cs_status cs_npy_header(cs_dtype dtype, bool fortran, int ndim, const int64_t *shape, char **out,
                        int64_t *size) CS_MUST_CHECK;

/** Bytes of an item of a numeric type; 0 for text. */
int64_t cs_dtype_size(cs_dtype dtype);

/** Item number `index` as double. 64-bit integers are rounded; text is NaN. */
double cs_array_f64(const cs_array *array, int64_t index);

/** Item number `index` as an integer.
 *
 * \retval CS_ERR_INPUT a float that is not an integer, a value out of range, or text; names index
 *     and value
 */
cs_status cs_array_i64(const cs_array *array, int64_t index, int64_t *out) CS_MUST_CHECK;

/** An array of doubles or floats to decode into. */
typedef struct {
    /** `items` are doubles, else floats. */
    bool wide;
    /** Borrowed. */
    void *items;
} cs_real_target;

/** Decodes `count` numbers at `raw`, which need not be aligned, into the items at, at + stride,
 * at + 2 stride, ... of the target. Conversion to float rounds to nearest; values beyond its range
 * become infinite.
 */
void cs_items_decode(cs_dtype dtype, int64_t count, const void *raw, int64_t at, int64_t stride,
                     cs_real_target to);

/** Text item number `index` as UTF-8, without the NULs that pad it (bytes are copied as they are).
 *
 * \param array an array of text
 * \param index the item
 * \param out receives the text; free it with cs_free
 * \retval CS_ERR_INPUT the array is not text, or holds invalid Unicode
 */
cs_status cs_array_text(const cs_array *array, int64_t index, char **out) CS_MUST_CHECK;

/** An array whose number of rows is known only at the end: rows are appended, and closing rewrites
 * the header in place. Constant memory; the file appears whole or not at all. */
typedef struct cs_npy_stream cs_npy_stream;

/** Begins an array.
 *
 * \param dtype type of the items
 * \param columns items of a row; 0: a 1-D array
 * \param out receives the stream; close it with cs_npy_stream_close or cs_npy_stream_abort
 * \retval CS_ERR_USAGE text, or a negative number of columns
 * \retval CS_ERR_IO the file cannot be written
 */
cs_status cs_npy_stream_open(const char *path, cs_dtype dtype, int64_t columns,
                             cs_npy_stream **out) CS_MUST_CHECK;

/** Appends `count` rows in C order, of items of the dtype. */
cs_status cs_npy_stream_append(cs_npy_stream *stream, const void *rows,
                               int64_t count) CS_MUST_CHECK;

/** Appends `count` rows of floats, converted to the type of the stream: float32, or float16 (to
 * nearest, ties to even).
 *
 * \retval CS_ERR_USAGE the stream has another type
 * \retval CS_ERR_INPUT names a finite value that float16 cannot represent
 */
cs_status cs_npy_stream_floats(cs_npy_stream *stream, const float *rows,
                               int64_t count) CS_MUST_CHECK;

/** Writes the header and renames the file into place; consumes the stream (sets `*stream` to NULL),
 * also on failure. */
cs_status cs_npy_stream_close(cs_npy_stream **stream) CS_MUST_CHECK;

/** Drops the stream and its file; accepts a pointer to NULL. */
void cs_npy_stream_abort(cs_npy_stream **stream);
