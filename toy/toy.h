/* The toy model of LA 4.1.2 and its exact spectra by three methods (theorem-4-2.md).
 *
 * r classes, s positions, T tokens for each (class, position); the class is uniform and the tokens
 * are independent and uniform given it. Token sets: `disjoint` k T r + (y-1) T + j, or `literal` k
 * T r + y j as printed, which collide between classes.
 *
 *   enumerate   the full matrix over all contents, its SVD: what the theorem is about
 *   reduce      Abar = D B D'^T per class with orthonormal D, D': the nonzero singular values are
 *               those of the matrix B over (S, k), P(S,k) / sqrt(P(S) P(k)), each r times; an empty
 *               S shared by all classes couples them: sigma(B), plus r-1 copies of sigma(B without
 *               its empty row, not renormalised). Any r and T
 *   closed      formulas, where there is one
 *
 * Between a blind X and one with the target's position lies one that is told it with probability
 * theta: P(k-told | k, S) = theta [k-told = k] + (1 - theta) P(k-told | S). Of n masked tokens that
 * is the symmetric channel that is right with probability 1 - eps, theta = 1 - eps n / (n - 1).
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cooc/labelled.h"
#include "plan/objective.h"

typedef struct {
    cs_objective objective;          /* its empty_prefix applies */
    int64_t classes, length, tokens; /* r, s, T */
    bool literal;                    /* token sets as printed */
    bool given;                      /* target position part of X */
    double told; /* theta: with this probability a position that is part of X is the target's, else
                    one drawn as the target itself, given the text; 0: as `given` says */
} cs_toy;

/* A spectrum as (value, multiplicity), values descending and apart by more than 1e-9; zeros are not
 * listed. */
typedef struct {
    int64_t values;
    double *sigma;
    int64_t *multiplicity;
    double sum_sigma2, sum_sigma4; /* with multiplicities */
    int64_t rank;                  /* sum of multiplicities */
    double residual;               /* largest residual of the solver that ran; 0 for closed forms */
    bool formula;     /* no matrix was solved: closed forms, and reductions that symmetry or a given
                     target make one */
    char source[160]; /* closed: the formula and where it comes from; else the method and sizes */
} cs_toy_spectrum;

void cs_toy_spectrum_free(cs_toy_spectrum *spectrum);

cs_status cs_toy_check(const cs_toy *toy) CS_MUST_CHECK;

/* "r=3 s=4 T=2, masked unmasked=2 ..., target position blind, ...", fresh memory; NULL: none. */
char *cs_toy_describe(const cs_toy *toy) CS_MUST_CHECK;

/* "blind", "given" or "known 0.5". */
void cs_toy_position(const cs_toy *toy, char text[32]);

/* "none", "shared", "class" */
const char *cs_prefix_name(cs_empty_prefix prefix);

/* The toy with another objective at its defaults, its other fields kept. */
cs_toy cs_toy_with(const cs_toy *toy, cs_objective_kind kind, cs_empty_prefix prefix);

/* masked with m unmasked, no empty prefix; disjoint token sets, a blind target. */
cs_toy cs_toy_masked(const cs_toy *toy, int64_t m);

/* The offset of a class' token number `digit` (0..T-1) within the r T tokens of its position. */
int64_t cs_toy_offset(const cs_toy *toy, int64_t label, int64_t digit);

/* base^exponent, of what fits; base >= 1. */
int64_t cs_toy_power(int64_t base, int64_t exponent);

/* Rows, columns and nonzeros of the full matrix before any memory is used (double: they may be
 * astronomic); exact for disjoint sets, an upper bound for literal ones. */
cs_status cs_toy_size(const cs_toy *toy, double *rows, double *cols, double *nnz) CS_MUST_CHECK;

/* The joint distribution A (sums to 1) over all contents, with class masses of rows and columns.
 * Rows are keyed by their contents alone (and k if given, and the class if the empty prefix is
 * class-tagged). CS_ERR_MEMORY with sizes when nnz exceeds `limit` (0: 2^27). */
cs_status cs_toy_matrix(const cs_toy *toy, int64_t limit, cs_labelled *out) CS_MUST_CHECK;

cs_status cs_toy_enumerate(const cs_toy *toy, int64_t limit, cs_toy_spectrum *out) CS_MUST_CHECK;

/* sigma of a position that is told with probability theta, from the blind spectrum: 1 - sigma^2 =
 * (1 - theta^2) (1 - sigma_blind^2) for every class and target position, zeros of the blind one
 * among them. Not for an empty text that classes share. */
cs_status cs_toy_tell(const cs_toy *toy, const cs_toy_spectrum *blind,
                      cs_toy_spectrum *out) CS_MUST_CHECK;

/* The floor of sum sigma^2 of a class, blind and without an empty text (ours):
 *
 *   sum sigma^2 >= E_S[ 1 / (1 - P_G(S)) ],   equality iff P(. | S) is P_G off S, normalised,
 *
 * by Cauchy and Schwarz in each S, P_G(S) the target mass of the positions in S. *met: whether the
 * condition holds, to 1e-12. CS_ERR_USAGE: an empty prefix, or more than 2^20 events of a mixture. */
cs_status cs_toy_floor(const cs_toy *toy, double *floor, bool *met) CS_MUST_CHECK;

/* CS_ERR_USAGE for literal token sets (classes are coupled), or a length too large (fixed order:
 * 2,000). */
cs_status cs_toy_reduce(const cs_toy *toy, cs_toy_spectrum *out) CS_MUST_CHECK;

/* CS_ERR_USAGE when no closed form is known for these parameters. */
cs_status cs_toy_closed(const cs_toy *toy, cs_toy_spectrum *out) CS_MUST_CHECK;
