/* Waits for the thread by pthread_timedjoin_np (glibc), which returns at once when it ends, and looks
 * for the interrupt in between. Where the system gives no thread, fn is computed here, to its end.
 *
 * Limit: a clock that is set back delays an interrupt; waiting by another clock needs glibc 2.31. */
#include "base/leavable.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/threads.h"

enum { RUNNING, LEFT_BEHIND, DONE };

typedef struct {
    void (*fn)(void *problem);
    atomic_int state;
    _Alignas(max_align_t) char problem[];
} work;

static void *compute(void *ctx)
{
    work *w = ctx;
    w->fn(w->problem);
    if (atomic_exchange(&w->state, DONE) == LEFT_BEHIND) cs_mem_release();
    return NULL;
}

/* CS_ERR_INTERRUPT: left behind. */
static cs_status wait_for(pthread_t thread, work *w)
{
    const long look = 20 * 1000 * 1000, second = 1000 * 1000 * 1000;
    for (;;) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (until.tv_nsec + look) / second;
        until.tv_nsec = (until.tv_nsec + look) % second;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT) {
            return CS_OK;
        }
        cs_status status = cs_interrupt_check();
        if (status != CS_OK) {
            cs_mem_keep();
            if (atomic_exchange(&w->state, LEFT_BEHIND) == DONE) cs_mem_release();
            (void)pthread_detach(thread);
            return status;
        }
    }
}

cs_status cs_leavable(void (*fn)(void *), void *problem, size_t size)
{
    pthread_t thread;
    work *w = NULL;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK && !(w = cs_alloc(1, sizeof *w + size))) status = CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    w->fn = fn;
    atomic_init(&w->state, RUNNING);
    memcpy(w->problem, problem, size);
    if (cs_thread_start(&thread, compute, w)) {
        status = wait_for(thread, w);
    } else {
        (void)compute(w);
    }
    if (status == CS_OK) memcpy(problem, w->problem, size);
    cs_free(w);
    return status;
}
