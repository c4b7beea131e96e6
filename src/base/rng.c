/* Random numbers of Philox (base/philox.h): blocks of four words, by their number. */
#include "base/rng.h"

#include <math.h>
#include <string.h>

#include "base/philox.h"

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
        const uint32_t *c = rng->counter;
        const cs_four_words w = cs_philox(c[0], c[1], c[2], c[3], rng->key[0], rng->key[1]);
        memcpy(rng->block, w.word, sizeof rng->block);
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
