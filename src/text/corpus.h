/* Corpora: labelled documents as token ids.
 *
 * Sources by name (prepared from Debian packages by the scripts in data/): wordnet, bible-kjv,
 * gcide, manpages; or the user's own: FILE.tsv (label TAB text a line), FILE.txt (a line a
 * document, or the whole file one document), a directory (a subdirectory per class, a file per
 * document; or plain files, unlabelled), FILE.npy (token ids: 1-D, or 2-D with a document a row).
 *
 * Text must be UTF-8; the error names file, line and byte. Tokenizers: `word` = maximal runs of
 * letters and marks, lower-cased (on ASCII text: [a-z]+); `whitespace` = maximal runs of non-space;
 * `char` = one Unicode character. The vocabulary is the most frequent `vocab_size` words (ties by
 * byte order), id 0 is <unk>; ids by falling frequency.
 */
#ifndef CS_TEXT_CORPUS_H
#define CS_TEXT_CORPUS_H

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"

typedef enum { CS_TOKENIZER_WORD, CS_TOKENIZER_WHITESPACE, CS_TOKENIZER_CHAR } cs_tokenizer_kind;
cs_status cs_tokenizer_by_name(const char *name, cs_tokenizer_kind *out) CS_MUST_CHECK;

typedef struct {
    cs_tokenizer_kind tokenizer;
    int64_t vocab_size;   /* words kept beside <unk>; 0: 8000; -1: all */
    int64_t min_tokens;   /* shorter documents are dropped and counted; 0: 1 */
    bool whole_file;      /* plain text: the file is one document, not each line */
    int64_t label_column; /* TSV: 1-based; 0: 1 */
    int64_t text_column;  /* TSV: 1-based; 0: 2 */
    double test_share; /* share of documents in the held-out split, by a hash of the document key; <
                          0: 0.2. A prepared corpus that stores its own split keeps it */
    uint64_t seed;     /* of that hash */
    int threads;
    const cs_progress *progress;
} cs_corpus_options;

typedef struct {
    char *name, *path;
    char sha256[65]; /* of the source file; "" for directories */
    int64_t documents, tokens;
    int64_t *doc_ptr;          /* documents + 1: tokens doc_ptr[d] .. doc_ptr[d+1]-1 */
    int32_t *token;            /* tokens: ids in 0..vocab-1 */
    int32_t *label;            /* documents: class, -1 when unlabelled */
    uint8_t *held_out;         /* documents: 1 in the test split */
    int64_t labels;            /* classes; 0 when unlabelled */
    char **label_name;         /* labels */
    int64_t vocab;             /* ids, <unk> included; NPY corpora: largest id + 1 */
    char **word;               /* vocab; NULL for NPY corpora */
    int64_t dropped_documents; /* shorter than min_tokens */
    int64_t unknown_tokens;    /* mapped to <unk> */
} cs_corpus;

cs_status cs_corpus_load(const char *source, const cs_corpus_options *options,
                         cs_corpus *out) CS_MUST_CHECK;
void cs_corpus_free(cs_corpus *corpus);

/* The documents d with keep[d] != 0, same vocabulary and classes. */
cs_status cs_corpus_select(const cs_corpus *corpus, const uint8_t *keep,
                           cs_corpus *out) CS_MUST_CHECK;

/* The document's class, or "-". Word of a token id, or its number in `buffer` (>= 24 bytes) when
 * the corpus has no words. */
const char *cs_corpus_label(const cs_corpus *corpus, int64_t document);
const char *cs_corpus_word(const cs_corpus *corpus, int32_t token, char *buffer);

/* The corpora known by name. */
typedef struct {
    const char *name, *package, *script, *licence, *summary;
    bool labelled;
} cs_corpus_source;
const cs_corpus_source *cs_corpus_sources(int *count);

/* Where the prepared form of a named corpus stands ($COSPEC_CACHE, else $XDG_CACHE_HOME/cospec,
 * else ~/.cache/cospec): fresh memory. */
cs_status cs_corpus_prepared_path(const char *name, char **out) CS_MUST_CHECK;

/* Runs the script that prepares it (unless prepared already and !force), and checks the result
 * against its recorded checksum. CS_ERR_INPUT names the missing Debian package. `note` (may be
 * NULL) receives one line of what was done. */
cs_status cs_corpus_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;

#endif
