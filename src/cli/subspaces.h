/* Singular subspaces of two matrices over the same tokens (angles, inspect --against). */
#pragma once

#include "cooc/spectrum.h"
#include "text/corpus.h"

/* CS_ERR_INPUT unless both have the same words in the same order. */
cs_status cs_same_vocabulary(const cs_corpus *a, const cs_corpus *b) CS_MUST_CHECK;

/* sigma_k - sigma_{k+1}, and what the two values are known to. */
typedef struct {
    double value, error;
} cs_spacing;

/* The spacing of a spectrum computed with k + 1 triplets, where the matrix has that many: a missing
 * value is below the floor, or is that of a null space. |sigma - exact| <= residual. */
cs_spacing cs_spacing_of(const cs_spectrum *s, int64_t k);
