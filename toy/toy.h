/** \file
 * The toy model of LA 4.1.2 and its exact spectra by three methods
 * (docs/explanation/theorem-4-2.md).
 *
 * It has r classes, s positions and T tokens for each (class, position). The class is uniform, and
 * tokens are independent and uniform given the class. Token j of class y at position k is
 * \f$k T r + (y - 1) T + j\f$ (disjoint sets), or \f$k T r + y j\f$ as printed (`literal`), which
 * collides between classes.
 *
 * - enumerate: the full matrix over all contents and its SVD, the subject of the theorem.
 * - reduce: \f$\bar A = D B D'^T\f$ for each class with orthonormal D and D', so the nonzero
 *   singular values are those of B(S, k) = P(S, k) / sqrt(P(S) P(k)), each r times. An empty S
 *   that is shared by all classes couples them: sigma(B), and r - 1 copies of sigma(B without its
 *   empty row, not renormalised). Any r and T. Source: ours.
 * - closed: formulas, where they exist.
 *
 * Between an unknown and a known target position lies a context that knows it with probability
 * theta: \f$P(\hat k \mid k, S) = \theta\, [\hat k = k] + (1 - \theta)\, P(\hat k \mid S)\f$. For
 * n masked tokens it is the symmetric channel that is correct with probability 1 - eps, theta =
 * 1 - eps n / (n - 1).
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cooc/labelled.h"
#include "io/result.h"
#include "plan/objective.h"

/** A toy model. */
typedef struct {
    /** The objective; its empty_prefix applies. */
    cs_objective objective;
    /** r. */
    int64_t classes;
    /** s. */
    int64_t length;
    /** T. */
    int64_t tokens;
    /** Token sets as printed. */
    bool literal;
    /** The position of the target is part of the context. */
    bool given;
    /** theta in [0, 1]: the position in the context is that of the target with this probability,
     * else a position drawn like the target given the text; 0: as `given`.
     */
    double position_known;
} cs_toy;

/** A spectrum as values with multiplicities. Free it with cs_toy_spectrum_free. */
typedef struct {
    /** Number of distinct nonzero values. */
    int64_t values;
    /** values, descending, more than 1e-9 apart. */
    double *sigma;
    /** values multiplicities. */
    int64_t *multiplicity;
    /** Sum of sigma^2 with multiplicities. */
    double sum_sigma2;
    /** Sum of sigma^4 with multiplicities. */
    double sum_sigma4;
    /** Sum of multiplicities. */
    int64_t rank;
    /** Largest residual of the solver; 0 for closed forms. */
    double residual;
    /** No matrix was solved: a closed form, or a reduction that symmetry or a known target makes
     * one.
     */
    bool formula;
    /** The formula and its origin, or the method and sizes. */
    char source[160];
} cs_toy_spectrum;

/** Frees a spectrum; accepts a zeroed object. */
void cs_toy_spectrum_free(cs_toy_spectrum *spectrum);

/** Checks the parameters.
 *
 * \retval CS_ERR_USAGE a parameter is out of range, or the objective does not exist at this length
 */
cs_status cs_toy_check(const cs_toy *toy) CS_MUST_CHECK;

/** "r=3 s=4 T=2, masked unmasked=2 ..., target position blind, ...". Free it with cs_free; NULL if
 * memory is exhausted.
 */
char *cs_toy_describe(const cs_toy *toy) CS_MUST_CHECK;

/** Writes "blind", "given" or "known 0.5". */
void cs_toy_position(const cs_toy *toy, char text[32]);

/** "none", "shared" or "class". Static text. */
const char *cs_prefix_name(cs_empty_prefix prefix);

/** The model with another objective at its defaults, other members kept. */
cs_toy cs_toy_with(const cs_toy *toy, cs_objective_kind kind, cs_empty_prefix prefix);

/** The model with objective masked, m unmasked tokens, no empty prefix, disjoint token sets and an
 * unknown target position.
 */
cs_toy cs_toy_masked(const cs_toy *toy, int64_t m);

/** Offset of token number `digit`, 0..T-1, of a class within the r T tokens of its position. */
int64_t cs_toy_offset(const cs_toy *toy, int64_t label, int64_t digit);

/** base^exponent if it fits int64, base >= 1. */
int64_t cs_toy_power(int64_t base, int64_t exponent);

/** Rows, columns and nonzeros of the full matrix, as doubles since they may be very large. Exact
 * for disjoint sets, upper bounds for literal ones. Errors of cs_toy_check.
 */
cs_status cs_toy_size(const cs_toy *toy, double *rows, double *cols, double *nnz) CS_MUST_CHECK;

/** The joint distribution A over all contents, with class masses of rows and columns. A sums to 1.
 * Rows are contents (with k if known, and the class for class-specific empty prefixes).
 *
 * \param limit most nonzeros; 0: 2^27
 * \param out receives the matrix (cs_labelled_free)
 * \retval CS_ERR_USAGE as for cs_toy_check
 * \retval CS_ERR_MEMORY the limit is exceeded, with the sizes, or memory is exhausted
 */
cs_status cs_toy_matrix(const cs_toy *toy, int64_t limit, cs_labelled *out) CS_MUST_CHECK;

/** The spectrum by enumeration. Errors of cs_toy_matrix and cs_spectrum_of. */
cs_status cs_toy_enumerate(const cs_toy *toy, int64_t limit, cs_toy_spectrum *out) CS_MUST_CHECK;

/** The spectrum for a position that is known with probability theta, from that for an unknown one:
 * \f$1 - \sigma^2 = (1 - \theta^2)(1 - \sigma_{\mathrm{blind}}^2)\f$ for every class and target
 * position, zeros of the unknown case included. Not for an empty text that classes share.
 */
cs_status cs_toy_mix_positions(const cs_toy *toy, const cs_toy_spectrum *blind,
                               cs_toy_spectrum *out) CS_MUST_CHECK;

/** The lower bound of sum sigma^2 of a class for an unknown target position without an empty prefix
 * (ours), by Cauchy and Schwarz in each S with the target mass P_G(S) of the positions in S:
 *
 * \f[ \sum_j \sigma_j^2 \ge E_S\left[ \frac{1}{1 - P_G(S)} \right], \qquad \text{equality iff } P(\cdot \mid S) \propto P_G \text{ outside } S. \f]
 *
 * \param floor receives the bound
 * \param met receives whether equality holds, to 1e-12
 * \retval CS_ERR_USAGE an empty prefix, or more than 2^20 events of a mixture
 */
cs_status cs_toy_floor(const cs_toy *toy, double *floor, bool *met) CS_MUST_CHECK;

/** The spectrum by reduction.
 *
 * \retval CS_ERR_USAGE literal token sets, or a length that is too large (2,000 for fixed orders)
 */
cs_status cs_toy_reduce(const cs_toy *toy, cs_toy_spectrum *out) CS_MUST_CHECK;

/** The spectrum by a closed form.
 *
 * \retval CS_ERR_USAGE no closed form is known for these parameters
 */
cs_status cs_toy_closed(const cs_toy *toy, cs_toy_spectrum *out) CS_MUST_CHECK;

/** \cond INTERNAL */
/** A toy model and its spectrum, for the record of a result. */
typedef struct {
    const cs_toy *toy;
    const char *objective, *method;
    double rows, cols, nnz;
    cs_toy_spectrum spectrum; /* zeroed: only sizes are known */
} cs_toy_point;

/** The model, its sizes, values and sums in `item`; in `rows` one for each distinct value: `position`
 * numbers the values, `index` is the first j with sigma_j = sigma. */
void cs_toy_record(const cs_toy_point *p, cs_item *item, cs_item *rows);
/** \endcond */
