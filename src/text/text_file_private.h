/* Files of text as they come: packed by gzip or not, with or without a byte order mark, UTF-8 or
 * not quite. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

/* How bytes that are no UTF-8 (RFC 3629), and NUL bytes, are met, and how many were. */
typedef struct {
    cs_invalid rule;
    cs_refused *refused; /* REFUSE: files are told of at the end (cs_refused_status) */
    int64_t bytes;       /* REPLACE, LATIN1: parts put right */
    bool hash_later;     /* the checksum may be left to the reader (cs_text_hash) */
    int64_t documents;   /* SKIP: lines, or files that are one document, left out */
} cs_text_rules;

typedef struct {
    char *bytes; /* owned */
    char *text;
    int64_t size;     /* of text, which ends with a NUL; without byte order mark */
    char sha256[65];  /* of the file as it stands */
    int64_t unhashed; /* bytes of which it is still to be taken; 0: it is there */
} cs_text_file;

/* A whole file. Its text is UTF-8 without NUL afterwards, except under SKIP, where each line or
 * document is for cs_text_keeps. *out is zeroed when the file was refused. CS_ERR_INPUT: a Git LFS
 * pointer, damaged gzip, text that does not fit in half of the free memory. */
cs_status cs_text_read(const char *path, cs_text_rules *rules, cs_text_file *out) CS_MUST_CHECK;

/* Takes the checksum that was left for later, side by side with reading. */
void cs_text_hash(cs_text_file *file);
void cs_text_file_free(cs_text_file *file);

/* Whether a line or document stays: under SKIP, counts one that is no UTF-8. */
bool cs_text_keeps(cs_text_rules *rules, const char *text, int64_t size);
