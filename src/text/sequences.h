/** \file
 * Sequences: the pieces of documents that plans apply to.
 *
 * Documents are cut into consecutive pieces of at most max_length tokens (0: not cut). With stride
 * > 0 they are sliding windows of max_length tokens every `stride` tokens. A document shorter than
 * the window is one shorter sequence. A last window that would exceed the document is left out, so
 * stride 1 gives n - L + 1 windows. Up to stride - 1 tokens at the end of a document, and the
 * tokens between windows if stride > max_length, are in no sequence.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

/** Sequences of a corpus. Free them with cs_sequences_free. */
typedef struct {
    /** Number of sequences. */
    int64_t count;
    /** Of one process' part of a corpus: the sequences of the lower ranks, 0 otherwise. */
    int64_t first;
    /** count: index of the first token in cs_corpus.token. */
    int64_t *start;
    /** count: number of tokens. */
    int32_t *length;
    /** count: document. */
    int64_t *document;
} cs_sequences;

/** Cuts every document, in order. A result without sequences is no error. O(sequences).
 *
 * \param max_length tokens of a sequence; 0: whole documents
 * \param stride tokens between the starts of two windows; 0: pieces do not overlap
 * \param out receives the sequences
 * \retval CS_ERR_USAGE a negative length or stride, or a stride without a length
 * \retval CS_ERR_INPUT a sequence of more than 2^31 - 1 tokens
 */
cs_status cs_sequences_of(const cs_corpus *corpus, int64_t max_length, int64_t stride,
                          cs_sequences *out) CS_MUST_CHECK;

/** Frees sequences; accepts a zeroed object. */
void cs_sequences_free(cs_sequences *sequences);

/** Number of tokens that are in at least one of the sequences, which must be in the order of
 * cs_sequences_of; some may be left out. O(sequences).
 */
int64_t cs_sequences_covered(const cs_sequences *sequences);
