/* Corpora of several files, which one process or the ranks of a group read (corpus_files.c). */
#pragma once

#include "dist/comm.h"
#include "text/corpus_builder_private.h"

typedef struct {
    char *path;
    char *key, *label;     /* a file that is a document: its key for the split, its class or NULL */
    cs_text_format format; /* key NULL: a file of lines */
    bool prepared;
    bool divisible;          /* several ranks may read its lines */
    int64_t bytes, from, to; /* its size, and the bytes that this rank reads */
} cs_corpus_file;

typedef struct {
    cs_corpus_file *file;
    int64_t files, capacity;
    bool alone; /* the corpus is one file, whose checksum is its own */
} cs_corpus_files;

void cs_corpus_files_free(cs_corpus_files *files);

/* Appends a document of a directory, or a file of lines; takes over nothing. CS_ERR_IO. */
cs_status cs_corpus_files_add_document(cs_corpus_files *files, const char *path, const char *key,
                                       const char *label) CS_MUST_CHECK;
cs_status cs_corpus_files_add_lines(cs_corpus_files *files, const char *path, cs_text_format format,
                                    bool prepared, const cs_corpus_options *options) CS_MUST_CHECK;

/* The documents of a directory (corpus_dir.c). */
cs_status cs_corpus_files_of_directory(const char *path, cs_corpus_files *out) CS_MUST_CHECK;

/* Reads them as one corpus, without its name and path: all in one process (comm NULL), else the
 * part of this rank, whose vocabulary, classes and totals are those of all. `source`: for messages.
 */
cs_status cs_corpus_files_read(const char *source, cs_corpus_files *files,
                               const cs_corpus_options *options, cs_comm *comm,
                               cs_corpus *out) CS_MUST_CHECK;
