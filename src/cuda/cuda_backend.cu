/* Entry point of the plug-in, its memory, and the replay of whole walks.
 *
 * Everything is ordered on one stream. A step is launched operation by operation the first time,
 * captured as a CUDA graph the second time and replayed from then on: what changes between steps
 * (inputs, dropout key, hyperparameters, norms) lies in device memory at fixed addresses. Calls
 * come from one thread.
 */
#include <string.h>

#include "cuda/state.cuh"
#include "tensor/relative.h"

/* --- memory ----------------------------------------------------------------------------------- */

static Cuda *state(cs_backend *backend)
{
    return static_cast<Cuda *>(backend->state);
}

static void forget_captured(Cuda *c)
{
    for (int i = 0; i < c->captured_count; ++i) {
        if (c->captured[i].exec) {
            (void)cudaGraphExecDestroy(c->captured[i].exec);
        }
        c->host->free(c->captured[i].sizes);
    }
    c->captured_count = 0;
}

static cs_status cuda_alloc(cs_backend *backend, int64_t bytes, void **out)
{
    Cuda *c = state(backend);
    Block *block = static_cast<Block *>(c->host->alloc(1, sizeof *block));
    void *work = NULL;
    if (!block) return CS_ERR_MEMORY;
    cs_status status = cuda_memory(c, bytes, &work);
    if (status != CS_OK) {
        c->host->free(block);
        return status;
    }
    block->memory = static_cast<unsigned char *>(work);
    block->bytes = bytes;
    block->next = c->blocks;
    c->blocks = block;
    *out = work;
    return CS_OK;
}

/* Copies of parameters that lay in the block are of no use any more. */
static void forget_shadows(Cuda *c, const Block *block)
{
    for (Shadow **at = &c->shadows; *at;) {
        Shadow *shadow = *at;
        const unsigned char *value = reinterpret_cast<const unsigned char *>(shadow->value);
        if (value >= block->memory && value < block->memory + block->bytes) {
            *at = shadow->next;
            (void)cudaFree(shadow->copy);
            c->host->free(shadow);
        } else {
            at = &shadow->next;
        }
    }
}

/* Captured walks may hold the address: none survives. */
static void cuda_release(cs_backend *backend, void *p)
{
    Cuda *c = state(backend);
    (void)cudaStreamSynchronize(c->stream);
    forget_captured(c);
    for (Block **at = &c->blocks; *at; at = &(*at)->next) {
        Block *block = *at;
        if (block->memory == p) {
            forget_shadows(c, block);
            *at = block->next;
            (void)cudaFree(p);
            c->host->free(block);
            return;
        }
    }
}

cs_status cuda_scratch_bytes(Cuda *c, int64_t bytes, void **out)
{
    if (bytes > c->scratch_bytes) {
        if (c->capturing) {
            return c->host->fail(CS_ERR_DEVICE, "CUDA scratch of %lld bytes during capture",
                                 (long long)bytes);
        }
        (void)cudaStreamSynchronize(c->stream);
        forget_captured(c);
        (void)cudaFree(c->scratch);
        c->scratch = NULL;
        c->scratch_bytes = 0;
        cs_status status = cuda_memory(c, bytes, &c->scratch);
        if (status != CS_OK) return status;
        c->scratch_bytes = bytes;
    }
    *out = c->scratch;
    return CS_OK;
}

/* The source may change as soon as this returns: it is copied to pinned memory, whose slots are
 * taken in turn. */
static cs_status cuda_put(cs_backend *backend, void *to, const void *from, int64_t bytes)
{
    Cuda *c = state(backend);
    cs_status status = CS_OK;
    cuda_mark_stale(c, to, bytes);
    for (int64_t done = 0; done < bytes && status == CS_OK; done += PIN_BYTES) {
        int slot = c->pin_next;
        size_t piece = (size_t)(bytes - done < PIN_BYTES ? bytes - done : PIN_BYTES);
        unsigned char *staging = c->pinned + slot * PIN_BYTES;
        c->pin_next = (slot + 1) % PIN_SLOTS;
        status = cuda_check(c, cudaEventSynchronize(c->pin_free[slot]), "wait for a copy");
        if (status == CS_OK) {
            memcpy(staging, static_cast<const unsigned char *>(from) + done, piece);
            status = cuda_check(c,
                                cudaMemcpyAsync(static_cast<unsigned char *>(to) + done, staging,
                                                piece, cudaMemcpyHostToDevice, c->stream),
                                "copy to the device");
        }
        if (status == CS_OK)
            status = cuda_check(c, cudaEventRecord(c->pin_free[slot], c->stream), "record a copy");
    }
    return status;
}

static cs_status cuda_get(cs_backend *backend, void *to, const void *from, int64_t bytes)
{
    Cuda *c = state(backend);
    unsigned char *staging = c->pinned + PIN_SLOTS * PIN_BYTES;
    cs_status status = CS_OK;
    for (int64_t done = 0; done < bytes && status == CS_OK; done += PIN_BYTES) {
        size_t piece = (size_t)(bytes - done < PIN_BYTES ? bytes - done : PIN_BYTES);
        status =
            cuda_check(c,
                       cudaMemcpyAsync(staging, static_cast<const unsigned char *>(from) + done,
                                       piece, cudaMemcpyDeviceToHost, c->stream),
                       "copy from the device");
        if (status == CS_OK)
            status = cuda_check(c, cudaStreamSynchronize(c->stream), "wait for the device");
        if (status == CS_OK) memcpy(static_cast<unsigned char *>(to) + done, staging, piece);
    }
    return status;
}

static cs_status cuda_zero(cs_backend *backend, void *p, int64_t bytes)
{
    Cuda *c = state(backend);
    cuda_mark_stale(c, p, bytes);
    return bytes > 0 ? cuda_check(c, cudaMemsetAsync(p, 0, (size_t)bytes, c->stream), "zero")
                     : CS_OK;
}

/* --- bf16 copies of parameters ---------------------------------------------------------------- */

Shadow *cuda_find_shadow(Cuda *c, const void *value)
{
    for (Shadow *s = c->shadows; s; s = s->next) {
        if (value >= s->value && value < s->value + s->items) {
            return s;
        }
    }
    return NULL;
}

void cuda_mark_stale(Cuda *c, const void *from, int64_t bytes)
{
    const unsigned char *first = static_cast<const unsigned char *>(from);
    for (Shadow *s = c->shadows; s; s = s->next) {
        const unsigned char *low = reinterpret_cast<const unsigned char *>(s->value);
        if (first < low + s->items * (int64_t)sizeof(float) && first + bytes > low) {
            s->stale = true;
        }
    }
}

static cs_status refresh(Cuda *c, Shadow *shadow)
{
    cs_status status = CS_OK;
    if (shadow->stale) {
        status = round_to_half(c, shadow->items, shadow->value, shadow->copy);
        shadow->stale = status != CS_OK;
    }
    return status;
}

static cs_status refresh_all(Cuda *c)
{
    cs_status status = CS_OK;
    for (Shadow *s = c->shadows; s && status == CS_OK; s = s->next) {
        status = refresh(c, s);
    }
    return status;
}

cs_status cuda_shadow(const cs_run *run, const void *value, const bf16 **out)
{
    Cuda *c = cuda_of(run);
    *out = NULL;
    if (!c->half || !value) {
        return CS_OK;
    }
    Shadow *shadow = cuda_find_shadow(c, value);
    cs_status status = CS_OK;
    if (!shadow) {
        shadow = static_cast<Shadow *>(c->host->alloc(1, sizeof *shadow));
        if (!shadow) return CS_ERR_MEMORY;
        void *copy = NULL;
        status = cuda_memory(c, run->params->items * (int64_t)sizeof(bf16), &copy);
        if (status != CS_OK) {
            c->host->free(shadow);
            return status;
        }
        shadow->value = static_cast<const float *>(run->params->value);
        shadow->items = run->params->items;
        shadow->copy = static_cast<bf16 *>(copy);
        shadow->stale = true;
        shadow->next = c->shadows;
        c->shadows = shadow;
    }
    status = refresh(c, shadow);
    *out = shadow->copy + (static_cast<const float *>(value) - shadow->value);
    return status;
}

cs_status cuda_params_changed(cs_backend *backend, int64_t n, const void *value)
{
    cuda_mark_stale(state(backend), value, n * (int64_t)sizeof(float));
    return refresh_all(state(backend));
}

/* --- buckets of relative positions ------------------------------------------------------------ */

cs_status cuda_buckets(Cuda *c, int64_t buckets, int64_t max_distance, int bidirectional,
                       const Buckets **out)
{
    for (Buckets *b = c->buckets; b; b = b->next) {
        if (b->buckets == buckets && b->max_distance == max_distance &&
            b->bidirectional == bidirectional) {
            *out = b;
            return CS_OK;
        }
    }
    int64_t reach = (max_distance > buckets ? max_distance : buckets) + 1;
    int64_t entries = 2 * reach + 1;
    int32_t *map = static_cast<int32_t *>(c->host->alloc(entries, sizeof *map));
    Buckets *b = static_cast<Buckets *>(c->host->alloc(1, sizeof *b));
    void *work = NULL;
    cs_status status =
        map && b ? cuda_memory(c, entries * (int64_t)sizeof *map, &work) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t d = -reach; d <= reach; ++d) {
            map[d + reach] = cs_relative_bucket(d, buckets, max_distance, bidirectional);
        }
        status = cuda_put(&c->table, work, map, entries * (int64_t)sizeof *map);
    }
    if (status == CS_OK) {
        b->buckets = buckets;
        b->max_distance = max_distance;
        b->bidirectional = bidirectional;
        b->reach = reach;
        b->map = static_cast<int32_t *>(work);
        b->next = c->buckets;
        c->buckets = b;
        *out = b;
    } else {
        (void)cudaFree(work);
        c->host->free(b);
    }
    c->host->free(map);
    return status;
}

/* --- replay ----------------------------------------------------------------------------------- */

static bool same_sizes(const Captured *held, const cs_run *run)
{
    for (int64_t i = 0; i < held->row_sets; ++i) {
        if (held->sizes[2 * i] != run->batch[i] || held->sizes[2 * i + 1] != run->length[i]) {
            return false;
        }
    }
    return true;
}

static Captured *find_captured(Cuda *c, const cs_run *run, int what)
{
    for (int i = 0; i < c->captured_count; ++i) {
        Captured *held = &c->captured[i];
        if (held->run == run && held->what == what && held->row_sets == run->graph->row_sets &&
            same_sizes(held, run)) {
            return held;
        }
    }
    return NULL;
}

/* Makes a place for this walk; when all are taken the oldest goes. */
static cs_status remember(Cuda *c, const cs_run *run, int what)
{
    int64_t row_sets = run->graph->row_sets;
    int64_t *sizes = static_cast<int64_t *>(c->host->alloc(2 * row_sets + 1, sizeof *sizes));
    if (!sizes) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < row_sets; ++i) {
        sizes[2 * i] = run->batch[i];
        sizes[2 * i + 1] = run->length[i];
    }
    if (c->captured_count == MAX_GRAPHS) {
        if (c->captured[0].exec) {
            (void)cudaStreamSynchronize(c->stream);
            (void)cudaGraphExecDestroy(c->captured[0].exec);
        }
        c->host->free(c->captured[0].sizes);
        memmove(c->captured, c->captured + 1, (MAX_GRAPHS - 1) * sizeof *c->captured);
        --c->captured_count;
    }
    Captured fresh = {run, what, row_sets, sizes, NULL};
    c->captured[c->captured_count++] = fresh;
    return CS_OK;
}

static cs_status capture(Cuda *c, cs_run *run, Captured *held, cs_status (*walk)(cs_run *run))
{
    cs_status status = cuda_check(
        c, cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    if (status != CS_OK) return status;
    cudaGraph_t graph = NULL;
    c->capturing = true;
    status = walk(run);
    c->capturing = false;
    cudaError_t ended = cudaStreamEndCapture(c->stream, &graph);
    if (status == CS_OK) status = cuda_check(c, ended, "end capture");
    if (status == CS_OK)
        status = cuda_check(c, cudaGraphInstantiate(&held->exec, graph, 0), "instantiate a step");
    if (graph) {
        (void)cudaGraphDestroy(graph);
    }
    return status;
}

static cs_status cuda_around(cs_backend *backend, cs_run *run, int what,
                             cs_status (*walk)(cs_run *run))
{
    Cuda *c = state(backend);
    cs_status status = refresh_all(c);
    if (status != CS_OK || !c->graphs) return status == CS_OK ? walk(run) : status;
    Captured *held = find_captured(c, run, what);
    if (!held) {
        /* The first time makes what capture could not: scratch, plans, copies, loaded kernels. */
        status = walk(run);
        return status == CS_OK ? remember(c, run, what) : status;
    }
    if (!held->exec) {
        status = capture(c, run, held, walk);
    }
    return status == CS_OK ? cuda_check(c, cudaGraphLaunch(held->exec, c->stream), "launch a step")
                           : status;
}

/* --- open and close --------------------------------------------------------------------------- */

template <typename Item, typename T> static void free_list(Cuda *c, Item *list, T *Item::*memory)
{
    while (list) {
        Item *next = list->next;
        (void)cudaFree(list->*memory);
        c->host->free(list);
        list = next;
    }
}

static void cuda_free(cs_backend *backend)
{
    Cuda *c = state(backend);
    if (c->stream) {
        (void)cudaStreamSynchronize(c->stream);
    }
    forget_captured(c);
    gemm_free(c, c->gemm);
    counts_free(c->counts);
    free_list(c, c->shadows, &Shadow::copy);
    free_list(c, c->blocks, &Block::memory);
    free_list(c, c->buckets, &Buckets::map);
    (void)cudaFree(c->scratch);
    for (int i = 0; i < PIN_SLOTS; ++i) {
        if (c->pin_free[i]) {
            (void)cudaEventDestroy(c->pin_free[i]);
        }
    }
    (void)cudaFreeHost(c->pinned);
    if (c->stream) {
        (void)cudaStreamDestroy(c->stream);
    }
    c->host->free(c);
}

static cs_status open_queues(Cuda *c)
{
    cs_status status =
        cuda_check(c, cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking), "a stream");
    if (status == CS_OK) {
        void *pinned = NULL;
        status =
            cuda_check(c, cudaMallocHost(&pinned, (PIN_SLOTS + 1) * PIN_BYTES), "pinned memory");
        c->pinned = static_cast<unsigned char *>(pinned);
    }
    for (int i = 0; i < PIN_SLOTS && status == CS_OK; ++i) {
        status = cuda_check(c, cudaEventCreateWithFlags(&c->pin_free[i], cudaEventDisableTiming),
                            "an event");
    }
    return status;
}

static cs_status cuda_counted(cs_backend *backend, int64_t row, cs_backend_count *out)
{
    return counts_row(state(backend)->counts, row, out);
}

/* Not here: cs_backend.basic keeps networks with them away. */
static cs_status refuse(const cs_run *run, const char *what)
{
    return cuda_of(run)->fail(CS_ERR_DEVICE, "%s on a GPU are not supported", what);
}

#define NOT_HERE(name, what)                                                                       \
    template <typename T> cs_status name##_forward(const cs_run *run, const cs_op *)               \
    {                                                                                              \
        return refuse(run, what);                                                                  \
    }                                                                                              \
    template <typename T> cs_status name##_backward(const cs_run *run, const cs_op *)              \
    {                                                                                              \
        return refuse(run, what);                                                                  \
    }
NOT_HERE(rotate, "rotary positions")
NOT_HERE(gate, "gates")
NOT_HERE(experts, "mixtures of experts")

template <typename T> static void fill_operations(cs_backend *t)
{
#define ENTRY(KIND, name, operands)                                                                \
    t->forward[CS_OP_##KIND] = name##_forward<T>;                                                  \
    t->backward[CS_OP_##KIND] = name##_backward<T>;
    CS_EACH_OP(ENTRY)
}

static void fill_table(Cuda *c)
{
    cs_backend *t = &c->table;
    t->name = c->half ? "cuda (bf16)" : "cuda (fp32)";
    t->asynchronous = true;
    t->basic = true;
    t->by_clock = c->search;
    t->activation = c->half ? CS_REAL_BF16 : CS_REAL_F32;
    t->parameter = CS_REAL_F32;
    t->state = c;
    t->alloc = cuda_alloc;
    t->release = cuda_release;
    t->put = cuda_put;
    t->get = cuda_get;
    t->zero = cuda_zero;
    c->half ? fill_operations<bf16>(t) : fill_operations<float>(t);
    t->norm = norm_of;
    t->adamw = adamw_update;
    t->around = cuda_around;
    t->params_changed = cuda_params_changed;
    t->counted = cuda_counted;
    t->free = cuda_free;
}

static cs_status cuda_open(const cs_plugin_host *host, const cs_plugin_options *options,
                           cs_backend **out)
{
    Cuda *c = static_cast<Cuda *>(host->alloc(1, sizeof *c));
    if (!c) return CS_ERR_MEMORY;
    c->host = host;
    c->fail = host->fail;
    c->half = !options->f32;
    c->search = options->search_products && c->half && !options->own_products;
    c->graphs = options->graphs != 0 && !options->timed;
    fill_table(c);
    char name[256];
    cs_status status = cuda_choose(c, options->device, name, sizeof name);
    if (status == CS_OK) status = open_queues(c);
    if (status == CS_OK) status = counts_open(c, host->alloc, host->free, &c->counts);
    c->clock = options->timed ? c->counts : NULL;
    if (status == CS_OK) status = gemm_open(c, options->own_products != 0, &c->gemm);
    if (status != CS_OK) {
        cuda_free(&c->table);
        return status;
    }
    *out = &c->table;
    return CS_OK;
}

extern "C" __attribute__((visibility("default"))) const cs_plugin *cs_cuda_plugin(void);

extern "C" const cs_plugin *cs_cuda_plugin(void)
{
    static cs_plugin plugin;
    plugin.version = CS_PLUGIN_VERSION;
    cs_plugin_sizes(plugin.size);
    plugin.needs_driver = PLUGIN_NEEDS_DRIVER;
    plugin.open = cuda_open;
    return &plugin;
}
