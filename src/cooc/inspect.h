/* Lists of the content of a stored matrix, as rows of a result: {"what", "rank", "index", "text",
 * "value", "share"}, at most `top` for each list. */
#pragma once

#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "io/result.h"

typedef struct {
    const cs_cooc_store *store;
    int64_t top;
    cs_item *lines; /* an array, which receives the rows */
} cs_inspection;

/* A row of the matrix, its mass, and its targets by falling weight. CS_ERR_USAGE: there is no such
 * row. */
cs_status cs_inspect_row(const cs_inspection *in, int64_t row) CS_MUST_CHECK;

/* The rows of largest mass. */
cs_status cs_inspect_heaviest(const cs_inspection *in) CS_MUST_CHECK;

/* Contexts and tokens of the largest positive and negative entries of singular vector number `j`,
 * from 1; of a Gram form tokens only. The share is the square, since vectors have unit length. */
cs_status cs_inspect_vector(const cs_inspection *in, const cs_spectrum *s,
                            int64_t vector) CS_MUST_CHECK;

/* Nearest tokens of a word, itself first, by the cosine of sigma_j v_j[token] / sqrt(P_G(token))
 * over vectors first .. end - 1, from 0. CS_ERR_INPUT: not a word, not a target, or zero in these
 * vectors. */
cs_status cs_inspect_neighbours(const cs_inspection *in, const cs_spectrum *s, int64_t first,
                                int64_t end, const char *word) CS_MUST_CHECK;
