/* What is reported of long work: how far it is, and how long it will take at the pace of its stage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t first, last, total; /* of the stage: where it began, where it is, 0: unknown */
    double begun, shown;        /* seconds; shown: when something was last shown */
    bool running;
} cs_pace;

/* Takes a report at `now`, in seconds; true when it is to be shown, once a `period`. A stage begins
 * where the total changes or the count falls back. */
bool cs_pace_report(cs_pace *pace, int64_t done, int64_t total, double now, double period);

/* ", about 3 min left", "" while nothing is known of it. */
enum { CS_PACE_LEFT = 48 };
void cs_pace_left(const cs_pace *pace, double now, char out[CS_PACE_LEFT]);
void cs_pace_seconds(double seconds, char out[CS_PACE_LEFT]); /* NAN: not known */

/* "120/400 steps, about 3 min left". */
void cs_pace_text(const cs_pace *pace, const char *stage, double now, char *out, size_t room);
