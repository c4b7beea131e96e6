/* Shares of a number of tokens. */
#include "plan/ratio.h"

#include <float.h>
#include <math.h>

int64_t cs_ratio_round(double ratio, int64_t n)
{
    return (int64_t)round(ratio * (double)n * (1 + 4 * DBL_EPSILON));
}

int64_t cs_ratio_masked(double ratio, int64_t n)
{
    int64_t masked = cs_ratio_round(ratio, n);
    return masked < 1 ? 1 : masked > n - 1 ? n - 1 : masked;
}
