/* Which backend computes: the choice behind `--device cpu|cuda|auto`.
 *
 * The GPU part is a shared object of its own, opened only when asked for, so that the program
 * starts in milliseconds and runs where there is no CUDA. Whoever asks for `cuda` by name gets it
 * or CS_ERR_DEVICE with the cause; only `auto` falls back to the CPU, and says why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/backend.h"

typedef struct {
    int threads;       /* cpu: 0: cs_threads() */
    int number;        /* cuda: which GPU, from 0 */
    bool f32;          /* cuda: everything in float (parity); false: bf16 with float parameters */
    bool no_graphs;    /* cuda: launch every operation anew, to find a fault */
    bool own_products; /* cuda: matrix products without cuBLASLt, to find a fault */
    bool timed;        /* cuda: every kernel between two events, nothing replayed (backend.h) */
    /* cuda, with bf16: of cuBLASLt's algorithms for a weight gradient the fastest, timed when its
     * shape first comes, in memory of the gradient's size; false: the first. They split sums in
     * different ways: bits depend on the clock (cs_backend.by_clock) */
    bool search_products;
} cs_device_options;

/* The CUDA backend out of the plug-in: the file `plugin`, or where NULL the one named by
 * $COSPEC_PLUGIN, else cospec-cuda.so beside the program or in ../lib/cospec. options NULL: all
 * zero. Takes milliseconds where it fails: plug-in not built, not made for this program (version
 * and structure sizes are compared), no driver, no device, a device older than compute capability
 * 9.0; each CS_ERR_DEVICE with a sentence that says so. The plug-in stays loaded. */
cs_status cs_backend_cuda(const char *plugin, const cs_device_options *options,
                          cs_backend **out) CS_MUST_CHECK;

/* device "cpu", "cuda", "cuda:N" (GPU N, else options->number) or "auto" (CS_ERR_USAGE: another
 * word). `auto` takes the GPU where there is
 * one, else the CPU with the reason in why (room bytes, cut at the end; "" where nothing fell back;
 * why may be NULL). */
cs_status cs_device_open(const char *device, const cs_device_options *options, char *why,
                         int64_t room, cs_backend **out) CS_MUST_CHECK;
