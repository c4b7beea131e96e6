/** \file
 * Corpora: labelled documents as token ids.
 *
 * A source is one of:
 *
 * - a prepared corpus by name: wordnet, bible-kjv, gcide, manpages, foldoc, or one side of its
 *   split (wordnet:train, wordnet:test). The scripts in data/ prepare them from Debian packages;
 * - FILE.tsv (a line is label TAB text) or FILE.csv, whose first line may name the columns;
 *   FILE.txt (a document a line, or the whole file one document); FILE.jsonl (an object a line);
 *   each also with .gz;
 * - a directory: a subdirectory for each class and a file for each document, or plain files
 *   without classes. Names that start with a dot are ignored;
 * - a pattern such as `shards/part-?.jsonl.gz`: the files of lines that it matches, in
 *   byte order of their paths, as one corpus;
 * - FILE.npy: token ids, 1-D, or 2-D with a document in each row, whose end may be padded with -1;
 * - a synthetic language: `markov:...`, `hmm:...` or `grammar:...` (text/synthetic.h);
 * - several of them except ids, separated by commas; the classes are then the sources.
 *
 * The formats are in docs/reference/corpora.md.
 *
 * Text must be UTF-8 without NUL, unless cs_corpus_options.invalid says otherwise; the error names
 * file, line and byte. A byte order mark is skipped, a line ends at LF or CR LF, and an empty line
 * is no document. Splitters: `word` yields maximal runs of letters and marks in lower case (of
 * ASCII text `[a-z]+`), `whitespace` maximal runs of non-space, `char` one Unicode character. Text
 * is not normalised.
 *
 * The vocabulary is the `vocab_size` most frequent words of all documents that are kept, held-out
 * ones included (ties by byte order), in ids of falling frequency. Id 0 is `<unk>`, also for a
 * literal `<unk>` in the text. Classes are numbered in byte order of their names. With a tokenizer
 * in place of a splitter, tokens are those of its vocabulary; special tokens in the text are
 * recognised and none is added.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/npy.h"
#include "text/splitter.h"

/** \cond INTERNAL */
struct cs_comm;
struct cs_tokenizer;
struct cs_vectors;
/** \endcond */

/** Treatment of text that is not UTF-8, NUL bytes included. */
typedef enum {
    /** An error that names every such file. */
    CS_INVALID_REFUSE,
    /** Each invalid part becomes U+FFFD. */
    CS_INVALID_REPLACE,
    /** The line, or the file that is one document, is left out. */
    CS_INVALID_SKIP,
    /** Each invalid byte is a character of ISO 8859-1; a NUL becomes U+FFFD. */
    CS_INVALID_LATIN1,
} cs_invalid;

/** Files that are not UTF-8, collected under CS_INVALID_REFUSE. Starts as zeros; free it with
 * cs_free(report).
 */
typedef struct {
    /** Number of files. */
    int64_t files;
    /** The first of them, a line each: "FILE:LINE: byte N: ...". */
    char *report;
} cs_refused;

/** \retval CS_ERR_INPUT there are such files; names them and the options that accept them */
cs_status cs_refused_status(const cs_refused *refused) CS_MUST_CHECK;

/** Meaning of a line of a file. */
typedef enum {
    /** By the suffix of the file, without .gz. */
    CS_FORMAT_AUTO,
    /** .txt: a document. */
    CS_FORMAT_TEXT,
    /** .tsv: tab-separated columns. */
    CS_FORMAT_TSV,
    /** LABEL SPACE TEXT: the label ends at the first space. */
    CS_FORMAT_SPACE,
    /** .jsonl, .ndjson: a JSON object. */
    CS_FORMAT_JSONL,
    /** .csv: a record of RFC 4180, which may span several lines. */
    CS_FORMAT_CSV,
} cs_text_format;

enum {
    /** Value of pair_column: the second text if a header names one, for labelled texts. */
    CS_PAIR_IF_NAMED = -1,
    /** Value of pair_column: the second text that a header names, else column 3. */
    CS_PAIR_WANTED = -2,
};

/** The columns of a file that were read, counted from 1; 0: none. */
typedef struct {
    /** Number of columns of the first line. */
    int64_t columns;
    /** Column of the label. */
    int64_t label;
    /** Column of the text. */
    int64_t text;
    /** Column of the second text. */
    int64_t pair;
    /** First lines that name the columns and are no documents: 0 or 1; of several sources their
     * number.
     */
    int64_t headers;
    /** A header calls the label "score". */
    bool numbers;
    /** Files of lines that have carriage returns but no line feed, and are read as one line. */
    int64_t returns;
} cs_columns;

/** The side of the split that a document belongs to. */
typedef enum {
    /** Decided by a hash. */
    CS_DOCUMENT_HASHED,
    /** Training. */
    CS_DOCUMENT_TRAIN,
    /** Held out. */
    CS_DOCUMENT_TEST,
} cs_document_split;

/** A document, borrowed; valid UTF-8. Texts do not end with a NUL. */
typedef struct {
    /** The text. */
    const char *text;
    /** Its bytes. */
    int64_t size;
    /** A second text; NULL if there is none. */
    const char *pair;
    /** Its bytes. */
    int64_t pair_size;
    /** The label. */
    const char *label;
    /** Its bytes; 0: unlabelled. */
    int64_t label_size;
    /** The key that the split hashes. */
    const char *key;
    /** Its bytes; 0: the key is the number of the document in its source. */
    int64_t key_size;
    /** Its side of the split. */
    cs_document_split split;
} cs_document;

/** Receives a document. A CS_ERR_INPUT that it returns gets the place of the document in its
 * message. `*enough = true` ends the visit.
 */
typedef cs_status (*cs_corpus_take)(void *to, const cs_document *document, bool held_out,
                                    bool *enough);

/** How a corpus is read. Zeros are the defaults, except test_share: set it to -1 for the default.
 */
typedef struct {
    /** How text is split into words. */
    cs_splitter_kind splitter;
    /** A tokenizer in place of the splitter, borrowed while the corpus is read; NULL: the splitter.
     * For NPY files the ids are those of its vocabulary. If its words are the numbers 0, 1, 2, ...
     * (cs_tokenizer_numbers), id v stands for the token "v".
     */
    const struct cs_tokenizer *encoder;
    /** Words kept in addition to `<unk>`; 0: 8000; -1: all. Not used for NPY files and with an
     * encoder.
     */
    int64_t vocab_size;
    /** Shorter documents are dropped and counted; 0: 1. */
    int64_t min_tokens;
    /** Plain text: the file is one document, not each line. */
    bool whole_file;
    /** TSV, CSV: column of the label, from 1; 0: the one that a header names, else 1; -1:
     * unlabelled.
     */
    int64_t label_column;
    /** TSV, CSV: column of the text, from 1; 0: the one that a header names, else 2. */
    int64_t text_column;
    /** Column of a second text; 0: none, in any format; or CS_PAIR_IF_NAMED, CS_PAIR_WANTED. */
    int64_t pair_column;
    /** Format of the file. */
    cs_text_format format;
    /** JSON lines: key of the label, a text, number or truth value; NULL: "label". TSV, CSV: name
     * of the column of the label.
     */
    const char *label_field;
    /** The same for the text; NULL: "text". */
    const char *text_field;
    /** The same for the second text, where pairs are wanted; NULL: "pair". */
    const char *pair_field;
    /** Treatment of invalid UTF-8. */
    cs_invalid invalid;
    /** Collects invalid files over several sources; NULL: each source fails by itself. */
    cs_refused *refused;
    /** Share of held-out documents, in [0, 1): by XXH3, under `seed`, of the key of the document
     * (prepared corpora), its path below the directory, or its number in the file. Negative: 0.2.
     * A prepared corpus that stores its split keeps it.
     */
    double test_share;
    /** Seed of that hash; it affects nothing else. */
    uint64_t seed;
    /** Threads that read a file of lines; 0: cs_threads(). The corpus does not depend on it. */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
    /** Processes that each read a part of the source, where cs_corpus_divides; NULL: one process.
     * All call cs_corpus_load with the same source and options.
     */
    struct cs_comm *comm;
    /** Internal: only documents of this side, set for NAME:SIDE. */
    cs_document_split side;
    /** Internal: receives the documents of cs_corpus_visit. */
    cs_corpus_take take;
    /** Internal: first argument of `take`. */
    void *to;
} cs_corpus_options;

/** A corpus. Free it with cs_corpus_free. Members are read-only. */
typedef struct {
    /** Name of the source. */
    char *name;
    /** Path of its file or directory. */
    char *path;
    /** SHA-256 of the file; of a directory, of the lines "SHA-256  path below it", and of a pattern,
     * of the lines "SHA-256  path".
     */
    char sha256[65];
    /** Number of documents. */
    int64_t documents;
    /** Number of tokens. */
    int64_t tokens;
    /** Of one process' part of a corpus (cs_corpus_options.comm): documents of the lower ranks. Words,
     * classes and counts of documents that are left out are those of all ranks.
     */
    int64_t first_document;
    /** Of such a part: documents of all ranks; 0: this is the whole corpus. */
    int64_t all_documents;
    /** Of such a part: tokens of all ranks. */
    int64_t all_tokens;
    /** documents + 1: document d has the tokens doc_ptr[d] .. doc_ptr[d+1]-1. */
    int64_t *doc_ptr;
    /** tokens: ids in 0..vocab-1. */
    int32_t *token;
    /** `token` belongs to another, and cs_corpus_free leaves it. */
    bool borrowed;
    /** tokens x real_width, row-major: the vector at each position, which models read instead of
     * its id; NULL: rows are ids, or `vectors` has them.
     */
    float *real;
    /** In place of `real`: vectors that are read when they are needed (text/vectors.h). */
    struct cs_vectors *vectors;
    /** SHA-256 of the files and settings that the vectors follow from, in place of the vectors in
     * cs_corpus_hash; "": the vectors.
     */
    char real_sha256[65];
    /** Width of `real`. */
    int64_t real_width;
    /** documents x extra_width, row-major: a vector for each document that models may read; NULL:
     * none.
     */
    float *extra;
    /** Width of `extra`. */
    int64_t extra_width;
    /** Codes of images: patches in a row; 0: no images. */
    int64_t columns;
    /** Codes of images: patches in a row of each of the windows that follow one another in a
     * document.
     */
    int64_t window;
    /** documents: class, -1 when unlabelled. */
    int32_t *label;
    /** documents: 1 in the test split. */
    uint8_t *held_out;
    /** documents: how often each counts in a matrix; NULL: once. */
    double *weight;
    /** Set if documents represent all texts of a synthetic language (text/synthetic.h). */
    struct cs_synthetic_population *population;
    /** Number of classes; 0 if unlabelled. */
    int64_t labels;
    /** labels: names of the classes. */
    char **label_name;
    /** Number of ids, `<unk>` included; of an NPY file the largest id + 1. */
    int64_t vocab;
    /** vocab: words in UTF-8; NULL for NPY files. */
    char **word;
    /** Id of `<unk>`: 0, or that of the encoder; -1 if there is none. */
    int32_t unknown;
    /** Documents shorter than min_tokens. */
    int64_t dropped_documents;
    /** Tokens that became `<unk>`. */
    int64_t unknown_tokens;
    /** Invalid parts that were replaced or read as ISO 8859-1. */
    int64_t invalid_bytes;
    /** Documents left out because of invalid text. */
    int64_t invalid_documents;
    /** The columns that were read; of several sources only `headers` and `returns`. */
    cs_columns read;
} cs_corpus;

/** Whether a source is several, separated by commas, and not a file of that name. */
bool cs_corpus_joined(const char *source);

/** The next of several sources. `*at` points into the text and advances; `*source` receives new
 * memory (cs_free), NULL after the last. Parameters of a synthetic language, as in
 * `markov:classes=2,length=9`, belong to their source.
 *
 * \retval CS_ERR_INPUT an empty name
 */
cs_status cs_corpus_next_source(const char **at, char **source) CS_MUST_CHECK;

/** Whether several processes can share the reading of a source: prepared corpora, patterns,
 * directories of documents, and uncompressed files of lines except CSV.
 */
bool cs_corpus_divides(const char *source, const cs_corpus_options *options);

/** Reads a corpus. A name has precedence over a file of that name (write ./wordnet for the file). A
 * named corpus that is not prepared is prepared first.
 *
 * Cost: one pass over the text, with the lines of a file divided among all threads. Memory: the
 * file, 8 bytes a token (4 on one thread) and the distinct words.
 *
 * \param source see the top of this file
 * \param options NULL: the defaults
 * \param out receives the corpus
 * \retval CS_ERR_USAGE an option is out of range
 * \retval CS_ERR_INPUT no such source, invalid UTF-8, a missing column, an invalid token id, or no
 *     document with min_tokens tokens
 * \retval CS_ERR_IO a file cannot be read
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_corpus_load(const char *source, const cs_corpus_options *options,
                         cs_corpus *out) CS_MUST_CHECK;

/** Frees a corpus; accepts a zeroed object. */
void cs_corpus_free(cs_corpus *corpus);

/** Texts in memory as a corpus, a document each, read without a copy. Options of files have no effect.
 *
 * \param name name of the corpus, for messages
 * \param documents number of texts
 * \param text documents texts in UTF-8
 * \param size their bytes
 * \param options NULL: the defaults
 * \param out receives the corpus
 * \retval CS_ERR_INPUT invalid UTF-8 or NUL (options->invalid), or no document with min_tokens tokens
 */
cs_status cs_corpus_of_texts(const char *name, int64_t documents, const char *const *text,
                             const int64_t *size, const cs_corpus_options *options,
                             cs_corpus *out) CS_MUST_CHECK;

/** An array of token ids as a corpus, as FILE.npy holds it: one document, or a document a row.
 *
 * \retval CS_ERR_INPUT an invalid token id, or no document with min_tokens tokens
 */
cs_status cs_corpus_of_array(const char *name, const cs_array *array,
                             const cs_corpus_options *options, cs_corpus *out) CS_MUST_CHECK;

/** Sequences of token ids in one array as a corpus. An array of int32 (above: without padding) is
 * borrowed unless min_tokens leaves a gap in it; others are copied.
 *
 * \param name name of the corpus, for messages
 * \param ids all sequences, one after another
 * \param documents number of sequences
 * \param doc_ptr documents + 1 offsets from 0 to the number of ids
 * \param options NULL: the defaults
 * \param out receives the corpus
 * \retval CS_ERR_INPUT offsets that do not rise, an invalid token id, or no document with min_tokens
 *     tokens
 */
cs_status cs_corpus_of_ids(const char *name, const cs_array *ids, int64_t documents,
                           const int64_t *doc_ptr, const cs_corpus_options *options,
                           cs_corpus *out) CS_MUST_CHECK;

/** Passes every document of a source to `take` in order, as text. Sources and options are those of
 * cs_corpus_load; min_tokens, vocab_size, splitter and encoder are not used.
 *
 * \param source see the top of this file
 * \param options NULL: the defaults
 * \param take receives each document; a failure ends the visit and is returned
 * \param to first argument of `take`
 * \param about receives name, path, checksum and counts of invalid text; NULL: not wanted
 * \retval CS_ERR_INPUT a corpus of token ids, or one without documents; else as cs_corpus_load
 */
cs_status cs_corpus_visit(const char *source, const cs_corpus_options *options, cs_corpus_take take,
                          void *to, cs_corpus *about) CS_MUST_CHECK;

/** The documents d with keep[d] != 0, with the same vocabulary and classes; dropped_documents is
 * that of the whole. O(tokens + vocabulary).
 *
 * \retval CS_ERR_INPUT no document is kept
 */
cs_status cs_corpus_select(const cs_corpus *corpus, const uint8_t *keep,
                           cs_corpus *out) CS_MUST_CHECK;

/** The held-out documents and `count` of the training documents, drawn independently of any seed. A
 * smaller count selects a subset of a larger one.
 *
 * \retval CS_ERR_INPUT there are fewer training documents
 */
cs_status cs_corpus_select_train(const cs_corpus *corpus, int64_t count,
                                 cs_corpus *out) CS_MUST_CHECK;

/** Gives the ids of an NPY corpus the words "0", "1", ... below `vocab`, which becomes the size of
 * its vocabulary.
 *
 * \retval CS_ERR_INPUT an id is not below `vocab`
 */
cs_status cs_corpus_name_numbers(cs_corpus *corpus, int64_t vocab) CS_MUST_CHECK;

/** XXH3 of tokens (ids and vectors), document boundaries and split, as 32 hexadecimal digits and a
 * NUL.
 */
cs_status cs_corpus_hash(const cs_corpus *corpus, char hex[33]) CS_MUST_CHECK;

/** An identity of a division into blocks for a jackknife, as 32 hexadecimal digits and a NUL: equal
 * if the same documents are dealt to the same number of blocks by the same seed, whatever their
 * tokens. A source with a checksum is identified by it and by the documents that are present and
 * held out, another one by its tokens.
 *
 * \param keep documents: 0 leaves a document out; NULL: all
 * \param blocks number of blocks
 * \param seed of the division
 * \param hex receives the digits
 */
cs_status cs_corpus_partition(const cs_corpus *corpus, const uint8_t *keep, int64_t blocks,
                              uint64_t seed, char hex[33]) CS_MUST_CHECK;

/** Name of the class of a document, "-" if it has none. Borrowed. */
const char *cs_corpus_label(const cs_corpus *corpus, int64_t document);

/** Word of a token id, or its number in `buffer` (at least 24 bytes) if the corpus has no words.
 * Borrowed from the corpus or the buffer.
 */
const char *cs_corpus_word(const cs_corpus *corpus, int32_t token, char *buffer);

/** A corpus that is known by name. */
typedef struct {
    /** Name. */
    const char *name;
    /** Debian packages, separated by spaces. */
    const char *package;
    /** Script in data/ that prepares it. */
    const char *script;
    /** Licence of the text. */
    const char *licence;
    /** One line. */
    const char *summary;
    /** Documents have classes. */
    bool labelled;
    /** It stores a split. */
    bool split;
} cs_corpus_source;

/** All corpora that are known by name; `*count` receives their number. Static data. */
const cs_corpus_source *cs_corpus_sources(int *count);

/** The corpus that `source` names; NULL if it names none. If `side` is not NULL, "NAME:SIDE" is
 * accepted too: `*side` points to SIDE, or is NULL.
 */
const cs_corpus_source *cs_corpus_named(const char *source, const char **side);

/** The side, train or test, of "NAME:SIDE"; `side` NULL means both.
 *
 * \retval CS_ERR_USAGE another side
 */
cs_status cs_corpus_side(const char *source, const char *name, const char *side,
                         cs_document_split *out) CS_MUST_CHECK;

/** Path of the prepared form of a named corpus, below $COSPEC_CACHE, else $XDG_CACHE_HOME/cospec,
 * else ~/.cache/cospec. New memory (cs_free).
 *
 * \retval CS_ERR_USAGE unknown name, or none of the variables is set
 */
cs_status cs_corpus_prepared_path(const char *name, char **out) CS_MUST_CHECK;

/** Prepares a named corpus by its script and compares the result with the SHA-256 in
 * data/SOURCES.tsv. The file appears whole or not at all. It takes at most 4 seconds, and half a
 * minute for manpages.
 *
 * \param name a named corpus
 * \param force prepare again; otherwise a prepared corpus is only compared
 * \param note receives one line about what was done (cs_free); may be NULL
 * \retval CS_ERR_INPUT the checksum differs although the recorded package versions are installed,
 *     or a Debian package is missing
 * \retval CS_ERR_IO a script, table or folder is missing
 */
cs_status cs_corpus_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;
