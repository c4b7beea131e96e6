/* Shares of a number of tokens: the one rule by which a mask ratio becomes a number of masked
 * tokens, in training, in analysis and in the exact sums. objectives.md, Rounding.
 */
#pragma once

#include <stdint.h>

/* round(ratio n), half away from zero, of the decimal that was typed: the double next to 0.29 may
 * lie below it, and the product with n rounds once more, together less than 2 eps of ratio n. So
 * the product is raised by 4 eps, which lifts such halves to where the decimal is; a decimal of 14
 * digits or less that is truly below a half stays below it. 0 <= ratio <= 1, n >= 0. */
int64_t cs_ratio_round(double ratio, int64_t n);

/* The number of masked tokens of n >= 2: cs_ratio_round(), clamped into 1..n-1, so that a token
 * stays and one is masked. */
int64_t cs_ratio_masked(double ratio, int64_t n);
