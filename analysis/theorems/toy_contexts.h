/* The contexts of a toy model with their tokens: the inputs of a trained model whose factors are
 * compared with the co-occurrence matrix.
 *
 * Rows are keyed as in cs_toy_matrix with a blind target: by contents only, so that equal contents
 * of different classes (literal token sets, a shared empty prefix) are one row. Token ids are k T
 * r + offset: the toy's numbers from 0 (toy/toy.h), so that a token determines its position. */
#pragma once

#include "base/rng.h"
#include "linalg/csr.h"
#include "toy/toy.h"

typedef struct {
    cs_csr a;        /* contexts x targets, joint probabilities: no row or column is empty */
    int64_t vocab;   /* token ids: s r T */
    int64_t longest; /* tokens of a context */
    int64_t *ptr;    /* a.rows + 1: tokens of each context */
    int32_t *token;  /* positions ascending */
    int32_t *target; /* a.cols: token id of each column, ascending */
    /* the least cross-entropy per predicted token, in nats, of a model that knows which position it
     * fills: sum over (S, k) of P(S, k) H(x_k | x_S). Disjoint sets: ln T once a token is visible,
     * since the class is known then; ln(r T) without context. Literal ones: entropies of the
     * mixtures of the classes that the contents allow. */
    double cross_entropy;
} cs_toy_contexts;

void cs_toy_contexts_free(cs_toy_contexts *contexts);

/* Enumerates all contexts. Time and memory O(events x r T^m (m + T)). CS_ERR_USAGE: a `given` or
 * partially known target or a class-specific empty prefix (no text distinguishes them), an
 * objective that does not exist at this length; CS_ERR_MEMORY if the matrix has more than `limit`
 * nonzeros. */
cs_status cs_toy_contexts_of(const cs_toy *toy, int64_t limit, cs_toy_contexts *out) CS_MUST_CHECK;

/* r T^s, all equally likely, as a double. */
double cs_toy_sequences(const cs_toy *toy);

/* Sequence `number` (0 .. r T^s - 1; the class is its highest digit) or a random one: s tokens. */
void cs_toy_sequence(const cs_toy *toy, int64_t number, int32_t *token);
void cs_toy_sequence_draw(const cs_toy *toy, cs_rng *rng, int32_t *token);
