/* cuBLASLt on the CPU, as far as src/cuda/gemm.cu calls it: plain loops in float. Refuses what the
 * manual refuses; strict (emulate_strict, $COSPEC_EMULATED_STRICT) also every matrix that does not
 * begin, or have rows, at multiples of 16 bytes, as a library without kernels for those would.
 * Workspaces are written over to their last byte. Of the algorithms offered the first is not the
 * fastest, and some cannot be used. */
#include "cublasLt.h"
#include "libraries.h"

struct EmulatedDesc {
    int32_t trans_a, trans_b, epilogue;
    const void *bias;
    void *aux;
    int64_t ld_aux;
};
struct EmulatedLayout {
    cudaDataType type;
    int64_t rows, cols, ld;
};
struct EmulatedWishes {
    uint64_t bytes;
    uint32_t reduction, align[4];
};

namespace
{
enum { WORKSPACE = 4096, TOO_MUCH = 1 << 30 };
bool strict;

/* Offered in this order. */
struct Algorithm {
    cublasStatus_t state, run; /* what the heuristic says, what a call does */
    size_t workspace;
    int idle;  /* pieces of work beyond its own: the emulated clock's microseconds */
    int parts; /* that sums are split into */
};
const Algorithm algorithms[EMULATED_ALGORITHMS] = {
    {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS, WORKSPACE, 3, 1},
    {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_SUCCESS, WORKSPACE, 0, 1},
    {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS, TOO_MUCH, 0, 1},
    {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_EXECUTION_FAILED, WORKSPACE, 0, 1},
    {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS, WORKSPACE, 1, 2},
    {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS, WORKSPACE, 2, 1},
};
int64_t calls[EMULATED_ALGORITHMS]; /* products asked of each */
int usable = EMULATED_ALGORITHMS;   /* those from here on fail when run */

float item(cudaDataType type, const void *x, int64_t i)
{
    return type == CUDA_R_16BF ? __bfloat162float(static_cast<const __nv_bfloat16 *>(x)[i])
                               : static_cast<const float *>(x)[i];
}

void set_item(cudaDataType type, void *x, int64_t i, float value)
{
    if (type == CUDA_R_16BF) {
        static_cast<__nv_bfloat16 *>(x)[i] = __float2bfloat16_rn(value);
    } else {
        static_cast<float *>(x)[i] = value;
    }
}

/* Whether an item has the pattern of unwritten memory (runtime.cpp). */
bool unwritten(cudaDataType type, const void *x, int64_t i)
{
    static const unsigned char fresh[] = {0xff, 0xff, 0xff, 0xff};
    const size_t size = type == CUDA_R_16BF ? 2 : 4;
    return memcmp(static_cast<const unsigned char *>(x) + (size_t)i * size, fresh, size) == 0;
}

int64_t row_bytes(const EmulatedLayout *layout)
{
    return layout->ld * (layout->type == CUDA_R_16BF ? 2 : 4);
}

bool shapes_fit(const EmulatedDesc *what, const EmulatedLayout *a, const EmulatedLayout *b,
                const EmulatedLayout *d)
{
    int64_t m = what->trans_a ? a->cols : a->rows, ka = what->trans_a ? a->rows : a->cols;
    int64_t n = what->trans_b ? b->rows : b->cols, kb = what->trans_b ? b->cols : b->rows;
    bool gelu = what->epilogue == CUBLASLT_EPILOGUE_GELU_AUX ||
                what->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    bool bias = what->epilogue == CUBLASLT_EPILOGUE_BIAS ||
                what->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    return a->type == b->type && ka == kb && d->rows == m && d->cols == n &&
           (!gelu || (what->aux && what->ld_aux >= m && what->ld_aux % 8 == 0)) &&
           (!bias || what->bias);
}
} // namespace

extern "C" void emulate_strict(bool on)
{
    strict = on;
}

extern "C" void emulate_usable_algorithms(int count)
{
    usable = count;
}

extern "C" int64_t emulate_algorithm_calls(int algorithm)
{
    return calls[algorithm];
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = handle_of<cublasLtHandle_t>();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    forget(handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasGetStatusString(status);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    *out = new EmulatedDesc{0, 0, CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, 0};
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes)
{
    void *to = name == CUBLASLT_MATMUL_DESC_TRANSA                 ? (void *)&desc->trans_a
               : name == CUBLASLT_MATMUL_DESC_TRANSB               ? (void *)&desc->trans_b
               : name == CUBLASLT_MATMUL_DESC_EPILOGUE             ? (void *)&desc->epilogue
               : name == CUBLASLT_MATMUL_DESC_BIAS_POINTER         ? (void *)&desc->bias
               : name == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER ? (void *)&desc->aux
                                                                   : (void *)&desc->ld_aux;
    bool word = name == CUBLASLT_MATMUL_DESC_TRANSA || name == CUBLASLT_MATMUL_DESC_TRANSB ||
                name == CUBLASLT_MATMUL_DESC_EPILOGUE;
    if (bytes != (word ? 4U : 8U)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    *out = new EmulatedLayout{type, (int64_t)rows, (int64_t)cols, ld};
    return ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = new EmulatedWishes();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t wishes)
{
    delete wishes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t wishes,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t bytes)
{
    void *to = name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? (void *)&wishes->bytes
               : name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
                   ? (void *)&wishes->reduction
                   : (void *)&wishes->align[name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
    if (bytes != (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8U : 4U)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wishes, int asked,
                                              cublasLtMatmulHeuristicResult_t *result, int *found)
{
    *found = 0;
    if (library_fails()) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    if (!handle || asked < 1 || c != d || wishes->bytes < WORKSPACE ||
        wishes->reduction & ~(uint32_t)CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
        !shapes_fit(desc, a, b, d)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool odd = row_bytes(a) % 16 || row_bytes(b) % 16 || row_bytes(d) % 16;
    for (uint32_t align : wishes->align) {
        odd = odd || align % 16 != 0;
    }
    if (odd && (strict || getenv("COSPEC_EMULATED_STRICT"))) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    for (; *found < asked && *found < EMULATED_ALGORITHMS; ++*found, ++result) {
        memset(result, 0, sizeof *result);
        result->algo.data[0] = (uint64_t)*found;
        result->workspaceSize = algorithms[*found].workspace;
        result->state = algorithms[*found].state;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *chosen, void *workspace, size_t bytes,
                              cudaStream_t)
{
    const int number = (int)chosen->data[0];
    const Algorithm how = algorithms[number];
    ++calls[number];
    if (library_fails() || how.run != CUBLAS_STATUS_SUCCESS || number >= usable) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    EmulatedDesc what = *desc;
    EmulatedLayout la = *a, lb = *b, ld = *d;
    float x = *static_cast<const float *>(alpha), y = *static_cast<const float *>(beta);
    if (!handle || !shapes_fit(&what, a, b, d) || bytes < how.workspace || (y != 0 && C != D)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    emulate_perform([=]() {
        int64_t inner = what.trans_a ? la.rows : la.cols;
        bool bias = what.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                    what.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
        bool gelu = what.epilogue >= CUBLASLT_EPILOGUE_GELU_AUX;
        memset(workspace, 0xff, WORKSPACE);
        for (int64_t j = 0; j < ld.cols; ++j) {
            for (int64_t i = 0; i < ld.rows; ++i) {
                float sum = 0;
                for (int part = 0; part < how.parts; ++part) {
                    float some = 0;
                    for (int64_t k = part; k < inner; k += how.parts) {
                        some += item(la.type, A, what.trans_a ? k + i * la.ld : i + k * la.ld) *
                                item(lb.type, B, what.trans_b ? j + k * lb.ld : k + j * lb.ld);
                    }
                    sum += some;
                }
                if (y != 0 && unwritten(ld.type, D, i + j * ld.ld)) {
                    emulate_stop("a product is added to memory that nobody wrote");
                }
                sum = x * sum + (y != 0 ? y * item(ld.type, D, i + j * ld.ld) : 0);
                sum += bias ? item(ld.type, what.bias, i) : 0;
                if (gelu) {
                    set_item(ld.type, what.aux, i + j * what.ld_aux, sum);
                    sum = 0.5F * sum *
                          (1 + tanhf(0.7978845608F * (sum + 0.044715F * sum * sum * sum)));
                }
                set_item(ld.type, D, i + j * ld.ld, sum);
            }
        }
    });
    for (int i = 0; i < how.idle; ++i) {
        emulate_perform([]() {});
    }
    return CUBLAS_STATUS_SUCCESS;
}
