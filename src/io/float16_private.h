/* Floats of 16 bits: IEEE 754 binary16 (F16) and bfloat16 (BF16, the upper half of a binary32).
 * Every value of either is a float, so decoding is exact; NaNs keep their sign and the bits of
 * their payload that fit.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float cs_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Sign, 5 bits of exponent (bias 15), 10 of fraction. */
static inline float cs_f16_decode(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) { /* zero and subnormal: fraction times 2^-24 */
        float x = (float)fraction * 0x1p-24F;
        return sign ? -x : x;
    }
    exponent = exponent == 31 ? 255 : exponent + 112; /* 112 = 127 - 15 */
    return cs_float_of_bits(sign | exponent << 23 | fraction << 13);
}

static inline float cs_bf16_decode(uint16_t half)
{
    return cs_float_of_bits((uint32_t)half << 16);
}

/* Rounds to nearest, ties to even; 65520 and above become infinity. A NaN stays a (quiet) NaN. */
static inline uint16_t cs_f16_encode(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x1ff));
    }
    if (size >= 0x47800000) { /* 2^16 */
        return (uint16_t)(sign | 0x7c00);
    }
    if (size >= 0x38800000) { /* 2^-14: the smallest normal half */
        uint32_t moved = size - 0x38000000;
        return (uint16_t)(sign | (moved + 0xfff + (moved >> 13 & 1)) >> 13);
    }
    /* Subnormal: adding a float whose spacing is 2^-24 rounds to a multiple of it. */
    float lifted = cs_float_of_bits(size) + 0.5F;
    memcpy(&bits, &lifted, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3f000000));
}
