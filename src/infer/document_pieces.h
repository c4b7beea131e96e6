/* A corpus as input of a model: pieces of documents, checked, and in an order in which batches have
 * little padding. Shared by all measurements of a model on a corpus. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/config.h"
#include "text/corpus.h"
#include "text/sequences.h"

/* Sets a length and a batch that are 0: the model's positions, for text at most 512, and 16.
 * CS_ERR_USAGE out of range, and if `specials` ids around a piece leave no space for its text. */
cs_status cs_pieces_limits(const cs_model_config *config, int64_t specials, int64_t *max_length,
                           int64_t *batch) CS_MUST_CHECK;

/* Pieces of at most `length` tokens of the selected documents (NULL: all); split: all pieces of a
 * document, else its first. */
cs_status cs_pieces_of(const cs_corpus *corpus, const uint8_t *keep, bool split, int64_t length,
                       cs_sequences *out) CS_MUST_CHECK;

/* CS_ERR_INPUT names a token of sequence `i` that is not in 0..vocab - 1, with document and
 * place. */
cs_status cs_pieces_check(const cs_corpus *corpus, const cs_sequences *pieces, int64_t i,
                          int64_t vocab) CS_MUST_CHECK;

/* Input of the encoder of two stacks in place of a piece, with special tokens: the document of
 * `sources` with the number of the piece, or its only one. Its tokens; returns their number. */
int64_t cs_source_of(const cs_corpus *sources, int64_t document, const int32_t **token);

/* *longest: most tokens of them, with the `specials` around each; 0 where `sources` is NULL.
 * CS_ERR_INPUT: neither one document nor one for each of the corpus, without dropped ones; nothing
 * to read in one; a token that is not in 0..vocab - 1. */
cs_status cs_sources_check(const cs_corpus *sources, const cs_corpus *corpus, int64_t vocab,
                           int64_t specials, int64_t *longest) CS_MUST_CHECK;

/* order: 0..count - 1 by falling numbers of rows (in 0..most), stable (counting sort). Numbers are
 * an int32_t every `size` bytes. CS_ERR_MEMORY. */
cs_status cs_order_by_rows(const void *rows, size_t size, int64_t count, int64_t most,
                           int32_t *order) CS_MUST_CHECK;
