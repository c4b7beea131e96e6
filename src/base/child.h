/* Another program, run to its end.
 *
 * It does not outlive this process and stops when this process is asked to: an interrupt
 * (cs_interrupt_set) is passed on as one SIGTERM to all of its process group, and the child is
 * waited for, so that a cospec child writes its checkpoint; should this process die, however that
 * is, the group receives SIGTERM too. The group is the child's own, so that Ctrl-C reaches it once,
 * through here.
 */
#pragma once

#include "base/status.h"

typedef struct {
    const char *const *argv; /* NULL at the end; argv[0] is looked for in PATH unless it has a / */
    const char *dir;         /* where it runs; NULL: here */
    int out, err;            /* descriptors of its stdout and stderr; 0: this process's own */
} cs_child;

/* Runs it with an empty stdin; *code receives its exit code, or 128 + the signal that ended it.
 * CS_ERR_IO when it cannot be started; CS_ERR_INTERRUPT when it failed after an interrupt. */
cs_status cs_child_run(const cs_child *child, int *code) CS_MUST_CHECK;
