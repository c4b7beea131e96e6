/* Hidden states of a corpus, layer by layer, passed on as they are computed.
 *
 * Layer 0 is the sum of embeddings (normalised etc. as in the architecture), layer l the residual
 * stream after l layers, layer N the last. If norms precede the sublayers (gpt2,
 * roberta-prelayernorm) the states of the last layer are raw or after the final norm; transformers
 * 5 returns both classes' last hidden state normalised (its 4.x returned roberta-prelayernorm's
 * raw). If norms follow the sublayers (bert, roberta) there is no final norm.
 *
 * Documents are split into pieces of at most max_length tokens, special ones included. Rows are
 * passed in the order of the corpus, whatever the order of computation; the same bits for any
 * number of threads. Padding is never attended to and never passed on. Two-stream models return
 * their content stream, MAE-LM and models of two stacks (t5) their encoder. Under the masks of
 * drawn plans a state is the mean over the draws, each a separate pass. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "model/model.h"
#include "plan/content_masks.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

typedef enum {
    CS_POOL_NONE, /* one row per token */
    /* a row a document: */
    CS_POOL_MEAN,  /* over all rows of all its pieces, special ones included, in double */
    CS_POOL_FIRST, /* the first row of its first piece */
    CS_POOL_LAST,  /* the last row of its last piece */
    /* all three, from one pass: a block has the layers of the mean, then those of the first rows,
     * then those of the last */
    CS_POOL_EACH,
} cs_pooling;

enum { CS_POOLINGS = CS_POOL_LAST }; /* of CS_POOL_EACH: 1 .. CS_POOLINGS */

typedef struct {
    const int64_t *layer; /* numbers in 0..N, rising */
    int64_t layers;
    cs_pooling pooling;
    /* after the layers, all three poolings of the last of them; not with CS_POOL_EACH */
    bool poolings;
    bool raw; /* the last layer without the final norm */
    /* The states of a second stack, by teacher forcing: the encoder reads a piece, the decoder the
     * same piece shifted right after its start token, as transformers does with labels = input_ids.
     * Row i of a piece is the one that predicts its token i. Under bidirectional masks, without
     * masking. */
    bool decoder;
    const cs_corpus *sources; /* input of its encoder (cs_sources_check); NULL: the piece */
    /* attention masks of the rows of a piece; states are means over its draws */
    cs_content_masks masks;
    bool split;               /* all pieces of a document; else only the first */
    int64_t max_length;       /* 0: the model's positions, for text at most 512 */
    int64_t batch;            /* pieces a forward pass; 0: 16 */
    cs_special_tokens around; /* ids around each piece */
    /* Of the n tokens of a piece, round(ratio n) (halves away from zero, in 1..n-1; none if n < 2)
     * are masked, drawn by (seed, document, piece). 0: none. They become mask_id or, with
     * drop_masked, are left out, while the others keep their positions (the encoder of MAE-LM). */
    double mask_ratio;
    uint64_t mask_seed;
    bool drop_masked;
    /* Shares of the masked tokens that are shown unchanged and as random tokens instead (BERT: 0.1,
     * 0.1), token by token as in training (train/batch.h, cs_task); they still count as masked.
     * mask_keep 1: the unchanged text, with its rows classified as if masked. Not with drop_masked.
     */
    double mask_keep, mask_random;
    const uint8_t *keep; /* documents to take; NULL: all */
    /* NULL, or corpus->tokens numbers: those of tokens with a row before them receive -log p of the
     * token given what is before it. Of a causal model, whose rows see no later ones. */
    float *losses;
    const cs_progress *progress;
} cs_hidden_options;

/* Identity of a row. Pooled: only the document, the rest 0. */
typedef struct {
    int64_t document;
    int32_t piece, position; /* of the document; in the piece as the model reads it, from 0 */
    int32_t token;           /* of the text, also if [MASK] replaces it */
    int32_t shown;           /* the token that the model reads */
    bool masked, special;
} cs_hidden_row;

typedef struct {
    int64_t rows, layers, width;
    const float *const *state; /* layers: rows x width */
    const cs_hidden_row *about;
} cs_hidden_block;

/* Receives a block, valid during the call only; a failure ends the walk and is returned. */
typedef cs_status (*cs_hidden_visit)(void *ctx, const cs_hidden_block *block);

/* "none", "mean", "first", "last" */
const char *cs_pooling_name(cs_pooling pooling);

/* Matrices of a block: a layer has one for each pooling. */
int64_t cs_hidden_planes(const cs_hidden_options *options);

/* Number of rows that cs_hidden_states will pass on. */
cs_status cs_hidden_rows(const cs_model *model, const cs_corpus *corpus,
                         const cs_hidden_options *options, int64_t *out) CS_MUST_CHECK;

/* Walks the corpus. Memory: one forward pass of `batch` pieces with all layers kept, and the rows
 * of some passes (at most 2^26 numbers, or one pass). Time: one forward pass a piece; pieces are
 * computed by length among those that are held together, so that little is spent on padding.
 * CS_ERR_USAGE: losses where rows see later ones, or of a model without a head for tokens; an option
 * out of range (mask_keep + mask_random above 1); max_length above the
 * model's positions; the decoder of a model without a second stack or without a start token, or with
 * masking; no space for a token in addition to the special ones; architecture linear, which has no
 * hidden states; masking without a mask token. CS_ERR_INPUT: a token that the model does not know,
 * with its document and place; a state that is not a number, with its layer, document and position.
 */
cs_status cs_hidden_states(cs_model *model, const cs_corpus *corpus,
                           const cs_hidden_options *options, cs_hidden_visit visit,
                           void *ctx) CS_MUST_CHECK;
