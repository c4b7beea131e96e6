/* The interface of the program and the CUDA plug-in (src/cuda) across dlopen.
 *
 * The plug-in exports one function, cs_cuda_plugin, and calls functions of the program only through
 * the host table. Both sides compile this header; `version` and the sizes of all shared structures
 * are compared before anything is called. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/backend.h"
#include "tensor/device.h"
#include "tensor/graph.h"
#include "tensor/run.h"

/* The version is increased by every change of the meaning of the functions. */
enum { CS_PLUGIN_VERSION = 5, CS_PLUGIN_SIZES = 12 };

#define CS_PLUGIN_SYMBOL "cs_cuda_plugin"

/* Functions that the plug-in may call. */
typedef struct {
    cs_status (*fail)(cs_status code, const char *format, ...);
    void *(*alloc)(int64_t count, size_t size); /* zeroed, host */
    void (*free)(void *p);
    cs_matrix (*matrix)(const cs_run *run, int tensor);
    const int32_t *(*ints)(const cs_run *run, int tensor);
    const int32_t *(*order)(const cs_run *run, int tensor);
} cs_plugin_host;

typedef struct {
    int device;          /* number of the GPU */
    int f32;             /* 1: everything in float, no TF32 (parity); 0: bf16 activations */
    int graphs;          /* 1: replay steps as CUDA graphs */
    int own_products;    /* 1: matrix products by the plug-in's own kernel, cuBLASLt not loaded */
    int timed;           /* 1: kernels between events, no graphs */
    int search_products; /* 1: weight gradients of bf16 by the fastest of cuBLASLt's algorithms */
} cs_plugin_options;

typedef struct {
    int32_t version;
    int32_t size[CS_PLUGIN_SIZES];
    int32_t needs_driver; /* 0: runs without a driver (the emulation of the tests) */
    cs_status (*open)(const cs_plugin_host *host, const cs_plugin_options *options,
                      cs_backend **out);
} cs_plugin;

typedef const cs_plugin *(*cs_plugin_entry)(void);

static inline void cs_plugin_sizes(int32_t size[CS_PLUGIN_SIZES])
{
    size[0] = (int32_t)sizeof(cs_backend);
    size[1] = (int32_t)sizeof(cs_run);
    size[2] = (int32_t)sizeof(cs_graph);
    size[3] = (int32_t)sizeof(cs_tensor);
    size[4] = (int32_t)sizeof(cs_op);
    size[5] = (int32_t)sizeof(cs_update);
    size[6] = (int32_t)sizeof(cs_adamw);
    size[7] = (int32_t)sizeof(cs_run_key);
    size[8] = (int32_t)sizeof(cs_params);
    size[9] = (int32_t)sizeof(cs_plugin_host);
    size[10] = (int32_t)sizeof(cs_plugin_options);
    size[11] = (int32_t)sizeof(cs_matrix);
}

/* Compares version and sizes, then opens. */
cs_status cs_plugin_open(const cs_plugin *plugin, const cs_device_options *options,
                         cs_backend **out) CS_MUST_CHECK;
