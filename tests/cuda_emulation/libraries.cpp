/* cuBLAS and cuSOLVER (cuSPARSE: libraries_sparse.cpp) on the CPU, as far as src/cuda/linalg*.cu calls them: LAPACKE,
 * cblas and plain loops behind NVIDIA's argument lists, on the emulated stream. Arguments are
 * checked as the manuals demand; workspaces are requested and then overwritten to their last byte,
 * so that one that is too small runs into its guard page; what a call destroys is destroyed; the
 * half of a symmetric matrix that must not be read is not-a-number when it would be.
 */
#include "libraries.h"
#include "cublasLt.h"
#include "cusolverDn.h"
#include "cusparse.h"

#include <cblas.h>
#include <lapacke.h>

#include <string>
#include <vector>

namespace
{
int calls_left = -1;                     /* until one fails; -1: none does */
int gesvd_info, gesvdj_info, syevd_info; /* answered instead of solving */
bool wrong_values;
std::string absent;
int64_t largest = INT64_MAX; /* sides that the sizes of workspaces are known for */

void spoil(double *x, int64_t count)
{
    memset(x, 0xff, (size_t)count * sizeof *x);
}

} // namespace

bool library_fails()
{
    return calls_left >= 0 && calls_left-- == 0;
}

extern "C" void emulate_library_failure(int calls)
{
    calls_left = calls;
}

extern "C" int emulate_library_calls()
{
    return calls_left;
}

extern "C" void emulate_not_converged(int gesvd, int gesvdj, int syevd)
{
    gesvd_info = gesvd;
    gesvdj_info = gesvdj;
    syevd_info = syevd;
}

extern "C" void emulate_wrong_values(bool on)
{
    wrong_values = on;
}

extern "C" void emulate_largest(int64_t side)
{
    largest = side;
}

extern "C" void emulate_without(const char *libraries)
{
    absent = libraries;
}

/* --- cuBLAS ----------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    if (library_fails()) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *handle = handle_of<cublasHandle_t>();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    forget(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream)
{
    return library_fails() || !stream ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_ALLOC_FAILED    ? "the resource allocation failed"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed"
                                                   : "the function failed to launch on the GPU";
}

cublasStatus_t cublasDgemm_v2_64(cublasHandle_t handle, cublasOperation_t transa,
                                 cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                 const double *alpha, const double *A, int64_t lda, const double *B,
                                 int64_t ldb, const double *beta, double *C, int64_t ldc)
{
    int64_t a_rows = transa == CUBLAS_OP_N ? m : k, b_rows = transb == CUBLAS_OP_N ? k : n;
    if (library_fails()) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (!handle || m < 0 || n < 0 || k < 0 || lda < (a_rows > 1 ? a_rows : 1) ||
        ldb < (b_rows > 1 ? b_rows : 1) || ldc < (m > 1 ? m : 1)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    double x = *alpha, y = *beta;
    emulate_perform([=]() {
        cblas_dgemm(CblasColMajor, transa == CUBLAS_OP_N ? CblasNoTrans : CblasTrans,
                    transb == CUBLAS_OP_N ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)k, x, A,
                    (int)lda, B, (int)ldb, y, C, (int)ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

/* --- cuSOLVER --------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *handle = handle_of<cusolverDnHandle_t>();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    forget(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t stream)
{
    return library_fails() || !stream ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t,
                                                cusolverDeterministicMode_t mode)
{
    return library_fails() || mode != CUSOLVER_DETERMINISTIC_RESULTS ? CUSOLVER_STATUS_INVALID_VALUE
                                                                     : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *params = handle_of<cusolverDnParams_t>();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    forget(params);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *info)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *info = handle_of<gesvdjInfo_t>();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info)
{
    forget(info);
    return CUSOLVER_STATUS_SUCCESS;
}

namespace
{
size_t gesvd_bytes(int64_t m, int64_t n)
{
    return (size_t)(m + 3 * n + 5) * sizeof(double);
}

enum { HOST_BYTES = 40 };

bool thin(signed char jobu, signed char jobvt, int64_t m, int64_t n, int64_t lda, int64_t ldu,
          int64_t ldvt, cudaDataType a, cudaDataType s, cudaDataType u, cudaDataType vt,
          cudaDataType compute)
{
    return jobu == 'S' && jobvt == 'S' && n >= 1 && m >= n && lda >= m && ldu >= m && ldvt >= n &&
           a == CUDA_R_64F && s == CUDA_R_64F && u == CUDA_R_64F && vt == CUDA_R_64F &&
           compute == CUDA_R_64F;
}
} // namespace

cusolverStatus_t cusolverDnXgesvd_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t params, signed char jobu, signed char jobvt,
    int64_t m, int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
    cudaDataType dataTypeS, const void *S, cudaDataType dataTypeU, const void *U, int64_t ldu,
    cudaDataType dataTypeVT, const void *VT, int64_t ldvt, cudaDataType computeType,
    size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (n > largest || !handle || !params || !A || !S || !U || !VT ||
        !thin(jobu, jobvt, m, n, lda, ldu, ldvt, dataTypeA, dataTypeS, dataTypeU, dataTypeVT,
              computeType)) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    *workspaceInBytesOnDevice = gesvd_bytes(m, n);
    *workspaceInBytesOnHost = HOST_BYTES;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  signed char jobu, signed char jobvt, int64_t m, int64_t n,
                                  cudaDataType dataTypeA, void *A, int64_t lda,
                                  cudaDataType dataTypeS, void *S, cudaDataType dataTypeU, void *U,
                                  int64_t ldu, cudaDataType dataTypeVT, void *VT, int64_t ldvt,
                                  cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (!handle || !params || workspaceInBytesOnDevice < gesvd_bytes(m, n) || !bufferOnHost ||
        workspaceInBytesOnHost < HOST_BYTES ||
        !thin(jobu, jobvt, m, n, lda, ldu, ldvt, dataTypeA, dataTypeS, dataTypeU, dataTypeVT,
              computeType)) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    memset(bufferOnHost, 0xff, HOST_BYTES);
    int answer = gesvd_info;
    emulate_perform([=]() {
        double *a = static_cast<double *>(A), *s = static_cast<double *>(S);
        double *u = static_cast<double *>(U), *vt = static_cast<double *>(VT);
        std::vector<double> super((size_t)n);
        memset(bufferOnDevice, 0xff, gesvd_bytes(m, n));
        *info = answer;
        if (answer == 0) {
            *info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', (int)m, (int)n, a, (int)lda, s,
                                        u, (int)ldu, vt, (int)ldvt, super.data(), -1);
            std::vector<double> work((size_t)super[0] + 1);
            *info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', (int)m, (int)n, a, (int)lda, s,
                                        u, (int)ldu, vt, (int)ldvt, work.data(), (int)work.size());
        }
        s[n / 2] = wrong_values ? s[n - 1] : s[n / 2];
        spoil(a, lda * n);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t jobz, cublasFillMode_t uplo,
                                             int64_t n, cudaDataType dataTypeA, const void *A,
                                             int64_t lda, cudaDataType dataTypeW, const void *W,
                                             cudaDataType computeType,
                                             size_t *workspaceInBytesOnDevice,
                                             size_t *workspaceInBytesOnHost)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (n > largest || !handle || !params || !A || !W || jobz != CUSOLVER_EIG_MODE_VECTOR ||
        uplo != CUBLAS_FILL_MODE_LOWER || n < 1 || lda < n || dataTypeA != CUDA_R_64F ||
        dataTypeW != CUDA_R_64F || computeType != CUDA_R_64F) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    *workspaceInBytesOnDevice = (size_t)(2 * n + 9) * sizeof(double);
    *workspaceInBytesOnHost = 0;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                  cudaDataType dataTypeA, void *A, int64_t lda,
                                  cudaDataType dataTypeW, void *W, cudaDataType computeType,
                                  void *bufferOnDevice, size_t workspaceInBytesOnDevice, void *,
                                  size_t, int *info)
{
    size_t bytes = (size_t)(2 * n + 9) * sizeof(double);
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (!handle || !params || jobz != CUSOLVER_EIG_MODE_VECTOR || uplo != CUBLAS_FILL_MODE_LOWER ||
        n < 1 || lda < n || dataTypeA != CUDA_R_64F || dataTypeW != CUDA_R_64F ||
        computeType != CUDA_R_64F || workspaceInBytesOnDevice < bytes) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    int answer = syevd_info;
    emulate_perform([=]() {
        double *a = static_cast<double *>(A);
        memset(bufferOnDevice, 0xff, bytes);
        for (int64_t j = 0; j < n; ++j) {
            spoil(a + j * lda, j);
        }
        *info = answer != 0 ? answer
                            : LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (int)n, a, (int)lda,
                                             static_cast<double *>(W));
    });
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDgesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,
                                              int econ, int m, int n, const double *A, int lda,
                                              const double *S, const double *U, int ldu,
                                              const double *V, int ldv, int *lwork,
                                              gesvdjInfo_t params)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (n > largest || !handle || !params || !A || !S || !U || !V ||
        jobz != CUSOLVER_EIG_MODE_VECTOR || econ != 1 || m < n || n < 1 || lda < m || ldu < m ||
        ldv < n) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    *lwork = m + 7;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDgesvdj(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ,
                                   int m, int n, double *A, int lda, double *S, double *U, int ldu,
                                   double *V, int ldv, double *work, int lwork, int *info,
                                   gesvdjInfo_t params)
{
    if (library_fails()) {
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (!handle || !params || jobz != CUSOLVER_EIG_MODE_VECTOR || econ != 1 || m < n || n < 1 ||
        lda < m || ldu < m || ldv < n || lwork < m + 7) {
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    int answer = gesvdj_info;
    emulate_perform([=]() {
        std::vector<double> vt((size_t)n * (size_t)n);
        spoil(work, lwork);
        *info = answer != 0
                    ? answer
                    : LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', m, n, A, lda, S, U, ldu, vt.data(), n);
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < n; ++i) {
                V[i + j * ldv] = vt[(size_t)(j + i * n)];
            }
        }
        spoil(A, (int64_t)lda * n);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

/* --- as files --------------------------------------------------------------------------------- */

namespace
{
struct Symbol {
    const char *library, *name;
    void *function;
};

#define BLAS(f)                                                                                    \
    {                                                                                              \
        "libcublas.so.13", #f, reinterpret_cast<void *>(f)                                         \
    }
#define PRODUCTS(f)                                                                                \
    {                                                                                              \
        "libcublasLt.so.13", #f, reinterpret_cast<void *>(f)                                       \
    }
#define SOLVER(f)                                                                                  \
    {                                                                                              \
        "libcusolver.so.12", #f, reinterpret_cast<void *>(f)                                       \
    }
#define SPARSE(f)                                                                                  \
    {                                                                                              \
        "libcusparse.so.12", #f, reinterpret_cast<void *>(f)                                       \
    }
const Symbol symbols[] = {
    BLAS(cublasCreate_v2),
    BLAS(cublasDestroy_v2),
    BLAS(cublasSetStream_v2),
    BLAS(cublasGetStatusString),
    BLAS(cublasDgemm_v2_64),
    PRODUCTS(cublasLtCreate),
    PRODUCTS(cublasLtDestroy),
    PRODUCTS(cublasLtGetStatusString),
    PRODUCTS(cublasLtMatmulDescCreate),
    PRODUCTS(cublasLtMatmulDescDestroy),
    PRODUCTS(cublasLtMatmulDescSetAttribute),
    PRODUCTS(cublasLtMatrixLayoutCreate),
    PRODUCTS(cublasLtMatrixLayoutDestroy),
    PRODUCTS(cublasLtMatmulPreferenceCreate),
    PRODUCTS(cublasLtMatmulPreferenceDestroy),
    PRODUCTS(cublasLtMatmulPreferenceSetAttribute),
    PRODUCTS(cublasLtMatmulAlgoGetHeuristic),
    PRODUCTS(cublasLtMatmul),
    SOLVER(cusolverDnCreate),
    SOLVER(cusolverDnDestroy),
    SOLVER(cusolverDnSetStream),
    SOLVER(cusolverDnSetDeterministicMode),
    SOLVER(cusolverDnCreateParams),
    SOLVER(cusolverDnDestroyParams),
    SOLVER(cusolverDnCreateGesvdjInfo),
    SOLVER(cusolverDnDestroyGesvdjInfo),
    SOLVER(cusolverDnXgesvd_bufferSize),
    SOLVER(cusolverDnXgesvd),
    SOLVER(cusolverDnXsyevd_bufferSize),
    SOLVER(cusolverDnXsyevd),
    SOLVER(cusolverDnDgesvdj_bufferSize),
    SOLVER(cusolverDnDgesvdj),
    SPARSE(cusparseCreate),
    SPARSE(cusparseDestroy),
    SPARSE(cusparseSetStream),
    SPARSE(cusparseGetErrorString),
    SPARSE(cusparseCreateCsr),
    SPARSE(cusparseDestroySpMat),
    SPARSE(cusparseCreateDnMat),
    SPARSE(cusparseDnMatSetValues),
    SPARSE(cusparseDestroyDnMat),
    SPARSE(cusparseSpMM_bufferSize),
    SPARSE(cusparseSpMM_preprocess),
    SPARSE(cusparseSpMM),
};
} // namespace

/* $COSPEC_EMULATED_WITHOUT (for the program) and emulate_without (for its parts) name files and
 * functions that are not there. */
static bool is_absent(const char *name)
{
    const char *said = getenv("COSPEC_EMULATED_WITHOUT");
    return absent.find(name) != std::string::npos || (said && strstr(said, name));
}

void *emulate_library(const char *name)
{
    for (const Symbol &s : symbols) {
        if (!is_absent(name) && strcmp(s.library, name) == 0) {
            return const_cast<char *>(s.library);
        }
    }
    return NULL;
}

void *emulate_symbol(void *library, const char *name)
{
    for (const Symbol &s : symbols) {
        if (!is_absent(name) && strcmp(s.library, static_cast<const char *>(library)) == 0 &&
            strcmp(s.name, name) == 0) {
            return s.function;
        }
    }
    return NULL;
}
