/* Shared by the transpose and the products of a sparse matrix: vectors of a row of a panel, chunks
 * of rows with about equal work, clones for several instruction sets. */
#pragma once

#include "base/simd.h"
#include "linalg/csr.h"

enum {
    CS_CSR_RUN = 256, /* nonzeros summed before they are added to the sum of the row */
    CS_CSR_AHEAD = 32 /* nonzeros between a prefetch and its use */
};

typedef double cs_v4 __attribute__((vector_size(32), aligned(8), may_alias));

/* 64 bytes as two halves: for vectors of 32 bytes, gcc 12 turns a vector of 64 into scalars on the
 * stack. */
typedef struct {
    cs_v4 low, high;
} cs_v8;

/* First row of a chunk: rows and nonzeros before it reach its share of both. */
static inline int64_t cs_csr_chunk_start(const cs_csr *a, int64_t chunk, int64_t chunks)
{
    int64_t total = a->rows + cs_csr_nnz(a);
    int64_t target = total / chunks * chunk + total % chunks * chunk / chunks;
    int64_t low = 0, high = a->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (middle + a->ptr[middle] < target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline int64_t cs_csr_chunk_end(const cs_csr *a, int64_t chunk, int64_t chunks)
{
    return chunk + 1 == chunks ? a->rows : cs_csr_chunk_start(a, chunk + 1, chunks);
}
