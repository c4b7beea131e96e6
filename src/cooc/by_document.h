/* Rows by (context, document): inference about a language treats documents as the independent
 * units.
 *
 * A build with `by_document` (cooc/builder.h) keeps the counts c_d(X) of each document d at each
 * context X separate, by the same counting, merging and spilling. The lowest 32 bits of a row's key
 * are the document, the other 96 the context. Rows ascend, so those of a context are adjacent, in
 * order of documents, and every sum over contexts is one pass. (N contexts collide with probability
 * below N^2 / 2^97: 6e-12 for a billion.)
 *
 * Below, `part` has a number for every document of the corpus: CS_LEFT_OUT, or the part that it
 * belongs to; T_X = sum_d c_d(X) over the documents that are not left out. */
#pragma once

#include "cooc/builder.h"
#include "linalg/signed_gram.h"

static const int64_t CS_MOST_DOCUMENTS = INT64_C(1) << 32;
enum { CS_LEFT_OUT = 255 };

static inline cs_hash128 cs_key_by_document(cs_hash128 key, int64_t document)
{
    return (cs_hash128){.high = key.high,
                        .low = (key.low & ~(uint64_t)UINT32_MAX) | (uint64_t)document};
}

static inline int64_t cs_row_document(const cs_hash128 *key)
{
    return (int64_t)(key->low & UINT32_MAX);
}

/* The first row of the next context. */
int64_t cs_next_context(const cs_cooc *rows, int64_t row);

/* Index of the rows for sums over pairs: mass and document of each row, and the contexts of at
 * least two documents, as runs of rows. 12 bytes a row and 16 a context. */
typedef struct {
    double *mass;
    uint32_t *document;
    int64_t shared, *first, *end;
} cs_context_index;
cs_status cs_context_index_of(const cs_cooc *rows, cs_context_index *out) CS_MUST_CHECK;
void cs_context_index_free(cs_context_index *index);

/* The matrix of the documents that are not left out, with a row T_X for each of their contexts, in
 * the order of keys. If its weights are integers, the bits are those of a build of these documents.
 * Memory: the result; CS_ERR_MEMORY beyond free memory. */
cs_status cs_contexts_of(const cs_cooc *rows, const uint8_t *part, cs_csr *out) CS_MUST_CHECK;

/* Pairs of tokens of one context: from two documents, or from two parts. */
typedef enum { CS_PAIRS_OF_DOCUMENTS, CS_PAIRS_OF_PARTS } cs_pairs_between;

typedef struct {
    const uint8_t *part;
    unsigned chosen; /* bits of the parts whose documents form pairs */
    cs_pairs_between between;
    int64_t least;       /* contexts with fewer groups are left out; 0: 2 */
    double weight;       /* CS_PAIRS_OF_PARTS */
    const double *scale; /* cols: s_v >= 0 */
} cs_pair_options;

/* P = diag(s) [ sum_X w_X ( T_X T_X' - sum_g c_g c_g' ) ] diag(s)
 *
 * over the contexts with at least two groups g (or `least`), T_X and c_g counts of the chosen
 * parts.
 *
 *   documents: w_X = n_X / (N (n_X^2 - sum_g n_g^2)), n and N sums over the chosen parts. Given X,
 *              the tokens of a pair are independent draws from p_X, so that P has the mean
 *              sum_X (n_X / N) s p_X p_X' s; *seen is the share of N in these contexts
 *   parts:     w_X = weight / (n_X N), n and N sums over all documents that are not left out
 *
 * Memory: 24 bytes an entry of these contexts, CS_ERR_MEMORY beyond free memory; temporarily 8 a
 * row and 24 a context of two documents. index: of these rows. One pass over it and one over the
 * rows that form pairs. */
cs_status cs_pairs_of_contexts(const cs_cooc *rows, const cs_context_index *index,
                               const cs_pair_options *options, cs_signed_gram *out,
                               double *seen) CS_MUST_CHECK;
