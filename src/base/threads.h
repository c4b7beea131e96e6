/** \file
 * Number of threads, parallel loops and the interrupt flag.
 *
 * Results do not depend on the number of threads: items are handed out dynamically, so a result
 * may depend on the number of an item but not on the thread. Sums are formed for each item and
 * added in the order of the items.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/** The work on one item, 0..items-1. */
typedef cs_status (*cs_item_fn)(void *ctx, int64_t item);

/** The work on one item; `worker`, in 0..threads-1, selects scratch space. */
typedef cs_status (*cs_worker_fn)(void *ctx, int64_t item, int worker);

/** Runs `fn(ctx, item)` for the items 0..items-1 on `threads` threads (0: cs_threads()). The caller
 * is one of the threads; the others persist between loops, with signals from outside blocked. No
 * further items start after the first failure or interrupt.
 *
 * Loops may be nested and may run at once from several threads. They share the workers, so a loop
 * may get fewer threads than it requests. Cost: about 1 microsecond a loop when the workers are
 * awake.
 *
 * \return the failure of the lowest item that failed, with its reason
 * \retval CS_ERR_INTERRUPT the interrupt flag was set
 */
cs_status cs_parallel(int64_t items, int threads, cs_item_fn fn, void *ctx) CS_MUST_CHECK;

/** As cs_parallel; `fn` also receives the number of its worker. */
cs_status cs_parallel_workers(int64_t items, int threads, cs_worker_fn fn, void *ctx) CS_MUST_CHECK;

/** \cond INTERNAL */
/** As cs_parallel_workers, but it ignores the interrupt flag: for work that must not be left half
 * done.
 */
cs_status cs_parallel_through(int64_t items, int threads, cs_worker_fn fn, void *ctx) CS_MUST_CHECK;

/** \endcond */

/** The default number of threads: the last cs_threads_set, else OMP_NUM_THREADS, else the number of
 * online cores.
 */
int cs_threads(void);

/** Sets the default number of threads of this library and of OpenBLAS; 0 restores the initial
 * default. OpenBLAS receives fewer if the system limits the number of threads.
 */
void cs_threads_set(int threads);

/** \cond INTERNAL */
/** While held, OpenBLAS computes on one thread: for results whose bits must not depend on its
 * number of threads, and for problems too small to share, where threads would wait longer than
 * they compute. Holds nest, and several threads may hold at once; the last release restores the
 * number. Each hold(true) needs a hold(false).
 */
void cs_threads_blas_hold(bool hold);

/** CS_ERR_MEMORY if a limit on the address space leaves OpenBLAS no space for its buffers, which it
 * would request forever.
 */
cs_status cs_threads_blas_check(void) CS_MUST_CHECK;

/** Records that OpenBLAS could not create its threads when it was loaded; from now on it computes
 * without.
 */
void cs_threads_blas_broken(void);
/** \endcond */

/** Sets the interrupt flag. Long computations poll it and return CS_ERR_INTERRUPT.
 * Async-signal-safe.
 */
void cs_interrupt_set(void);

/** Clears the flag, so that a program can continue after an interrupted call. */
void cs_interrupt_clear(void);

/** Whether the flag is set. */
bool cs_interrupted(void);

/** Polls the flag.
 *
 * \retval CS_ERR_INTERRUPT the flag is set
 */
cs_status cs_interrupt_check(void) CS_MUST_CHECK;

/** \cond INTERNAL */
/** Seconds that cs_interrupt_late grants. The rest of two seconds remains for the cleanup on a
 * loaded machine.
 */
#define CS_INTERRUPT_GRACE 0.75

/** As cs_interrupt_check, but CS_ERR_INTERRUPT only CS_INTERRUPT_GRACE seconds after the interrupt:
 * for work that saves results that would be lost.
 */
cs_status cs_interrupt_late(void) CS_MUST_CHECK;

/** While held, cs_interrupt_check and parallel loops ignore the flag, but cs_interrupted still
 * reports it. For short work that must complete once begun, as a training step. Holds nest; each
 * hold(true) needs a hold(false).
 */
void cs_interrupt_hold(bool hold);

/** Runs an uninterruptible library call in a thread that is abandoned on an interrupt: fn(problem)
 * on a copy of the `size` bytes at problem, which is copied back. After an interrupt fn runs to its
 * end or to that of the program, and memory is freed only then (cs_mem_defer_free). fn must
 * therefore read and write the heap, not the stack.
 *
 * \retval CS_ERR_INTERRUPT at once when an interrupt arrives (cs_interrupt_check)
 */
cs_status cs_run_abandonable(void (*fn)(void *problem), void *problem, size_t size) CS_MUST_CHECK;
/** \endcond */
