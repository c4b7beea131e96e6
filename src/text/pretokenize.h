/* Cutting text into the pieces that a model takes one at a time. */
#pragma once

#include <stdint.h>

/* Bytes of the first piece of valid UTF-8 under the regular expression of GPT-2,
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * which cuts any text into pieces without a rest. at < end. */
int64_t cs_gpt2_piece(const uint8_t *at, const uint8_t *end);

/* BERT: the next word or punctuation mark from *at on; *at moves behind it and its bytes stand
 * before it. 0 at the end. */
int64_t cs_bert_piece(const uint8_t **at, const uint8_t *end);
