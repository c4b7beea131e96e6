/* Sums of doubles that do not depend on the order of the terms: fixed point in two words of 128
 * bits. A term is cut to a multiple of 2^-(exponent + 80), so a sum over parts is the sum over the
 * whole, bit for bit. For at most 2^40 terms. */
#pragma once

#include <math.h>
#include <stdint.h>

__extension__ typedef __int128 cs_wide;

typedef struct {
    cs_wide high, low; /* multiples of 2^-exponent, and of 2^-(exponent + CS_EXACT_LOW) */
} cs_exact_sum;

enum { CS_EXACT_BITS = 120, CS_EXACT_LOW = 80 };

/* The exponent for at most `count` terms of at most `most` > 0 in absolute value, which leaves 2^6
 * times as much unused. */
static inline int cs_exact_exponent(double most, double count)
{
    return CS_EXACT_BITS - (int)ceil(log2(most)) - (int)ceil(log2(count));
}

static inline void cs_exact_add(cs_exact_sum *sum, double term, int exponent)
{
    if (term != 0) {
        const double scaled = ldexp(term, exponent), whole = trunc(scaled);
        sum->high += (cs_wide)whole;
        sum->low += (cs_wide)ldexp(scaled - whole, CS_EXACT_LOW);
    }
}

static inline void cs_exact_join(cs_exact_sum *sum, const cs_exact_sum *more)
{
    sum->high += more->high;
    sum->low += more->low;
}

static inline double cs_exact_value(const cs_exact_sum *sum, int exponent)
{
    return ldexp((double)sum->high, -exponent) + ldexp((double)sum->low, -exponent - CS_EXACT_LOW);
}
