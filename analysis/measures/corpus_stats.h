/* What is in a corpus, and of documents drawn from a law (text/law.h) what no model of them passes. */
#pragma once

#include "io/result.h"
#include "text/corpus.h"

/* Adds to `root`: name, path, checksum and sizes; "document_length" (min, median, mean, p90, max),
 * "classes", an object a class with documents, tokens and those held out, and of a law "law", its score
 * (cs_law_score) of each split that has documents. Errors of cs_law_score_of. */
cs_status cs_corpus_stats(const cs_corpus *corpus, cs_item *root) CS_MUST_CHECK;

/* One line of what is in a corpus, into `to` of `size` bytes, which it returns. */
const char *cs_corpus_totals(const cs_corpus *corpus, char *to, size_t size);
