/* Binomials by the product C(n, i) = C(n, i-1) (n-i+1) / i in extended precision: every partial
 * product is an integer, so it is exact while it fits the 64-bit significand and rounds once a step
 * beyond. Integers of the denominators stop at 2^40, far from the overflow of their products with a
 * sequence's weight. */
#include "plan/count.h"

#include <math.h>

static const int64_t small_limit = (int64_t)1 << 40;

double cs_binomial(int64_t n, int64_t k)
{
    if (k < 0 || k > n) {
        return 0;
    }
    if (k > n - k) {
        k = n - k;
    }
    long double c = 1;
    for (int64_t i = 1; i <= k && isfinite((double)c); ++i) {
        c = c * (long double)(n - k + i) / (long double)i;
    }
    return c < 0x1p62L ? (double)roundl(c) : (double)c;
}

int64_t cs_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t cs_small_product(int64_t a, int64_t b)
{
    return a <= 0 || b <= 0 || a > (small_limit - 1) / b ? 0 : a * b;
}

int64_t cs_small_lcm(int64_t a, int64_t b)
{
    return a <= 0 || b <= 0 ? 0 : cs_small_product(a / cs_gcd(a, b), b);
}

int64_t cs_small_binomial(int64_t n, int64_t k)
{
    double c = cs_binomial(n, k);
    return c < (double)small_limit ? (int64_t)c : 0;
}

int64_t cs_small_lcm_to(int64_t n)
{
    int64_t lcm = 1;
    for (int64_t i = 2; i <= n && lcm > 0; ++i) {
        lcm = cs_small_lcm(lcm, i);
    }
    return lcm;
}

bool cs_next_subset(int64_t s, int64_t m, int32_t *subset)
{
    int64_t i = m - 1;
    while (i >= 0 && subset[i] == s - m + i) {
        --i;
    }
    if (i < 0) {
        return false;
    }
    ++subset[i];
    for (int64_t j = i + 1; j < m; ++j) {
        subset[j] = subset[j - 1] + 1;
    }
    return true;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t held = *a;
    *a = *b;
    *b = held;
}

bool cs_next_arrangement(int64_t n, int32_t *label)
{
    int64_t i = n - 2;
    while (i >= 0 && label[i] >= label[i + 1]) {
        --i;
    }
    if (i < 0) {
        return false;
    }
    int64_t j = n - 1;
    while (label[j] <= label[i]) {
        --j;
    }
    swap(&label[i], &label[j]);
    for (int64_t a = i + 1, b = n - 1; a < b; ++a, --b) {
        swap(&label[a], &label[b]);
    }
    return true;
}
