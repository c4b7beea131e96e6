/* The theorems of Look Ahead or Look Around? as audits: each evaluates the printed and the
 * corrected statement. theory.md 3-5.
 */
#ifndef CS_ANALYSIS_THEOREMS_H
#define CS_ANALYSIS_THEOREMS_H

#include <stdint.h>

#include "analysis/statement.h"
#include "base/progress.h"
#include "base/status.h"
#include "cooc/labelled.h"
#include "cooc/spectrum.h"
#include "io/table.h"
#include "toy/toy.h"

/* Theorem 3.1 on a matrix: random f (rows x t) and W (cols x t), `trials` of them, and the optimal
 * factors. Both sides are formed independently: the loss from expectations over A, the norm entry
 * by entry over Abar - F W'^T in row blocks. Statements on the optimal factors are INCONCLUSIVE
 * when their SVD did not converge. */
typedef struct {
    int64_t features; /* t; 0: 4 */
    int64_t trials;   /* 0: 5 */
    uint64_t seed;
    int threads;
    const cs_spectrum_options *spectrum; /* how the optimal factors' SVD is done; its k is set here;
                                            NULL: by default, with seed and threads above */
} cs_theorem_31_options;
cs_status cs_theorem_31(const cs_csr *a, const char *input, const cs_theorem_31_options *options,
                        cs_statements *out) CS_MUST_CHECK;

/* Theorem 4.1 for every t in 1..k of a spectrum with vectors: E, alpha, alpha~, all bounds, soft
 * labels, random rotations of degenerate spaces. `curve` (may be NULL; zeroed: it is initialised)
 * receives a row per t. Statements that rest on the triplets are INCONCLUSIVE when these did not
 * converge. CS_ERR_INPUT when no row has a label, CS_ERR_USAGE when a truncated
 * spectrum lacks sum sigma^4. */
typedef struct {
    int64_t t_max;     /* 0: all of spectrum->k */
    int64_t rotations; /* random rotations of a degenerate space; 0: 20 */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
    const cs_spectrum_options *spectrum; /* cs_theorem_41_toy's SVD; as in 3.1 */
} cs_theorem_41_options;
cs_status cs_theorem_41(const cs_labelled *m, const cs_spectrum *spectrum, const char *input,
                        const cs_theorem_41_options *options, cs_statements *out,
                        cs_table *curve) CS_MUST_CHECK;

/* The same on the toy model's whole matrix (every nonzero triplet), and the t from which the probe
 * is perfect. limit: as for cs_toy_matrix. */
cs_status cs_theorem_41_toy(const cs_toy *toy, int64_t limit, const cs_theorem_41_options *options,
                            cs_statements *out, cs_table *table) CS_MUST_CHECK;

/* Least squares that weighs every context alike breaks the bound of Theorem 4.1: a fixed matrix on
 * which it does, beside the bound that holds there with weights P_C. */
cs_status cs_theorem_41_unweighted(const cs_theorem_41_options *options,
                                   cs_statements *out) CS_MUST_CHECK;

/* Theorem 4.2 on the toy model: enumeration (where it fits), reduction and closed form side by
 * side, the printed values, the rs-ones claim under the three prefix conventions, blind and given,
 * and the extension to the other objectives. `table` (may be NULL) receives a row per (objective,
 * method, sigma). */
cs_status cs_theorem_42(const cs_toy *toy, cs_statements *out, cs_table *table) CS_MUST_CHECK;

#endif
