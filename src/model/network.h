/* The Transformer as a list of operations, in the forms that the objectives need.
 *
 *   single      rows (B, S); attention by rank masks; causal (ar) or bidirectional with [MASK]
 *               (masked)
 *   two-stream  content rows (B, S) and query rows (B, Q), shared weights. A query starts from a
 *               learned vector plus (unless the model is blind) the embedding of the position it
 *               fills, attends to content keys by the same vis and its own lim, and alone is read
 *               by the loss (LA App. B.3, Eq. 23-24)
 *   mae         encoder rows without (most) [MASK] positions, then a shallow decoder over all
 *               positions (MAE-LM section 3). Only the encoder is kept for use. Of a model whose
 *               decoder is a stack (t5): both stacks, the decoder causal, over the encoder's states
 *   linear      rows (B, S); pooled linear attention over what each query row (B, Q) sees; blind
 *
 * All read what they predict through loss rows (1, P): row numbers into the top of the network.
 * Rows above the last attention that no loss row reads are not computed. A model with a
 * classification head has one loss row a sequence in the single form: `predict` names its first or
 * last row, or `readout_lim` what the mean is taken over; tanh(W x + b) and then the outputs, with
 * dropout before both, as in BERT and RoBERTa (Devlin et al. 2019); gpt2 has the outputs alone. The
 * form of other models is chosen by cs_form_of; the batch (train/batch.h) fills the index tensors
 * listed here.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "model/model.h"
#include "tensor/graph.h"

typedef enum { CS_FORM_SINGLE, CS_FORM_TWO_STREAM, CS_FORM_MAE, CS_FORM_LINEAR } cs_form;

typedef enum {
    CS_LOSS_NONE,
    CS_LOSS_CROSS_ENTROPY,
    CS_LOSS_SPECTRAL,
    CS_LOSS_SOFT_CROSS_ENTROPY, /* classifiers in training: targets are shares of the classes */
    CS_LOSS_SQUARED_ERROR       /* classifiers of one output: regression; targets that are values */
} cs_loss;

const char *cs_loss_name(cs_loss loss); /* "none", "cross-entropy", "spectral", "squared-error" */

typedef struct {
    cs_form form;
    cs_loss loss;
    /* 1 or 2. */
    double spectral_factor;
    bool training;
    /* Loss rows predict whether their token was replaced, by the detector. */
    bool detect;
    /* Heads of offsets that loss rows read; 0, 1: that of the next token. */
    int64_t offsets;
    /* Loss rows are texts, read by the classification head. */
    bool classify;
    /* Loss rows have no head: `top` has their states alone. */
    bool headless;
    /* hidden[] stays readable; not in training. */
    bool keep_hidden;
    /* B, S. */
    int64_t batch, length;
    /* Q (two-stream, linear). */
    int64_t queries;
    /* Rows a sequence of the mae decoder. */
    int64_t decoder_length;
    /* P, the most loss rows of a batch; 0 with CS_LOSS_NONE in the single form, which is the
     * encoder of any other: no head, only `top`. */
    int64_t predictions;
} cs_network_options;

/* Ids into graph, from `rows` to `top` consecutive ints; CS_NONE if the form has none. */
typedef struct cs_network {
    cs_graph graph;
    cs_network_options options;
    /* Content (encoder) rows. position: row of the position table, none without absolute and
     * relative positions. type: row of the token type table, 0 by default. */
    int rows, token, position, vis, lim, type;
    /* Models of real rows: their values (input), and for each content row its row there, -1 for an
     * id. */
    struct {
        int values, row;
    } real;
    /* Models of extra vectors: a row for each sequence with its vector (input) and number there,
     * -1: it has none; for each content row the sequence whose vector is added to it, or -1. */
    struct {
        int rows, values, number, row;
    } extra;
    /* Vectors of distances: one sequence of those in the batch, rows of their table
     * (cs_batch_places). */
    struct {
        int rows, row;
    } distance;
    /* Token dropout: a row for each sequence of its factor, and of each content row the sequence, -1
     * without a token or with a masked one. */
    struct {
        int rows, values, row;
    } kept;
    /* Content rows in the plane of an image, as queries and as keys (cs_plane_buckets). */
    struct {
        int query, key;
    } plane;
    /* Query rows: their row of the position table (two-stream, not blind), and their limits. */
    struct {
        int rows, position, lim;
    } query;
    /* Rows of the mae decoder. from: encoder row to take (row number among all encoder rows in
     * their current layout, -1: none), absent in the decoders that read the encoder by
     * cross-attention only. token: to embed from the decoder's own table of one (causal: vocab)
     * rows, -1: none. vis, lim: masks of self-attention. cross_lim: limits of cross-attention
     * against vis. */
    struct {
        int rows, from, token, position, vis, lim, cross_lim;
    } decoder;
    struct {
        /* Loss rows: row of the top to read, target token (-1: none), weight; spectral: target
         * masses. */
        int rows, predict, target, weight, mass;
        /* With heads of offsets, in place of predict: of each head, -1 in the loss rows of
         * others. */
        int offset_predict[CS_MOST_OFFSETS];
        /* Regression, and targets that are values: the values (input). */
        int goal;
        /* Readout mean: limits against vis. */
        int readout_lim;
        /* The loss; the logits, or the values predicted. */
        int value, logits;
        /* Input of the output matrix at loss rows. */
        int features;
    } loss;
    /* Without loss rows, or with hidden[] kept in the single form: every content row after the final
     * norm; for a stack that is kept: every decoder row after its own. Headless: the loss rows after the final norm. */
    int top;
    /* layers + 1: embeddings, then the residual stream after each layer, of the content (MAE:
     * encoder; a stack: decoder) rows; 0 unless kept. */
    int hiddens;
    int *hidden;
    /* Of cs_log_bucket. */
    int64_t distance_buckets, distance_most;
    /* Patches in a row of an image, and the largest distance of two in its plane. */
    int64_t plane_columns, plane_most;
    /* Of token dropout: cs_model_scale, and the mask token. */
    double kept_share;
    int32_t mask;
} cs_network;

/* Emits the network of a model; its parameters are found by name. CS_ERR_USAGE if the model lacks a
 * part that the form needs (query vector, decoder). The spectral loss omits the bias of the logits:
 * they are f^T W there. */
cs_status cs_network_build(const cs_model *model, const cs_network_options *options,
                           cs_network *out) CS_MUST_CHECK;
void cs_network_free(cs_network *network);

/* Floating-point operations of one forward pass at the maxima (2 for a multiply-add), GEMMs and
 * attention (every pair of rows of a sequence, masked or not) only; backward costs twice that. */
double cs_network_flops(const cs_network *network);
