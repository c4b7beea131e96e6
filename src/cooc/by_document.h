/** \file
 * Rows by (context, document): inference about a language treats documents as the independent
 * units.
 *
 * A build with cs_cooc_options.by_document keeps the counts c_d(X) of each document d at each
 * context X separate. The lowest 32 bits of the key of a row are the document, the other 96 the
 * context. Rows ascend, so those of a context are adjacent, in order of documents, and every sum
 * over contexts is one pass. N contexts collide with probability below N^2 / 2^97: 6e-12 for a
 * billion.
 *
 * Below, `part` has a number for every document of the corpus: CS_LEFT_OUT, or the part that it
 * belongs to, and \f$T_X = \sum_d c_d(X)\f$ over the documents that are not left out.
 */
#pragma once

#include "cooc/builder.h"
#include "linalg/signed_gram.h"

enum {
    /** Number of folds. */
    CS_FOLDS = 8,
    /** Bits of all folds. */
    CS_ALL_FOLDS = (1 << CS_FOLDS) - 1,
    /** Number of pairings of four quarters. */
    CS_PAIRINGS = 3,
};

/** Half a, as bits, of split 1 .. 7 of the eight folds: fold f is in it if split & f has an even
 * number of bits, as in the columns of a Hadamard matrix. Two folds are in the same half in three
 * of seven splits.
 */
static inline unsigned cs_half_of_folds(int splitting)
{
    unsigned half = 0;
    for (int f = 0; f < CS_FOLDS; ++f) {
        half |= (unsigned)!(__builtin_popcount((unsigned)(splitting & f)) % 2) << f;
    }
    return half;
}

/** Largest number of documents of such a build. */
static const int64_t CS_MOST_DOCUMENTS = INT64_C(1) << 32;
enum {
    /** Part of a document that is left out. */
    CS_LEFT_OUT = 255,
};

/** The key of (context, document), from the key of the context. */
static inline cs_hash128 cs_key_by_document(cs_hash128 key, int64_t document)
{
    return (cs_hash128){.high = key.high,
                        .low = (key.low & ~(uint64_t)UINT32_MAX) | (uint64_t)document};
}

/** The document of a key. */
static inline int64_t cs_row_document(const cs_hash128 *key)
{
    return (int64_t)(key->low & UINT32_MAX);
}

/** The first row of the context after that of `row`. */
int64_t cs_next_context(const cs_cooc *rows, int64_t row);

/** Index of the rows for sums over pairs: 12 bytes a row and 16 a context. Free it with
 * cs_context_index_free.
 */
typedef struct {
    /** rows: mass of each row. */
    double *mass;
    /** rows: document of each row. */
    uint32_t *document;
    /** Number of contexts of at least two documents. */
    int64_t shared;
    /** shared: first row of each. */
    int64_t *first;
    /** shared: one after its last row. */
    int64_t *end;
} cs_context_index;

/** Builds the index.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_context_index_of(const cs_cooc *rows, cs_context_index *out) CS_MUST_CHECK;

/** Frees the index; accepts a zeroed object. */
void cs_context_index_free(cs_context_index *index);

/** The matrix of the documents that are not left out, with a row T_X for each of their contexts, in
 * the order of keys. If its weights are integers, the bits are those of a build of these
 * documents.
 *
 * \retval CS_ERR_MEMORY the result exceeds free memory
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_contexts_of(const cs_cooc *rows, const uint8_t *part, cs_csr *out) CS_MUST_CHECK;

/** Pairs of tokens of one context. */
typedef enum {
    /** From two documents. */
    CS_PAIRS_OF_DOCUMENTS,
    /** From two parts. */
    CS_PAIRS_OF_PARTS,
} cs_pairs_between;

/** Options of cs_pairs_of_contexts. */
typedef struct {
    /** Part of each document; borrowed. */
    const uint8_t *part;
    /** Bits of the parts whose documents form pairs. */
    unsigned chosen;
    /** Which tokens form pairs. */
    cs_pairs_between between;
    /** Contexts with fewer groups are left out; 0: 2. */
    int64_t least;
    /** CS_PAIRS_OF_PARTS: the factor `weight` below. */
    double weight;
    /** cols: s_v >= 0; borrowed. */
    const double *scale;
} cs_pair_options;

/** The sum over pairs of tokens
 *
 * \f[ P = \mathrm{diag}(s) \Big[ \sum_X w_X \Big( T_X T_X^T - \sum_g c_g c_g^T \Big) \Big] \mathrm{diag}(s) \f]
 *
 * over the contexts with at least two groups g (or `least`), T_X and c_g counts of the chosen
 * parts.
 *
 * - Documents: \f$w_X = n_X / (N (n_X^2 - \sum_g n_g^2))\f$, n and N sums over the chosen parts.
 *   Given X, the tokens of a pair are independent draws from p_X, so the mean of P is
 *   \f$\sum_X (n_X / N)\, s\, p_X p_X^T s\f$.
 * - Parts: w_X = weight / (n_X N), n and N sums over all documents that are not left out.
 *
 * Memory: 24 bytes an entry of these contexts; temporarily 8 a row and 24 a context of two
 * documents. One pass over the index and one over the rows that form pairs.
 *
 * \param rows a build by document
 * \param index the index of these rows
 * \param options options of the sum
 * \param out receives P (cs_signed_gram_free)
 * \param seen receives the share of N in these contexts
 * \retval CS_ERR_MEMORY the result exceeds free memory
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_pairs_of_contexts(const cs_cooc *rows, const cs_context_index *index,
                               const cs_pair_options *options, cs_signed_gram *out,
                               double *seen) CS_MUST_CHECK;
