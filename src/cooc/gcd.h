/* Greatest common divisor (Euclid). */
#ifndef CS_COOC_GCD_H
#define CS_COOC_GCD_H

#include <stdint.h>

/* Of numbers >= 0; the other one when one of them is 0. */
static inline int64_t cs_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
