/* pthreads started per loop: a loop that is worth threading runs for milliseconds, a start costs
 * microseconds. */
#include "base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cblas.h>

enum { MAX_THREADS = 256, REASON_SIZE = 1024 };

static atomic_int configured;
static volatile sig_atomic_t interrupted;

typedef struct {
    cs_item_fn fn;
    void *ctx;
    int64_t items;
    _Atomic int64_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards the three below */
    int64_t failed_item;
    cs_status status;
    char reason[REASON_SIZE];
} loop;

typedef struct {
    loop *loop;
    int worker;
} worker_arg;

static void record_failure(loop *l, int64_t item, cs_status status)
{
    (void)pthread_mutex_lock(&l->lock);
    if (l->status == CS_OK || item < l->failed_item) {
        l->status = status;
        l->failed_item = item;
        (void)snprintf(l->reason, sizeof l->reason, "%s", cs_reason());
    }
    (void)pthread_mutex_unlock(&l->lock);
    atomic_store(&l->stop, true);
    cs_reason_clear();
}

static void *work(void *arg)
{
    worker_arg *w = arg;
    loop *l = w->loop;
    while (!atomic_load(&l->stop)) {
        int64_t item = atomic_fetch_add(&l->next, 1);
        if (item >= l->items) {
            break;
        }
        cs_status status = cs_interrupt_check();
        if (status == CS_OK) {
            status = l->fn(l->ctx, item, w->worker);
        }
        if (status != CS_OK) {
            record_failure(l, item, status);
        }
    }
    return NULL;
}

cs_status cs_parallel(int64_t items, int threads, cs_item_fn fn, void *ctx)
{
    loop l = {
        .fn = fn, .ctx = ctx, .items = items, .lock = PTHREAD_MUTEX_INITIALIZER, .status = CS_OK};
    pthread_t thread[MAX_THREADS];
    worker_arg arg[MAX_THREADS];
    int count = threads > 0 ? threads : cs_threads();
    if (count > MAX_THREADS) {
        count = MAX_THREADS;
    }
    if (count > items) {
        count = items > 0 ? (int)items : 1;
    }
    int started = 1; /* worker 0 is the caller; fewer threads than asked for is slower, not wrong */
    for (; started < count; ++started) {
        arg[started] = (worker_arg){&l, started};
        if (pthread_create(&thread[started], NULL, work, &arg[started]) != 0) {
            break;
        }
    }
    arg[0] = (worker_arg){&l, 0};
    (void)work(&arg[0]);
    for (int i = 1; i < started; ++i) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)pthread_mutex_destroy(&l.lock);
    return l.status == CS_OK ? CS_OK : cs_fail(l.status, "%s", l.reason);
}

int cs_threads(void)
{
    int count = atomic_load(&configured);
    if (count <= 0) {
        const char *text = getenv("OMP_NUM_THREADS");
        long asked = text ? strtol(text, NULL, 10) : 0;
        count = asked > MAX_THREADS ? MAX_THREADS : asked > 0 ? (int)asked : 0;
    }
    if (count <= 0) {
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

void cs_threads_set(int threads)
{
    atomic_store(&configured, threads);
    openblas_set_num_threads(cs_threads());
}

void cs_interrupt_set(void)
{
    interrupted = 1;
}

bool cs_interrupted(void)
{
    return interrupted != 0;
}

cs_status cs_interrupt_check(void)
{
    return interrupted ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
}
