/* Frequencies of rotary positions in sequences that are longer than those of training. */
#pragma once

#include <math.h>

#include "tensor/graph.h"

/* Frequency i of n in a sequence whose largest position is `last` (cs_op_rotate); f: its n
 * frequencies and, with a table of longer sequences, theirs. */
static inline double cs_rotate_frequency(const cs_op_rotate *o, int64_t n, int64_t i, int64_t last,
                                         double f, double f_longer)
{
    const cs_rotate_longer *l = &o->longer;
    const double rows = (double)(last + 1);
    if (!(l->original > 0) || rows <= l->original) {
        return f;
    }
    if (l->table) {
        return f_longer;
    }
    const double stretched = l->stretch * rows / l->original - (l->stretch - 1),
                 base = l->base * pow(stretched, (double)n / (double)(n - 1));
    return 1.0F / (float)pow(base, (double)((float)(2 * i) / (float)(2 * n)));
}
