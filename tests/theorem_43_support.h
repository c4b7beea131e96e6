/* Shared by the tests of Theorem 4.3. */
#pragma once

#include "analysis/theorems/theorem_43.h"
#include "test.h"

enum { VOCAB = 6, LONGEST = 7, TEXTS = 3 };

/* Three random sequences of 7, 6 and 5 tokens; the pointers are into itself. */
typedef struct {
    int32_t token[TEXTS][LONGEST];
    const int32_t *start[TEXTS];
    int64_t length[TEXTS];
    cs_generation_bound_text text;
} world;

void make_text(world *w, uint64_t seed);
