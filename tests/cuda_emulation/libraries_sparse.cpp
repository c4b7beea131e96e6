/* cuSPARSE on the CPU, in the manner of libraries.cpp. */
#include "cusparse.h"
#include "libraries.h"

struct cusparseSpMatDescr {
    int64_t rows, cols, nnz;
    const void *ptr, *col;
    const double *val;
    bool wide;
};

struct cusparseDnMatDescr {
    int64_t rows, cols, ld;
    double *values;
};

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    if (library_fails()) {
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    *handle = handle_of<cusparseHandle_t>();
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    forget(handle);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t stream)
{
    return library_fails() || !stream ? CUSPARSE_STATUS_EXECUTION_FAILED : CUSPARSE_STATUS_SUCCESS;
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return status == CUSPARSE_STATUS_ALLOC_FAILED    ? "memory allocation failed"
           : status == CUSPARSE_STATUS_INVALID_VALUE ? "invalid value"
                                                     : "kernel launch failure";
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,
                                   int64_t nnz, void *csrRowOffsets, void *csrColInd,
                                   void *csrValues, cusparseIndexType_t csrRowOffsetsType,
                                   cusparseIndexType_t csrColIndType, cusparseIndexBase_t idxBase,
                                   cudaDataType valueType)
{
    if (library_fails()) {
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    if (rows < 0 || cols < 0 || nnz < 0 || csrRowOffsetsType != csrColIndType ||
        idxBase != CUSPARSE_INDEX_BASE_ZERO || valueType != CUDA_R_64F || !csrRowOffsets) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    *spMatDescr = new cusparseSpMatDescr{rows,
                                         cols,
                                         nnz,
                                         csrRowOffsets,
                                         csrColInd,
                                         static_cast<const double *>(csrValues),
                                         csrColIndType == CUSPARSE_INDEX_64I};
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t spMatDescr)
{
    delete spMatDescr;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols,
                                     int64_t ld, void *values, cudaDataType valueType,
                                     cusparseOrder_t order)
{
    if (library_fails()) {
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    if (rows < 0 || cols < 0 || ld < cols || valueType != CUDA_R_64F ||
        order != CUSPARSE_ORDER_ROW || !values) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    *dnMatDescr = new cusparseDnMatDescr{rows, cols, ld, static_cast<double *>(values)};
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t dnMatDescr, void *values)
{
    if (library_fails() || !values) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    dnMatDescr->values = static_cast<double *>(values);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t dnMatDescr)
{
    delete dnMatDescr;
    return CUSPARSE_STATUS_SUCCESS;
}

namespace
{
/* The products of CUSPARSE_SPMM_CSR_ALG3, the only algorithm with reproducible bits: A not transposed. */
bool product_fits(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
                  cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                  cusparseConstDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t alg)
{
    return handle && opA == CUSPARSE_OPERATION_NON_TRANSPOSE &&
           opB == CUSPARSE_OPERATION_NON_TRANSPOSE && a->cols == b->rows && a->rows == c->rows &&
           b->cols == c->cols && compute == CUDA_R_64F && alg == CUSPARSE_SPMM_CSR_ALG3;
}

size_t product_bytes(cusparseConstSpMatDescr_t a)
{
    return (size_t)a->rows * 4 + 12;
}

template <typename Index>
void multiply(const cusparseSpMatDescr &a, const cusparseDnMatDescr &b, const cusparseDnMatDescr &c,
              double alpha, double beta)
{
    const Index *ptr = static_cast<const Index *>(a.ptr), *col = static_cast<const Index *>(a.col);
    for (int64_t i = 0; i < a.rows; ++i) {
        for (int64_t j = 0; j < c.cols; ++j) {
            double sum = 0;
            for (Index e = ptr[i]; e < ptr[i + 1]; ++e) {
                sum += a.val[e] * b.values[col[e] * b.ld + j];
            }
            double *to = c.values + i * c.ld + j;
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
    }
}
} // namespace

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, const void *,
                                         cusparseConstSpMatDescr_t matA,
                                         cusparseConstDnMatDescr_t matB, const void *,
                                         cusparseDnMatDescr_t matC, cudaDataType computeType,
                                         cusparseSpMMAlg_t alg, size_t *bufferSize)
{
    if (library_fails() || !product_fits(handle, opA, opB, matA, matB, matC, computeType, alg)) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    *bufferSize = product_bytes(matA);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, const void *,
                                         cusparseConstSpMatDescr_t matA,
                                         cusparseConstDnMatDescr_t matB, const void *,
                                         cusparseDnMatDescr_t matC, cudaDataType computeType,
                                         cusparseSpMMAlg_t alg, void *externalBuffer)
{
    if (library_fails() || !product_fits(handle, opA, opB, matA, matB, matC, computeType, alg)) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    size_t bytes = product_bytes(matA);
    emulate_perform([=]() { memset(externalBuffer, 0x5a, bytes); });
    return CUSPARSE_STATUS_SUCCESS;
}

/* The buffer must be the one that was prepared, and stay as it is between products. */
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA,
                              cusparseOperation_t opB, const void *alpha,
                              cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB,
                              const void *beta, cusparseDnMatDescr_t matC, cudaDataType computeType,
                              cusparseSpMMAlg_t alg, void *externalBuffer)
{
    if (library_fails() || !product_fits(handle, opA, opB, matA, matB, matC, computeType, alg)) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    cusparseSpMatDescr a = *matA;
    cusparseDnMatDescr b = *matB, c = *matC;
    double x = *static_cast<const double *>(alpha), y = *static_cast<const double *>(beta);
    size_t bytes = product_bytes(matA);
    emulate_perform([=]() {
        const unsigned char *buffer = static_cast<const unsigned char *>(externalBuffer);
        if (buffer[0] != 0x5a || buffer[bytes - 1] != 0x5a) {
            emulate_stop("SpMM with a buffer that was not prepared");
        }
        if (a.wide) {
            multiply<int64_t>(a, b, c, x, y);
        } else {
            multiply<int32_t>(a, b, c, x, y);
        }
    });
    return CUSPARSE_STATUS_SUCCESS;
}
