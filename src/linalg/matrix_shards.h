/* Matrices in shards (matrix_index.h), whole. */
#pragma once

#include "linalg/csr.h"
#include "linalg/matrix_index.h"

/* The concatenated shards of kind CS_SHARD_MATRIX or CS_SHARD_ROW_LABELS. Errors as cs_matrix_read. */
cs_status cs_shards_read(const char *dir, const cs_matrix_index *index, int kind,
                         cs_csr *out) CS_MUST_CHECK;
