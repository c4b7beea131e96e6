/* Progress of long work, reported to a callback: the library never prints.
 *
 * A cs_progress may be NULL everywhere. `done` and `total` count the unit named by `stage`
 * ("sequences", "iterations"); total 0 means unknown. Called from one thread at a time.
 */
#pragma once

#include <stdint.h>

typedef struct cs_progress {
    void (*report)(void *ctx, const char *stage, int64_t done, int64_t total);
    void *ctx;
} cs_progress;

static inline void cs_progress_report(const cs_progress *p, const char *stage, int64_t done,
                                      int64_t total)
{
    if (p) {
        p->report(p->ctx, stage, done, total);
    }
}
