/* The linear algebra of the plug-in: its state, the libraries, and what its files call of each
 * other. Host code. One stream; every function that gives numbers to the host waits for it. */
#pragma once

#include <initializer_list>

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <cusparse.h>

#include "cuda/launch.cuh"
#include "cuda/library.cuh"

extern "C" {
#include "linalg/gpu.h"
}

#define BLAS_FUNCTIONS(X)                                                                          \
    X(create, cublasCreate_v2)                                                                     \
    X(destroy, cublasDestroy_v2)                                                                   \
    X(set_stream, cublasSetStream_v2)                                                              \
    X(gemm, cublasDgemm_v2_64)                                                                     \
    X(text, cublasGetStatusString)

struct Blas {
    cublasHandle_t handle;
    LIBRARY_FUNCTIONS(BLAS_FUNCTIONS)
};

#define SOLVER_FUNCTIONS(X)                                                                        \
    X(create, cusolverDnCreate)                                                                    \
    X(destroy, cusolverDnDestroy)                                                                  \
    X(set_stream, cusolverDnSetStream)                                                             \
    X(set_deterministic, cusolverDnSetDeterministicMode)                                           \
    X(params_create, cusolverDnCreateParams)                                                       \
    X(params_destroy, cusolverDnDestroyParams)                                                     \
    X(gesvd_size, cusolverDnXgesvd_bufferSize)                                                     \
    X(gesvd, cusolverDnXgesvd)                                                                     \
    X(syevd_size, cusolverDnXsyevd_bufferSize)                                                     \
    X(syevd, cusolverDnXsyevd)                                                                     \
    X(jacobi_create, cusolverDnCreateGesvdjInfo)                                                   \
    X(jacobi_destroy, cusolverDnDestroyGesvdjInfo)                                                 \
    X(gesvdj_size, cusolverDnDgesvdj_bufferSize)                                                   \
    X(gesvdj, cusolverDnDgesvdj)

struct Solver {
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    gesvdjInfo_t jacobi;
    LIBRARY_FUNCTIONS(SOLVER_FUNCTIONS)
};

#define SPARSE_FUNCTIONS(X)                                                                        \
    X(create, cusparseCreate)                                                                      \
    X(destroy, cusparseDestroy)                                                                    \
    X(set_stream, cusparseSetStream)                                                               \
    X(text, cusparseGetErrorString)                                                                \
    X(csr_create, cusparseCreateCsr)                                                               \
    X(csr_destroy, cusparseDestroySpMat)                                                           \
    X(dense_create, cusparseCreateDnMat)                                                           \
    X(dense_set, cusparseDnMatSetValues)                                                           \
    X(dense_destroy, cusparseDestroyDnMat)                                                         \
    X(product_size, cusparseSpMM_bufferSize)                                                       \
    X(product_prepare, cusparseSpMM_preprocess)                                                    \
    X(product, cusparseSpMM)

struct Sparse {
    cusparseHandle_t handle;
    LIBRARY_FUNCTIONS(SPARSE_FUNCTIONS)
};

struct Gpu {
    cs_gpu table; /* table.state points back here */
    const cs_gpu_host *host;
    Device cuda;
    char name[256];
    int *info; /* of cuSOLVER's last call, on the device */
    Blas blas;
    Solver solver;
    Sparse sparse;
};

static inline Gpu *gpu_of(cs_gpu *gpu)
{
    return static_cast<Gpu *>(gpu->state);
}

/* CS_OK, or CS_ERR_MEMORY or CS_ERR_DEVICE with what was done and what the library says. */
cs_status blas_check(const Gpu *g, cublasStatus_t code, const char *doing);
cs_status solver_check(const Gpu *g, cusolverStatus_t code, const char *doing);
cs_status sparse_check(const Gpu *g, cusparseStatus_t code, const char *doing);

/* Device memory, freed by gpu_release, which waits for the stream. */
template <typename T> static inline cs_status gpu_alloc(const Gpu *g, int64_t count, T **out)
{
    void *work = NULL;
    cs_status status = cuda_memory(&g->cuda, count * (int64_t)sizeof(T), &work);
    *out = static_cast<T *>(work);
    return status;
}
void gpu_release(const Gpu *g, std::initializer_list<void *> blocks); /* or NULL */

/* Destroys an object of a library unless it is null. */
template <typename F, typename T> static inline void destroy(F function, T made)
{
    if (made) {
        (void)function(made);
    }
}

/* CS_ERR_MEMORY where `need` bytes are not free: "GPU memory: <what> 12.0 MiB, ...". */
cs_status gpu_check_memory(const Gpu *g, int64_t need, const char *format, ...);

/* Copies of bytes; done when they return. */
cs_status gpu_put(const Gpu *g, void *to, const void *from, int64_t bytes);
cs_status gpu_get(const Gpu *g, void *to, const void *from, int64_t bytes);
cs_status gpu_zero(const Gpu *g, void *p, int64_t bytes);

/* Columns of a dense host matrix one below the other, each times scale[j] (NULL: 1). */
cs_status gpu_put_columns(const Gpu *g, double *to, const cs_dense *from, const double *scale);

cs_status gpu_wait(const Gpu *g);

/* C = alpha op(A) op(B) + beta C, column-major, by cuBLAS. */
struct Dgemm {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    double alpha;
    const double *a;
    int64_t lda;
    const double *b;
    int64_t ldb;
    double beta;
    double *c;
    int64_t ldc;
};
cs_status gpu_gemm(const Gpu *g, const Dgemm *d);

/* linalg_dense.cu */
cs_status dense_need(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t *bytes);
cs_status dense_svd(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t k, double *sigma,
                    cs_dense *u, cs_dense *v);
cs_status dense_eigen(cs_gpu *gpu, const cs_linop *a, int64_t k, cs_dense *basis);

/* linalg_sparse.cu: a CSR matrix of the host, with its product of a panel. */
struct SparseMatrix {
    void *ptr, *col;
    double *val;
    cusparseSpMatDescr_t matrix;
    cusparseDnMatDescr_t x, y;
    void *buffer;
};

/* x (cols x 8) and y (rows x 8): panels on the device, row by row; those of a product may lie
 * elsewhere. What a failure leaves is freed by sparse_free too. */
cs_status sparse_open(const Gpu *g, const cs_csr *a, double *x, double *y, SparseMatrix *m);
cs_status sparse_product(const Gpu *g, const SparseMatrix *m, double *x, double *y); /* y = A x */
void sparse_free(const Gpu *g, SparseMatrix *m); /* accepts a zeroed one */

/* linalg_space.cu */
cs_status space_open(cs_gpu *gpu, const cs_linop *a, cs_space *out);
void space_free(cs_space *space);
