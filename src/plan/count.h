/* Small exact combinatorics shared by the plan files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* C(n, k), 0 outside 0 <= k <= n: exact below 2^53, else to a few units in the last place, infinity
 * beyond the range of double. O(min(k, n - k)). */
double cs_binomial(int64_t n, int64_t k);

/* Greatest common divisor of non-negative integers. */
int64_t cs_gcd(int64_t a, int64_t b);

/* Products and least common multiples of positive integers, limited to 2^40: 0 means "too large"
 * and stays 0 in further factors. */
int64_t cs_small_product(int64_t a, int64_t b);
int64_t cs_small_lcm(int64_t a, int64_t b);

/* C(n, k) with the same limit. */
int64_t cs_small_binomial(int64_t n, int64_t k);

/* lcm(1, ..., n) with the same limit. */
int64_t cs_small_lcm_to(int64_t n);

/* The ascending m-subsets of 0..s-1 in lexicographic order: the first, 0..m-1, and the next in place,
 * false after the last. */
static inline void cs_first_subset(int64_t m, int32_t *subset)
{
    for (int32_t i = 0; i < m; ++i) {
        subset[i] = i;
    }
}
bool cs_next_subset(int64_t s, int64_t m, int32_t *subset);

/* The next of all distinct arrangements of n labels in lexicographic order, in place; false after
 * the last. */
bool cs_next_arrangement(int64_t n, int32_t *label);
