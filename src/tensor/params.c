/* One block a kind: a step then updates all parameters in one pass. */
#include "tensor/params.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

enum { ALIGN = 16 }; /* items between the starts of matrices: 64 bytes of floats */

int64_t cs_params_add(cs_params *params, const char *name, int64_t rows, int64_t cols, bool decay)
{
    char *copy = cs_strdup(name);
    if (!copy || cs_reserve(&params->param, &params->capacity, params->count + 1,
                            sizeof *params->param) != CS_OK) {
        cs_free(copy);
        return -1;
    }
    params->param[params->count] = (cs_param){
        .name = copy, .rows = rows, .cols = cols, .offset = params->items, .decay = decay};
    params->items += (rows * cols + ALIGN - 1) / ALIGN * ALIGN;
    return params->count++;
}

int64_t cs_params_find(const cs_params *params, const char *name)
{
    for (int64_t i = 0; i < params->count; ++i) {
        if (strcmp(params->param[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int64_t cs_params_trained(const cs_params *params)
{
    int64_t count = 0;
    for (int64_t i = 0; i < params->count; ++i) {
        const cs_param *p = &params->param[i];
        count += p->constant ? 0 : p->rows * p->cols;
    }
    return count;
}

int64_t cs_params_most_items(const cs_params *params)
{
    int64_t most = 1;
    for (int64_t i = 0; i < params->count; ++i) {
        int64_t items = params->param[i].rows * params->param[i].cols;
        most = items > most ? items : most;
    }
    return most;
}

static cs_status zeroed(cs_backend *backend, int64_t bytes, void **out)
{
    cs_status status = backend->alloc(backend, bytes, out);
    return status == CS_OK ? backend->zero(backend, *out, bytes) : status;
}

static cs_status put_decay(cs_params *params)
{
    CS_AUTO_FREE uint8_t *decay = cs_calloc(params->items, 1);
    if (!decay) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count; ++i) {
        const cs_param *p = &params->param[i];
        memset(decay + p->offset, p->decay ? 1 : 0, (size_t)(p->rows * p->cols));
    }
    return params->backend->put(params->backend, params->decay, decay, params->items);
}

/* Allocates the part of streamed parameters that is always in memory. */
static cs_status allocate_places(cs_params *params)
{
    cs_status status = CS_OK;
    params->place = cs_calloc(params->count + 1, sizeof *params->place);
    if (!params->place) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        if (!cs_param_streamed(params, i)) {
            const cs_param *p = &params->param[i];
            status = zeroed(params->backend, p->rows * p->cols * (int64_t)sizeof(float),
                            &params->place[i].values);
        }
    }
    return status;
}

cs_status cs_params_allocate(cs_params *params, cs_backend *backend, bool training)
{
    int64_t bytes = params->items * cs_real_size(backend->parameter);
    params->backend = backend;
    if (params->source.fetch) {
        return allocate_places(params);
    }
    /* A configuration may claim any size, and zeroed memory is taken at once. */
    cs_status status = backend->streams
                           ? cs_mem_check((training ? 4.0 : 1.0) * (double)bytes, NULL,
                                          "%lld parameters take", (long long)params->items)
                           : CS_OK;
    if (status == CS_OK) status = zeroed(backend, bytes, &params->value);
    if (status != CS_OK || !training) return status;
    void *decay = NULL, *norm = NULL, *hyper = NULL;
    status = zeroed(backend, bytes, &params->grad);
    status = status ? status : zeroed(backend, bytes, &params->m);
    status = status ? status : zeroed(backend, bytes, &params->v);
    status = status ? status : zeroed(backend, params->items, &decay);
    status = status ? status : zeroed(backend, (int64_t)sizeof *params->norm, &norm);
    status = status ? status : zeroed(backend, (int64_t)sizeof *params->hyper, &hyper);
    params->decay = decay;
    params->norm = norm;
    params->hyper = hyper;
    return status ? status : put_decay(params);
}

void cs_params_free(cs_params *params)
{
    if (params->backend) {
        void *block[] = {params->value, params->grad, params->m,    params->v,
                         params->decay, params->norm, params->hyper};
        for (size_t i = 0; i < sizeof block / sizeof *block; ++i) {
            if (block[i]) {
                params->backend->release(params->backend, block[i]);
            }
        }
    }
    for (int64_t i = 0; i < params->count; ++i) {
        cs_free(params->param[i].name);
        if (params->backend && params->place && params->place[i].values) {
            params->backend->release(params->backend, params->place[i].values);
        }
    }
    if (params->source.free) {
        params->source.free(params->source.ctx);
    }
    cs_free(params->place);
    cs_free(params->param);
    memset(params, 0, sizeof *params);
}

/* --- one matrix ------------------------------------------------------------------------------- */

bool cs_param_streamed(const cs_params *params, int64_t number)
{
    const cs_param *p = &params->param[number];
    return params->source.fetch && p->rows > 1 && !p->constant;
}

/* The matrix that an item's offset lies in. */
static int64_t number_at(const cs_params *params, int64_t offset)
{
    int64_t low = 0, high = params->count - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (params->param[middle].offset <= offset) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

void *cs_params_value(const cs_params *params, int64_t offset)
{
    char *block = params->value;
    if (params->place) {
        int64_t number = number_at(params, offset);
        block = params->place[number].values;
        offset -= params->param[number].offset;
    }
    return block + offset * cs_real_size(params->backend->parameter);
}

cs_status cs_params_bring(const cs_params *params, int64_t offset)
{
    cs_backend *b = params->backend;
    int64_t number = number_at(params, offset);
    if (!cs_param_streamed(params, number)) {
        return CS_OK;
    }
    cs_param_place *place = &params->place[number];
    const cs_param *p = &params->param[number];
    cs_status status = CS_OK;
    if (place->users++ == 0) {
        status = b->alloc(b, p->rows * p->cols * (int64_t)sizeof(float), &place->values);
        if (status == CS_OK)
            status = params->source.fetch(params->source.ctx, params, number, place->values);
    }
    return status;
}

void cs_params_let_go(const cs_params *params, int64_t offset)
{
    int64_t number = number_at(params, offset);
    if (cs_param_streamed(params, number) && --params->place[number].users == 0) {
        if (params->place[number].values) {
            params->backend->release(params->backend, params->place[number].values);
        }
        params->place[number].values = NULL;
    }
}

static char *block_at(const cs_params *params, int64_t number, cs_param_block what)
{
    if (what == CS_PARAM_VALUE) {
        return cs_params_value(params, params->param[number].offset);
    }
    void *block = what == CS_PARAM_GRAD ? params->grad : what == CS_PARAM_M ? params->m : params->v;
    return (char *)block + params->param[number].offset * cs_real_size(params->backend->parameter);
}

static int64_t items_of(const cs_params *params, int64_t number)
{
    return params->param[number].rows * params->param[number].cols;
}

static void convert(int64_t n, cs_real_kind from, const void *in, cs_real_kind to, void *out)
{
    for (int64_t i = 0; i < n; ++i) {
        cs_real_set(to, out, i, cs_real_get(from, in, i));
    }
}

/* Reads one matrix as `host` numbers, by way of a copy in the backend's type where that is another.
 */
static cs_status get(const cs_params *params, int64_t number, cs_param_block what,
                     cs_real_kind host, void *out)
{
    cs_backend *backend = params->backend;
    int64_t n = items_of(params, number), size = cs_real_size(backend->parameter);
    cs_status status = cs_params_bring(params, params->param[number].offset);
    void *to = backend->parameter == host ? out : cs_alloc(n, (size_t)size);
    if (status == CS_OK && !to) status = CS_ERR_MEMORY;
    if (status == CS_OK)
        status = backend->get(backend, to, block_at(params, number, what), n * size);
    if (status == CS_OK && to != out) convert(n, backend->parameter, to, host, out);
    if (to != out) {
        cs_free(to);
    }
    cs_params_let_go(params, params->param[number].offset);
    return status;
}

/* Sets one matrix; after that what the backend derived from the values is stale. */
static cs_status set(cs_params *params, int64_t number, cs_param_block what, cs_real_kind host,
                     const void *in)
{
    cs_backend *backend = params->backend;
    int64_t n = items_of(params, number), size = cs_real_size(backend->parameter);
    CS_AUTO_FREE void *copy = NULL;
    if (cs_param_streamed(params, number)) {
        return cs_fail(CS_ERR_MEMORY,
                       "%s: the weights exceed the memory and are read from their file only; they "
                       "cannot be set",
                       params->param[number].name);
    }
    if (backend->parameter != host) {
        copy = cs_alloc(n, (size_t)size);
        if (!copy) return CS_ERR_MEMORY;
        convert(n, host, in, backend->parameter, copy);
    }
    cs_status status =
        backend->put(backend, block_at(params, number, what), copy ? copy : in, n * size);
    if (status == CS_OK && what == CS_PARAM_VALUE && backend->params_changed)
        status = backend->params_changed(backend, params->items, params->value);
    return status;
}

cs_status cs_params_get(const cs_params *params, int64_t number, cs_param_block what, float *out)
{
    return get(params, number, what, CS_REAL_F32, out);
}

cs_status cs_params_set(cs_params *params, int64_t number, cs_param_block what, const float *in)
{
    return set(params, number, what, CS_REAL_F32, in);
}

cs_status cs_params_hash(const cs_params *params, cs_hasher *hasher)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        const int64_t items = params->param[i].rows * params->param[i].cols;
        status = cs_params_get(params, i, CS_PARAM_VALUE, value);
        if (status == CS_OK) cs_hasher_add(hasher, value, (size_t)items * sizeof *value);
    }
    return status;
}

cs_status cs_params_get64(const cs_params *params, int64_t number, cs_param_block what, double *out)
{
    return get(params, number, what, CS_REAL_F64, out);
}

cs_status cs_params_set64(cs_params *params, int64_t number, cs_param_block what, const double *in)
{
    return set(params, number, what, CS_REAL_F64, in);
}

/* --- a step ----------------------------------------------------------------------------------- */

cs_status cs_params_read(const cs_params *params, const char *name, cs_pool *pool,
                         const cs_param **param, double **out)
{
    const int64_t number = cs_params_find(params, name);
    if (number < 0) {
        return cs_fail(CS_ERR_INPUT, "the model has no parameter %s", name);
    }
    const cs_param *p = &params->param[number];
    double *x = cs_pool_take(pool, p->rows * p->cols, sizeof *x);
    cs_status status = x ? cs_params_get64(params, number, CS_PARAM_VALUE, x) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < p->rows * p->cols; ++i) {
        if (!isfinite(x[i])) {
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld is %s", name,
                             (long long)(i / p->cols), (long long)(i % p->cols),
                             isnan(x[i]) ? "not a number" : "infinite");
        }
    }
    if (param) {
        *param = p;
    }
    *out = x;
    return status;
}

cs_status cs_params_zero_grad(cs_params *params)
{
    return params->backend->zero(params->backend, params->grad,
                                 params->items * cs_real_size(params->backend->parameter));
}

cs_status cs_params_update(cs_params *params, const cs_adamw *hyper)
{
    cs_backend *backend = params->backend;
    cs_update update = {.n = params->items,
                        .value = params->value,
                        .grad = params->grad,
                        .m = params->m,
                        .v = params->v,
                        .decay = params->decay,
                        .norm = params->norm,
                        .hyper = params->hyper};
    cs_status status = backend->put(backend, params->hyper, hyper, (int64_t)sizeof *hyper);
    if (status == CS_OK) status = backend->norm(backend, params->items, params->grad, params->norm);
    return status == CS_OK ? backend->adamw(backend, &update) : status;
}
