/* NPY arrays whose number of rows is known only at the end: rows are appended, and closing rewrites
 * the header in place. Constant memory; the file appears whole or not at all (file.h). */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npy.h"

typedef struct cs_npy_stream cs_npy_stream;

/* Begins an array of `columns` items a row; columns 0: a 1-D array. CS_ERR_USAGE: text, or a
 * negative number; CS_ERR_IO, CS_ERR_MEMORY. */
cs_status cs_npy_stream_open(const char *path, cs_dtype dtype, int64_t columns,
                             cs_npy_stream **out) CS_MUST_CHECK;

/* Appends rows in C order, of items of the dtype. */
cs_status cs_npy_stream_append(cs_npy_stream *stream, const void *rows,
                               int64_t count) CS_MUST_CHECK;

/* Appends rows of floats, converted to the type of the stream: f32, or f16 (to nearest, ties to
 * even). CS_ERR_USAGE for another type; CS_ERR_INPUT names a finite value that f16 cannot
 * represent. */
cs_status cs_npy_stream_floats(cs_npy_stream *stream, const float *rows,
                               int64_t count) CS_MUST_CHECK;

/* Writes the header and renames the file into place; consumes the stream (sets *stream to NULL),
 * also on failure. */
cs_status cs_npy_stream_close(cs_npy_stream **stream) CS_MUST_CHECK;
void cs_npy_stream_abort(cs_npy_stream **stream); /* accepts a pointer to NULL */
