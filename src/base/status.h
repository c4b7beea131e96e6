/** \file
 * Status codes, and the reason of a failure.
 *
 * Every function that can fail returns a cs_status. The first failure on a thread records its
 * reason: one sentence that names the offending value and its place ("mask ratio 1.2 not in (0,
 * 1)"). Failures during the cleanup that follows do not overwrite it. The library never prints and
 * never exits.
 *
 * All functions are thread-safe: each thread has its own reason.
 */
#pragma once

#include <stdbool.h>

/** The compiler warns where the result of the function is ignored. */
#define CS_MUST_CHECK __attribute__((warn_unused_result))

/** The compiler checks the arguments of a format as it does for printf. */
#define CS_PRINTF(text, first) __attribute__((format(printf, text, first)))

/** Result of every function that can fail. */
typedef enum {
    /** Success. */
    CS_OK = 0,
    /** An argument of the call is out of its range. */
    CS_ERR_USAGE,
    /** The content of a file, a matrix or a corpus is invalid. */
    CS_ERR_INPUT,
    /** Opening, reading, writing or renaming a file failed. */
    CS_ERR_IO,
    /** An allocation failed, or a memory budget is too small. */
    CS_ERR_MEMORY,
    /** An iteration stopped before it reached its tolerance. */
    CS_ERR_CONVERGE,
    /** The requested device is absent or failed. */
    CS_ERR_DEVICE,
    /** The interrupt flag is set (cs_interrupt_set). */
    CS_ERR_INTERRUPT,
} cs_status;

/** Records a reason, unless this thread already holds one.
 *
 * \param format as for printf
 * \return `code`
 */
cs_status cs_fail(cs_status code, const char *format, ...) CS_PRINTF(2, 3);

/** cs_fail with a text whose line breaks stay, while those of cs_fail's arguments are shown as
 * escapes: the caller has made sure that names and data in it have none.
 *
 * \param text the reason
 * \return `code`
 */
cs_status cs_fail_lines(cs_status code, const char *text);

/** Puts a place in front of the reason: "place: reason". Does nothing if the reason already begins
 * so, or if `code` is CS_OK.
 *
 * \param code the status that the caller received
 * \param format the place (a file, a line), as for printf
 * \return `code`
 */
cs_status cs_blame(cs_status code, const char *format, ...) CS_PRINTF(2, 3);

/** Ends a function that built its result in a local variable: on CS_OK `local` moves to `*out`,
 * otherwise `release(&local)` frees it. Its value is `status`.
 */
#define CS_DELIVER(status, out, local, release)                                                    \
    ((status) == CS_OK ? (void)(*(out) = (local)) : release(&(local)), (status))

#ifdef __clang_analyzer__
#define cs_fail(code, ...) ((void)cs_fail(code, __VA_ARGS__), (code))
#define cs_blame(code, ...) ((void)cs_blame(code, __VA_ARGS__), (code))
#define cs_fail_lines(code, text) ((void)cs_fail_lines(code, text), (code))
#endif

/** The reason of the first failure on this thread, "" if there is none. The text belongs to the
 * library and is valid until the next call of the library on this thread.
 */
const char *cs_reason(void);

/** Discards the reason that this thread holds. Call it when you have handled a failure and
 * continue.
 */
void cs_reason_clear(void);
