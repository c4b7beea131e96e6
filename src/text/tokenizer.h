/** \file
 * Tokenizers: text to token ids of a fixed vocabulary and back, stored as tokenizer.json of
 * Hugging Face (docs/reference/tokenizers.md).
 *
 * A tokenizer is a chain of steps that the file names. Added tokens are cut out of the text,
 * normalisers rewrite the text between them, pre-tokenizers split it into pieces, the model turns
 * each piece into tokens, and a post-processor adds tokens around all. Decoders go the other way.
 *
 * Ids are 0..vocab-1 without gaps. Added tokens (special ones among them) are found in the text
 * first, as in the `tokenizers` package, whose ids are equal to ours. With byte-level BPE
 * decode(encode(x)) is x for any UTF-8 text x if special tokens are not skipped, no added token
 * strips spaces around it and no prefix space is added.
 *
 * A tokenizer is immutable once made, so any number of threads may use it.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

/** Model of a tokenizer. */
typedef enum {
    /** A piece is a word of a list, or `<unk>`. */
    CS_TOKENS_WORD,
    /** Byte pair encoding (Sennrich et al., ACL 2016) of characters or of bytes (Radford et al., 2019),
 * with byte fallback if the file says so. The pair with the lowest merge rank is merged until none
 * is left, the leftmost of equal ones first.
 */
    CS_TOKENS_BPE,
    /** Longest match first (Schuster and Nakajima, ICASSP 2012; Devlin et al., NAACL 2019). */
    CS_TOKENS_WORDPIECE,
    /** The tokens with the largest total log probability (Kudo, ACL 2018). */
    CS_TOKENS_UNIGRAM,
} cs_token_model;

/** Roles of special tokens. */
typedef enum {
    /** Unknown token. */
    CS_TOKEN_UNK,
    /** Padding. */
    CS_TOKEN_PAD,
    /** Mask. */
    CS_TOKEN_MASK,
    /** Begin of a text. */
    CS_TOKEN_BOS,
    /** End of a text. */
    CS_TOKEN_EOS,
    /** Number of roles. */
    CS_TOKEN_ROLES,
} cs_token_role;

/** A tokenizer. Free it with cs_tokenizer_free. */
typedef struct cs_tokenizer cs_tokenizer;

/** Reads a tokenizer.json, or the folder of a model as AutoTokenizer of transformers 5 does: with the
 * tokens and roles that tokenizer_config.json, special_tokens_map.json and added_tokens.json list,
 * and the special tokens of the class
 * (docs/reference/tokenizers.md). Truncation and padding are kept as data and not applied. Cost: linear in
 * the file, about 100 bytes for each token and merge.
 *
 * \param path the file, or a folder with a tokenizer.json
 * \param out receives the tokenizer
 * \retval CS_ERR_INPUT an unknown key or kind, ids with gaps or duplicates, merges of unknown
 *     tokens, a Git LFS pointer, an empty file, or invalid JSON; names file and field
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_tokenizer_read(const char *path, cs_tokenizer **out) CS_MUST_CHECK;

/** As cs_tokenizer_read, of the folder of a model for that model: a special token that only the
 * class of the tokenizer has is left out if its id exceeds `vocab_size` of config.json.
 *
 * \param dir the folder
 * \param out receives the tokenizer
 */
cs_status cs_tokenizer_read_for_model(const char *dir, cs_tokenizer **out) CS_MUST_CHECK;

/** Writes tokenizer.json atomically; reading it gives an equal tokenizer. */
cs_status cs_tokenizer_write(const cs_tokenizer *t, const char *path) CS_MUST_CHECK;

/** Writes tokenizer_config.json, with which the transformers package reads the tokenizer.json in
 * the same folder as it is. It names the special tokens by role.
 *
 * \param length longest text; 0: any
 * \retval CS_ERR_IO the file cannot be written
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_tokenizer_write_config(const cs_tokenizer *t, int64_t length,
                                    const char *path) CS_MUST_CHECK;

/** The text of ids. Bytes that are not UTF-8 (a sequence may end inside a character) become U+FFFD,
 * one for each longest part that begins a character.
 *
 * \param ids count ids
 * \param count number of ids
 * \param skip_special leave special tokens out
 * \param text receives the text with a NUL at its end; free it with cs_free
 * \param size receives its bytes without the NUL
 * \retval CS_ERR_INPUT an id is out of range; names it and its index
 */
cs_status cs_tokenizer_decode(const cs_tokenizer *t, const int32_t *ids, int64_t count,
                              bool skip_special, char **text, int64_t *size) CS_MUST_CHECK;

/** Whether it is byte-level BPE without a normaliser: each character of a token's spelling is one
 * byte of text.
 */
bool cs_tokenizer_is_byte_level(const cs_tokenizer *t);

/** Number of ids. */
int64_t cs_tokenizer_vocab(const cs_tokenizer *t);

/** The token as the file spells it (byte-level: a space is U+0120), id in 0..vocab-1. Borrowed. */
const char *cs_tokenizer_token(const cs_tokenizer *t, int32_t id);

/** Id of a token, -1 if there is none. */
int32_t cs_tokenizer_id(const cs_tokenizer *t, const char *token);

/** Id of a role, -1 if no token has it. It is the unk_token of the model, else a token with a usual
 * name: `<unk> [UNK]`; `<pad> [PAD] <|pad|>`; `<mask> [MASK] <|mask|>`;
 * `<s> [CLS] <bos> <|begin_of_text|> <|endoftext|>`;
 * `</s> [SEP] <eos> <|end_of_text|> <|endoftext|>`.
 */
int32_t cs_tokenizer_special(const cs_tokenizer *t, cs_token_role role);

/** Gives roles to tokens of the vocabulary, for tokenizers whose tokens have other names.
 *
 * \param token the token of each role; NULL: the role stays as it is
 * \retval CS_ERR_USAGE the vocabulary has no such token, or the model has another unk_token
 */
cs_status cs_tokenizer_give_roles(cs_tokenizer *t,
                                  const char *const token[CS_TOKEN_ROLES]) CS_MUST_CHECK;

/** Parts that the class of the folder's tokenizer has and its tokenizer.json lacks, such as
 * "pre_tokenizer": ids may then differ from those of the class. NULL: none. */
const char *cs_tokenizer_lacks(const cs_tokenizer *t);

/** Whether cs_tokenizer_give_roles gave this role. */
bool cs_tokenizer_role_given(const cs_tokenizer *t, cs_token_role role);

/** Whether a token is declared special: decoding can skip it, and it stands for no text. */
bool cs_tokenizer_is_special(const cs_tokenizer *t, int32_t id);

/** Ids that the post-processor adds before and after a text, borrowed. */
typedef struct {
    /** befores ids. */
    const int32_t *before;
    /** afters ids. */
    const int32_t *after;
    /** Number of ids before a text. */
    int64_t befores;
    /** Number of ids after a text. */
    int64_t afters;
} cs_special_tokens;

/** The ids that the post-processor adds around a text. */
cs_special_tokens cs_tokenizer_around(const cs_tokenizer *t);

enum {
    /** In a cs_text_piece: the first text. */
    CS_TEXT_FIRST = -1,
    /** In a cs_text_piece: the second text. */
    CS_TEXT_SECOND = -2,
    /** Most pieces of a cs_text_form. */
    CS_TEXT_PIECES = 16,
};

/** A piece of the form of a text. */
typedef struct {
    /** A token id, or CS_TEXT_FIRST or CS_TEXT_SECOND in the place of a text. */
    int32_t token;
    /** Token type id there; 0 around a single text. */
    int32_t type;
} cs_text_piece;

/** The form that the post-processor gives to a text or a pair of texts. */
typedef struct {
    /** count pieces. */
    cs_text_piece piece[CS_TEXT_PIECES];
    /** Number of pieces; 0: no post-processor adds tokens to a text. */
    int64_t count;
} cs_text_form;

/** The form of a text, or of a pair of texts. Source: TemplateProcessing, BertProcessing and
 * RobertaProcessing of the `tokenizers` package.
 *
 * \retval CS_ERR_INPUT the post-processor repeats or omits a text, or has more than CS_TEXT_PIECES
 *     pieces
 */
cs_status cs_tokenizer_form(const cs_tokenizer *t, bool pair, cs_text_form *out) CS_MUST_CHECK;

/** Removes a post-processor that adds tokens to a text, for a model that was trained without them.
 * Call it before other threads use the tokenizer.
 */
void cs_tokenizer_drop_post(cs_tokenizer *t);

/** Frees a tokenizer and sets the pointer to NULL; accepts a pointer to NULL. */
void cs_tokenizer_free(cs_tokenizer **held);

/** The tokenizer of a corpus that was loaded with a splitter. It has the words of the corpus with
 * their ids, then `<unk>` (for NPY files, whose words are decimal numbers separated by spaces),
 * `<pad>`, `<s>`, `</s>` and `<mask>`, unless the corpus has a word of that spelling. Encoding the
 * text of a document gives its tokens, except where the text spells a special token.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_tokenizer_of_corpus(const cs_corpus *corpus, cs_splitter_kind splitter,
                                 cs_tokenizer **out) CS_MUST_CHECK;

/** Whether a tokenizer was made from an array of ids. If its tokens, special ones aside, are the
 * decimals 0, 1, 2, ... in the order of their ids, `(*id)[v]` is the id of the token "v" for v <
 * `*count`, in new memory (cs_free). Otherwise `*count` is 0. O(vocabulary).
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_tokenizer_numbers(const cs_tokenizer *t, int32_t **id, int64_t *count) CS_MUST_CHECK;
