/* A backend: memory and computation. Everything above it calls through this table.
 *
 * ref (float and double) is the specification, cpu the fast implementation, cuda a plug-in.
 * Functions of the table may assume that shapes fit (cs_graph checked them) and that indices are in
 * range (the host that builds batches checks them). They are deterministic: same bits for any
 * thread count and every run (unless by_clock is set). */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "tensor/graph.h"

typedef struct cs_backend cs_backend;
struct cs_run;

typedef enum { CS_REAL_F32, CS_REAL_F64, CS_REAL_BF16 } cs_real_kind;

/* Hyperparameters of one update, in memory of the backend because they change from step to step
 * while the launched work does not (a CUDA graph is replayed). */
typedef struct {
    float learning_rate, beta1, beta2, eps, weight_decay;
    float clip;         /* gradient clipping: largest norm; 0: none */
    float bias1, bias2; /* 1 - beta^t, t counts updates from 1 */
} cs_adamw;

/* One update of n parameters (Loshchilov and Hutter 2019, decoupled decay):
 *   c = min(1, clip / norm) (1 where clip is 0 or the norm 0), g = c grad,
 *   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2,
 *   value -= learning_rate (m / bias1 / (sqrt(v / bias2) + eps) + weight_decay decay value).
 * Nothing changes where the norm is not finite. */
typedef struct {
    int64_t n;
    void *value, *grad, *m, *v; /* parameter type */
    const uint8_t *decay;       /* n: 1 where weight decay applies */
    const double *norm;         /* backend memory: the gradient's norm, by `norm` below */
    const cs_adamw *hyper;      /* backend memory */
} cs_update;

/* Counters of the work of a backend. */
typedef struct {
    /* a kernel, or a product with its sizes; valid as long as the backend. NULL: there is no such
     * row */
    const char *what;
    int64_t times;  /* launches (a replayed graph's count once) */
    double seconds; /* on the device */
    /* a product for which the vendor's library has no algorithm: our own kernel computes it, up to
     * a hundred times slower. Not timed as such */
    bool refused;
} cs_backend_count;

struct cs_backend {
    const char *name;
    cs_real_kind activation,
        parameter; /* statistics, inputs and gradients of parameters: as parameter */
    void *state;
    /* calls return before the work is done; get waits for it. Batches keep one shape, and results
     * are read rarely. */
    bool asynchronous;

    /* products by the fastest algorithm: bits repeat as long as this backend is open; another one
     * may choose differently */
    bool by_clock;

    bool streams; /* computes on floats in the host's memory: parameters may be streamed */

    /* lacks rotary positions, gates, norms by parts or by root mean square, windows, caps, slopes
     * and grouped queries: models with these are refused (model.h) */
    bool basic;

    /* Memory. put and get copy between host and backend; put may be asynchronous but is ordered,
     * and its source may be reused when it returns. */
    cs_status (*alloc)(cs_backend *backend, int64_t bytes, void **out);
    void (*release)(cs_backend *backend, void *memory);
    cs_status (*put)(cs_backend *backend, void *to, const void *from, int64_t bytes);
    cs_status (*get)(cs_backend *backend, void *to, const void *from, int64_t bytes);
    cs_status (*zero)(cs_backend *backend, void *memory, int64_t bytes);

    /* Operations, by kind. backward is called if some operand needs a gradient. */
    cs_status (*forward[CS_OP_COUNT])(const struct cs_run *run, const cs_op *op);
    cs_status (*backward[CS_OP_COUNT])(const struct cs_run *run, const cs_op *op);

    /* *out (backend memory, one double) = sqrt(sum x^2) of n items of parameter type, summed in
     * double in a fixed order. */
    cs_status (*norm)(cs_backend *backend, int64_t n, const void *x, double *out);
    cs_status (*adamw)(cs_backend *backend, const cs_update *update);

    /* Optional: runs `walk` (which calls the functions above) or repeats the last run with the same
     * `what` (a CUDA graph). NULL: walk is called. */
    cs_status (*around)(cs_backend *backend, struct cs_run *run, int what,
                        cs_status (*walk)(struct cs_run *run));
    /* Optional: after parameters changed by other means than adamw (a bf16 copy is stale). */
    cs_status (*params_changed)(cs_backend *backend, int64_t n, const void *value);
    /* Optional: row 0, 1, .. of the counts: products refused; with cs_device_options.timed every
     * kernel too. Waits for the device. */
    cs_status (*counted)(cs_backend *backend, int64_t row, cs_backend_count *out);

    void (*free)(cs_backend *backend);
};

/* threads 0: cs_threads(). */
cs_status cs_backend_cpu(int threads, cs_backend **out) CS_MUST_CHECK;

void cs_backend_free(cs_backend **held); /* accepts NULL inside */

/* Bytes of one item. */
static inline int64_t cs_real_size(cs_real_kind kind)
{
    return kind == CS_REAL_F64 ? 8 : kind == CS_REAL_BF16 ? 2 : 4;
}

/* Item i of an array of the kind; set: not of bf16. */
static inline double cs_real_get(cs_real_kind kind, const void *x, int64_t i)
{
    if (kind == CS_REAL_F64) {
        return ((const double *)x)[i];
    }
    if (kind == CS_REAL_F32) {
        return ((const float *)x)[i];
    }
    uint32_t bits = (uint32_t)((const uint16_t *)x)[i] << 16; /* bf16: the upper half of a float */
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void cs_real_set(cs_real_kind kind, void *x, int64_t i, double value)
{
    if (kind == CS_REAL_F64) {
        ((double *)x)[i] = value;
    } else {
        ((float *)x)[i] = (float)value;
    }
}
