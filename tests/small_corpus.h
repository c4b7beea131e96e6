/* Small corpora made by hand for tests of src/cooc. */
#pragma once

#include "text/corpus.h"
#include "text/sequences.h"

/* Documents of the given lengths with random tokens of `vocab` words ("w0", "w1", ...), labels
 * 0, 1, ..., labels-1, 0, ... (labels 0: unlabelled), every fifth document held out. Aborts when
 * out of memory. */
cs_corpus small_corpus(int64_t documents, const int64_t *length, int64_t vocab, int64_t labels,
                       uint64_t seed);

/* The same with documents of 1 to `longest` words, at random. */
cs_corpus random_corpus(int64_t documents, int64_t longest, int64_t vocab, int64_t labels);

/* A sequence table of one entry over the three variables. */
cs_sequences one_sequence(int64_t *start, int32_t *length, int64_t *document);
