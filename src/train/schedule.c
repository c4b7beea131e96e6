/* Closed forms: a resumed run needs the number of its step and nothing else. */
#include "train/schedule.h"

#include <math.h>

#include "base/enum_names.h"

static const char *const names[] = {"one-cycle", "cosine", "linear", "constant"};

CS_NAMES(cs_schedule, "schedule", names)

int64_t cs_schedule_warmup(cs_schedule schedule, int64_t steps)
{
    switch (schedule) {
    case CS_SCHEDULE_ONE_CYCLE:
        return steps / 2;
    case CS_SCHEDULE_COSINE:
    case CS_SCHEDULE_LINEAR:
        return steps * 2 / 25;
    case CS_SCHEDULE_CONSTANT:
        break;
    }
    return 0;
}

double cs_schedule_rate(cs_schedule schedule, double peak, double final_share, int64_t warmup,
                        int64_t cool, int64_t steps, int64_t s)
{
    const double pi = 3.141592653589793;
    const int64_t cooled = s - (steps - cool);
    if (s <= warmup) {
        return peak * (double)s / (double)warmup;
    }
    double u = (double)(s - warmup) / (double)(steps - warmup);
    switch (schedule) {
    case CS_SCHEDULE_ONE_CYCLE:
    case CS_SCHEDULE_LINEAR:
        return peak * (1.0 - (1.0 - final_share) * u);
    case CS_SCHEDULE_COSINE:
        return peak * (final_share + (1.0 - final_share) * (1.0 + cos(pi * u)) / 2.0);
    case CS_SCHEDULE_CONSTANT:
        break;
    }
    return cooled > 0 ? peak * (1.0 - (1.0 - final_share) * (double)cooled / (double)cool) : peak;
}
