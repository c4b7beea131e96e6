/* A library's computation that looks for no interrupt, and is left behind when one comes. */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* fn(problem), computed on a thread of its own from a copy of the `size` bytes at problem, which is
 * copied back. CS_ERR_INTERRUPT as soon as one comes (cs_interrupt_check): then fn computes on to its
 * end, or that of the program, and memory is given back only then (cs_mem_keep), so that fn has what
 * it reads and writes: from the heap, not from the stack. */
cs_status cs_leavable(void (*fn)(void *problem), void *problem, size_t size) CS_MUST_CHECK;
