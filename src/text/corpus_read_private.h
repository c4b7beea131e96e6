/* The readers of each kind of corpus. All take resolved options and leave name and path of *out to
 * the caller. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"
#include "text/corpus_builder_private.h"
#include "text/text_file_private.h"

/* A file of lines of that format (not AUTO), or the output of the scripts in data/
 * (docs/reference/corpora.md, "Prepared corpora"). */
cs_status cs_corpus_read_lines(const char *path, cs_text_format format, bool prepared,
                               const cs_corpus_options *options, cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_directory(const char *path, const cs_corpus_options *options,
                                   cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_joined(const char *sources, const cs_corpus_options *options,
                                cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_npy(const char *path, const cs_corpus_options *options,
                             cs_corpus *out) CS_MUST_CHECK;

/* Gives a corpus that is in no file its name, and delivers it. */
cs_status cs_corpus_in_memory(cs_status status, const char *name, cs_corpus *made,
                              cs_corpus *out) CS_MUST_CHECK;

/* Allocates the arrays that every corpus has; the caller frees them in every case. */
cs_status cs_corpus_allocate(int64_t documents, int64_t tokens, cs_corpus *corpus) CS_MUST_CHECK;
