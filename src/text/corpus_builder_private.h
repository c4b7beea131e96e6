/* Builds a corpus from documents, for every reader of text; and the readers of each kind of corpus,
 * which take resolved options and leave name and path of *out to the caller. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"
#include "text/encoder.h"
#include "text/splitter.h"
#include "text/text_file_private.h"
#include "text/vocab.h"

enum { CS_WORDS_AHEAD = 32, CS_WORD_AHEAD_SIZE = 32 };

/* Words that were extracted from the text and not yet looked up. */
typedef struct {
    cs_word_key key[CS_WORDS_AHEAD];
    char text[CS_WORDS_AHEAD][CS_WORD_AHEAD_SIZE]; /* longer words are not deferred */
    int count;
} cs_words_lookahead;

typedef struct {
    cs_corpus_options options; /* defaults filled in */
    cs_splitter splitter;
    cs_words_lookahead lookahead;
    cs_encoder encoder; /* when the options name a tokenizer */
    cs_word_table words, labels;
    /* Grows; until the end words and labels are numbered by first appearance, but the ids of an
     * encoder are final. */
    cs_corpus made;
    int64_t token_capacity, ptr_capacity, label_capacity, held_capacity;
    bool enough; /* no further document is wanted */
    /* in parts: by document, its number among the documents without key of the part, or -1 */
    int64_t *number;
    int64_t number_capacity;
    bool in_parts;        /* `number` is kept: cs_corpus_builder_join, _renumber */
    int64_t first_number; /* documents, dropped ones included, before those of the present file */
    bool in_order;        /* ids are final: the vocabulary was put into `words` before */
    cs_text_rules rules;  /* counts of invalid text */
    cs_refused refused;   /* used if the options have none */
} cs_corpus_builder;

/* Fills in the defaults; CS_ERR_USAGE names an option out of range. options may be NULL. */
cs_status cs_corpus_options_resolve(const cs_corpus_options *options,
                                    cs_corpus_options *out) CS_MUST_CHECK;

/* Whether a document is held out: the top 53 bits of XXH3 of its key under the seed, as a fraction,
 * are below test_share. */
bool cs_corpus_holds_out(const cs_corpus_options *options, const void *key, int64_t size);

/* Starts from resolved options; free it in every case. */
void cs_corpus_builder_init(cs_corpus_builder *builder, const cs_corpus_options *resolved);

/* Reserves memory for the tokens of this many bytes of text, so that a growing array is seldom copied.
 * Unwritten memory costs nothing. */
cs_status cs_corpus_builder_expect(cs_corpus_builder *builder, int64_t bytes) CS_MUST_CHECK;
cs_status cs_corpus_builder_add(cs_corpus_builder *builder,
                                const cs_document *document) CS_MUST_CHECK;

/* Documents that follow those of other parts: their words and labels are numbers of the builder
 * that made them. */
typedef struct {
    int builder;
    cs_corpus made;
    int64_t *number;
} cs_corpus_part;

/* Moves the documents of the builder, number `of`, into a part; its words and labels stay. */
void cs_corpus_builder_cut(cs_corpus_builder *builder, int of, cs_corpus_part *out);
void cs_corpus_part_free(cs_corpus_part *part);

/* Appends the parts in their order, as if their documents had been added here; their tokens are
 * freed. The builders have the options of this one and `in_parts` set; their words are merged, and
 * tokens are renumbered on all threads. */
cs_status cs_corpus_builder_join(cs_corpus_builder *builder, const cs_corpus_builder *from,
                                 int builders, cs_corpus_part *part, int64_t parts) CS_MUST_CHECK;

/* Gives a corpus the vocabulary of an encoder, whose ids its tokens are, and counts its unknown
 * tokens. */
cs_status cs_corpus_take_vocabulary(const cs_tokenizer *encoder, cs_corpus *corpus) CS_MUST_CHECK;

/* Their own numbers are known: `before` is added to those of the first `documents` documents, which
 * `in_parts` has kept. */
void cs_corpus_builder_renumber(cs_corpus_builder *builder, int64_t documents, int64_t before);

/* CS_ERR_INPUT when there is no document; `documents`, `dropped` and `skipped` (invalid) ones. */
cs_status cs_corpus_builder_check(const cs_corpus_builder *builder, int64_t documents,
                                  int64_t dropped, int64_t skipped) CS_MUST_CHECK;

/* In place of the ranking: the vocabulary and the classes are those of the tables, in their order.
 * Words past it, and a literal <unk> in the text, become 0. */
cs_status cs_corpus_builder_give_words(cs_corpus_builder *builder,
                                       const cs_word_table *words) CS_MUST_CHECK;
cs_status cs_corpus_builder_give_labels(cs_corpus_builder *builder,
                                        const cs_word_table *labels) CS_MUST_CHECK;

/* Moves the arrays, ranked, into *out. */
void cs_corpus_builder_deliver(cs_corpus_builder *builder, cs_corpus *out);

/* Ranks words and classes and moves the arrays into *out (name, path and sha256 are left to the
 * caller). CS_ERR_INPUT when no document is left. */
cs_status cs_corpus_builder_finish(cs_corpus_builder *builder, cs_corpus *out) CS_MUST_CHECK;
void cs_corpus_builder_free(cs_corpus_builder *builder);

/* --- readers --- */

/* A file of lines, or the lines whose first bytes are at from..to-1 of an uncompressed one. */
typedef struct {
    const char *path;
    cs_text_format format; /* not AUTO */
    bool prepared;
    int64_t from, to;  /* to 0: the whole file */
    cs_columns *found; /* of this file: zeros, or found by an earlier range */
} cs_text_lines;

/* Adds their documents. A file that is refused is only noted (cs_refused_status). sha256: of a whole
 * file; left as it is for a range. */
cs_status cs_corpus_add_lines(const cs_text_lines *lines, cs_corpus_builder *builder,
                              char sha256[65]) CS_MUST_CHECK;

/* A file of lines of that format (not AUTO), or the output of the scripts in data/
 * (docs/reference/corpora.md, "Prepared corpora"). */
cs_status cs_corpus_read_lines(const char *path, cs_text_format format, bool prepared,
                               const cs_corpus_options *options, cs_corpus *out) CS_MUST_CHECK;
cs_status cs_corpus_read_npy(const char *path, const cs_corpus_options *options,
                             cs_corpus *out) CS_MUST_CHECK;

/* Gives a corpus that is in no file its name, and delivers it. */
cs_status cs_corpus_in_memory(cs_status status, const char *name, cs_corpus *made,
                              cs_corpus *out) CS_MUST_CHECK;

/* Allocates the arrays that every corpus has; the caller frees them in every case. */
cs_status cs_corpus_allocate(int64_t documents, int64_t tokens, cs_corpus *corpus) CS_MUST_CHECK;
