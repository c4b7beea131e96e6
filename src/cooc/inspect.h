/* Lists of what a stored matrix holds, as rows of a result: {"what", "rank", "index", "text",
 * "value", "share"}, at most `top` of a list.
 */
#pragma once

#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "io/result.h"

typedef struct {
    const cs_cooc_store *store;
    int64_t top;
    cs_item *lines; /* an array, which receives the rows */
} cs_inspection;

/* A row of the matrix, its mass, and its targets by falling weight. CS_ERR_USAGE: there is none. */
cs_status cs_inspect_row(const cs_inspection *in, int64_t row) CS_MUST_CHECK;

/* The rows of largest mass. */
cs_status cs_inspect_heaviest(const cs_inspection *in) CS_MUST_CHECK;

/* Contexts and tokens of the largest positive and negative entries of a singular vector, from 1; of
 * a Gram form tokens alone. The share is the square: vectors have unit length. */
cs_status cs_inspect_vector(const cs_inspection *in, const cs_spectrum *s,
                            int64_t vector) CS_MUST_CHECK;

/* Nearest tokens of a word, itself first, by the cosine of sigma_j v_j[token] / sqrt(P_G(token)) over
 * vectors first .. end - 1, from 0. CS_ERR_INPUT: it is no word, no target, or has no part in them. */
cs_status cs_inspect_neighbours(const cs_inspection *in, const cs_spectrum *s, int64_t first,
                                int64_t end, const char *word) CS_MUST_CHECK;
