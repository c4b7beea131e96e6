/* Runs an uninterruptible library call in a thread that is abandoned on an interrupt. */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* Calls fn(problem) in a new thread on a copy of the `size` bytes at problem, which is copied back.
 * Returns CS_ERR_INTERRUPT as soon as an interrupt arrives (cs_interrupt_check). fn then runs to
 * its end or to that of the program, and memory is released only then (cs_mem_keep). fn must
 * therefore read and write the heap, not the stack. */
cs_status cs_leavable(void (*fn)(void *problem), void *problem, size_t size) CS_MUST_CHECK;
