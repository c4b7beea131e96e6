/* Files of text: compressed by gzip or not, with or without a byte order mark, with valid or
 * invalid UTF-8. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

/* Treatment of bytes that are not UTF-8 (RFC 3629), and of NUL bytes, with their counts. */
typedef struct {
    cs_invalid rule;
    cs_refused *refused; /* REFUSE: bad files are reported at the end (cs_refused_status) */
    int64_t bytes;       /* REPLACE, LATIN1: parts that were replaced */
    bool hash_later;     /* the checksum may be left to the reader (cs_text_hash) */
    int64_t documents;   /* SKIP: lines, or files that are one document, left out */
} cs_text_rules;

typedef struct {
    char *bytes; /* owned */
    char *text;
    int64_t size;     /* of text, which ends with a NUL; without byte order mark */
    char sha256[65];  /* of the file as stored */
    int64_t unhashed; /* bytes whose checksum is still missing; 0: done */
} cs_text_file;

/* Reads a whole file. Its text is UTF-8 without NUL afterwards, except under SKIP, where each line
 * or document is checked by cs_text_keeps. *out is zeroed if the file was refused. CS_ERR_INPUT: a
 * Git LFS pointer, damaged gzip, text that does not fit in half of the free memory. */
cs_status cs_text_read(const char *path, cs_text_rules *rules, cs_text_file *out) CS_MUST_CHECK;

/* Reads the lines of an uncompressed file whose first bytes are at from..to-1, without its checksum;
 * the same rules. *out has no bytes where no line begins there. */
cs_status cs_text_read_range(const char *path, int64_t from, int64_t to, cs_text_rules *rules,
                             cs_text_file *out) CS_MUST_CHECK;

/* Computes the checksum that was deferred, concurrently with reading. */
void cs_text_hash(cs_text_file *file);
void cs_text_file_free(cs_text_file *file);

/* A text in memory by the rules. *mended: a copy that is put right, for cs_free; NULL: the text needs none.
 * *keeps = false: it is left out. CS_ERR_INPUT under REFUSE. */
cs_status cs_text_admit(cs_text_rules *rules, const char *text, int64_t *size, char **mended,
                        bool *keeps) CS_MUST_CHECK;

/* Whether a line or document is kept: under SKIP, counts one that is not UTF-8. */
bool cs_text_keeps(cs_text_rules *rules, const char *text, int64_t size);
