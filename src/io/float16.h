/* Floats of 16 bits: IEEE 754 binary16 (F16) and bfloat16 (BF16, the upper half of a binary32).
 * Every value of either is a float, so decoding is exact; NaNs keep their sign and the bits of
 * their payload that fit.
 */
#ifndef CS_IO_FLOAT16_H
#define CS_IO_FLOAT16_H

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

/* To the nearest, ties to the even; beyond the largest finite value by half a step or more:
 * infinity. A NaN stays one (quiet), even where the upper half of its payload is 0. */
static inline uint16_t cs_bf16_encode(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
