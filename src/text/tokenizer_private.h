/* What a tokenizer is made of. Private to src/text. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"
#include "text/vocab.h"
#include "text/wordpiece.h"

/* How decoded tokens are put together. */
typedef enum {
    CS_DECODE_BLANKS,    /* a blank between tokens */
    CS_DECODE_FUSE,      /* nothing between them */
    CS_DECODE_BYTES,     /* byte-level */
    CS_DECODE_WORDPIECE, /* BERT */
} cs_token_decoder;

typedef struct {
    int32_t id;
    bool lstrip, rstrip; /* takes the white space at its side with it */
    bool normalized;     /* looked for after the normaliser, in what the others left over */
    bool special;
} cs_added_token;

struct cs_tokenizer {
    cs_token_model model;
    cs_word_table table; /* word number = id; count: 1 when in the model's own vocabulary */
    char *text;          /* the tokens, each with a NUL */
    int64_t *start;      /* vocab offsets into text */
    int32_t unknown;     /* the model's unk_token, -1 when it has none */
    int32_t role[CS_TOKEN_ROLES];
    cs_added_token *added; /* by id */
    int64_t addeds;
    uint8_t *special;               /* vocab: declared so */
    uint8_t begins[2][256];         /* first bytes of added tokens: normalized false, true */
    int32_t around[CS_TEXT_PIECES]; /* ids that the post-processor puts before and after a text */
    int64_t befores, afters;
    json_t *post, *truncation, *padding; /* as read, NULL: null */
    cs_token_decoder decoder;
    cs_splitter_kind splitter;                      /* WORD */
    bool add_prefix_space, trim_offsets, use_regex; /* BPE */
    cs_bpe bpe;
    char *bytes;         /* BPE: what each token decodes to, end to end */
    int64_t *byte_start; /* vocab + 1 */
    bool normalise;      /* WORDPIECE: has BERT's normaliser */
    cs_bert_steps bert;
    int strip_accents; /* as in the file: 0, 1, or -1 null, which follows lowercase */
    cs_wordpiece wordpiece;
    bool cleanup;
};

/* A tokenizer with nothing in it; NULL when out of memory. */
cs_tokenizer *cs_tokenizer_new(void) CS_MUST_CHECK;

/* Gives the next id to a token. CS_ERR_INPUT when it has one already. */
cs_status cs_tokenizer_add(cs_tokenizer *t, const char *token, bool in_model) CS_MUST_CHECK;

/* Declares a special token of that id, as the trainers make them. */
cs_status cs_tokenizer_declare(cs_tokenizer *t, int32_t id) CS_MUST_CHECK;

/* Once the vocabulary is complete: the texts, which cs_tokenizer_token gives. */
cs_status cs_tokenizer_texts(cs_tokenizer *t) CS_MUST_CHECK;

/* Once added tokens and the model are set too: roles, tables for encoding and decoding. */
cs_status cs_tokenizer_finish(cs_tokenizer *t) CS_MUST_CHECK;

/* The spelling of a byte, NUL-terminated (one character of at most two bytes), and the token of that
 * spelling, -1 when there is none. */
void cs_byte_spelling(uint8_t byte, char out[4]);
int32_t cs_byte_token(const cs_tokenizer *t, int byte);

/* Takes the ids around a text from t->post (single text). CS_ERR_INPUT names what is not supported.
 */
cs_status cs_tokenizer_take_post(cs_tokenizer *t) CS_MUST_CHECK;

/* Sets t->post to <s> text </s>. */
cs_status cs_tokenizer_surround(cs_tokenizer *t, int32_t before, int32_t after) CS_MUST_CHECK;
