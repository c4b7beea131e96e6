/* Numbers and their ranges. */
#pragma once

#include <stddef.h>

#include "base/status.h"

typedef struct {
    const char *name;
    double x, low, high;
} cs_range;

/* CS_ERR_USAGE names the first number that is out of its range (NaN is out of any range). */
static inline CS_MUST_CHECK cs_status cs_ranges_check(size_t count, const cs_range *range)
{
    for (; count > 0; --count, ++range) {
        if (!(range->x >= range->low && range->x <= range->high)) {
            return cs_fail(CS_ERR_USAGE, "%s %.15g is not in [%.15g, %.15g]", range->name, range->x,
                           range->low, range->high);
        }
    }
    return CS_OK;
}
