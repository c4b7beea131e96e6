/* Shares of a number of tokens: the only rule that turns a mask ratio into a number of masked
 * tokens, in training, in analysis and in the exact sums. objectives.md, Rounding. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>

/* round(ratio n), halves away from zero, of the decimal that was typed. The double nearest to 0.29
 * may be below it, and the product with n rounds again, together by less than 2 eps of ratio n. The
 * product is therefore increased by 4 eps, which moves such halves up to the decimal; a decimal of
 * at most 14 digits that is below a half stays below it. 0 <= ratio <= 1, n >= 0. */
static inline int64_t cs_ratio_round(double ratio, int64_t n)
{
    return (int64_t)round(ratio * (double)n * (1 + 4 * DBL_EPSILON));
}

/* The number of masked tokens of n >= 2: cs_ratio_round() clamped into 1..n-1, so that one token is
 * visible and one is masked. */
static inline int64_t cs_ratio_masked(double ratio, int64_t n)
{
    const int64_t masked = cs_ratio_round(ratio, n);
    return masked < 1 ? 1 : masked > n - 1 ? n - 1 : masked;
}
