/* Corpora: labelled documents as token ids.
 *
 * Sources by name (prepared from Debian packages by the scripts in data/): wordnet, bible-kjv,
 * gcide, manpages, foldoc, or one side of them (wordnet:train, wordnet:test); or the user's own:
 * FILE.tsv (label TAB text a line) and FILE.csv, whose first line may name the columns, FILE.txt (a
 * line a document, or the whole file one document), FILE.jsonl (an object a line), each with .gz
 * behind it too; a directory (a subdirectory per class, a file per document; or plain files, unlabelled;
 * names that start with a dot are passed over), FILE.npy (token ids: 1-D, or 2-D with a document a
 * row, whose end may be padded with -1); or documents drawn from a law, markov:..., hmm:... and grammar:...
 * (text/law.h); or several of them but ids, separated by commas, whose documents have their sources as
 * classes. docs/reference/corpora.md has the formats.
 *
 * Text must be UTF-8 without NUL, or is met by `invalid`; the error names file, line and byte. A
 * byte order mark is skipped, a line ends at LF or CR LF, an empty line is no document. Tokenizers:
 * `word` = maximal runs of letters and marks, lower-cased (on ASCII text: [a-z]+);
 * `whitespace` = maximal runs of non-space; `char` = one Unicode character. No normalisation. The
 * vocabulary is the most frequent `vocab_size` words of all documents kept, held-out ones included
 * (ties by byte order); id 0 is <unk>, also for a literal <unk> in the text; ids by falling
 * frequency. Classes are numbered in byte order of their names.
 *
 * With an encoder (text/tokenizer.h) in place of a splitter the tokens are those of its fixed
 * vocabulary, special tokens in the text included and none added.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "text/splitter.h"

struct cs_tokenizer;

/* What becomes of text that is not UTF-8 (NUL bytes included): an error that names every such file;
 * U+FFFD for each bad part; the line, or file that is one document, is left out; each bad byte is a
 * character of Latin-1 (ISO 8859-1; a NUL U+FFFD). */
typedef enum {
    CS_INVALID_REFUSE,
    CS_INVALID_REPLACE,
    CS_INVALID_SKIP,
    CS_INVALID_LATIN1
} cs_invalid;

/* Files that are not UTF-8, under CS_INVALID_REFUSE; begins as zeros, and is freed with cs_free(report). */
typedef struct {
    int64_t files;
    char *report; /* the first of them, a line each, as "FILE:LINE: byte N: ..." */
} cs_refused;

/* CS_ERR_INPUT naming them, and what reads them all the same; CS_OK when there are none. */
cs_status cs_refused_status(const cs_refused *refused) CS_MUST_CHECK;

/* What a line of a file is. AUTO: by the ending of its name, less .gz. */
typedef enum {
    CS_FORMAT_AUTO,
    CS_FORMAT_TEXT,  /* .txt: a document */
    CS_FORMAT_TSV,   /* .tsv: tab-separated columns */
    CS_FORMAT_SPACE, /* LABEL SPACE TEXT: the label ends at the first blank */
    CS_FORMAT_JSONL, /* .jsonl, .ndjson: a JSON object */
    CS_FORMAT_CSV    /* .csv: a record by RFC 4180, which may take several lines */
} cs_text_format;

/* Values of pair_column: the second text where a header names one, of labelled texts; the same, or
 * column 3 without such a header. */
enum { CS_PAIR_IF_NAMED = -1, CS_PAIR_WANTED = -2 };

/* Which columns of a file were read, from 1; 0: none, and no file of columns. */
typedef struct {
    int64_t columns; /* of the first line */
    int64_t label, text, pair;
    int64_t headers; /* first lines that name the columns, and are no documents: 0 or 1, of several
                        sources their number */
    bool numbers;    /* a header calls the label "score" */
} cs_columns;

typedef enum { CS_DOCUMENT_HASHED, CS_DOCUMENT_TRAIN, CS_DOCUMENT_TEST } cs_document_split;

/* One document, borrowed; valid UTF-8. */
typedef struct {
    const char *text;
    int64_t size;
    const char *pair; /* a second text; NULL: there is none */
    int64_t pair_size;
    const char *label; /* label_size 0: unlabelled */
    int64_t label_size;
    const char
        *key; /* what the split hashes; key_size 0: the number of the document in its source */
    int64_t key_size;
    cs_document_split split;
} cs_document;

/* Takes one document. CS_ERR_INPUT is told with the place of the document; *enough = true: no
 * further one is wanted. */
typedef cs_status (*cs_corpus_take)(void *to, const cs_document *document, bool held_out,
                                    bool *enough);

typedef struct {
    cs_splitter_kind splitter;
    /* Borrowed while the corpus is read; NULL: the splitter. NPY: the ids are of its vocabulary,
     * but of a tokenizer whose words are the numbers 0, 1, 2, ... (cs_tokenizer_numbers) id v is
     * the token "v", whatever its id. */
    const struct cs_tokenizer *encoder;
    int64_t vocab_size; /* words kept beside <unk>; 0: 8000; -1: all. NPY, encoder: not used */
    int64_t min_tokens; /* shorter documents are dropped and counted; 0: 1 */
    bool whole_file;    /* plain text: the file is one document, not each line */
    /* TSV, CSV: 1-based; 0: the one that a header names, else 1 and 2; label -1: unlabelled */
    int64_t label_column, text_column;
    int64_t pair_column; /* of a second text; 0: none, in no format; CS_PAIR_IF_NAMED, _WANTED */
    cs_text_format format;
    const char *label_field; /* JSON lines: key of a text, number or truth value; NULL: "label".
                              * TSV, CSV: name of a column, in place of the usual ones */
    const char *text_field;  /* of a text; NULL: "text" */
    const char *pair_field;  /* where pairs are wanted; NULL: "pair" */
    cs_invalid invalid;
    cs_refused *refused; /* gathers them over several sources, which fail each; NULL: of this one */
    /* Share of documents in the held-out split, in [0, 1): XXH3 of the document's key (prepared
     * corpora), path below the directory, or number in its file, under `seed`. < 0: 0.2. A prepared
     * corpus that stores its own split keeps it. */
    double test_share;
    uint64_t seed; /* of that hash; fixes the split and nothing else */
    int threads;   /* of a file of lines; 0: cs_threads(); the corpus is the same for any number */
    const cs_progress *progress;
    /* Set by cs_corpus_load, of NAME:SIDE: only documents of that side. */
    cs_document_split side;
    /* Set by cs_corpus_visit: documents go there, and no corpus is made. */
    cs_corpus_take take;
    void *to;
} cs_corpus_options;

typedef struct {
    char *name, *path;
    char sha256[65]; /* of the source file; of a directory: of the lines "SHA-256  path below it" */
    int64_t documents, tokens;
    int64_t *doc_ptr; /* documents + 1: tokens doc_ptr[d] .. doc_ptr[d+1]-1 */
    int32_t *token;   /* tokens: ids in 0..vocab-1 */
    float *real;      /* tokens x real_width: the vector at each place, read instead of its id,
                                  which names it; NULL: rows are ids */
    int64_t real_width;
    float *extra; /* documents x extra_width: a vector of each that models may read; NULL: none */
    int64_t extra_width;
    int64_t columns, window; /* codes of pictures: patches of a row, and of each of the windows that
                                are one behind another in a document; 0: no pictures */
    int32_t *label;          /* documents: class, -1 when unlabelled */
    uint8_t *held_out;       /* documents: 1 in the test split */
    double *weight;          /* documents: how often each counts in a matrix; NULL: once */
    struct cs_law_population *population; /* documents stand for all texts of a law (law.h) */
    int64_t labels;                       /* classes; 0 when unlabelled */
    char **label_name;                    /* labels */
    int64_t vocab;                        /* ids, <unk> included; NPY corpora: largest id + 1 */
    char **word;                          /* vocab; NULL for NPY corpora */
    int32_t unknown;           /* id of <unk>: 0, or the encoder's, -1 when it has none */
    int64_t dropped_documents; /* shorter than min_tokens */
    int64_t unknown_tokens;    /* mapped to <unk> */
    int64_t invalid_bytes;     /* bad parts replaced or read as Latin-1 (cs_invalid) */
    int64_t invalid_documents; /* left out for them */
    cs_columns read;           /* of a file of columns; of several sources only headers */
} cs_corpus;

/* Whether a source is several, separated by commas, and no file of that name. */
bool cs_corpus_joined(const char *source);

/* The next of them, in fresh memory; NULL after the last. The parameters of a synthetic language, as
 * in markov:classes=2,length=9, belong to it. CS_ERR_INPUT for an empty name. */
cs_status cs_corpus_next_source(const char **at, char **source) CS_MUST_CHECK;

/* Reads a corpus. A name goes before a file of that name (write ./wordnet for the file); a corpus
 * that has not been prepared is prepared first. options may be NULL: the defaults. Cost: one pass
 * over the text, the lines of a file dealt to all threads; memory: the file, 8 bytes a token (4 on
 * one thread) and the distinct words. Errors: CS_ERR_USAGE an option out of range; CS_ERR_INPUT no such
 * source, text that is not UTF-8, a missing column, a bad token id, no document of min_tokens left;
 * CS_ERR_IO a file that cannot be read; CS_ERR_MEMORY; CS_ERR_INTERRUPT. */
cs_status cs_corpus_load(const char *source, const cs_corpus_options *options,
                         cs_corpus *out) CS_MUST_CHECK;
void cs_corpus_free(cs_corpus *corpus);

/* Hands every document of a source to `take`, in order, as it is there: for what needs the text
 * itself. Sources and options as for cs_corpus_load, but min_tokens, vocab_size and what makes
 * tokens, which are not used. *about (NULL: not wanted) receives name, path, checksum and counts of
 * invalid text. CS_ERR_INPUT for a corpus of token ids, and for one without documents; a failure of
 * `take` ends the visit and is returned. */
cs_status cs_corpus_visit(const char *source, const cs_corpus_options *options, cs_corpus_take take,
                          void *to, cs_corpus *about) CS_MUST_CHECK;

/* The documents d with keep[d] != 0, same vocabulary and classes; dropped_documents stays that of
 * the whole. CS_ERR_INPUT when none is kept. Cost O(tokens + vocabulary). */
cs_status cs_corpus_select(const cs_corpus *corpus, const uint8_t *keep,
                           cs_corpus *out) CS_MUST_CHECK;

/* The held-out documents and `count` of the others, drawn once for all seeds: a smaller count takes
 * some of those that a larger one takes. CS_ERR_INPUT where there are fewer. */
cs_status cs_corpus_select_train(const cs_corpus *corpus, int64_t count,
                                 cs_corpus *out) CS_MUST_CHECK;

/* Words for the ids of a corpus of numbers: "0" to those below `vocab`, which becomes its vocabulary.
 * CS_ERR_INPUT names an id that is not below it. */
cs_status cs_corpus_name_numbers(cs_corpus *corpus, int64_t vocab) CS_MUST_CHECK;

/* XXH3 of the documents' tokens (ids and vectors), bounds and split, in hex. */
cs_status cs_corpus_hash(const cs_corpus *corpus, char hex[33]) CS_MUST_CHECK;

/* 32 hex digits and a NUL: equal where the same documents (keep NULL: all) are dealt to as many
 * blocks of a jackknife by the same seed, in whatever tokens they are read: of a source with a checksum
 * by that and which of its documents are there and held out, of another by its tokens. */
cs_status cs_corpus_partition(const cs_corpus *corpus, const uint8_t *keep, int64_t blocks,
                              uint64_t seed, char hex[33]) CS_MUST_CHECK;

/* The document's class, or "-". Word of a token id, or its number in `buffer` (>= 24 bytes) when
 * the corpus has no words. Borrowed from the corpus or the buffer. */
const char *cs_corpus_label(const cs_corpus *corpus, int64_t document);
const char *cs_corpus_word(const cs_corpus *corpus, int32_t token, char *buffer);

/* The corpora known by name. `package`: Debian packages, separated by spaces. */
typedef struct {
    const char *name, *package, *script, *licence, *summary;
    bool labelled;
    bool split; /* stores a split of its own */
} cs_corpus_source;
const cs_corpus_source *cs_corpus_sources(int *count);

/* The one that `source` names; side not NULL: or names as "NAME:SIDE", *side NULL where it has
 * none. NULL: it names none. */
const cs_corpus_source *cs_corpus_named(const char *source, const char **side);

/* The SIDE of "NAME:SIDE", train or test (NULL: both); CS_ERR_USAGE for another. */
cs_status cs_corpus_side(const char *source, const char *name, const char *side,
                         cs_document_split *out) CS_MUST_CHECK;

/* CS_ERR_INPUT of a source that is neither a file nor a corpus known by name, with the name that
 * may have been meant. */
cs_status cs_corpus_unknown(const char *source) CS_MUST_CHECK;

/* The path of the prepared form of a named corpus ($COSPEC_CACHE, else $XDG_CACHE_HOME/cospec,
 * else ~/.cache/cospec): fresh memory. CS_ERR_USAGE for another name, or when none of these
 * variables is set. */
cs_status cs_corpus_prepared_path(const char *name, char **out) CS_MUST_CHECK;

/* Runs the script that prepares it (unless prepared already and !force: then the file is only
 * compared with its record, for the note), and checks the result
 * against the SHA-256 that data/SOURCES.tsv records: another one is CS_ERR_INPUT when it came from
 * the recorded package versions, and said in the note when it came from others. CS_ERR_INPUT also
 * names a missing Debian package; CS_ERR_IO a script, table or folder that is not there. The file
 * appears whole or not at all. `note` (may be NULL) receives one line of what was done, in fresh
 * memory. Cost: 4 seconds at most, but half a minute for manpages. */
cs_status cs_corpus_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;
