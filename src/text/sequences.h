/* Sequences: the pieces of documents that plans act on.
 *
 * Whole documents are cut into consecutive pieces of at most max_length tokens (0: no cut). With
 * stride > 0, sliding windows of max_length tokens every `stride` tokens; a document shorter than
 * the window is one shorter sequence, and a last window that would run over the end is not made (so
 * stride 1 gives n - L + 1 windows): up to stride - 1 tokens at the end of a document, and the
 * tokens between windows when stride > max_length, are in no sequence.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct {
    int64_t count;
    int64_t *start;    /* count: first token, index into corpus->token */
    int32_t *length;   /* count */
    int64_t *document; /* count */
} cs_sequences;

/* Cuts every document, in order. No sequence is no error. max_length 0 goes with stride 0 only. Cost
 * O(sequences). CS_ERR_USAGE names a negative length or stride, or a stride without a length;
 * CS_ERR_INPUT a sequence of more than 2^31 - 1 tokens. */
cs_status cs_sequences_of(const cs_corpus *corpus, int64_t max_length, int64_t stride,
                          cs_sequences *out) CS_MUST_CHECK;
void cs_sequences_free(cs_sequences *sequences);

/* Tokens that occur in at least one of the sequences, which are in the order of cs_sequences_of
 * (any of them may be left out). O(sequences). */
int64_t cs_sequences_covered(const cs_sequences *sequences);
