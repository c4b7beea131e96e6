/* Apart from its header, which so needs no more than C. */
#include "base/clock.h"

#include <time.h>

double cs_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
