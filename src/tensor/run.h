/* A graph with memory: inputs in, forward, backward, numbers out.
 *
 *   cs_run_init; then per batch: cs_run_rows (present sizes), fill cs_run_index / cs_run_input,
 *   cs_run_upload, cs_run_forward, cs_run_backward.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "tensor/backend.h"
#include "tensor/graph.h"
#include "tensor/params.h"

/* The key of random numbers within a step (tensor/dropout.h), in memory of the backend. */
typedef struct {
    uint64_t seed;
    uint32_t step, micro; /* micro-batch within the step */
} cs_run_key;

typedef struct cs_run {
    const cs_graph *graph; /* borrowed, as are the next two */
    cs_backend *backend;
    cs_params *params;
    int64_t *batch, *length;     /* present size of each row set (host) */
    int32_t **filled;            /* rows with content before each sequence: batch + 1 (host) */
    bool *padded;                /* row sets with rows of padding (host) */
    void *space[CS_SPACE_COUNT]; /* backend memory; parameters have their own */
    void *grad;                  /* gradients of activations */
    cs_run_key *key;             /* backend memory, 1 */
    /* Numbers of the rows of every index tensor that gather or embed scatter back to, sorted by
     * index (stable): order has the offsets of CS_SPACE_INDEX. Lets a backend add rows in rising
     * order without atomics. */
    int32_t *order;
    int32_t *host_index, *host_order; /* staging, as space[CS_SPACE_INDEX] and order */
    int32_t *counter;                 /* of the sort */
    void *host_input;                 /* staging, parameter type */
    cs_run_key host_key;
    cs_pool pool; /* of the host arrays */
} cs_run;

cs_status cs_run_init(const cs_graph *graph, cs_params *params, cs_run **out) CS_MUST_CHECK;
void cs_run_free(cs_run **held);

/* Bytes that cs_run_init allocates, for a memory estimate. */
int64_t cs_run_bytes(const cs_graph *graph, const cs_backend *backend);

/* Present size of a row set, at most the graph's. */
cs_status cs_run_rows(cs_run *run, int row_set, int64_t batch, int64_t length) CS_MUST_CHECK;

/* The first `rows` rows of sequence b have content; the others are padding, which no row sees and no
 * loss reads, and a backend need not compute them. Called for each b in order, after cs_run_rows,
 * which leaves no padding. A sequence with little padding counts as full: splitting a product costs
 * more. */
void cs_run_filled(cs_run *run, int row_set, int64_t b, int64_t rows);

/* Host staging of an index tensor: batch * length values at the present size. Set before upload:
 * set the size first. */
int32_t *cs_run_index(cs_run *run, int tensor);
/* Sets input (row, col) = x: staging in whatever type the backend has. */
void cs_run_input(cs_run *run, int tensor, int64_t row, int64_t col, double x);
/* The same for a whole row, all columns of the tensor. */
void cs_run_input_row(cs_run *run, int tensor, int64_t row, const double *x);
void cs_run_input_row_f32(cs_run *run, int tensor, int64_t row, const float *x);

/* Sorts the scattered indices and moves all inputs and the key to the backend. */
cs_status cs_run_upload(cs_run *run, cs_run_key key) CS_MUST_CHECK;

cs_status cs_run_forward(cs_run *run) CS_MUST_CHECK;
/* Adds to the gradients of parameters. It starts from the losses of the graph, and from tensors
 * that no operation reads, whose gradients were set (cs_run_put_grad). */
cs_status cs_run_backward(cs_run *run) CS_MUST_CHECK;

/* Present values of an activation or statistic, as doubles, rows x cols of it (waits for a device).
 */
cs_status cs_run_get(cs_run *run, int tensor, double *out) CS_MUST_CHECK;
cs_status cs_run_get_f32(cs_run *run, int tensor, float *out) CS_MUST_CHECK;
/* Sets such a gradient: rows x cols of an activation that no operation reads. */
cs_status cs_run_put_grad(cs_run *run, int tensor, const double *grad) CS_MUST_CHECK;
/* Sum of a statistic of one column over its present rows, in row order: the loss. */
cs_status cs_run_sum(cs_run *run, int tensor, double *out) CS_MUST_CHECK;

/* --- for backends ----------------------------------------------------------------------------- */

/* A tensor in the current state of an operation. */
typedef struct {
    void *x, *grad; /* backend memory; grad NULL: none */
    int64_t batch, length, rows, cols, ld;
    const int32_t *live; /* host: rows with content before each sequence; NULL: no padding */
} cs_matrix;
cs_matrix cs_run_matrix(const cs_run *run, int tensor);     /* of CS_NONE: all zero */
const int32_t *cs_run_ints(const cs_run *run, int tensor);  /* index tensor, backend memory */
const int32_t *cs_run_order(const cs_run *run, int tensor); /* its sorted rows, backend memory */
