/* Statistics of a corpus, and for documents of a synthetic language (text/synthetic.h) the best scores
 * that a model can reach on average. */
#pragma once

#include "io/result.h"
#include "text/corpus.h"

/* Adds to `root`: name, path, checksum and sizes; "document_length" (min, median, mean, p90, max),
 * "classes", an object for each class with documents, tokens and those held out, and for a
 * synthetic language "law", its score (cs_synthetic_score) on each split that has documents. Errors of
 * cs_synthetic_score_of. */
cs_status cs_corpus_stats(const cs_corpus *corpus, cs_item *root) CS_MUST_CHECK;

/* One line about the content of a corpus, written to `to` of `size` bytes and returned. */
const char *cs_corpus_totals(const cs_corpus *corpus, char *to, size_t size);
