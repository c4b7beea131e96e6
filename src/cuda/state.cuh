/* The plug-in's state and what its files call of each other. Host code.
 *
 * How far the host may run ahead of the device: what goes there waits in one of PIN_SLOTS pinned
 * slots, and the host waits only for the slot used PIN_SLOTS pieces (of at most PIN_BYTES) before.
 * A training step puts five (indices, their order, inputs, key, hyperparameters), so three steps
 * may be queued; inputs above PIN_BYTES take several slots and shorten that. Reading back waits for
 * everything. */
#pragma once

#include "cuda/counts.cuh"
#include "cuda/kernels.cuh"

enum { MAX_GRAPHS = 64, PIN_SLOTS = 16 };
static constexpr int64_t PIN_BYTES = 2 << 20;

struct Gemm; /* gemm.cu */

/* Memory handed out. */
struct Block {
    unsigned char *memory;
    int64_t bytes;
    Block *next;
};

/* A bf16 copy of a block of parameters. */
struct Shadow {
    const float *value;
    int64_t items;
    bf16 *copy;
    bool stale;
    Shadow *next;
};

/* A walk that was captured: for one run, purpose and sizes. */
struct Captured {
    const cs_run *run;
    int what;
    int64_t row_sets, *sizes; /* batch and length of each row set */
    cudaGraphExec_t exec;     /* NULL until the second time */
};

/* Where a bucket of relative positions is looked up. */
struct Buckets {
    int64_t buckets, max_distance, reach; /* entries for distances -reach .. reach */
    int bidirectional;
    int32_t *map; /* device */
    Buckets *next;
};

struct Cuda : Device {
    cs_backend table; /* table.state points back here */
    const cs_plugin_host *host;
    bool half;   /* bf16 activations */
    bool search; /* weight gradients by the fastest of cuBLASLt's algorithms */
    bool graphs, capturing;

    unsigned char *pinned; /* PIN_SLOTS buffers on the way to the device, one back */
    cudaEvent_t pin_free[PIN_SLOTS];
    int pin_next;

    void *scratch; /* of one operation */
    int64_t scratch_bytes;

    Block *blocks;
    Shadow *shadows;
    Buckets *buckets;
    Captured captured[MAX_GRAPHS];
    int captured_count;
    Gemm *gemm;
    Counts *counts;
};

static inline Cuda *cuda_of(const cs_run *run)
{
    return static_cast<Cuda *>(run->backend->state);
}

/* Scratch memory for the current operation: valid until the next call. Grows only outside of
 * capture. */
cs_status cuda_scratch_bytes(Cuda *c, int64_t bytes, void **out);
template <typename T> static inline cs_status cuda_scratch(Cuda *c, int64_t count, T **out)
{
    void *work = NULL;
    cs_status status = cuda_scratch_bytes(c, count * (int64_t)sizeof(T), &work);
    *out = static_cast<T *>(work);
    return status;
}

/* The bf16 copy of parameters that start at `value`, up to date; NULL in float mode. */
cs_status cuda_shadow(const cs_run *run, const void *value, const bf16 **out);
cs_status cuda_params_changed(cs_backend *backend, int64_t n, const void *value);
Shadow *cuda_find_shadow(Cuda *c, const void *value);
void cuda_mark_stale(Cuda *c, const void *from, int64_t bytes);

/* Device table of cs_relative_bucket for clamped distances, computed on the host. */
cs_status cuda_buckets(Cuda *c, int64_t buckets, int64_t max_distance, int bidirectional,
                       const Buckets **out);

static inline Drop drop_of(const cs_run *run, const cs_op *op, int64_t head, double p)
{
    Drop d;
    d.key = run->key;
    d.purpose = cs_drop_purpose(op - run->graph->op, head);
    d.threshold = cs_drop_threshold(p);
    d.scale = (float)(1.0 / (1.0 - p));
    return d;
}

/* A matrix as kernels take it: row r begins at x + r ld; x NULL: absent. */
template <typename T> struct Rows {
    T *x;
    int64_t ld;
    __device__ inline T *row(int64_t r) const
    {
        return x + r * ld;
    }
};
template <typename T> static inline Rows<T> rows_of(const cs_matrix &m)
{
    return {static_cast<T *>(m.x), m.ld};
}
/* Of its gradient; absent where it is not wanted. */
template <typename T> static inline Rows<T> grads_of(const cs_matrix &m, bool wanted)
{
    return {wanted ? static_cast<T *>(m.grad) : NULL, m.ld};
}
/* May rows, of `cols` items, be read `bytes` at a time? An absent matrix may. */
template <typename T> static inline bool wide_rows(const Rows<T> &m, int64_t cols, int64_t bytes)
{
    int64_t size = (int64_t)sizeof(T);
    return !m.x || (reinterpret_cast<uintptr_t>(m.x) % (uintptr_t)bytes == 0 &&
                    m.ld * size % bytes == 0 && cols * size % bytes == 0);
}
template <typename... M> static inline bool all_wide(int64_t cols, const M &...m)
{
    return (wide_rows(m, cols, 16) && ...);
}
template <typename T> static constexpr int PACK = 16 / (int)sizeof(T); /* items of 16 bytes */
/* The same for one row of parameters that is read with rows of T, PACK<T> of them at a time. */
template <typename T> static inline bool wide_row(const float *x, int64_t cols)
{
    return wide_rows(Rows<const float>{x, 0}, cols, PACK<T> * (int64_t)sizeof(float));
}

/* --- launching -------------------------------------------------------------------------------- */

/* A thread for each pack of n items: kernel(rows, packs, args) with block.x packs by block.y rows,
 * rows along grid.x. */
template <typename... P, typename... A>
static inline cs_status launch_packs(const Device *c, const char *name, int n,
                                     void (*kernel)(int64_t, int64_t, P...), int64_t rows,
                                     int64_t cols, A... args)
{
    int64_t packs = cols / n;
    unsigned across = 1;
    while (across < MAX_BLOCK && across < packs) {
        across *= 2;
    }
    unsigned down = MAX_BLOCK / across;
    dim3 grid((unsigned)ceil_div(rows, down), (unsigned)ceil_div(packs, across));
    return launch(c, name, kernel, grid, dim3(across, down), 0, rows, packs, args...);
}

/* In a kernel: the row and the first column of its pack. */
#define TILE_ROW ((int64_t)blockIdx.x * blockDim.y + threadIdx.y)
#define TILE_PACK ((int64_t)blockIdx.y * blockDim.x + threadIdx.x)

/* --- the other files -------------------------------------------------------------------------- */

/* One matrix product, column-major as cuBLAS has it: D = op(A) op(B) + beta D, m x n, inner k. */
struct Product {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *d;
    int64_t ldd;
    bool half_in, half_out;  /* type of a and b; of d */
    bool add = false;        /* beta 1 */
    const bf16 *bias = NULL; /* m items added to each column, by cuBLASLt; NULL: none */
    bf16 *before = NULL;     /* with it: act is GELU (tanh), the value before it goes here */
    int64_t ld_before = 0;
};

cs_status gemm_open(Cuda *c, bool own, Gemm **out);
void gemm_free(Cuda *c, Gemm *gemm);
cs_status gemm_run(Cuda *c, const Product *product);
/* Can the bias (and GELU) of this product be left to cuBLASLt? */
bool gemm_fuses(Cuda *c, const Product *product);

/* Of an operation for activations of type T: templates of its file, which makes both by BY_TYPE. */
#define OP_FUNCTIONS(KIND, name, operands)                                                         \
    template <typename T> cs_status name##_forward(const cs_run *run, const cs_op *op);            \
    template <typename T> cs_status name##_backward(const cs_run *run, const cs_op *op);
CS_EACH_OP(OP_FUNCTIONS)
#define BY_TYPE(name)                                                                              \
    template cs_status name##_forward<float>(const cs_run *run, const cs_op *op);                  \
    template cs_status name##_forward<bf16>(const cs_run *run, const cs_op *op);                   \
    template cs_status name##_backward<float>(const cs_run *run, const cs_op *op);                 \
    template cs_status name##_backward<bf16>(const cs_run *run, const cs_op *op);

cs_status norm_of(cs_backend *backend, int64_t n, const void *x, double *out);
cs_status adamw_update(cs_backend *backend, const cs_update *update);
cs_status round_to_half(Cuda *c, int64_t n, const float *from, bf16 *to);
