/* One thread runs the loop over the next batch; the loop shares the workers of all others. */
#include "train/ahead.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "text/vectors.h"

typedef struct {
    const cs_ahead *a;
    const cs_ahead_batch *of;
    float *to;
} filling;

static cs_status fill_one(void *ctx, int64_t i)
{
    const filling *f = ctx;
    const cs_train_view *view = f->a->view;
    return view->take(view->ctx, f->of->first[i], f->of->length[i], f->of->step, f->of->row + i,
                      f->to + i * f->a->apart);
}

static cs_status fill(const cs_ahead *a, int slot)
{
    filling f = {a, &a->of[slot], a->values[slot]};
    return cs_parallel(a->of[slot].count, 0, fill_one, &f);
}

cs_train_view cs_ahead_view(const cs_corpus *corpus)
{
    return (cs_train_view){
        .take = cs_vectors_take, .ctx = (void *)(uintptr_t)corpus, .held_out = true};
}

cs_status cs_ahead_open(const cs_train_view *view, int64_t batch, int64_t longest, int64_t width,
                        cs_ahead *out)
{
    cs_ahead a = {.view = view, .batch = batch, .apart = longest * width};
    bool taken = true;
    for (int s = 0; s < 2; ++s) {
        a.values[s] = cs_alloc(batch * a.apart, sizeof *a.values[s]);
        a.of[s].first = cs_alloc(batch, sizeof *a.of[s].first);
        a.of[s].length = cs_alloc(batch, sizeof *a.of[s].length);
        taken = taken && a.values[s] && a.of[s].first && a.of[s].length;
    }
    return CS_DELIVER(taken ? CS_OK : CS_ERR_MEMORY, out, a, cs_ahead_close);
}

/* Waits for the thread; its failure becomes one of this thread. */
static cs_status join(cs_ahead *a)
{
    if (!a->running) return CS_OK;
    (void)pthread_join(a->thread, NULL);
    a->running = false;
    cs_status status = a->status;
    if (status != CS_OK && a->reason) {
        cs_reason_clear();
        status = cs_fail(status, "%s", a->reason);
    }
    cs_free(a->reason);
    a->reason = NULL;
    return status;
}

void cs_ahead_close(cs_ahead *a)
{
    if (join(a) != CS_OK) cs_reason_clear(); /* nobody reads that batch */
    for (int s = 0; s < 2; ++s) {
        cs_free(a->values[s]);
        CS_FREE_FIELDS(&a->of[s], first, length);
    }
    *a = (cs_ahead){0};
}

cs_ahead_batch *cs_ahead_next(cs_ahead *a)
{
    return &a->of[1];
}

static void *fill_ahead(void *ctx)
{
    cs_ahead *a = ctx;
    a->status = fill(a, 1);
    if (a->status != CS_OK) a->reason = cs_strdup(cs_reason()); /* of this thread */
    return NULL;
}

void cs_ahead_start(cs_ahead *a)
{
    a->running = cs_thread_start(&a->thread, fill_ahead, a);
    if (!a->running) a->of[1].count = 0;
}

static bool same(const cs_ahead_batch *a, const cs_ahead_batch *b)
{
    const size_t size = (size_t)a->count * sizeof *a->first;
    return a->count == b->count && a->row == b->row && a->step == b->step &&
           memcmp(a->first, b->first, size) == 0 && memcmp(a->length, b->length, size) == 0;
}

cs_status cs_ahead_take(cs_ahead *a, const cs_ahead_batch *wanted, float **values)
{
    const bool asked = a->running && same(wanted, &a->of[1]);
    cs_status status = join(a);
    if (asked) {
        float *swap = a->values[0];
        a->values[0] = a->values[1];
        a->values[1] = swap;
    } else {
        const size_t size = (size_t)wanted->count * sizeof *wanted->first;
        if (status != CS_OK) cs_reason_clear(); /* of a batch that is not read */
        memcpy(a->of[0].first, wanted->first, size);
        memcpy(a->of[0].length, wanted->length, size);
        a->of[0].count = wanted->count;
        a->of[0].row = wanted->row;
        a->of[0].step = wanted->step;
        status = fill(a, 0);
    }
    a->of[1].count = 0;
    *values = a->values[0];
    return status;
}
