/** \file
 * Progress of long computations, reported to a callback.
 */
#pragma once

#include <stdint.h>

/** A callback for progress. Every function accepts NULL in its place. */
typedef struct cs_progress {
    /** Called from one thread at a time. `done` of `total` units of the stage `stage` ("sequences",
     * "iterations") are complete; `total` 0 means unknown.
     */
    void (*report)(void *ctx, const char *stage, int64_t done, int64_t total);
    /** First argument of `report`. */
    void *ctx;
} cs_progress;

/** Calls the callback of `p` unless `p` is NULL. */
static inline void cs_progress_report(const cs_progress *p, const char *stage, int64_t done,
                                      int64_t total)
{
    if (p) {
        p->report(p->ctx, stage, done, total);
    }
}
