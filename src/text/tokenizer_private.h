/* What a tokenizer is made of. Private to src/text. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "text/bpe.h"
#include "text/steps_private.h"
#include "text/tokenizer.h"
#include "text/trie.h"
#include "text/unigram.h"
#include "text/vocab.h"
#include "text/wordpiece.h"

typedef struct {
    int32_t id;
    bool lstrip, rstrip; /* takes the white space at its side with it */
    bool single_word;    /* not beside a word's character */
    bool normalized;     /* looked for after the normaliser, in what the others left over */
    bool special;
} cs_added_token;

/* The members of tokenizer.json that are kept as they are. */
typedef enum {
    CS_PART_NORMALIZER,
    CS_PART_PRE_TOKENIZER,
    CS_PART_POST_PROCESSOR,
    CS_PART_DECODER,
    CS_PART_TRUNCATION,
    CS_PART_PADDING,
    CS_PART_MODEL, /* without vocabulary and merges */
    CS_PARTS
} cs_token_part;

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
    cs_trie find[2];                /* added tokens by their texts: normalized false, true */
    uint8_t begins[2][256];         /* their first bytes */
    int32_t around[CS_TEXT_PIECES]; /* ids that the post-processor puts before and after a text */
    int64_t befores, afters;
    json_t *part[CS_PARTS]; /* NULL: null */
    cs_steps normalizer, pre_tokenizer, decoder;
    cs_bpe bpe;
    bool spelled;           /* BPE: pieces are bytes, each a first token */
    bool ignore_merges;     /* BPE: a piece that is a token is that token */
    cs_bpe_start bpe_start; /* BPE of characters */
    cs_wordpiece wordpiece;
    cs_unigram unigram;
};

/* A tokenizer with nothing in it; NULL when out of memory. */
cs_tokenizer *cs_tokenizer_new(void) CS_MUST_CHECK;

/* Gives the next id to a token. CS_ERR_INPUT when it has one already. */
cs_status cs_tokenizer_add(cs_tokenizer *t, const char *token, bool in_model) CS_MUST_CHECK;

/* Declares a special token of that id, as the trainers make them. */
cs_status cs_tokenizer_declare(cs_tokenizer *t, int32_t id) CS_MUST_CHECK;

/* Once the vocabulary is complete: the texts, which cs_tokenizer_token gives. */
cs_status cs_tokenizer_texts(cs_tokenizer *t) CS_MUST_CHECK;

/* Takes a part over (a new reference; NULL: out of memory). */
cs_status cs_tokenizer_set_part(cs_tokenizer *t, cs_token_part part, json_t *json) CS_MUST_CHECK;

/* Once vocabulary, added tokens and parts are there: steps, model, roles, what encoding looks up.
 * `model`: that of tokenizer.json, for its merges; NULL where they are in t->bpe already.
 * CS_ERR_INPUT names what is not supported. */
cs_status cs_tokenizer_finish(cs_tokenizer *t, const json_t *model) CS_MUST_CHECK;
cs_status cs_tokenizer_take_model(cs_tokenizer *t, const json_t *model) CS_MUST_CHECK;

/* The spelling of a byte, NUL-terminated (one character of at most two bytes), and the token of that
 * spelling, -1 when there is none. */
void cs_byte_spelling(uint8_t byte, char out[4]);
int32_t cs_byte_token(const cs_tokenizer *t, int byte);

/* Takes the ids around a text from the post-processor (single text). CS_ERR_INPUT names what is not
 * supported. */
cs_status cs_tokenizer_take_post(cs_tokenizer *t) CS_MUST_CHECK;

/* Sets the post-processor to <s> text </s>. */
cs_status cs_tokenizer_surround(cs_tokenizer *t, int32_t before, int32_t after) CS_MUST_CHECK;
