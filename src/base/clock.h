/* Seconds of a clock that only goes forward. */
#pragma once

#include <time.h>

static inline double cs_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
