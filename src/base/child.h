/* Runs another program to its end.
 *
 * The child does not outlive this process and stops when this process is interrupted. An interrupt
 * (cs_interrupt_set) is forwarded as one SIGTERM to the process group of the child, which is then
 * waited for, so that a cospec child writes its checkpoint. If this process dies for any reason,
 * the group receives SIGTERM too. The child has a separate process group, so that Ctrl-C reaches it
 * once, through this process. */
#pragma once

#include "base/status.h"

typedef struct {
    const char *const *argv; /* ends with NULL; argv[0] is searched in PATH unless it has a / */
    const char *dir;         /* working directory; NULL: the current one */
    int out, err;            /* descriptors of its stdout and stderr; 0: those of this process */
} cs_child;

/* Runs the child with an empty stdin. *code receives its exit code, or 128 + the signal that ended
 * it. CS_ERR_IO if it cannot be started; CS_ERR_INTERRUPT if it failed after an interrupt. */
cs_status cs_child_run(const cs_child *child, int *code) CS_MUST_CHECK;
