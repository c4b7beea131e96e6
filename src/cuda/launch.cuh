/* The CUDA language as the kernels use it: from the toolkit, or (CS_CUDA_EMULATION) from the test
 * harness that runs the same sources on the CPU, thread by thread (tests/cuda_emulation). */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef CS_CUDA_EMULATION
#include "emulator.h"
#else
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#define CS_SHARED_BYTES(name) extern __shared__ __align__(16) unsigned char name[]
#endif

/* Members that both tables of the plug-in share. PLUGIN_LOWEST: the least compute capability that it
 * has code for, times 10 (tests/cuda_options.sh). */
#ifdef CS_CUDA_EMULATION
#define PLUGIN_LOWEST 80
#define PLUGIN_NEEDS_DRIVER 0
#else
#define PLUGIN_NEEDS_DRIVER 1
#endif

extern "C" {
#include "base/status.h"
}

enum { WARP = 32, MAX_BLOCK = 256 };

struct Counts; /* counts.cu */

/* A GPU in use and the queue of its work: what the trainer's state and the solvers' share. */
struct Device {
    cs_status (*fail)(cs_status code, const char *format, ...);
    int64_t shared_limit; /* bytes of shared memory a block may ask for */
    cudaStream_t stream;
    Counts *clock; /* where kernels are timed; NULL: they are not */
};

/* Around what is put on the stream: its time is added to the name's. */
cs_status clock_start(Counts *all, const char *name);
cs_status clock_stop(Counts *all);

/* CS_OK, or CS_ERR_DEVICE with what was done and what CUDA says. */
cs_status cuda_check(const Device *c, cudaError_t code, const char *doing);

/* Device memory: CS_ERR_MEMORY says what was asked and what is free. */
cs_status cuda_memory(const Device *c, int64_t bytes, void **out);

/* Checks that GPU `number` exists and is new enough for this plug-in, and makes it current from
 * here on; `name` receives the card's. */
cs_status cuda_choose(Device *c, int number, char *name, size_t capacity);

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* --- launching -------------------------------------------------------------------------------- */

template <typename... P, typename... A>
static inline cs_status launch(const Device *c, const char *name, void (*kernel)(P...), dim3 grid,
                               dim3 block, int64_t shared, A... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
        return CS_OK;
    }
    if (grid.y > 65535 || grid.z > 65535) {
        return c->fail(CS_ERR_USAGE, "CUDA %s: grid of %u x %u x %u blocks", name, grid.x, grid.y,
                       grid.z);
    }
    if (shared > 48 * 1024) {
        cs_status status =
            shared <= c->shared_limit
                ? cuda_check(c,
                             cudaFuncSetAttribute((const void *)kernel,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  (int)shared),
                             name)
                : c->fail(CS_ERR_USAGE,
                          "CUDA %s: a block needs %lld bytes of shared memory, but this GPU has "
                          "%lld; use narrower heads or --device cpu",
                          name, (long long)shared, (long long)c->shared_limit);
        if (status != CS_OK) return status;
    }
    if (c->clock) {
        cs_status status = clock_start(c->clock, name);
        if (status != CS_OK) return status;
    }
#ifdef CS_CUDA_EMULATION
    emulate_launch(name, grid, block, (size_t)shared, [=]() { kernel(static_cast<P>(args)...); });
#else
    kernel<<<grid, block, (size_t)shared, c->stream>>>(static_cast<P>(args)...);
#endif
    cs_status launched = cuda_check(c, cudaGetLastError(), name);
    return launched == CS_OK && c->clock ? clock_stop(c->clock) : launched;
}

/* A thread for each of n items. */
template <typename... P, typename... A>
static inline cs_status launch_items(const Device *c, const char *name, void (*kernel)(P...),
                                     int64_t n, A... args)
{
    return launch(c, name, kernel, dim3((unsigned)ceil_div(n, MAX_BLOCK)), dim3(MAX_BLOCK), 0,
                  args...);
}
