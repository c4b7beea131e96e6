/* Shared by the tests of corpora. */
#pragma once

#include "test.h"
#include "text/corpus.h"

/* Writes an array of token ids below the directory of the test. */
const char *put_ids(void **state, const char *name, int ndim, const int64_t *shape,
                    const int64_t *ids);

/* The corpus; fails the test with the reason when it cannot be loaded. */
cs_corpus loaded(const char *source, const cs_corpus_options *options);

/* Asserts the class of document d and its words, each followed by a blank. */
void assert_document(const cs_corpus *corpus, int64_t d, const char *label, const char *text);

/* Asserts that the documents, classes, split and words of two are the same. */
void assert_same_corpus(const cs_corpus *a, const cs_corpus *b);
