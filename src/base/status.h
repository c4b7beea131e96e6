/* Status codes and the reason of a failure.
 *
 * Every function that can fail returns a cs_status. The first failure on a thread records why, in
 * one sentence that names the offending value and place ("mask ratio 1.2 not in (0, 1)"); what
 * fails later while cleaning up does not overwrite it. Callers may prefix the place with
 * cs_blame(). The library never prints and never exits: the program's main() shows cs_reason() and
 * maps the code to an exit code.
 */
#pragma once

#include <stdbool.h>

#define CS_MUST_CHECK __attribute__((warn_unused_result))
#define CS_PRINTF(text, first) __attribute__((format(printf, text, first)))

typedef enum {
    CS_OK = 0,
    CS_ERR_USAGE,     /* an argument of the call is out of its range */
    CS_ERR_INPUT,     /* the content of a file or matrix is bad */
    CS_ERR_IO,        /* open, read, write, rename failed */
    CS_ERR_MEMORY,    /* allocation failed or a stated budget is too small */
    CS_ERR_CONVERGE,  /* an iteration stopped before its tolerance */
    CS_ERR_DEVICE,    /* the device asked for is not there or failed */
    CS_ERR_INTERRUPT, /* SIGINT or SIGTERM was received */
} cs_status;

/* Records the reason (unless one is already held) and returns `code`. */
cs_status cs_fail(cs_status code, const char *format, ...) CS_PRINTF(2, 3);

/* Prefixes the held reason with "<text>: ", unless it begins so already, and returns `code`
 * unchanged; used by callers that know the file or line. Does nothing when code is CS_OK. */
cs_status cs_blame(cs_status code, const char *format, ...) CS_PRINTF(2, 3);

/* What a function that builds its result in a local returns: the result moves to *out where all went
 * well and is freed where not. */
#define CS_DELIVER(status, out, local, release)                                                    \
    ((status) == CS_OK ? (void)(*(out) = (local)) : release(&(local)), (status))

#ifdef __clang_analyzer__ /* reads one file at a time: tell it that `code` comes back */
#define cs_fail(code, ...) ((void)cs_fail(code, __VA_ARGS__), (code))
#define cs_blame(code, ...) ((void)cs_blame(code, __VA_ARGS__), (code))
#endif

/* The reason of the first failure on this thread, "" if none. Valid until the next call on this
 * thread. */
const char *cs_reason(void);

/* Forgets the held reason: for a caller that has handled a failure and goes on. */
void cs_reason_clear(void);
