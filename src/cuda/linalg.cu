/* Entry point of the plug-in's linear algebra: device, libraries, memory. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda/linalg.cuh"

cs_status blas_check(const Gpu *g, cublasStatus_t code, const char *doing)
{
    return code == CUBLAS_STATUS_SUCCESS
               ? CS_OK
               : g->host->fail(code == CUBLAS_STATUS_ALLOC_FAILED ? CS_ERR_MEMORY : CS_ERR_DEVICE,
                               "cuBLAS %s: %s", doing, g->blas.text(code));
}

cs_status solver_check(const Gpu *g, cusolverStatus_t code, const char *doing)
{
    return code == CUSOLVER_STATUS_SUCCESS
               ? CS_OK
               : g->host->fail(code == CUSOLVER_STATUS_ALLOC_FAILED ? CS_ERR_MEMORY : CS_ERR_DEVICE,
                               "cuSOLVER %s: status %d", doing, (int)code);
}

cs_status sparse_check(const Gpu *g, cusparseStatus_t code, const char *doing)
{
    bool memory =
        code == CUSPARSE_STATUS_ALLOC_FAILED || code == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    return code == CUSPARSE_STATUS_SUCCESS
               ? CS_OK
               : g->host->fail(memory ? CS_ERR_MEMORY : CS_ERR_DEVICE, "cuSPARSE %s: %s", doing,
                               g->sparse.text(code));
}

/* --- memory ----------------------------------------------------------------------------------- */

cs_status gpu_wait(const Gpu *g)
{
    return cuda_check(&g->cuda, cudaStreamSynchronize(g->cuda.stream), "wait for the device");
}

void gpu_release(const Gpu *g, std::initializer_list<void *> blocks)
{
    for (void *block : blocks) {
        if (block) {
            (void)cudaStreamSynchronize(g->cuda.stream);
            (void)cudaFree(block);
        }
    }
}

cs_status gpu_check_memory(const Gpu *g, int64_t need, const char *format, ...)
{
    const double mib = 1024.0 * 1024.0;
    char what[256];
    size_t left = 0, all = 0;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    cs_status status = cuda_check(&g->cuda, cudaMemGetInfo(&left, &all), "memory query");
    return status || (uint64_t)need <= left
               ? status
               : g->host->fail(CS_ERR_MEMORY, "GPU memory: %s %.1f MiB, %.1f MiB of %.1f are free",
                               what, (double)need / mib, (double)left / mib, (double)all / mib);
}

static cs_status copy(const Gpu *g, void *to, const void *from, int64_t bytes, bool back)
{
    if (bytes == 0) {
        return CS_OK;
    }
    cs_status status = cuda_check(
        &g->cuda,
        cudaMemcpyAsync(to, from, (size_t)bytes,
                        back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, g->cuda.stream),
        back ? "copy from the device" : "copy to the device");
    return status == CS_OK ? gpu_wait(g) : status;
}

cs_status gpu_put(const Gpu *g, void *to, const void *from, int64_t bytes)
{
    return copy(g, to, from, bytes, false);
}

cs_status gpu_get(const Gpu *g, void *to, const void *from, int64_t bytes)
{
    return copy(g, to, from, bytes, true);
}

cs_status gpu_zero(const Gpu *g, void *p, int64_t bytes)
{
    return bytes > 0
               ? cuda_check(&g->cuda, cudaMemsetAsync(p, 0, (size_t)bytes, g->cuda.stream), "zero")
               : CS_OK;
}

cs_status gpu_put_columns(const Gpu *g, double *to, const cs_dense *from, const double *scale)
{
    double *column = static_cast<double *>(g->host->alloc(from->rows, sizeof *column));
    cs_status status = column ? CS_OK : CS_ERR_MEMORY;
    for (int64_t j = 0; status == CS_OK && j < from->cols; ++j) {
        for (int64_t i = 0; i < from->rows; ++i) {
            column[i] = from->data[i + j * from->ld] * (scale ? scale[j] : 1.0);
        }
        status = gpu_put(g, to + j * from->rows, column, from->rows * (int64_t)sizeof *column);
    }
    g->host->free(column);
    return status;
}

cs_status gpu_gemm(const Gpu *g, const Dgemm *d)
{
    if (d->m == 0 || d->n == 0) {
        return CS_OK;
    }
    return blas_check(g,
                      g->blas.gemm(g->blas.handle, d->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                   d->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, d->m, d->n, d->k,
                                   &d->alpha, d->a, d->lda, d->b, d->ldb, &d->beta, d->c, d->ldc),
                      "product");
}

static cs_status gpu_memory(cs_gpu *gpu, int64_t *free_bytes, int64_t *all)
{
    size_t left = 0, total = 0;
    cs_status status =
        cuda_check(&gpu_of(gpu)->cuda, cudaMemGetInfo(&left, &total), "memory query");
    *free_bytes = (int64_t)left;
    *all = (int64_t)total;
    return status;
}

/* --- libraries -------------------------------------------------------------------------------- */

/* All three are opened, so that one message names all that are missing. The libraries stay loaded:
 * unloading them costs and gains nothing. */
static cs_status open_libraries(Gpu *g)
{
    static const char *const name[] = {"libcublas.so.13", "libcusolver.so.12", "libcusparse.so.12"};
    void *library[3];
    char absent[128] = "", why[512] = "";
    for (int i = 0; i < 3; ++i) {
        library[i] = library_open(name[i]);
        if (!library[i]) {
            if (!absent[0]) {
                (void)snprintf(why, sizeof why, "%s", library_error());
            }
            size_t length = strlen(absent);
            (void)snprintf(absent + length, sizeof absent - length, "%s%s", length > 0 ? ", " : "",
                           name[i]);
        }
    }
    if (absent[0]) {
        return g->host->fail(CS_ERR_DEVICE, "no GPU in use: cannot load %s: %s", absent, why);
    }
    const char *missing[3] = {g->blas.find(library[0]), g->solver.find(library[1]),
                              g->sparse.find(library[2])};
    for (int i = 0; i < 3; ++i) {
        if (missing[i]) {
            return g->host->fail(CS_ERR_DEVICE, "no GPU in use: %s has no %s", name[i], missing[i]);
        }
    }
    return CS_OK;
}

static cs_status start_libraries(Gpu *g)
{
    cudaStream_t stream = g->cuda.stream;
    Blas *b = &g->blas;
    Solver *s = &g->solver;
    Sparse *p = &g->sparse;
    cs_status status = blas_check(g, b->create(&b->handle), "start");
    status = status ? status : blas_check(g, b->set_stream(b->handle, stream), "choice of stream");
    status = status ? status : solver_check(g, s->create(&s->handle), "start");
    if (status == CS_OK)
        status = solver_check(g, s->set_stream(s->handle, stream), "choice of stream");
    if (status == CS_OK)
        status = solver_check(g, s->set_deterministic(s->handle, CUSOLVER_DETERMINISTIC_RESULTS),
                              "choice of determinism");
    status = status ? status : solver_check(g, s->params_create(&s->params), "parameters");
    status = status ? status : solver_check(g, s->jacobi_create(&s->jacobi), "parameters");
    status = status ? status : sparse_check(g, p->create(&p->handle), "start");
    return status ? status : sparse_check(g, p->set_stream(p->handle, stream), "choice of stream");
}

/* --- open and close --------------------------------------------------------------------------- */

static void gpu_close(cs_gpu *gpu)
{
    Gpu *g = gpu_of(gpu);
    if (g->cuda.stream) {
        (void)cudaStreamSynchronize(g->cuda.stream);
    }
    destroy(g->sparse.destroy, g->sparse.handle);
    destroy(g->solver.jacobi_destroy, g->solver.jacobi);
    destroy(g->solver.params_destroy, g->solver.params);
    destroy(g->solver.destroy, g->solver.handle);
    destroy(g->blas.destroy, g->blas.handle);
    (void)cudaFree(g->info);
    if (g->cuda.stream) {
        (void)cudaStreamDestroy(g->cuda.stream);
    }
    g->host->free(g);
}

static void fill_table(Gpu *g)
{
    g->table.name = g->name;
    g->table.state = g;
    g->table.close = gpu_close;
    g->table.memory = gpu_memory;
    g->table.need = dense_need;
    g->table.dense = dense_svd;
    g->table.eigen = dense_eigen;
    g->table.space = space_open;
    g->table.space_free = space_free;
}

static cs_status gpu_open(const cs_gpu_host *host, int number, cs_gpu **out)
{
    Gpu *g = static_cast<Gpu *>(host->alloc(1, sizeof *g));
    if (!g) return CS_ERR_MEMORY;
    g->host = host;
    g->cuda.fail = host->fail;
    fill_table(g);
    cs_status status = cuda_choose(&g->cuda, number, g->name, sizeof g->name);
    status = status ? status : open_libraries(g);
    status = status ? status
                    : cuda_check(&g->cuda,
                                 cudaStreamCreateWithFlags(&g->cuda.stream, cudaStreamNonBlocking),
                                 "a stream");
    status = status ? status : gpu_alloc(g, 1, &g->info);
    status = status ? status : start_libraries(g);
    if (status != CS_OK) {
        gpu_close(&g->table);
        return status;
    }
    *out = &g->table;
    return CS_OK;
}

extern "C" __attribute__((visibility("default"))) const cs_gpu_table *cs_cuda_linalg(void);

extern "C" const cs_gpu_table *cs_cuda_linalg(void)
{
    static cs_gpu_table table;
    table.version = CS_GPU_VERSION;
    cs_gpu_sizes(table.size);
    table.needs_driver = PLUGIN_NEEDS_DRIVER;
    table.open = gpu_open;
    return &table;
}
