/* Rows of a matrix of floating-point numbers, from any source: an NPY file, a member of an NPZ
 * archive, a safetensors tensor, memory. One interface, so that what streams rows reads all of
 * them.
 *
 * Arrays of more than two dimensions count as rows of their last one. An NPY file and a safetensors
 * tensor are read by position, in constant memory; an NPZ member, which may be deflated, is read
 * whole, under the guards of io/npz.h.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum { CS_ROWS_F16, CS_ROWS_BF16, CS_ROWS_F32, CS_ROWS_F64, CS_ROWS_INT } cs_rows_type;

typedef struct cs_rows_store cs_rows_store;

typedef struct {
    int64_t rows, cols;
    cs_rows_type type; /* as stored; integers (bool included) are read as numbers */
    const char *name;  /* "states.npz:layer3", for messages */
    /* Row-major numbers in memory, of `type`, or NULL: rows x cols without gaps. */
    const float *f32;
    const double *f64;
    int dimensions;       /* of the array that was opened, above 2: see the top; of memory 2 */
    cs_rows_store *store; /* what it was opened on; NULL for memory */
} cs_rows;

/* Parts "FILE:NAME" into fresh memory: at the last ':' after .npz or .safetensors when no file has
 * the whole text as its name; *name is NULL without one. */
cs_status cs_rows_split(const char *text, char **path, char **name) CS_MUST_CHECK;

/* CS_ERR_USAGE, with `text` as the name, when the ending of `path` is of no file that cs_rows_open
 * reads. */
cs_status cs_rows_check_name(const char *text, const char *path) CS_MUST_CHECK;

/* Opens FILE.npy, FILE.npz[:MEMBER] or FILE.safetensors[:TENSOR], by the ending; without a name the only
 * matrix there is. A hash that a safetensors file records is checked: one pass over it. CS_ERR_USAGE for
 * another ending; CS_ERR_INPUT for a name that is not there (those that are, are listed), one of several
 * not chosen, text or objects, fewer than two dimensions, no rows or no columns, and all that the formats'
 * readers refuse: truncation, Git LFS pointers, archives that unpack to more than they may. */
cs_status cs_rows_open(const char *text, cs_rows *out) CS_MUST_CHECK;

/* Memory that is borrowed. */
cs_rows cs_rows_of_f32(int64_t rows, int64_t cols, const float *data, const char *name);
cs_rows cs_rows_of_f64(int64_t rows, int64_t cols, const double *data, const char *name);

/* Accepts a zeroed object. */
void cs_rows_close(cs_rows *rows);

/* Rows first..first+count-1, row-major: exact but for float from double and from integers beyond 24
 * bits (to the nearest; beyond the range: infinity). Threads may read at once. CS_ERR_USAGE names a
 * range outside; CS_ERR_IO when the file has been cut short meanwhile. */
cs_status cs_rows_read_f32(const cs_rows *rows, int64_t first, int64_t count,
                           float *out) CS_MUST_CHECK;
cs_status cs_rows_read_f64(const cs_rows *rows, int64_t first, int64_t count,
                           double *out) CS_MUST_CHECK;
/* The same of finite numbers: else CS_ERR_INPUT names the row and column of the first that is not.
 */
cs_status cs_rows_read_finite(const cs_rows *rows, int64_t first, int64_t count,
                              double *out) CS_MUST_CHECK;

/* "float16", "bfloat16", "float32", "float64", "integer". */
const char *cs_rows_type_name(cs_rows_type type);
