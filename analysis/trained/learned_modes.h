/* Order of learning: how much of each singular direction of the co-occurrence matrix the factors of
 * a model have at a step of its training (learned_factors.h has F, W', M = F W'^T and factor b).
 *
 * A mode is a group of equal singular values sigma, with the m vectors U and V of its triplets:
 *
 *   share   tr(U^T M V) / (m sigma b/2)     1 at the optimum, 0 before anything is learned
 *   energy  ||U^T M||_F^2 / ||M||_F^2       the part of M that lies in the direction
 *
 * Both depend on M alone, so not on how it is divided into F and W', nor on the choice of vectors in
 * a group. Energies of all modes sum to at most 1. */
#pragma once

#include "analysis/trained/learned_factors.h"

/* Largest difference of singular values of one mode. */
#define CS_LEARNED_EQUAL 1e-6

typedef struct {
    double sigma, share, energy;
    int64_t count; /* m */
} cs_learned_mode;

/* The modes of the first `most` triplets, which are not cut: the last one is whole. mode: at least
 * as many as triplets of the target. CS_ERR_MEMORY. */
cs_status cs_learned_modes_of(const cs_learned_target *target, const cs_dense *f, const cs_dense *w,
                              double factor, int64_t most, cs_learned_mode *mode,
                              int64_t *count) CS_MUST_CHECK;

/* Appends a row for each mode of the first columns of f: step, mode, sigma, count, share, energy. */
cs_status cs_learned_modes_record(const cs_learned_target *target, const cs_dense *f,
                                  const cs_dense *w, double factor, int64_t step,
                                  cs_item *rows) CS_MUST_CHECK;

/* Whether a step is one of about 10 for each factor of 10 that are measured, or the last. */
bool cs_learned_step(int64_t step, int64_t steps);
