/* The theorems of Look Ahead or Look Around? as audits: each evaluates the printed and the
 * corrected statement. theorems.md, theorem-4-2.md.
 */
#pragma once

#include "analysis/theorems/registry.h"
#include "cooc/labelled.h"

/* Theorem 3.1 on a matrix: random f (rows x t) and W (cols x t), options->trials of them, and the
 * optimal factors. Both sides are formed independently: the loss from expectations over A, the norm
 * entry by entry over Abar - F W'^T in row blocks. Statements on the optimal factors are
 * INCONCLUSIVE when their SVD did not converge. Of `options`: features (0: 4), trials (0: 5), seed,
 * threads, spectrum, whose k is set here. */
cs_status cs_theorem_31(const cs_csr *a, const char *input, const cs_theorem_input *options,
                        cs_statements *out) CS_MUST_CHECK;

/* Theorem 4.1 for every t in 1..k of a spectrum with vectors: E, alpha, alpha~, all bounds, soft
 * labels, random rotations of degenerate spaces. `curve` (an array; may be NULL) receives a row per
 * t. Statements that rest on the triplets are INCONCLUSIVE when these did not converge.
 * CS_ERR_INPUT when no row has a label, CS_ERR_USAGE when a truncated spectrum lacks sum sigma^4.
 * Of `options`: triplets, rotations (0: 20), seed, threads, progress. */
cs_status cs_theorem_41(const cs_labelled *m, const cs_spectrum *spectrum, const char *input,
                        const cs_theorem_input *options, cs_statements *out,
                        cs_item *curve) CS_MUST_CHECK;

/* The same on the whole matrix of the toy model (every nonzero triplet, with options->spectrum),
 * and the t from which the probe is perfect. limit: as for cs_toy_matrix. */
cs_status cs_theorem_41_toy(const cs_toy *toy, int64_t limit, const cs_theorem_input *options,
                            cs_statements *out, cs_item *rows) CS_MUST_CHECK;

/* Least squares with equal weights of contexts breaks the bound of Theorem 4.1: a fixed matrix on
 * which it does, with the bound that holds there with weights P_C. */
cs_status cs_theorem_41_unweighted(const cs_theorem_input *options,
                                   cs_statements *out) CS_MUST_CHECK;

/* Theorem 4.1 of the language of in->corpus under in->build, a row for t = 1..in->triplets (0: 16,
 * or the words), in->blocks blocks of documents for its errors (0: none, and no verdict). Errors of
 * cs_language_of and cs_language_labels_of. */
cs_status cs_theorem_41_language(const cs_theorem_input *in,
                                 cs_theorem_report *report) CS_MUST_CHECK;

/* The number of unmasked tokens: the toy's own, else half the sequence. */
cs_status cs_toy_unmasked(const cs_toy *toy, int64_t *out) CS_MUST_CHECK;

/* Theorem 4.2 on the toy model: enumeration (where it fits), reduction and closed form side by
 * side, the printed values, the rs-ones claim under the three prefix conventions, blind and given,
 * and the extension to the other objectives. `spectra` (may be NULL) receives a row per (objective,
 * method, sigma). */
cs_status cs_theorem_42(const cs_toy *toy, cs_statements *out, cs_item *spectra) CS_MUST_CHECK;

/* Labels of the rows of a matrix, from a file. FILE.npy: integers, one for each row, negative for none. Any other file: text, a label a line,
 * numbered by first appearance, "-" or empty for none. Fills labels and row_label of *m, whose a is
 * already read and has these rows of the whole matrix; the file labels all rows of the whole. The
 * mass of a row belongs to its label. CS_ERR_INPUT names the file and the row or line ("labels.txt: 90 labels
 * for 100 rows"). */
cs_status cs_labels_read(const char *path, const cs_nonempty_rows *kept,
                         cs_labelled *m) CS_MUST_CHECK;
