/* A parallel loop over independent items, and the interrupt flag.
 *
 * Determinism: items are handed out dynamically, so a result may depend on the item's number but
 * never on the worker's. Sums are formed per item and added in item order by the caller; the number
 * of items must not depend on the number of threads.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

/* Work on one item; of the second kind `worker`, in 0..threads-1, selects scratch space. */
typedef cs_status (*cs_item_fn)(void *ctx, int64_t item);
typedef cs_status (*cs_worker_fn)(void *ctx, int64_t item, int worker);

/* Runs fn for items 0..items-1 on `threads` threads (0: cs_threads()). Stops handing out items
 * after the first failure or interrupt; returns the failure of the lowest failed item with its
 * reason. The caller is worker 0; the others persist between loops, with all signals blocked that
 * are sent from outside. An item may run a loop of its own, and threads may run loops at once: they
 * share the workers, so a loop may get fewer threads than it asks for, down to the caller alone.
 * About 1 us a loop when the workers are awake; after some microseconds without work they sleep,
 * and waking takes tens of microseconds, in which the caller works on. */
cs_status cs_parallel(int64_t items, int threads, cs_item_fn fn, void *ctx) CS_MUST_CHECK;
cs_status cs_parallel_workers(int64_t items, int threads, cs_worker_fn fn, void *ctx) CS_MUST_CHECK;

/* The same without a look at the interrupt flag: for what must not be left half done. */
cs_status cs_parallel_through(int64_t items, int threads, cs_worker_fn fn, void *ctx) CS_MUST_CHECK;

/* A thread that receives no signal from outside, which go to the program's own threads, where a system
 * call may be waiting for one; those that it raises by a fault of its own stay. False where the
 * system gives none. */
bool cs_thread_start(pthread_t *thread, void *(*fn)(void *), void *ctx);

/* The default number of threads: the last cs_threads_set, else OMP_NUM_THREADS, else the online
 * cores. */
int cs_threads(void);

/* Sets it for this library and OpenBLAS; 0 restores the default. Where the system allows fewer
 * threads, OpenBLAS gets these. */
void cs_threads_set(int threads);

/* While held, OpenBLAS computes on one thread: for results whose bits must not depend on how many it
 * has, and for problems too small to share, where its threads wait for one another longer than they
 * compute, and on cores that other programs want, many thousand times longer. Holds nest, and
 * several threads may have one each; the last to let go gives OpenBLAS back what it had. Each
 * hold(true) has its hold(false). */
void cs_threads_blas_hold(bool hold);

/* CS_ERR_MEMORY where a limit on the address space leaves OpenBLAS no room for its buffers: it
 * would try for ever to get them. */
cs_status cs_threads_blas_check(void) CS_MUST_CHECK;

/* OpenBLAS could not make its threads when it was loaded: from now on it computes without. */
void cs_threads_blas_broken(void);

/* The interrupt flag: set from a signal handler, polled by long loops, which then return
 * CS_ERR_INTERRUPT. */
void cs_interrupt_set(void);
void cs_interrupt_clear(void); /* for a host that goes on after an interrupted call */
bool cs_interrupted(void);

/* CS_OK, or CS_ERR_INTERRUPT with its reason. */
cs_status cs_interrupt_check(void) CS_MUST_CHECK;

/* The same for work that saves what an interrupt would lose: only once CS_INTERRUPT_GRACE seconds have
 * passed since it came, which leave the rest of two seconds for tidying up on a loaded machine. */
#define CS_INTERRUPT_GRACE 0.75
cs_status cs_interrupt_late(void) CS_MUST_CHECK;

/* While held, cs_interrupt_check and parallel loops take no notice of the flag; cs_interrupted
 * still reports it. For work that must end whole once begun and is short: a training
 * step. Holds nest; each hold(true) has its hold(false). */
void cs_interrupt_hold(bool hold);
