/* The parameters of a model: one block of values, one of gradients, two of optimizer moments.
 *
 * Training, evaluation and feature graphs of one model share it. Values are float (double in the
 * double backend); a table names each matrix.
 *
 * For a model that exceeds memory the values are streamed: matrices are fetched from a source for
 * each operation that reads them and released after it; vectors and constants stay in memory. */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/status.h"
#include "tensor/backend.h"

typedef struct {
    char *name;
    int64_t rows, cols, offset; /* items */
    bool decay;                 /* weight decay applies: matrices, not gains and biases */
    bool constant;              /* follows from the configuration: not in files, never updated */
    bool fixed;                 /* in files, never updated */
} cs_param;

struct cs_params;

/* Source of streamed values: fetch writes those of one matrix, row-major. */
typedef struct {
    cs_status (*fetch)(void *ctx, const struct cs_params *params, int64_t number, float *out);
    void (*free)(void *ctx); /* with the parameters */
    void *ctx;
} cs_params_source;

typedef struct {
    void *values; /* NULL: not in memory */
    int64_t users;
} cs_param_place;

typedef struct cs_params {
    cs_backend *backend; /* borrowed */
    int64_t count, capacity, items;
    cs_param *param;
    cs_params_source source; /* without `fetch` nothing is streamed */
    cs_param_place *place;   /* count: current memory, in place of `value` */
    /* memory of the backend, made by cs_params_allocate; grad, m, v and decay only for training */
    void *value, *grad, *m, *v;
    uint8_t *decay;
    double *norm;    /* 1 */
    cs_adamw *hyper; /* 1 */
} cs_params;

/* Adds a matrix, aligned to 16 items; returns its number, -1 when out of memory. */
int64_t cs_params_add(cs_params *params, const char *name, int64_t rows, int64_t cols, bool decay);
int64_t cs_params_find(const cs_params *params, const char *name); /* -1: absent */
int64_t cs_params_trained(const cs_params *params);    /* numbers in all but constants */
int64_t cs_params_most_items(const cs_params *params); /* of the largest matrix, at least 1 */
/* Allocates everything, zeroed; with a source, which excludes `training`, only the parts that stay
 * in memory. The backend of the source computes on floats in host memory. */
cs_status cs_params_allocate(cs_params *params, cs_backend *backend, bool training) CS_MUST_CHECK;
void cs_params_free(cs_params *params);

/* Values in memory of the backend at the offset of an item, of a matrix that is in memory. */
void *cs_params_value(const cs_params *params, int64_t offset);
/* Fetches the matrix of an item's offset until it is released as often; nothing for one that stays
 * in memory. */
cs_status cs_params_bring(const cs_params *params, int64_t offset) CS_MUST_CHECK;
void cs_params_let_go(const cs_params *params, int64_t offset);
bool cs_param_streamed(const cs_params *params, int64_t number);

/* One matrix, as host doubles or floats, row-major; `what` selects the block. */
typedef enum { CS_PARAM_VALUE, CS_PARAM_GRAD, CS_PARAM_M, CS_PARAM_V } cs_param_block;
cs_status cs_params_get(const cs_params *params, int64_t number, cs_param_block what,
                        float *out) CS_MUST_CHECK;
cs_status cs_params_set(cs_params *params, int64_t number, cs_param_block what,
                        const float *in) CS_MUST_CHECK;
cs_status cs_params_get64(const cs_params *params, int64_t number, cs_param_block what,
                          double *out) CS_MUST_CHECK;
cs_status cs_params_set64(cs_params *params, int64_t number, cs_param_block what,
                          const double *in) CS_MUST_CHECK;

/* Adds the values of all matrices in their order, as floats, to a hash. */
cs_status cs_params_hash(const cs_params *params, cs_hasher *hasher) CS_MUST_CHECK;

/* The values of a named parameter, row-major in memory of the pool; *param (may be NULL): its
 * sizes. CS_ERR_INPUT: there is none, or a value is not finite, with its place. */
cs_status cs_params_read(const cs_params *params, const char *name, cs_pool *pool,
                         const cs_param **param, double **out) CS_MUST_CHECK;

/* Start of a step: gradients to zero. */
cs_status cs_params_zero_grad(cs_params *params) CS_MUST_CHECK;

/* End of a step: the gradient's norm, then the update (backend.h). Nothing waits for a device. */
cs_status cs_params_update(cs_params *params, const cs_adamw *hyper) CS_MUST_CHECK;
