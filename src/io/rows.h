/** \file
 * Rows of a matrix of floating-point numbers from any source: an NPY file, a member of an NPZ
 * archive, a safetensors tensor, or memory.
 *
 * An array with more than two dimensions is read as rows of its last dimension. An NPY file and a
 * safetensors tensor are read by position in constant memory. An NPZ member, which may be
 * deflated, is read whole, with the guards of io/npz.h.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** Type of the numbers as stored. */
typedef enum {
    /** float16. */
    CS_ROWS_F16,
    /** bfloat16. */
    CS_ROWS_BF16,
    /** float32. */
    CS_ROWS_F32,
    /** float64. */
    CS_ROWS_F64,
    /** Integers and bool. */
    CS_ROWS_INT,
} cs_rows_type;

/** The open source of rows; internal. */
typedef struct cs_rows_store cs_rows_store;

/** A matrix whose rows can be read, rows x cols. */
typedef struct {
    /** Number of rows. */
    int64_t rows;
    /** Number of columns. */
    int64_t cols;
    /** Type as stored. */
    cs_rows_type type;
    /** For messages: "states.npz:layer3". */
    const char *name;
    /** All numbers in memory as float, row-major without gaps; else NULL. */
    const float *f32;
    /** The same as double; else NULL. */
    const double *f64;
    /** Number of dimensions of the array that was opened; of memory 2. */
    int dimensions;
    /** Owned; NULL for memory. */
    cs_rows_store *store;
} cs_rows;

/** Splits "FILE:NAME" at the last ':' after .npz or .safetensors, unless a file has the whole text
 * as its name. Both parts are new memory (cs_free); `*name` is NULL if there is none.
 */
cs_status cs_rows_split(const char *text, char **path, char **name) CS_MUST_CHECK;

/** Checks the suffix of a path.
 *
 * \retval CS_ERR_USAGE cs_rows_open does not read files with this suffix; the message names `text`
 */
cs_status cs_rows_check_name(const char *text, const char *path) CS_MUST_CHECK;

/** Opens FILE.npy, FILE.npz[:MEMBER] or FILE.safetensors[:TENSOR], by the suffix. Without a name
 * the file must hold a single matrix. If a safetensors file records a hash, it is verified in one
 * pass. Close the rows with cs_rows_close.
 *
 * \retval CS_ERR_USAGE another suffix
 * \retval CS_ERR_INPUT no such file with another suffix, the name does not exist (existing ones are listed) or is missing, text or
 *     objects, fewer than two dimensions, no rows or columns, or a malformed file
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_rows_open(const char *text, cs_rows *out) CS_MUST_CHECK;

/** Rows of a row-major rows x cols matrix in memory, which is borrowed, as is `name`. */
cs_rows cs_rows_of_f32(int64_t rows, int64_t cols, const float *data, const char *name);

/** As cs_rows_of_f32 for doubles. */
cs_rows cs_rows_of_f64(int64_t rows, int64_t cols, const double *data, const char *name);

/** Closes the source; accepts a zeroed object. */
void cs_rows_close(cs_rows *rows);

/** Reads the rows first..first+count-1 into `out`, count x cols, row-major. Conversion from double,
 * and from integers of more than 24 bits, rounds to nearest; values beyond the range become
 * infinite. Thread-safe.
 *
 * \retval CS_ERR_USAGE the range is outside the matrix
 * \retval CS_ERR_IO the file was truncated meanwhile
 */
cs_status cs_rows_read_f32(const cs_rows *rows, int64_t first, int64_t count,
                           float *out) CS_MUST_CHECK;

/** As cs_rows_read_f32 for doubles. */
cs_status cs_rows_read_f64(const cs_rows *rows, int64_t first, int64_t count,
                           double *out) CS_MUST_CHECK;

/** As cs_rows_read_f64 for finite numbers.
 *
 * \retval CS_ERR_INPUT a number is not finite; names its row and column
 */
cs_status cs_rows_read_finite(const cs_rows *rows, int64_t first, int64_t count,
                              double *out) CS_MUST_CHECK;

/** "float16", "bfloat16", "float32", "float64" or "integer". */
const char *cs_rows_type_name(cs_rows_type type);
