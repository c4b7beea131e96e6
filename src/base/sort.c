/* Radix sort of scored things: six passes of eleven bits over the values' bits, turned so that they
 * descend as unsigned numbers ascend. Passes in which all digits are equal are left out. */
#include "base/sort.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

enum { DIGIT = 11, DIGITS = 6, BUCKETS = 1 << DIGIT };

/* Negative numbers ascend with their bits, the others descend below them; -0 is 0. */
static uint64_t key_of(double value)
{
    const double x = value == 0 ? 0 : value;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? bits : ~bits & UINT64_MAX >> 1;
}

static int64_t bucket_of(const cs_scored *x, int digit)
{
    return (int64_t)(key_of(x->value) >> digit * DIGIT & (BUCKETS - 1));
}

cs_status cs_scored_sort(int64_t n, cs_scored *list)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_scored *buffer = cs_pool_take(&pool, n, sizeof *buffer), *from = list, *to = buffer;
    int64_t(*start)[BUCKETS] = cs_pool_take(&pool, DIGITS, sizeof *start);
    cs_status status = pool.status;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        for (int d = 0; d < DIGITS; ++d) {
            ++start[d][bucket_of(&list[i], d)];
        }
    }
    for (int d = 0; d < DIGITS && n > 0 && status == CS_OK; ++d) {
        if (start[d][bucket_of(&list[0], d)] == n) {
            continue;
        }
        for (int64_t b = 0, at = 0; b < BUCKETS; ++b) {
            const int64_t count = start[d][b];
            start[d][b] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; ++i) {
            to[start[d][bucket_of(&from[i], d)]++] = from[i];
        }
        cs_scored *other = from;
        from = to;
        to = other;
    }
    if (from != list && status == CS_OK) {
        memcpy(list, from, (size_t)n * sizeof *list);
    }
    return status;
}
