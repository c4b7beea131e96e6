/* The device, its memory, and what CUDA says. */
#include "cuda/launch.cuh"

#include <stdio.h>

cs_status cuda_check(const Device *c, cudaError_t code, const char *doing)
{
    if (code == cudaSuccess) {
        return CS_OK;
    }
    return c->fail(code == cudaErrorMemoryAllocation ? CS_ERR_MEMORY : CS_ERR_DEVICE, "CUDA %s: %s",
                   doing, cudaGetErrorString(code));
}

cs_status cuda_memory(const Device *c, int64_t bytes, void **out)
{
    size_t free_bytes = 0, all = 0;
    cs_status status = cuda_check(c, cudaMemGetInfo(&free_bytes, &all), "memory query");
    if (status != CS_OK) return status;
    const double mib = 1024.0 * 1024.0;
    if (bytes < 0 || (uint64_t)bytes > free_bytes) {
        return c->fail(CS_ERR_MEMORY,
                       "GPU memory: %.1f MiB requested, but only %.1f MiB of %.1f MiB are free",
                       (double)bytes / mib, (double)free_bytes / mib, (double)all / mib);
    }
    if (cudaMalloc(out, bytes > 0 ? (size_t)bytes : 1) != cudaSuccess) {
        (void)cudaGetLastError(); /* reported here */
        return c->fail(CS_ERR_MEMORY,
                       "GPU memory: %.1f MiB requested; %.1f MiB are free, but not contiguous",
                       (double)bytes / mib, (double)free_bytes / mib);
    }
    return CS_OK;
}

static __global__ void probe_kernel()
{
}

/* The device is there and this plug-in has code for it. */
cs_status cuda_choose(Device *c, int number, char *name, size_t capacity)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        return c->fail(CS_ERR_DEVICE, "no GPU: %s",
                       code != cudaSuccess ? cudaGetErrorString(code)
                                           : "the driver reports no device");
    }
    if (number < 0 || number >= count) {
        return c->fail(CS_ERR_DEVICE, "no GPU has number %d; GPUs found: %d", number, count);
    }
    cudaDeviceProp about;
    cs_status status = cuda_check(c, cudaGetDeviceProperties(&about, number), "device query");
    if (status != CS_OK) return status;
    if (10 * about.major + about.minor < PLUGIN_LOWEST) {
        return c->fail(
            CS_ERR_DEVICE, "no GPU in use: %s has compute capability %d.%d, but %d.%d is needed",
            about.name, about.major, about.minor, PLUGIN_LOWEST / 10, PLUGIN_LOWEST % 10);
    }
    (void)snprintf(name, capacity, "%s", about.name);
    c->shared_limit = (int64_t)about.sharedMemPerBlockOptin;
    status = cuda_check(c, cudaSetDevice(number), "choice of the device");
    cudaFuncAttributes attributes;
    if (status == CS_OK &&
        cudaFuncGetAttributes(&attributes, (const void *)probe_kernel) != cudaSuccess) {
        (void)cudaGetLastError();
        return c->fail(CS_ERR_DEVICE, "no GPU in use: the plug-in has no code for %s (%d.%d)",
                       about.name, about.major, about.minor);
    }
    return status;
}
