/* Matrix products: cuBLASLt, loaded when a device is there, with one plan for each shape.
 *
 * The first algorithm that the heuristic find_heuristics is kept for the life of the backend; split sums may
 * only be reduced through the workspace, so that results repeat bit for bit. On request weight
 * gradients take the fastest of several by a clock instead: they repeat within one backend, but
 * another may choose another, whose sums are split in another way. float products use
 * plain float arithmetic (no TF32). What cuBLASLt refuses (odd alignments) goes to a tiled kernel of
 * our own, far slower, and is counted and named (cs_backend.counted): any shape, sums in rising
 * order of k in float.
 */
#include <cublasLt.h>
#include <stdio.h>
#include <string.h>

#include "cuda/library.cuh"
#include "cuda/state.cuh"

/* --- own kernel ------------------------------------------------------------------------------- */

enum { TILE = 64, DEPTH = 16, EACH = 4 }; /* a block makes TILE x TILE, a thread EACH x EACH */

/* 256 threads; D of m x n, blocks along m (x) and n (y). */
template <typename In, typename Out>
static __global__ void product_kernel(int64_t m, int64_t n, int64_t k, const In *a, int64_t a_row,
                                      int64_t a_col, const In *b, int64_t b_row, int64_t b_col,
                                      Out *d, int64_t ldd, int add)
{
    __shared__ float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE + 1];
    int64_t row0 = (int64_t)blockIdx.x * TILE, col0 = (int64_t)blockIdx.y * TILE;
    int thread = (int)threadIdx.x, down = thread % (TILE / EACH), across = thread / (TILE / EACH);
    float sum[EACH][EACH] = {};
    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += MAX_BLOCK) {
            /* neighbouring threads along the direction that lies contiguous */
            int ka = a_col == 1 ? i % DEPTH : i / TILE, ra = a_col == 1 ? i / DEPTH : i % TILE;
            int kb = b_row == 1 ? i % DEPTH : i / TILE, cb = b_row == 1 ? i / DEPTH : i % TILE;
            bool in_a = row0 + ra < m && k0 + ka < k, in_b = col0 + cb < n && k0 + kb < k;
            a_tile[ka][ra] = in_a ? to_float(a[(row0 + ra) * a_row + (k0 + ka) * a_col]) : 0.0F;
            b_tile[kb][cb] = in_b ? to_float(b[(k0 + kb) * b_row + (col0 + cb) * b_col]) : 0.0F;
        }
        __syncthreads();
        for (int kk = 0; kk < DEPTH; ++kk) {
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    sum[i][j] += a_tile[kk][down + i * (TILE / EACH)] *
                                 b_tile[kk][across + j * (TILE / EACH)];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            int64_t row = row0 + down + i * (TILE / EACH), col = col0 + across + j * (TILE / EACH);
            if (row < m && col < n) {
                Out *to = d + row + col * ldd;
                *to = from_float<Out>(sum[i][j] + (add ? to_float(*to) : 0.0F));
            }
        }
    }
}

template <typename In, typename Out> static cs_status own_product(Cuda *c, const Product *p)
{
    dim3 grid((unsigned)ceil_div(p->m, TILE), (unsigned)ceil_div(p->n, TILE), 1);
    return launch(c, "product", product_kernel<In, Out>, grid, dim3(MAX_BLOCK, 1, 1), 0, p->m, p->n,
                  p->k, static_cast<const In *>(p->a), p->transpose_a ? p->lda : (int64_t)1,
                  p->transpose_a ? (int64_t)1 : p->lda, static_cast<const In *>(p->b),
                  p->transpose_b ? p->ldb : (int64_t)1, p->transpose_b ? (int64_t)1 : p->ldb,
                  static_cast<Out *>(p->d), p->ldd, p->add ? 1 : 0);
}

static cs_status own(Cuda *c, const Product *p)
{
    /* blocks along n are limited to 65535: swap the roles for a long n by splitting it */
    const int64_t most = (int64_t)65535 * TILE;
    cs_status status = CS_OK;
    for (int64_t first = 0; first < p->n && status == CS_OK; first += most) {
        Product part = *p;
        int64_t in = p->half_in ? 2 : 4, out = p->half_out ? 2 : 4;
        part.n = p->n - first < most ? p->n - first : most;
        part.b = static_cast<const char *>(p->b) + first * in * (p->transpose_b ? 1 : p->ldb);
        part.d = static_cast<char *>(p->d) + first * out * p->ldd;
        status = !p->half_in   ? own_product<float, float>(c, &part)
                 : p->half_out ? own_product<bf16, bf16>(c, &part)
                               : own_product<bf16, float>(c, &part);
    }
    return status;
}

/* Weight gradients chosen by time: algorithms requested from the heuristics, runs of each that are
 * timed. */
enum { MAX_PLANS = 1024, OFFERS = 8, RUNS = 3 };
static constexpr size_t WORKSPACE = (size_t)32 << 20; /* what cuBLAS advises for Hopper */

/* The identity of a plan. */
struct PlanKey {
    int64_t m, n, k, lda, ldb, ldd, ld_before;
    uint32_t align_a, align_b, align_d, align_bias, align_before; /* bytes; 0: not there */
    int32_t flags; /* transposes, types, add, bias, GELU */
};

struct Plan {
    PlanKey key;
    bool usable;
    char name[COUNT_NAME];
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
};

#define CUBLASLT_FUNCTIONS(X)                                                                      \
    X(create, cublasLtCreate)                                                                      \
    X(destroy, cublasLtDestroy)                                                                    \
    X(multiply, cublasLtMatmul)                                                                    \
    X(what_create, cublasLtMatmulDescCreate)                                                       \
    X(what_destroy, cublasLtMatmulDescDestroy)                                                     \
    X(what_set, cublasLtMatmulDescSetAttribute)                                                    \
    X(layout_create, cublasLtMatrixLayoutCreate)                                                   \
    X(layout_destroy, cublasLtMatrixLayoutDestroy)                                                 \
    X(preference_create, cublasLtMatmulPreferenceCreate)                                           \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy)                                         \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute)                                        \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic)                                                   \
    X(text, cublasLtGetStatusString)

struct Gemm {
    cublasLtHandle_t handle;
    void *workspace;
    int plans;
    Plan *plan; /* MAX_PLANS */
    LIBRARY_FUNCTIONS(CUBLASLT_FUNCTIONS)
};

/* --- loading ---------------------------------------------------------------------------------- */

static cs_status check(const Cuda *c, const Gemm *g, cublasStatus_t code, const char *doing)
{
    return code == CUBLAS_STATUS_SUCCESS
               ? CS_OK
               : c->host->fail(CS_ERR_DEVICE, "cuBLASLt %s: %s", doing, g->text(code));
}

cs_status gemm_open(Cuda *c, bool own_only, Gemm **out)
{
    *out = NULL;
    if (own_only) {
        return CS_OK;
    }
    Gemm *g = static_cast<Gemm *>(c->host->alloc(1, sizeof *g));
    if (!g) return CS_ERR_MEMORY;
    *out = g;
    g->plan = static_cast<Plan *>(c->host->alloc(MAX_PLANS, sizeof *g->plan));
    if (!g->plan) return CS_ERR_MEMORY;
    void *library = library_open("libcublasLt.so.13");
    if (!library) {
        return c->host->fail(CS_ERR_DEVICE, "no GPU in use: cannot load cuBLASLt: %s",
                             library_error());
    }
    const char *missing = g->find(library);
    if (missing) {
        return c->host->fail(CS_ERR_DEVICE, "no GPU in use: libcublasLt.so.13 has no %s", missing);
    }
    cs_status status = check(c, g, g->create(&g->handle), "start");
    return status == CS_OK
               ? cuda_check(c, cudaMalloc(&g->workspace, WORKSPACE), "workspace of cuBLASLt")
               : status;
}

static void plan_clear(Gemm *g, Plan *p)
{
    if (p->what) {
        (void)g->what_destroy(p->what);
    }
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};
    for (cublasLtMatrixLayout_t layout : layouts) {
        if (layout) {
            (void)g->layout_destroy(layout);
        }
    }
}

void gemm_free(Cuda *c, Gemm *g)
{
    if (!g) {
        return;
    }
    for (int i = 0; i < g->plans; ++i) {
        plan_clear(g, &g->plan[i]);
    }
    if (g->handle) {
        (void)g->destroy(g->handle);
    }
    (void)cudaFree(g->workspace);
    c->host->free(g->plan);
    c->host->free(g); /* the library stays loaded: unloading it costs and gains nothing */
}

/* --- plans ------------------------------------------------------------------------------------ */

static uint32_t alignment(const void *p)
{
    uintptr_t bits = reinterpret_cast<uintptr_t>(p) | 256;
    return (uint32_t)(bits & (~bits + 1));
}

static PlanKey key_of(const Product *p)
{
    PlanKey key;
    memset(&key, 0, sizeof key); /* compared as bytes */
    key.m = p->m;
    key.n = p->n;
    key.k = p->k;
    key.lda = p->lda;
    key.ldb = p->ldb;
    key.ldd = p->ldd;
    key.ld_before = p->before ? p->ld_before : 0;
    key.align_a = alignment(p->a);
    key.align_b = alignment(p->b);
    key.align_d = alignment(p->d);
    key.align_bias = p->bias ? alignment(p->bias) : 0;
    key.align_before = p->before ? alignment(p->before) : 0;
    key.flags = (p->transpose_a ? 1 : 0) | (p->transpose_b ? 2 : 0) | (p->half_in ? 4 : 0) |
                (p->half_out ? 8 : 0) | (p->add ? 16 : 0) | (p->bias ? 32 : 0) |
                (p->before ? 64 : 0);
    return key;
}

template <typename T>
static bool set(Gemm *g, cublasLtMatmulDesc_t what, cublasLtMatmulDescAttributes_t name, T value)
{
    return g->what_set(what, name, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

template <typename T>
static bool set_preference(Gemm *g, cublasLtMatmulPreference_t list,
                           cublasLtMatmulPreferenceAttributes_t name, T value)
{
    return g->preference_set(list, name, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

/* The pointers of the epilogue change from call to call. */
static bool set_pointers(Gemm *g, Plan *plan, const Product *p)
{
    return (!p->bias || set(g, plan->what, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                            static_cast<const void *>(p->bias))) &&
           (!p->before || set(g, plan->what, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                              static_cast<const void *>(p->before)));
}

static bool describe(Gemm *g, Plan *plan, const Product *p)
{
    cudaDataType_t in = p->half_in ? CUDA_R_16BF : CUDA_R_32F;
    cudaDataType_t out = p->half_out ? CUDA_R_16BF : CUDA_R_32F;
    int64_t a_rows = p->transpose_a ? p->k : p->m, a_cols = p->transpose_a ? p->m : p->k;
    int64_t b_rows = p->transpose_b ? p->n : p->k, b_cols = p->transpose_b ? p->k : p->n;
    bool ok =
        g->what_create(&plan->what, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
        g->layout_create(&plan->a, in, (uint64_t)a_rows, (uint64_t)a_cols, p->lda) ==
            CUBLAS_STATUS_SUCCESS &&
        g->layout_create(&plan->b, in, (uint64_t)b_rows, (uint64_t)b_cols, p->ldb) ==
            CUBLAS_STATUS_SUCCESS &&
        g->layout_create(&plan->d, out, (uint64_t)p->m, (uint64_t)p->n, p->ldd) ==
            CUBLAS_STATUS_SUCCESS;
    ok =
        ok &&
        set(g, plan->what, CUBLASLT_MATMUL_DESC_TRANSA,
            p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N) &&
        set(g, plan->what, CUBLASLT_MATMUL_DESC_TRANSB, p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (ok && p->before) {
        ok = set(g, plan->what, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p->ld_before) &&
             set(g, plan->what, CUBLASLT_MATMUL_DESC_EPILOGUE,
                 p->bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX);
    } else if (ok && p->bias) {
        ok = set(g, plan->what, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    }
    return ok && set_pointers(g, plan, p);
}

/* The alignment of D that an algorithm may assume. The epilogue's pointers have no such preference,
 * and its vectors are as long as those of D, so D gets the least alignment of the three. */
static uint32_t output_alignment(const PlanKey *key)
{
    uint32_t least = key->align_d;
    least = key->align_bias > 0 && key->align_bias < least ? key->align_bias : least;
    return key->align_before > 0 && key->align_before < least ? key->align_before : least;
}

/* Asks for at most `most` algorithms under our conditions; how many came, those preferred first. */
static int find_heuristics(Gemm *g, const Plan *plan, int most,
                           cublasLtMatmulHeuristicResult_t *result)
{
    cublasLtMatmulPreference_t list = NULL;
    int found = 0;
    if (g->preference_create(&list) != CUBLAS_STATUS_SUCCESS) {
        return 0;
    }
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const PlanKey *key = &plan->key;
    uint32_t align_d = output_alignment(key);
    bool ok =
        set_preference(g, list, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (uint64_t)WORKSPACE) &&
        set_preference(g, list, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions) &&
        set_preference(g, list, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key->align_a) &&
        set_preference(g, list, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key->align_b) &&
        set_preference(g, list, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_d) &&
        set_preference(g, list, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_d);
    ok = ok && g->heuristic(g->handle, plan->what, plan->a, plan->b, plan->d, plan->d, list, most,
                            result, &found) == CUBLAS_STATUS_SUCCESS;
    (void)g->preference_destroy(list);
    return ok ? found : 0;
}

/* Makes an algorithm the plan's, where it can be used. */
static bool select_algorithm(Plan *plan, const cublasLtMatmulHeuristicResult_t *result)
{
    plan->algorithm = result->algo;
    plan->workspace = result->workspaceSize;
    return result->state == CUBLAS_STATUS_SUCCESS && result->workspaceSize <= WORKSPACE;
}

static cublasStatus_t multiply(const Cuda *c, Gemm *g, const Plan *plan, const Product *p, void *d)
{
    float one = 1.0F, beta = p->add ? 1.0F : 0.0F;
    return g->multiply(g->handle, plan->what, &one, p->a, plan->a, p->b, plan->b, &beta, d, plan->d,
                       d, plan->d, &plan->algorithm, g->workspace, plan->workspace, c->stream);
}

/* The least time of RUNS runs of the plan's algorithm into d, in ms; INFINITY where it fails. One
 * more run before them warms up, and keeps the device busy while the host puts these in line. */
static float least_time(const Cuda *c, Gemm *g, const Plan *plan, const Product *p, void *d,
                        const cudaEvent_t mark[RUNS + 1])
{
    float least = INFINITY, ms = 0;
    bool ok = multiply(c, g, plan, p, d) == CUBLAS_STATUS_SUCCESS &&
              cudaEventRecord(mark[0], c->stream) == cudaSuccess;
    for (int r = 1; r <= RUNS && ok; ++r) {
        ok = multiply(c, g, plan, p, d) == CUBLAS_STATUS_SUCCESS &&
             cudaEventRecord(mark[r], c->stream) == cudaSuccess;
    }
    ok = ok && cudaEventSynchronize(mark[RUNS]) == cudaSuccess;
    for (int r = 1; r <= RUNS && ok; ++r) {
        ok = cudaEventElapsedTime(&ms, mark[r - 1], mark[r]) == cudaSuccess;
        least = ms < least ? ms : least;
    }
    if (!ok) {
        (void)cudaGetLastError(); /* not to be the next launch's */
    }
    return ok ? least : INFINITY;
}

/* The fastest of the offered algorithms, by a clock, on separate memory in place of D: neither D
 * nor scratch, which captured graphs may hold, is touched. If none runs, the plan is not usable. */
static cs_status choose_by_time(Cuda *c, Gemm *g, Plan *plan, const Product *p)
{
    cublasLtMatmulHeuristicResult_t offer[OFFERS] = {};
    const size_t bytes = (size_t)(p->n * p->ldd) * sizeof(float);
    const int count = find_heuristics(g, plan, OFFERS, offer);
    cudaEvent_t mark[RUNS + 1] = {};
    void *d = NULL;
    float best = INFINITY;
    int fastest = 0;
    if (count == 0) return CS_OK;
    cs_status status = cuda_memory(c, (int64_t)bytes, &d);
    if (status == CS_OK) /* it is added to */
        status = cuda_check(c, cudaMemsetAsync(d, 0, bytes, c->stream), "zero");
    for (int r = 0; r <= RUNS && status == CS_OK; ++r) {
        status = cuda_check(c, cudaEventCreateWithFlags(&mark[r], 0), "an event");
    }
    for (int i = 0; i < count && status == CS_OK; ++i) {
        float ms =
            select_algorithm(plan, &offer[i]) ? least_time(c, g, plan, p, d, mark) : INFINITY;
        if (ms < best) {
            best = ms;
            fastest = i;
        }
    }
    plan->usable = best < INFINITY && select_algorithm(plan, &offer[fastest]);
    (void)cudaStreamSynchronize(c->stream); /* of one that failed half-way */
    (void)cudaFree(d);
    for (cudaEvent_t event : mark) {
        if (event) {
            (void)cudaEventDestroy(event);
        }
    }
    return status;
}

static cs_status choose(Cuda *c, Gemm *g, Plan *plan, const Product *p)
{
    const bool weight_gradient = p->half_in && !p->half_out && p->add;
    if (c->search && weight_gradient && !c->capturing) {
        return choose_by_time(c, g, plan, p);
    }
    cublasLtMatmulHeuristicResult_t first = {};
    plan->usable = find_heuristics(g, plan, 1, &first) == 1 && select_algorithm(plan, &first);
    return CS_OK;
}

static void name_plan(Plan *plan, const Product *p)
{
    (void)snprintf(
        plan->name, sizeof plan->name, "product %lld x %lld x %lld, %c%c, %s to %s%s%s%s",
        (long long)p->m, (long long)p->n, (long long)p->k, p->transpose_a ? 'T' : 'N',
        p->transpose_b ? 'T' : 'N', p->half_in ? "bf16" : "fp32", p->half_out ? "bf16" : "fp32",
        p->add ? ", added" : "", p->bias ? ", bias" : "", p->before ? ", GELU" : "");
}

/* *out NULL when no more plans fit; usable says whether cuBLASLt does it. */
static cs_status plan_for(Cuda *c, Gemm *g, const Product *p, Plan **out)
{
    PlanKey key = key_of(p);
    *out = NULL;
    for (int i = 0; i < g->plans; ++i) {
        if (memcmp(&g->plan[i].key, &key, sizeof key) == 0) {
            *out = &g->plan[i];
            return CS_OK;
        }
    }
    if (g->plans == MAX_PLANS) {
        return CS_OK;
    }
    Plan *plan = &g->plan[g->plans];
    plan->key = key;
    name_plan(plan, p);
    cs_status status = describe(g, plan, p) ? choose(c, g, plan, p) : CS_OK;
    if (status != CS_OK) {
        plan_clear(g, plan);
        memset(plan, 0, sizeof *plan);
        return status;
    }
    ++g->plans;
    *out = plan;
    return CS_OK;
}

bool gemm_fuses(Cuda *c, const Product *p)
{
    Plan *plan = NULL;
    return c->gemm && plan_for(c, c->gemm, p, &plan) == CS_OK && plan && plan->usable;
}

cs_status gemm_run(Cuda *c, const Product *p)
{
    Gemm *g = c->gemm;
    Plan *plan = NULL;
    cs_status status = g ? plan_for(c, g, p, &plan) : CS_OK;
    if (status != CS_OK) return status;
    if (!plan || !plan->usable) {
        if (g)
            status =
                counts_refused(c->counts, plan ? plan->name : "products beyond the 1024th shape");
        return status ? status : own(c, p);
    }
    if (!set_pointers(g, plan, p)) {
        return c->host->fail(CS_ERR_DEVICE, "cuBLASLt refuses the pointer of a bias");
    }
    status = c->clock ? clock_start(c->clock, plan->name) : CS_OK;
    if (status == CS_OK) status = check(c, g, multiply(c, g, plan, p, p->d), "product");
    return status == CS_OK && c->clock ? clock_stop(c->clock) : status;
}
