/* Rows by (context, document): what a corpus tells of its language is told by documents, which are
 * independent where tokens are not.
 *
 * A build with `by_document` (cooc/builder.h) keeps the counts c_d(X) of each document d at each
 * context X apart, by the same counting, merging and spilling: the lowest 32 bits of a row's key are
 * the document, the other 96 the context. Rows ascend, so those of one context are neighbours, its
 * documents in order, and every sum over contexts is one pass. (N contexts collide with probability
 * below N^2 / 2^97: 6e-12 for a billion.)
 *
 * Below, `part` has a number for every document of the corpus: CS_LEFT_OUT, or the part that it
 * belongs to; T_X = sum_d c_d(X) over the documents that are not left out.
 */
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

/* What every sum over pairs asks of the rows: mass and document of each, and the contexts of two
 * documents or more, as runs of rows. 12 bytes a row and 16 a context. */
typedef struct {
    double *mass;
    uint32_t *document;
    int64_t shared, *first, *end;
} cs_context_index;
cs_status cs_context_index_of(const cs_cooc *rows, cs_context_index *out) CS_MUST_CHECK;
void cs_context_index_free(cs_context_index *index);

/* The matrix of the documents that are not left out, a row T_X a context that they have, in the
 * order of keys; the bits of a build of these documents alone where its weights are integers.
 * Memory: the result; refused (CS_ERR_MEMORY) beyond what is free. */
cs_status cs_contexts_of(const cs_cooc *rows, const uint8_t *part, cs_csr *out) CS_MUST_CHECK;

/* Which tokens of one context make pairs: those of two groups, documents or parts. */
typedef enum { CS_PAIRS_OF_DOCUMENTS, CS_PAIRS_OF_PARTS } cs_pairs_between;

typedef struct {
    const uint8_t *part;
    unsigned chosen; /* the sum of 1 << part of the parts whose documents make pairs */
    cs_pairs_between between;
    int64_t least;       /* contexts of fewer groups are left out; 0: 2 */
    double weight;       /* CS_PAIRS_OF_PARTS */
    const double *scale; /* cols: s_v >= 0 */
} cs_pair_options;

/* P = diag(s) [ sum_X w_X ( T_X T_X' - sum_g c_g c_g' ) ] diag(s)
 *
 * over the contexts that two groups g (or `least`) have, T_X and c_g counts of the chosen parts.
 *
 *   documents: w_X = n_X / (N (n_X^2 - sum_g n_g^2)), n and N sums over the chosen parts. Given X,
 *              the tokens of a pair are independent draws from p_X, so that P has the mean
 *              sum_X (n_X / N) s p_X p_X' s; *seen is the share of N in these contexts
 *   parts:     w_X = weight / (n_X N), n and N sums over all documents that are not left out
 *
 * Memory: 24 bytes an entry of these contexts, refused (CS_ERR_MEMORY) beyond what is free, and while
 * they are made 8 a row and 24 a context of two documents. index: of these rows. A pass over it and
 * one over the rows that make pairs. */
cs_status cs_pairs_of_contexts(const cs_cooc *rows, const cs_context_index *index,
                               const cs_pair_options *options, cs_signed_gram *out,
                               double *seen) CS_MUST_CHECK;
