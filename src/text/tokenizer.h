/* Tokenizers: text <-> token ids of a fixed vocabulary, stored as tokenizer.json of Hugging Face.
 *
 * A tokenizer is a row of steps that the file names: added tokens are cut out of the text,
 * normalisers write what is between them anew, pre-tokenizers cut it into pieces, the model makes
 * tokens of each piece, a post-processor puts tokens around all; decoders go the other way.
 *
 * Four models. CS_TOKENS_WORD: a piece is a word of a list, or <unk>. CS_TOKENS_BPE: byte pair
 * encoding (Sennrich et al., ACL 2016) of characters, or of bytes (Radford et al., 2019), with
 * bytes for unknown characters where the file says so: the pair with the lowest merge rank is
 * joined until none is left (the leftmost of equal ones). CS_TOKENS_WORDPIECE: the longest match
 * first (Schuster and Nakajima, ICASSP 2012; Devlin et al., NAACL 2019). CS_TOKENS_UNIGRAM: the
 * tokens of largest total log probability (Kudo, ACL 2018).
 *
 * Ids are 0..vocab-1 without holes. Added tokens (special ones among them) are found in the text
 * before anything else, as in the `tokenizers` package, whose ids are ours (tests/oracle). With
 * byte-level BPE decode(encode(x)) is x for any UTF-8 text x, as long as special tokens are not
 * skipped, no added token eats blanks at its sides, and no prefix space is added.
 *
 * A tokenizer does not change once made (cs_tokenizer_drop_post belongs to the making), so any
 * number of threads may use it.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef enum {
    CS_TOKENS_WORD,
    CS_TOKENS_BPE,
    CS_TOKENS_WORDPIECE,
    CS_TOKENS_UNIGRAM
} cs_token_model;

typedef enum {
    CS_TOKEN_UNK,
    CS_TOKEN_PAD,
    CS_TOKEN_MASK,
    CS_TOKEN_BOS,
    CS_TOKEN_EOS,
    CS_TOKEN_ROLES
} cs_token_role;

typedef struct cs_tokenizer cs_tokenizer;

/* Reads tokenizer.json (docs/reference/tokenizers.md says which parts; truncation and padding are kept as data).
 * CS_ERR_INPUT names file and field of what is not supported or wrong: a key or kind that is not
 * known, ids with holes or given twice, merges of tokens that are not there; a Git LFS pointer, an
 * empty file, bad JSON. Cost: linear in the file, about 100 bytes a token and merge. */
cs_status cs_tokenizer_read(const char *path, cs_tokenizer **out) CS_MUST_CHECK;

/* Writes the same form atomically; reading it gives an equal tokenizer. */
cs_status cs_tokenizer_write(const cs_tokenizer *t, const char *path) CS_MUST_CHECK;

/* Writes tokenizer_config.json, by which transformers reads the tokenizer.json beside it as it is:
 * without it the class of the model's own tokenizer takes over, GPT2Tokenizer's for a list of words
 * too. Names the special tokens by role; `length`: the longest text, 0: any. CS_ERR_IO,
 * CS_ERR_MEMORY. */
cs_status cs_tokenizer_write_config(const cs_tokenizer *t, int64_t length,
                                    const char *path) CS_MUST_CHECK;

/* The text of ids, in fresh memory with a NUL after its *size bytes. skip_special leaves special
 * tokens out. Bytes that are no UTF-8 (a sequence of ids may end inside a character) become U+FFFD,
 * one for each longest part that begins a character. CS_ERR_INPUT names an id out of range and its
 * index. */
cs_status cs_tokenizer_decode(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size) CS_MUST_CHECK;

/* Byte-level BPE without a normaliser: each character of a token's spelling is one byte of text. */
bool cs_tokenizer_is_byte_level(const cs_tokenizer *t);
int64_t cs_tokenizer_vocab(const cs_tokenizer *t);

/* The token as the file spells it (byte-level: a blank is U+0120); id in 0..vocab-1. Borrowed. */
const char *cs_tokenizer_token(const cs_tokenizer *t, int32_t id);

/* Its id, -1 when there is none. */
int32_t cs_tokenizer_id(const cs_tokenizer *t, const char *token);

/* The id of a role, -1 when no token has it. By the model's unk_token, then by the usual names:
 * <unk> [UNK]; <pad> [PAD] <|pad|>; <mask> [MASK] <|mask|>; <s> [CLS] <bos> <|begin_of_text|>
 * <|endoftext|>; </s> [SEP] <eos> <|end_of_text|> <|endoftext|>. */
int32_t cs_tokenizer_special(const cs_tokenizer *t, cs_token_role role);

/* Whether the token is declared special: decoding can skip it, and no text is meant by it. */
bool cs_tokenizer_is_special(const cs_tokenizer *t, int32_t id);

/* The ids that the post-processor puts before and after a text, borrowed. */
typedef struct {
    const int32_t *before, *after;
    int64_t befores, afters;
} cs_around;
cs_around cs_tokenizer_around(const cs_tokenizer *t);

/* The form that the post-processor gives to a text or a pair of texts: `token` an id, or CS_TEXT_FIRST and
 * CS_TEXT_SECOND at the places of the texts, `type` the token type there (0 around a single text). *out is
 * written anew; its count is 0 where there is no post-processor that adds tokens to a text. CS_ERR_INPUT
 * names what is not supported: a text twice or not at all, more than CS_TEXT_PIECES. Source: the
 * `tokenizers` package's TemplateProcessing, BertProcessing, RobertaProcessing. */
enum { CS_TEXT_FIRST = -1, CS_TEXT_SECOND = -2, CS_TEXT_PIECES = 16 };
typedef struct {
    int32_t token, type;
} cs_text_piece;
typedef struct {
    cs_text_piece piece[CS_TEXT_PIECES];
    int64_t count;
} cs_text_form;
cs_status cs_tokenizer_form(const cs_tokenizer *t, bool pair, cs_text_form *out) CS_MUST_CHECK;

/* Makes it put nothing around a text any more: takes away a post-processor that does (one that adds
 * no token stays). For a model that never saw these tokens; before others use the tokenizer. */
void cs_tokenizer_drop_post(cs_tokenizer *t);

void cs_tokenizer_free(cs_tokenizer **held); /* accepts a pointer to NULL */

/* The tokenizer of a corpus that was loaded with a splitter: its words with their ids, and after
 * them <unk> (NPY ids have none: their words are decimal numbers, split at white space), <pad>,
 * <s>, </s> and <mask>, unless the corpus has a word of that spelling. Encoding a document's text
 * gives its tokens, but for special tokens that the text spells. CS_ERR_MEMORY only. */
cs_status cs_tokenizer_of_corpus(const cs_corpus *corpus, cs_splitter_kind splitter,
                                 cs_tokenizer **out) CS_MUST_CHECK;

/* Whether a tokenizer was made from the ids of an array, and which tokens stand for them: of a word
 * list whose tokens, special ones aside, are the decimals 0, 1, 2, ... in the order of their ids,
 * (*id)[v] is the id of the token "v", v < *count, in fresh memory. Of any other tokenizer *count
 * is 0. Cost O(vocabulary). CS_ERR_MEMORY only. */
cs_status cs_tokenizer_numbers(const cs_tokenizer *t, int32_t **id, int64_t *count) CS_MUST_CHECK;
