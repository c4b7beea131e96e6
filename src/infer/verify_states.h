/* Comparison of our hidden states and logits with those of another program.
 *
 * The reference is an NPZ archive: input_ids (n x s, integers; -1: padding), attention_mask (n x s,
 * optional: 0 at padding), hidden_states_0 .. hidden_states_N (n x s x d; some may be missing) and
 * logits (n x s x V, optional). Padding rows are neither attended to nor compared. Positions are
 * those of the Hugging Face classes: the column for gpt2 and bert; in roberta-* the number of
 * tokens so far that are not the padding token.
 *
 * For the decoder of a model of two stacks (t5): decoder_input_ids and decoder_attention_mask (n x
 * t; if the first is missing it is input_ids shifted right after decoder_start_token_id, as in
 * transformers with labels = input_ids), decoder_hidden_states_0 .. and decoder_logits. The encoder
 * reads input_ids. Row i of the decoder attends to rows 0 .. i and to all rows of the encoder.
 *
 * Two evaluations of one network in float32 differ by the order of rounding. A row of layer l has
 * passed about 8 l sums of at most m = max(width, inner, length) products in which errors add like
 * a random walk, each about sqrt(m) 2^-24 of the largest state; so the default tolerance of layer l
 * is
 *
 *   8 (l + 1) sqrt(m) 2^-24 max |reference_l|
 *
 * with l = N + 1 for logits. A row of layer l of the decoder follows the N + 1 of the encoder and
 * has three sublayers in place of two: N + 1 + 3 (l + 1) / 2 replaces l + 1. With rotary positions
 * 8 sqrt(m) + s replaces 8 sqrt(m), s the columns of input_ids: a program that computes angles of
 * up to s radians in float is off by s 2^-24 in each layer (here they are computed in double). A
 * wrong epsilon, activation or transpose gives differences that are orders of magnitude larger. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npz.h"
#include "model/model.h"

typedef struct {
    int64_t layer;    /* number of layers + 1: logits */
    int64_t items;    /* compared */
    double max;       /* largest |ours - reference|; NaN if either is not a number */
    double mean, sd;  /* of ours - reference */
    double scale;     /* largest |reference| */
    double tolerance; /* on max */
    bool ok;
} cs_state_difference;

typedef struct {
    bool causal;
    bool decoder;     /* the second stack; else the encoder, or the model */
    bool raw;         /* the last layer without the final norm */
    double tolerance; /* on the absolute difference; <= 0: as above */
} cs_verify_options;

/* *out: capacity of layers + 2 entries (of the stack); *count of them are set, by layer.
 * CS_ERR_USAGE: the decoder of a model that has none; ids shifted without a start token.
 * CS_ERR_INPUT: a reference without input_ids or without any states, arrays of the wrong shape, an
 * id out of range, states of a layer beyond the last. Memory: all layers of all sequences twice. */
cs_status cs_verify_states(cs_model *model, cs_npz *reference, const cs_verify_options *options,
                           cs_state_difference *out, int *count) CS_MUST_CHECK;
