/* What the tests of corpora share. */
#pragma once

#include "test.h"
#include "text/corpus.h"

/* Writes a file / makes a directory below that of the test; the path as from in_dir(). */
const char *put(void **state, const char *name, const char *content);
const char *put_dir(void **state, const char *name);

/* The corpus; fails the test with the reason when it cannot be loaded. */
cs_corpus loaded(const char *source, const cs_corpus_options *options);

/* Asserts the class of document d and its words, each followed by a blank. */
void assert_document(const cs_corpus *corpus, int64_t d, const char *label, const char *text);
