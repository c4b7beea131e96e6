/* Counts of the plug-in's work: the time of every kernel between two events (on request), and the
 * products that cuBLASLt refused. */
#include "cuda/counts.cuh"

#include <stdio.h>
#include <string.h>

enum { PAIRS = 256 };

struct Count {
    cs_backend_count count; /* what: of name */
    char name[COUNT_NAME];
    Count *next;
};

struct Counts {
    const Device *device;
    void *(*alloc)(int64_t count, size_t size);
    void (*free)(void *p);
    Count *first;
    cudaEvent_t from[PAIRS], to[PAIRS];
    Count *of[PAIRS];
    int taken; /* pairs in use */
};

static cs_status find(Counts *all, const char *name, bool refused, Count **out)
{
    Count **at = &all->first;
    while (*at && ((*at)->count.refused != refused || strcmp((*at)->name, name) != 0)) {
        at = &(*at)->next;
    }
    if (!*at) {
        Count *fresh = static_cast<Count *>(all->alloc(1, sizeof *fresh));
        if (!fresh) return CS_ERR_MEMORY;
        (void)snprintf(fresh->name, sizeof fresh->name, "%s", name);
        fresh->count.what = fresh->name;
        fresh->count.refused = refused;
        *at = fresh;
    }
    *out = *at;
    return CS_OK;
}

cs_status counts_open(const Device *device, void *(*alloc)(int64_t count, size_t size),
                      void (*release)(void *p), Counts **out)
{
    Counts *all = static_cast<Counts *>(alloc(1, sizeof *all));
    if (!all) return CS_ERR_MEMORY;
    all->device = device;
    all->alloc = alloc;
    all->free = release;
    *out = all;
    return CS_OK;
}

void counts_free(Counts *all)
{
    if (!all) {
        return;
    }
    for (int i = 0; i < PAIRS; ++i) {
        if (all->from[i]) {
            (void)cudaEventDestroy(all->from[i]);
        }
        if (all->to[i]) {
            (void)cudaEventDestroy(all->to[i]);
        }
    }
    while (all->first) {
        Count *next = all->first->next;
        all->free(all->first);
        all->first = next;
    }
    all->free(all);
}

cs_status counts_refused(Counts *all, const char *name)
{
    Count *of = NULL;
    cs_status status = find(all, name, true, &of);
    if (status == CS_OK) ++of->count.times;
    return status;
}

/* Waits for the pairs in use and adds up their times. */
static cs_status collect(Counts *all)
{
    cs_status status = CS_OK;
    for (int i = 0; i < all->taken && status == CS_OK; ++i) {
        float ms = 0;
        status = cuda_check(all->device, cudaEventSynchronize(all->to[i]), "wait for a kernel");
        if (status == CS_OK)
            status = cuda_check(all->device, cudaEventElapsedTime(&ms, all->from[i], all->to[i]),
                                "time of a kernel");
        all->of[i]->count.seconds += 1e-3 * (double)ms;
        ++all->of[i]->count.times;
    }
    all->taken = 0;
    return status;
}

cs_status clock_start(Counts *all, const char *name)
{
    cs_status status = all->taken == PAIRS ? collect(all) : CS_OK;
    int i = all->taken;
    cudaEvent_t *ends[] = {&all->from[i], &all->to[i]};
    for (cudaEvent_t *end : ends) {
        if (status == CS_OK && !*end)
            status = cuda_check(all->device, cudaEventCreateWithFlags(end, 0), "an event");
    }
    if (status == CS_OK) status = find(all, name, false, &all->of[i]);
    return status ? status
                  : cuda_check(all->device, cudaEventRecord(all->from[i], all->device->stream),
                               "the start of a kernel");
}

cs_status clock_stop(Counts *all)
{
    int i = all->taken++;
    return cuda_check(all->device, cudaEventRecord(all->to[i], all->device->stream),
                      "the end of a kernel");
}

cs_status counts_row(Counts *all, int64_t row, cs_backend_count *out)
{
    cs_status status = collect(all);
    Count *at = all->first;
    for (int64_t i = 0; i < row && at; ++i) {
        at = at->next;
    }
    memset(out, 0, sizeof *out);
    if (at) {
        *out = at->count;
    }
    return status;
}
