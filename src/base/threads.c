/* Parallel loops on a pool of persistent workers.
 *
 * A loop is on its caller's stack and is posted in a list; sleeping workers are woken, enter it and
 * take items from a common counter, as the caller does. The caller takes the loop off the list when
 * no item is left and waits for the workers inside, not for those still waking up: on a loaded
 * machine the caller does all the work rather than wait for a core.
 *
 * No deadlock: a caller waits only for workers inside its own loop, and these wait only for loops
 * opened by its items, so waiting follows the nesting. Nested and concurrent loops share the
 * workers; whoever finds none runs alone.
 *
 * Waiting threads block (after a spin of some microseconds), for cores may be shared. Workers are
 * started when first needed and joined when the process exits or the library is unloaded: detached
 * ones would keep running in unmapped code and count as leaks of their stacks. They are left alone
 * when a loop is still running at exit. A child of fork() has no workers and starts its own. */
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cblas.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/mem.h"

enum { MAX_THREADS = 256, REASON_SIZE = 1024, SPINS = 200 };

static atomic_int configured;
static _Atomic double interrupted_at; /* cs_seconds, which are above 0; 0: not */
static atomic_int held;               /* cs_interrupt_hold */
static atomic_bool blas_is_broken;

static struct {
    pthread_mutex_t lock;
    int64_t holds;
    int threads; /* that OpenBLAS has again after the last hold */
    int most;
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct loop loop;

struct loop {
    cs_item_fn fn; /* NULL: of_worker */
    cs_worker_fn of_worker;
    void *ctx;
    int64_t items;
    int count;         /* threads requested */
    bool through;      /* does not look at the interrupt flag */
    uint64_t families; /* pool.families when it began */
    _Atomic int64_t next;
    atomic_bool stop;
    atomic_int inside;       /* workers that have entered and not left; changed under pool.lock */
    pthread_cond_t left;     /* inside became 0 */
    int entered;             /* threads, the caller included: the next worker's number */
    loop *later;             /* posted after this one */
    pthread_mutex_t outcome; /* guards the three below */
    int64_t failed_item;
    cs_status status;
    char reason[REASON_SIZE];
};

static struct {
    pthread_mutex_t lock;  /* guards all below */
    pthread_cond_t posted; /* a loop was posted, or quit */
    loop *first;           /* posted loops, the oldest first: outer ones before theirs inside */
    int running;           /* loops begun and not ended */
    int workers, idle;
    bool quit;
    _Atomic uint64_t posts; /* loops posted so far, for workers that look without the lock */
    uint64_t families;      /* forks between the first process and this one */
    pthread_t thread[MAX_THREADS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits some microseconds for the next loop: in a run of short loops it comes sooner than a
 * sleeping thread would wake. */
static void look_out(void)
{
    const uint64_t seen = atomic_load(&pool.posts);
    for (int i = 0; i < SPINS && atomic_load(&pool.posts) == seen; ++i) {
        pause_briefly();
    }
}

static void record_failure(loop *l, int64_t item, cs_status status)
{
    (void)pthread_mutex_lock(&l->outcome);
    if (l->status == CS_OK || item < l->failed_item) {
        l->status = status;
        l->failed_item = item;
        (void)snprintf(l->reason, sizeof l->reason, "%s", cs_reason());
    }
    (void)pthread_mutex_unlock(&l->outcome);
    atomic_store(&l->stop, true);
    cs_reason_clear();
}

static void take_items(loop *l, int worker)
{
    while (!atomic_load(&l->stop)) {
        int64_t item = atomic_fetch_add(&l->next, 1);
        if (item >= l->items) {
            break;
        }
        cs_status status = l->through ? CS_OK : cs_interrupt_check();
        if (status == CS_OK)
            status = l->fn ? l->fn(l->ctx, item) : l->of_worker(l->ctx, item, worker);
        if (status != CS_OK) record_failure(l, item, status);
    }
}

/* The oldest posted loop that has items left and may take one more thread. */
static loop *open_loop(void)
{
    loop *l = pool.first;
    while (l &&
           (l->entered == l->count || atomic_load(&l->next) >= l->items || atomic_load(&l->stop))) {
        l = l->later;
    }
    return l;
}

/* A worker's life; `arg` is not used. */
static void *serve(void *arg)
{
    (void)arg;
    (void)pthread_mutex_lock(&pool.lock);
    const uint64_t families = pool.families;
    bool looked = true;
    while (!pool.quit) {
        loop *l = open_loop();
        if (!l && !looked) {
            (void)pthread_mutex_unlock(&pool.lock);
            look_out();
            looked = true;
            (void)pthread_mutex_lock(&pool.lock);
            continue;
        }
        if (!l) {
            ++pool.idle;
            (void)pthread_cond_wait(&pool.posted, &pool.lock);
            --pool.idle;
            continue;
        }
        int worker = l->entered++;
        atomic_fetch_add(&l->inside, 1);
        (void)pthread_mutex_unlock(&pool.lock);
        cs_reason_clear(); /* what an item of an earlier loop left behind */
        take_items(l, worker);
        looked = false;
        (void)pthread_mutex_lock(&pool.lock);
        if (pool.families != families) {
            break; /* an item forked here: this thread is all there is of a child */
        }
        if (atomic_fetch_sub(&l->inside, 1) == 1) {
            (void)pthread_cond_signal(&l->left);
        }
    }
    (void)pthread_mutex_unlock(&pool.lock);
    return arg;
}

/* In a child of fork(): the workers and the loops of other threads are gone. */
static void forget_workers(void)
{
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.posted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    blas.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.first = NULL;
    pool.running = pool.workers = pool.idle = 0;
    pool.quit = false;
    ++pool.families;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_workers); /* fails for want of memory only */
}

/* At exit and when the library is unloaded. */
__attribute__((destructor)) static void join_workers(void)
{
    (void)pthread_mutex_lock(&pool.lock);
    int workers = pool.running == 0 ? pool.workers : 0;
    pool.quit = workers > 0;
    (void)pthread_cond_broadcast(&pool.posted);
    (void)pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < workers; ++i) {
        (void)pthread_join(pool.thread[i], NULL);
    }
    (void)pthread_mutex_lock(&pool.lock);
    if (workers > 0) {
        pool.workers = 0;
        pool.quit = false;
    }
    (void)pthread_mutex_unlock(&pool.lock);
}

bool cs_thread_start(pthread_t *thread, void *(*fn)(void *), void *ctx)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGXFSZ};
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
        (void)sigdelset(&blocked, own[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool started = pthread_create(thread, NULL, fn, ctx) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* Starts workers until there are `count`, as far as the system allows: fewer are slower, not wrong.
 * Holds pool.lock. */
static void start_workers(int count)
{
    while (pool.workers < count && cs_thread_start(&pool.thread[pool.workers], serve, NULL)) {
        ++pool.workers;
    }
}

/* Puts the loop at the end of the list and wakes the workers that it can use. */
static void post(loop *l)
{
    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&pool.lock);
    l->families = pool.families;
    if (pool.workers < l->count - 1) {
        start_workers(l->count - 1);
    }
    loop **end = &pool.first;
    while (*end) {
        end = &(*end)->later;
    }
    *end = l;
    ++pool.running;
    (void)atomic_fetch_add(&pool.posts, 1);
    int wake = pool.idle < l->count - 1 ? pool.idle : l->count - 1;
    (void)pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < wake; ++i) {
        (void)pthread_cond_signal(&pool.posted);
    }
}

/* Takes the loop off the list, then waits until the workers inside have left. */
static void withdraw(loop *l)
{
    (void)pthread_mutex_lock(&pool.lock);
    loop **place = &pool.first;
    while (*place && *place != l) {
        place = &(*place)->later;
    }
    if (*place) {
        *place = l->later;
    }
    if (pool.families == l->families) { /* else this is a child, where nobody is inside */
        (void)pthread_mutex_unlock(&pool.lock);
        for (int i = 0; i < SPINS && atomic_load(&l->inside) > 0; ++i) {
            pause_briefly();
        }
        (void)pthread_mutex_lock(&pool.lock);
        while (atomic_load(&l->inside) > 0) {
            (void)pthread_cond_wait(&l->left, &pool.lock);
        }
        --pool.running;
    }
    (void)pthread_mutex_unlock(&pool.lock);
}

static cs_status run_loop(loop l, int threads)
{
    l.entered = 1; /* the caller is worker 0 */
    l.left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    l.outcome = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    l.count = threads > 0 ? threads : cs_threads();
    if (l.count > MAX_THREADS) {
        l.count = MAX_THREADS;
    }
    if (l.count > l.items) {
        l.count = l.items > 0 ? (int)l.items : 1;
    }
    if (l.count > 1) {
        post(&l);
    }
    take_items(&l, 0);
    if (l.count > 1) {
        withdraw(&l);
    }
    (void)pthread_cond_destroy(&l.left);
    (void)pthread_mutex_destroy(&l.outcome);
    return l.status == CS_OK ? CS_OK : cs_fail(l.status, "%s", l.reason);
}

cs_status cs_parallel(int64_t items, int threads, cs_item_fn fn, void *ctx)
{
    return run_loop((loop){.fn = fn, .ctx = ctx, .items = items}, threads);
}

cs_status cs_parallel_workers(int64_t items, int threads, cs_worker_fn fn, void *ctx)
{
    return run_loop((loop){.of_worker = fn, .ctx = ctx, .items = items}, threads);
}

cs_status cs_parallel_through(int64_t items, int threads, cs_worker_fn fn, void *ctx)
{
    return run_loop((loop){.of_worker = fn, .ctx = ctx, .items = items, .through = true}, threads);
}

/* Asked of the system once: each answer opens a file, and every loop asks. */
static int processors(void)
{
    static atomic_int known;
    int count = atomic_load(&known);
    if (count <= 0) {
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
        atomic_store(&known, count);
    }
    return count;
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
        count = processors();
    }
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

static void *wait_for_release(void *gate)
{
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    return NULL;
}

/* How many threads can run at once, up to `count`: OpenBLAS waits for ever for one that it could
 * not make. */
static int threads_possible(int count)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[MAX_THREADS];
    int made = 0;
    (void)pthread_mutex_lock(&gate);
    while (made < count - 1 && pthread_create(&thread[made], NULL, wait_for_release, &gate) == 0) {
        ++made;
    }
    (void)pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; ++i) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)pthread_mutex_destroy(&gate);
    return made + 1;
}

/* Threads that OpenBLAS has when nobody holds it; and, as it keeps those that it began with, and
 * their memory, the most there were. Holds blas.lock. */
static int blas_threads(void)
{
    const int now = blas.holds > 0 ? blas.threads : openblas_get_num_threads();
    blas.most = now > blas.most ? now : blas.most;
    return now;
}

void cs_threads_set(int threads)
{
    atomic_store(&configured, threads);
    int count = cs_threads();
    (void)pthread_mutex_lock(&blas.lock);
    if (count > blas_threads()) {
        count = atomic_load(&blas_is_broken) ? 1 : threads_possible(count);
    }
    if (blas.holds > 0) {
        blas.threads = count;
    } else {
        openblas_set_num_threads(count);
    }
    (void)pthread_mutex_unlock(&blas.lock);
}

void cs_threads_blas_hold(bool hold)
{
    (void)pthread_mutex_lock(&blas.lock);
    if (hold && blas.holds++ == 0) {
        blas.threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    } else if (!hold && --blas.holds == 0) {
        openblas_set_num_threads(blas.threads);
    }
    (void)pthread_mutex_unlock(&blas.lock);
}

cs_status cs_threads_blas_check(void)
{
    const int n = 256;
    const rlim_t mib = 1 << 20, buffer = 128 * mib, stack = 8 * mib, program = 64 * mib,
                 arena = 64 * mib;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return CS_OK;
    }
    (void)pthread_mutex_lock(&blas.lock);
    (void)blas_threads();
    const int threads = blas.most;
    (void)pthread_mutex_unlock(&blas.lock);
    /* Its own threads keep their buffers; each of ours that calls it wants one too. */
    const rlim_t one = program + buffer + stack,
                 all = one + (rlim_t)(threads - 1) * (buffer + stack) +
                       (rlim_t)(cs_threads() - 1) * (buffer + stack + arena);
    const char *set = getenv("OPENBLAS_NUM_THREADS");
    if (limit.rlim_cur < all) {
        return cs_fail(CS_ERR_MEMORY,
                       "the address space is limited to %lld MiB (ulimit -v), but OpenBLAS with %d "
                       "thread%s, called by %d of our threads, needs %lld MiB%s%s",
                       (long long)(limit.rlim_cur / mib), threads, threads > 1 ? "s" : "",
                       cs_threads(), (long long)(all / mib), limit.rlim_cur < one ? "" : "; ",
                       limit.rlim_cur < one ? ""
                       : set && strcmp(set, "1") == 0
                           ? "give --threads 1"
                           : "set OPENBLAS_NUM_THREADS=1 and give --threads 1");
    }
    /* A product that is large enough makes it take them now, before others do; it keeps them. */
    CS_AUTO_FREE double *a = cs_calloc((int64_t)n * n, sizeof *a),
                        *b = cs_calloc((int64_t)n * n, sizeof *b);
    if (a && b) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, a, n, 0, b, n);
    }
    return a && b ? CS_OK : CS_ERR_MEMORY;
}

void cs_threads_blas_broken(void)
{
    atomic_store(&blas_is_broken, true);
    openblas_set_num_threads(1);
}

void cs_interrupt_set(void)
{
    if (!cs_interrupted()) {
        atomic_store(&interrupted_at, cs_seconds());
    }
}

void cs_interrupt_clear(void)
{
    atomic_store(&interrupted_at, 0.0);
}

bool cs_interrupted(void)
{
    return atomic_load(&interrupted_at) > 0;
}

cs_status cs_interrupt_check(void)
{
    bool stop = cs_interrupted() && atomic_load(&held) <= 0;
    return stop ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
}

cs_status cs_interrupt_late(void)
{
    const bool late =
        cs_interrupted() && cs_seconds() - atomic_load(&interrupted_at) > CS_INTERRUPT_GRACE;
    return late ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
}

void cs_interrupt_hold(bool hold)
{
    (void)atomic_fetch_add(&held, hold ? 1 : -1);
}

/* --- a call that can be abandoned --------------------------------------------------------------- */

enum { RUNNING, ABANDONED, DONE };

typedef struct {
    void (*fn)(void *problem);
    atomic_int state;
    _Alignas(max_align_t) char problem[];
} abandonable;

static void *run_abandonable(void *ctx)
{
    abandonable *w = ctx;
    w->fn(w->problem);
    if (atomic_exchange(&w->state, DONE) == ABANDONED) cs_mem_free_deferred();
    return NULL;
}

/* Waits by pthread_timedjoin_np (glibc), which returns at once when the thread ends, and looks for
 * the interrupt in between. CS_ERR_INTERRUPT: abandoned. A clock that is set back delays the
 * interrupt; waiting by another clock needs glibc 2.31. */
static cs_status wait_for(pthread_t thread, abandonable *w)
{
    const long poll = 20 * 1000 * 1000, second = 1000 * 1000 * 1000;
    for (;;) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (until.tv_nsec + poll) / second;
        until.tv_nsec = (until.tv_nsec + poll) % second;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT) {
            return CS_OK;
        }
        cs_status status = cs_interrupt_check();
        if (status != CS_OK) {
            cs_mem_defer_free();
            if (atomic_exchange(&w->state, ABANDONED) == DONE) cs_mem_free_deferred();
            (void)pthread_detach(thread);
            return status;
        }
    }
}

cs_status cs_run_abandonable(void (*fn)(void *), void *problem, size_t size)
{
    pthread_t thread;
    CS_AUTO_FREE abandonable *w = NULL;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK && !(w = cs_alloc(1, sizeof *w + size))) status = CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    w->fn = fn;
    atomic_init(&w->state, RUNNING);
    memcpy(w->problem, problem, size);
    /* Where the system gives no thread, fn is computed here, to its end. */
    if (cs_thread_start(&thread, run_abandonable, w)) {
        status = wait_for(thread, w);
    } else {
        (void)run_abandonable(w);
    }
    if (status == CS_OK) memcpy(problem, w->problem, size);
    return status;
}
