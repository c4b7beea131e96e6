/* Rows of a matrix in shards (matrix_index.h), in the memory of a piece of one shard. */
#pragma once

#include "linalg/csr.h"
#include "linalg/matrix_index.h"
#include "linalg/matrix_stream_private.h"

/* Visits the rows of one shard of kind CS_SHARD_MATRIX or CS_SHARD_ROW_LABELS, with their numbers in
 * the whole matrix; `begin` is not called. CS_ERR_INPUT: the shard is missing, damaged or of another
 * run. */
cs_status cs_shard_stream(const char *dir, const cs_matrix_index *index, int kind, int64_t number,
                          const cs_row_visitor *visitor) CS_MUST_CHECK;

/* cs_matrix_stream of DIR/matrix.index.json. */
cs_status cs_index_stream(const char *path, const cs_row_visitor *visitor) CS_MUST_CHECK;

/* cs_matrix_read_filled of DIR/matrix.index.json. */
cs_status cs_index_read_filled(const char *path, cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* The folder of a matrix in shards, given by itself or by its index; "" for any other file. In fresh
 * memory. */
char *cs_index_folder(const char *path) CS_MUST_CHECK;
