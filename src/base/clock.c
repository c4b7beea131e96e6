/* Apart from its header, which so needs no more than C. */
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>

double cs_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cs_processor_seconds(void)
{
    static const int who[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double seconds = 0;
    for (int i = 0; i < 2; ++i) {
        struct rusage use = {0};
        (void)getrusage(who[i], &use);
        seconds += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    }
    return seconds;
}
