/* Order of learning of a model on a corpus: how much of each singular direction of the matrix of its
 * objective a checkpoint has learned.
 *
 * The matrix A counts events (S, k) of the objective on the sequences of a store, each in the row X
 * of its context. One plan is drawn for each sequence. The network reads it and predicts the
 * token at k from S, and its prediction takes the place of the token that is there. This gives the
 * matrix that the model expects, on the same contexts:
 *
 *   A'(X, y) = sum over events of weight w(X) P(y | S, k)            cross-entropy
 *   A'(X, y) = sum over events of weight w(X) (2/b) f . W_y P_G(y)   spectral loss with factor b
 *
 * With Abar' = A' / sqrt(P_C P_G) and the triplets (sigma, U, V) of a mode of m equal values,
 *
 *   share     tr(U^T Abar' V) / (m sigma)   1 at the optimum of either loss
 *   observed  the same for the tokens that are there: 1 up to the drawing of plans
 *   frequency sqrt(sum_X P_C U^2 sum_y P_G V^2), means over the m vectors
 *   energy    ||U^T M||^2 / ||M||^2 for M = F W'^T, F[X] = sqrt(P_C) E[f | X], W' = sqrt(P_G) W; of
 *             cross-entropy W less its mean under P_G, since a constant in all logits of a context
 *             changes no prediction
 *
 * From a small start cross-entropy follows A - P_C P_G^T (theorem_ntp.c), which is the sum of sigma
 * (sqrt(P_C) u) (sqrt(P_G) v)^T over modes without the marginals: a sum of directions with lengths
 * sigma times the frequency. So frequent directions should come first, and not those of large sigma.
 *
 * At the start an untrained network predicts nearly the same for every context, so that shares are
 * near 0 except that of sigma = 1, whose vectors are the marginals. */
#pragma once

#include "analysis/trained/learned_modes.h"
#include "cooc/store.h"
#include "model/model.h"
#include "text/tokenizer.h"
#include "train/model_kind.h"

/* A checkpoint, borrowed. */
typedef struct {
    const char *name;
    cs_model *model;
    const cs_tokenizer *tokenizer;
    const cs_model_kind *kind;
} cs_learned_model;

/* The checkpoints of a run by rising steps. `open` makes the one before invalid. */
typedef struct cs_learned_run {
    int64_t count;
    const int64_t *step; /* count */
    cs_status (*open)(void *ctx, int64_t number, cs_learned_model *out);
    void *ctx;
} cs_learned_run;

/* A mode of a checkpoint. */
typedef struct {
    cs_learned_mode mode; /* its share is the one above */
    double observed, frequency;
} cs_learned_direction;

/* The store and its leading triplets (`k` of the options; others as the caller has them). `store` and
 * `spectrum` are borrowed by later calls. CS_ERR_USAGE: contexts without rows (unique), weights of
 * pairs by subsampling; errors of cs_spectrum_of. */
typedef struct {
    const cs_cooc_store *store;
    cs_learned_target target;
    cs_sequences sequences;
    cs_context_plan *plan;
} cs_learned_corpus;

cs_status cs_learned_corpus_of(const cs_cooc_store *store, const cs_spectrum_options *options,
                               uint64_t seed, cs_learned_corpus *out) CS_MUST_CHECK;
void cs_learned_corpus_free(cs_learned_corpus *corpus);

/* The modes of a checkpoint, into out[0 .. *count - 1] (as many as triplets at most). Plans are those
 * of `seed`. Time: a forward pass of every sequence. Memory: a row of the width for each context.
 * CS_ERR_USAGE: a model of another objective, one whose events are no plans (offset-ar, heads of
 * offsets), or one that does not predict every event. CS_ERR_INPUT names a token of the matrix that
 * the model does not have. */
cs_status cs_learned_directions(const cs_learned_corpus *corpus, const cs_learned_model *model,
                                uint64_t seed, cs_learned_direction *out,
                                int64_t *count) CS_MUST_CHECK;

/* Follows in->run against in->store: a row of the table of `trained`, the course of its modes in
 * "~order", and the statements trained-order and trained-order-weighted. Of the options: spectrum, triplets (0: 16), seed,
 * progress. */
cs_status cs_verify_order(const cs_theorem_input *in, cs_theorem_report *report) CS_MUST_CHECK;
