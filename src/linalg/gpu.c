/* Opens the linear algebra of the CUDA plug-in (base/plugin.h). */
#include "linalg/gpu.h"

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "base/threads.h"

static cs_status host_random(uint64_t seed, uint64_t index, int64_t rows, double *to)
{
    return cs_space_random(seed, index, rows, 0, to);
}

cs_status cs_gpu_table_open(const cs_gpu_table *table, int number, cs_gpu **out)
{
    static const cs_gpu_host host = {.fail = cs_fail,
                                     .alloc = cs_calloc,
                                     .free = cs_free,
                                     .interrupted = cs_interrupt_check,
                                     .random = host_random};
    int32_t size[CS_GPU_SIZES];
    cs_gpu_sizes(size);
    cs_status status = cs_plugin_compare(table ? table->version : -1, CS_GPU_VERSION, CS_GPU_SIZES,
                                         table ? table->size : size, size);
    return status == CS_OK && table ? table->open(&host, number, out) : status;
}

typedef struct {
    int number;
    cs_gpu *gpu;
} opening;

static cs_status open_table(const void *table, void *ctx)
{
    opening *o = ctx;
    const cs_gpu_table *t = table;
    cs_status status = CS_OK;
    if (t && t->version == CS_GPU_VERSION && t->needs_driver) {
        status = cs_plugin_driver();
    }
    return status ? status : cs_gpu_table_open(t, o->number, &o->gpu);
}

cs_status cs_gpu_open(const char *plugin, int number, cs_gpu **out)
{
    opening o = {.number = number};
    cs_status status = cs_plugin_use(plugin, CS_GPU_SYMBOL, open_table, &o);
    if (status == CS_OK) *out = o.gpu;
    return status;
}

void cs_gpu_close(cs_gpu **gpu)
{
    if (*gpu) {
        (*gpu)->close(*gpu);
    }
    *gpu = NULL;
}

cs_status cs_gpu_estimate(cs_gpu *gpu, const cs_csr *a, int64_t k, cs_gpu_bytes *out)
{
    enum { FRESH = 200 }; /* columns of a fresh block's run */
    CS_AUTO(cs_csr) turned = {0};
    bool wide = a->rows < a->cols;
    int64_t m = wide ? a->cols : a->rows, n = wide ? a->rows : a->cols, all = 0;
    k = k > 0 ? k : n;
    int64_t basis = cs_least(cs_most(6 * k, k + FRESH), n);
    cs_status status = wide ? cs_csr_transpose(a, &turned) : CS_OK;
    cs_linop tall = {.rows = m, .cols = n, .data = {.a = wide ? &turned : a}};
    status = status ? status : gpu->need(gpu, CS_GPU_GESVD, &tall, &out->dense);
    status = status ? status : gpu->need(gpu, CS_GPU_SYEVD, &tall, &out->gram);
    status = status ? status : gpu->memory(gpu, &out->free_bytes, &all);
    out->sparse = cs_gpu_sparse_bytes(m, n, cs_csr_nnz(a)) +
                  (n * basis + (m + n) * (k + INT64_C(2) * CS_PANEL)) * (int64_t)sizeof(double);
    return status;
}
