/* A GPU for singular value decompositions: the functions that the CUDA plug-in
 * (src/cuda/linalg*.cu) provides to the solvers, and how it is opened.
 *
 * The plug-in exports one function, cs_cuda_linalg, and calls functions of the program only through
 * the host table. Both sides compile this header; `version` and the sizes of all shared structures
 * are compared before anything is called. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"
#include "linalg/linop.h"
#include "linalg/space.h"

/* The version is increased by every change of the meaning of the functions. */
enum { CS_GPU_VERSION = 3, CS_GPU_SIZES = 7 };

#define CS_GPU_SYMBOL "cs_cuda_linalg"

/* Functions that the plug-in may call. */
typedef struct {
    cs_status (*fail)(cs_status code, const char *format, ...);
    void *(*alloc)(int64_t count, size_t size); /* zeroed, host */
    void (*free)(void *p);
    cs_status (*interrupted)(void); /* CS_ERR_INTERRUPT after an interrupt */
    cs_status (*random)(uint64_t seed, uint64_t index, int64_t rows, double *to); /* space.h */
} cs_gpu_host;

/* gesvd   all of A on the device, thin SVD by cuSOLVER's 64-bit Xgesvd; gesvdj  the same by
 * one-sided Jacobi, sizes below 2^31; syevd   eigenvectors of A^T A, with A streamed in runs of
 * rows, by Xsyevd */
typedef enum { CS_GPU_GESVD, CS_GPU_GESVDJ, CS_GPU_SYEVD } cs_gpu_method;

#define CS_GPU_REFUSED INT64_MAX /* more than any memory */

typedef struct cs_gpu cs_gpu;
struct cs_gpu {
    const char *name; /* of the card */
    void *state;
    void (*close)(cs_gpu *gpu);

    /* Bytes of device memory: free, and total. */
    cs_status (*memory)(cs_gpu *gpu, int64_t *free_bytes, int64_t *all);

    /* Bytes that `method` needs for A, workspace of the library included; allocates nothing.
     * CS_GPU_REFUSED: the library does not support matrices of this size. */
    cs_status (*need)(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t *bytes);

    /* gesvd, gesvdj: all cols singular values, descending, and the first k vectors of both sides
     * (rows x k, cols x k; allocated by the caller). rows >= cols >= 1, a->data known. If gesvd
     * does not converge, gesvdj is tried. CS_ERR_MEMORY before anything is allocated if it does not
     * fit, CS_ERR_CONVERGE if neither converges, CS_ERR_DEVICE. */
    cs_status (*dense)(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t k,
                       double *sigma, cs_dense *u, cs_dense *v);

    /* Orthonormal eigenvectors of A^T A for its k largest eigenvalues, these ascending: basis cols
     * x k. */
    cs_status (*eigen)(cs_gpu *gpu, const cs_linop *a, int64_t k, cs_dense *basis);

    /* The space of A on the device: A and A^T as CSR, panels row by row. Sums of fixed runs in
     * order, so that a run reproduces its bits on the same card; they differ from those of the CPU.
     */
    cs_status (*space)(cs_gpu *gpu, const cs_linop *a, cs_space *out);
    void (*space_free)(cs_space *space); /* after its panels; accepts a zeroed object */
};

typedef struct {
    int32_t version;
    int32_t size[CS_GPU_SIZES];
    int32_t needs_driver; /* 0: runs without a driver (the emulation of the tests) */
    cs_status (*open)(const cs_gpu_host *host, int number, cs_gpu **out);
} cs_gpu_table;

static inline void cs_gpu_sizes(int32_t size[CS_GPU_SIZES])
{
    size[0] = (int32_t)sizeof(cs_gpu_host);
    size[1] = (int32_t)sizeof(cs_gpu);
    size[2] = (int32_t)sizeof(cs_linop);
    size[3] = (int32_t)sizeof(cs_linop_data);
    size[4] = (int32_t)sizeof(cs_space);
    size[5] = (int32_t)sizeof(cs_csr);
    size[6] = (int32_t)sizeof(cs_dense);
}

/* Bytes of A and A^T as CSR on the device: indices of 4 bytes below 2^31 nonzeros, else of 8. */
static inline int64_t cs_gpu_sparse_bytes(int64_t rows, int64_t cols, int64_t nnz)
{
    int64_t index = nnz < INT32_MAX ? 4 : 8;
    return 2 * nnz * (8 + index) + (rows + cols + 2) * index;
}

/* GPU `number` (from 0) through the plug-in (base/plugin.h selects the file). Opens cuBLAS,
 * cuSOLVER and cuSPARSE after checking the device. CS_ERR_DEVICE names the missing part: plug-in,
 * driver, device, compute capability 9.0, or a library by its file name. */
cs_status cs_gpu_open(const char *plugin, int number, cs_gpu **out) CS_MUST_CHECK;
void cs_gpu_close(cs_gpu **gpu); /* accepts a pointer to NULL */

/* Bytes of device memory for an SVD of k triplets of A: by gesvd, by the Gram matrix, by the block
 * solver (both matrices, its preferred basis, the results), and free memory. k 0: all.
 * CS_ERR_MEMORY for the transpose of a wide matrix, CS_ERR_DEVICE. */
typedef struct {
    int64_t dense, gram, sparse, free_bytes;
} cs_gpu_bytes;
cs_status cs_gpu_estimate(cs_gpu *gpu, const cs_csr *a, int64_t k, cs_gpu_bytes *out) CS_MUST_CHECK;

/* Compares version and sizes, then opens. */
cs_status cs_gpu_table_open(const cs_gpu_table *table, int number, cs_gpu **out) CS_MUST_CHECK;
