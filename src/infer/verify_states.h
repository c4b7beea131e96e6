/* Our hidden states and logits beside those that another program computed.
 *
 * The reference is an NPZ archive: input_ids (n x s, integers; -1: padding), attention_mask (n x s,
 * optional: 0 at padding), hidden_states_0 .. hidden_states_N (n x s x d; some may be
 * missing) and logits (n x s x V, optional). Padding rows are neither seen nor compared.
 * Positions are those of the Hugging Face classes: the column for gpt2 and bert; in roberta-* the
 * number of tokens so far that are not the padding token.
 *
 * Of the decoder of a model of two stacks (t5): decoder_input_ids and decoder_attention_mask (n x t; the
 * first is input_ids shifted right behind decoder_start_token_id where it is missing, as transformers
 * has it with labels = input_ids), decoder_hidden_states_0 .. and decoder_logits. The encoder reads
 * input_ids. Row i of the decoder sees rows 0 .. i and all of the encoder's.
 *
 * Two evaluations of one network in float32 differ by rounding in another order. A row of layer l
 * has passed about 8 l sums of at most m = max(width, inner, length) products in which errors add like a
 * random walk, each about sqrt(m) 2^-24 of the largest state; so the default tolerance of layer l
 * is
 *
 *   8 (l + 1) sqrt(m) 2^-24 max |reference_l|
 *
 * with l = N + 1 for logits. A row of layer l of the decoder has behind it the N + 1 of the encoder and
 * three sublayers for two: N + 1 + 3 (l + 1) / 2 stands for l + 1. With rotary positions 8 sqrt(m) + s
 * stands for 8 sqrt(m), s the columns of input_ids: a program that forms angles of up to s radians in float
 * is off by s 2^-24 in each layer (here they are formed in double). A wrong epsilon, activation or
 * transpose is orders of magnitude above.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npz.h"
#include "model/model.h"

typedef struct {
    int64_t layer;    /* one above the layers: logits */
    int64_t items;    /* compared */
    double max;       /* |ours - reference|, the largest; NaN where either is not a number */
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

/* *out: room for layers + 2 entries (of the stack); *count of them filled, by layer. CS_ERR_USAGE: the
 * decoder of a model that has none; ids shifted without a start token. CS_ERR_INPUT: a reference
 * without input_ids or without any states, arrays of the wrong shape, an id out of range, states of
 * a layer beyond the last. Memory: all layers of all sequences twice. */
cs_status cs_verify_states(cs_model *model, cs_npz *reference, const cs_verify_options *options,
                           cs_state_difference *out, int *count) CS_MUST_CHECK;
