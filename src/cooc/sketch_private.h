/* Number of distinct hashes: HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007), linear
 * counting below 2.5 times the registers. Standard error 1.04 / sqrt(registers). */
#pragma once

#include <math.h>
#include <stdint.h>

enum { CS_SKETCH_BITS = 13, CS_SKETCH_REGISTERS = 1 << CS_SKETCH_BITS };

typedef struct {
    uint8_t most[CS_SKETCH_REGISTERS]; /* most leading zeros of a hash of the register, plus one */
} cs_sketch;

static inline void cs_sketch_add(cs_sketch *s, uint64_t hash)
{
    uint8_t *most = &s->most[hash >> (64 - CS_SKETCH_BITS)];
    int zeros = __builtin_clzll(hash << CS_SKETCH_BITS | UINT64_C(1) << (CS_SKETCH_BITS - 1));
    *most = zeros + 1 > *most ? (uint8_t)(zeros + 1) : *most;
}

static inline void cs_sketch_merge(cs_sketch *to, const cs_sketch *from)
{
    for (int i = 0; i < CS_SKETCH_REGISTERS; ++i) {
        to->most[i] = from->most[i] > to->most[i] ? from->most[i] : to->most[i];
    }
}

static inline double cs_sketch_count(const cs_sketch *s)
{
    const double m = CS_SKETCH_REGISTERS;
    double sum = 0, unused = 0;
    for (int i = 0; i < CS_SKETCH_REGISTERS; ++i) {
        sum += ldexp(1, -s->most[i]);
        unused += s->most[i] == 0;
    }
    double count = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return count <= 2.5 * m && unused > 0 ? m * log(m / unused) : count;
}
