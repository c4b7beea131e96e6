/* Philox 4x32-10: ten rounds of multiply, xor and key bump on a 128-bit counter.
 * Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011. */
#include "base/rng.h"

#include <math.h>

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
        uint64_t p0 = (uint64_t)0xD2511F53U * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57U * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

cs_rng cs_rng_at(uint64_t seed, cs_stream stream, uint64_t index)
{
    cs_rng rng = {
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, (uint32_t)stream, (uint32_t)index, (uint32_t)(index >> 32)},
        .used = 4,
    };
    return rng;
}

static uint32_t next_word(cs_rng *rng)
{
    if (rng->used == 4) {
        philox(rng->counter, rng->key, rng->block);
        rng->counter[0] += 1;
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

uint64_t cs_rng_u64(cs_rng *rng)
{
    uint64_t low = next_word(rng);
    return low | (uint64_t)next_word(rng) << 32;
}

double cs_rng_uniform(cs_rng *rng)
{
    return (double)(cs_rng_u64(rng) >> 11) * 0x1p-53;
}

int64_t cs_rng_below(cs_rng *rng, int64_t n)
{
    /* Rejection from the largest multiple of n keeps the draw unbiased. */
    uint64_t range = (uint64_t)n;
    uint64_t limit = UINT64_MAX - (UINT64_MAX % range + 1) % range;
    uint64_t x = cs_rng_u64(rng);
    while (x > limit) {
        x = cs_rng_u64(rng);
    }
    return (int64_t)(x % range);
}

double cs_rng_normal(cs_rng *rng)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2.0 * log(1.0 - cs_rng_uniform(rng)));
    return radius * cos(two_pi * cs_rng_uniform(rng));
}

void cs_rng_signs(cs_rng *rng, int64_t n, double *values)
{
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = cs_rng_u64(rng);
        int64_t end = i + 64 < n ? i + 64 : n;
        for (int64_t j = i; j < end; ++j, bits >>= 1) {
            values[j] = bits & 1 ? 1 : -1;
        }
    }
}

void cs_rng_shuffle(cs_rng *rng, int64_t n, int32_t *values)
{
    for (int64_t i = n - 1; i > 0; --i) {
        int64_t j = cs_rng_below(rng, i + 1);
        int32_t held = values[i];
        values[i] = values[j];
        values[j] = held;
    }
}

void cs_rng_permutation(cs_rng *rng, int64_t n, int32_t *values)
{
    for (int64_t i = 0; i < n; ++i) {
        values[i] = (int32_t)i;
    }
    cs_rng_shuffle(rng, n, values);
}
