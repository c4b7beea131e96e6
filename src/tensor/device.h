/* The backend of a computation: the choice behind `--device cpu|cuda|auto`.
 *
 * The GPU part is a separate shared object, opened only on request, so that the program starts in
 * milliseconds and runs without CUDA. A request for `cuda` by name returns it or CS_ERR_DEVICE with
 * the cause; only `auto` falls back to the CPU, with the reason. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/backend.h"

typedef struct {
    int threads;       /* cpu: 0: cs_threads() */
    int number;        /* cuda: which GPU, from 0 */
    bool f32;          /* cuda: everything in float (parity); false: bf16 with float parameters */
    bool no_graphs;    /* cuda: launch every operation separately, for debugging */
    bool own_products; /* cuda: matrix products without cuBLASLt, for debugging */
    bool timed;        /* cuda: every kernel between two events, nothing replayed (backend.h) */
    /* cuda, with bf16: the fastest of cuBLASLt's algorithms for a weight gradient, timed when its
     * shape first occurs, in memory of the size of the gradient; false: the first algorithm. They
     * split sums in different ways: bits depend on the clock (cs_backend.by_clock) */
    bool search_products;
} cs_device_options;

/* The CUDA backend from the plug-in: the file `plugin`, or for NULL the one named by
 * $COSPEC_PLUGIN, else cospec-cuda.so in the folder of the program or in ../lib/cospec. options
 * NULL: all zero. On failure, after milliseconds: plug-in not built, not made for this program
 * (version and structure sizes are compared), no driver, no device, a device older than compute
 * capability 9.0; each is CS_ERR_DEVICE with a sentence that states it. The plug-in stays loaded.
 */
cs_status cs_backend_cuda(const char *plugin, const cs_device_options *options,
                          cs_backend **out) CS_MUST_CHECK;

/* device "cpu", "cuda", "cuda:N" (GPU N, else options->number) or "auto" (CS_ERR_USAGE: another
 * word). `auto` selects the GPU if there is one, else the CPU with the reason in why (`capacity` bytes,
 * truncated; "" without a fallback; why may be NULL). */
cs_status cs_device_open(const char *device, const cs_device_options *options, char *why,
                         int64_t capacity, cs_backend **out) CS_MUST_CHECK;
