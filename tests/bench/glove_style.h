/* GloVe-style reference counter (our own): the measure of ours in `make bench`.
 *
 * The way of `cooccur` of GloVe (Pennington, Socher, Manning, EMNLP 2014), on one thread as there:
 * each token meets the `window` tokens before it; pairs of frequent words are added into a dense
 * table with the corner of ranks a b < max_product, the others are appended to a buffer that is
 * sorted (qsort) and written as 16-byte records when full; at the end the sorted files and the
 * table are merged through a heap. Sizes follow GloVe's rule from the memory it is given. Two
 * things favour it: it starts from token ids, not text, and keeps its result in memory as CSR
 * instead of writing records.
 */
#pragma once

#include "linalg/csr.h"
#include "text/corpus.h"

/* Ids must be numbered by falling frequency. gib: memory for table and buffer (GloVe's default is
 * 4). symmetric: each pair counts in both directions, with weight 1; otherwise from the earlier
 * token (row) to the later one (column), with weight units / number of tokens in the later one's
 * window. */
typedef struct {
    int64_t window;
    bool symmetric;
    double units, gib;
} glove_style_options;

/* *files: sorted files written in addition to that of the table; *pairs: contributions. CS_ERR_IO
 * when a temporary file cannot be made, written or read. */
cs_status glove_style_count(const cs_corpus *corpus, const glove_style_options *options,
                            cs_csr *out, int64_t *pairs, int64_t *files) CS_MUST_CHECK;
