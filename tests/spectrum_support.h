/* Shared by the tests of spectra and of their certificates. Every function stops the test when it
 * fails. */
#pragma once

#include "cooc/spectrum.h"

/* Backward-stable algorithms on matrices of norm 1 and side <= 1000: errors of a few hundred units
 * of 1e-16; a margin of four digits. */
static const double CLOSE = 1e-12;

cs_spectrum spectrum_of(const cs_csr *a, cs_spectrum_options options);

/* Abar of a. */
cs_csr normalised(const cs_csr *a);

/* Row i holds columns i and i + 1 of n: the cycle of 2n nodes. sigma = |cos(pi j / n)|, j = 0..n-1:
 * all but the first (and 0) are double, which a Krylov space of one vector cannot hold. */
cs_csr cycle(int64_t n);

/* Removes triplet j from a result, as if the solver had missed it. */
void forget_triplet(cs_spectrum *s, int64_t j);
