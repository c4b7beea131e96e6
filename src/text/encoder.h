/* Encoding of many texts with one tokenizer: memory and a cache of pieces are kept between them.
 *
 * For one thread at a time: each thread makes its own. The result does not depend on earlier texts.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/bpe.h"
#include "text/pieces.h"
#include "text/tokenizer.h"
#include "text/unigram.h"
#include "text/vocab.h"
#include "text/wordpiece.h"

typedef struct {
    const cs_tokenizer *tokenizer;
    int32_t *id; /* of the last text, `count` long; overwritten by the next */
    int64_t count;
    int64_t capacity;
    /* cache of pieces, and their ids: stored[stored_start[w] .. stored_start[w + 1] - 1] */
    cs_word_table pieces;
    int64_t *stored_start, stored_start_capacity;
    int32_t *stored;
    int64_t stored_capacity;
    cs_bpe_scratch bpe;
    cs_wordpiece_scratch wordpiece;
    cs_unigram_scratch unigram;
    cs_pieces normal, cut; /* work space of normalisers and pre-tokenizers */
    cs_pieces spelling;    /* a piece as the vocabulary spells its bytes */
    int32_t whole;         /* id of a piece that is one token */
} cs_encoder;

/* Borrows the tokenizer; allocates nothing. */
void cs_encoder_init(cs_encoder *encoder, const cs_tokenizer *tokenizer);

/* The ids of `size` bytes of UTF-8 (NUL allowed) in encoder->id. add_special: with the tokens that
 * the post-processor adds around a text (<s> ... </s>). Cost: linear, millions of tokens a second
 * on one core (a regular expression of the file may cost more); memory: the ids and at most 2^20
 * pieces. CS_ERR_INPUT names the byte that is not UTF-8, or an expression that exceeds its limits.
 */
cs_status cs_encoder_encode(cs_encoder *encoder, const char *text, int64_t size,
                            bool add_special) CS_MUST_CHECK;
void cs_encoder_free(cs_encoder *encoder);
