/* Progress reports of long work: its state, and the time left at the speed of the current stage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t first, last, total; /* of the stage: first and current count, total; 0: unknown */
    double begun, shown;        /* seconds; shown: time of the last report shown */
    bool running;
} cs_eta;

/* Processes a report at time `now` in seconds; true if it is to be shown, at most once a `period`.
 * A stage begins when the total changes or the count decreases. */
bool cs_eta_report(cs_eta *pace, int64_t done, int64_t total, double now, double period);

/* ", about 3 min left", or "" while it is unknown. */
enum { CS_ETA_LEFT = 48 };
void cs_eta_seconds(double seconds, char out[CS_ETA_LEFT]); /* NAN: unknown */

/* "120/400 steps, about 3 min left". */
void cs_eta_text(const cs_eta *pace, const char *stage, double now, char *out, size_t size);
