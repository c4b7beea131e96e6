/* Splits text into the pieces that a model takes one at a time. */
#pragma once

#include <stdint.h>

/* Bytes of the first piece of valid UTF-8 under the regular expression of GPT-2,
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * which splits any text into pieces without a rest. Requires at < end. */
int64_t cs_gpt2_piece(const uint8_t *at, const uint8_t *end);

/* BERT: the next word or punctuation mark from *at on; *at advances to its end, and the return
 * value is its number of bytes before *at. 0 at the end. */
int64_t cs_bert_piece(const uint8_t **at, const uint8_t *end);
