/* Labels of the language: the quantities of Theorem 4.1 with soft labels
 * (analysis/theorems/theorem_41_bounds.c) in addition to its spectrum. The label of a document is
 * that of every event in it, and pi(X) is its distribution given the context X.
 *
 *   p_max     the largest share of mass of a class
 *   alpha~    1 - sum_{X+, c} P(X+, c)^2 / P_G(X+),  P(X+, c) = sum_X P(X) P(X+ | X) pi_c(X): target
 *             and label of one context are from two documents, and the square from two halves of
 *             the documents, so that alpha~ is unbiased if the matrix is
 *             (analysis/measures/population.h); the mean over seven splits
 *   E(t)      the error of least squares on t features, both estimated from one half of the
 *             documents, on events of the other half in contexts of at least two of its documents: the
 *             distribution of targets of a context is taken from the other documents, and the
 *             prediction is compared with the document's own label. Both ways. The error of the
 *             language's features and classifier is smaller except for sampling
 */
#pragma once

#include "analysis/measures/language.h"

typedef struct {
    int64_t classes, k, blocks; /* classes: unlabelled documents form one more */
    double *p_max, *alpha;      /* blocks + 1: of all documents, then without each block */
    double *error;              /* (blocks + 1) x k: E(1) .. E(k); NaN: no such context */
} cs_language_labels;

void cs_language_labels_free(cs_language_labels *labels);

/* Options and errors of cs_language_of; CS_ERR_USAGE: no document has a label. Memory: three
 * matrices of columns x classes. */
cs_status cs_language_labels_of(const cs_corpus *corpus, const cs_cooc_options *build,
                                const cs_language_options *options,
                                cs_language_labels *out) CS_MUST_CHECK;
