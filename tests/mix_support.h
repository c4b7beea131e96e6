/* Matrices of mixtures on a corpus of sequences of 1 to 500 tokens. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MIX_DOCUMENTS = 12, MIX_VOCAB = 7, MIX_LABELS = 3, MIX_PARTS = 3, MIX_TOKENS = 752 };

extern const int64_t mix_lengths[MIX_DOCUMENTS];

typedef struct {
    const char *spec;
    const char *part[MIX_PARTS];
    double share[MIX_PARTS];
    bool silent; /* some plans predict nothing: under `mask` shares depend on the length */
} mixture;

/* The matrix of the mixture in a context mode is the weighted sum of those of its parts, in the same
 * bits for every number of threads and every budget. max_length 0: whole documents. */
void mix_check(const mixture *m, const char *mode, bool given, int64_t max_length);
