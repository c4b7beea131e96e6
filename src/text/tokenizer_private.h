/* The parts of a tokenizer. Private to src/text. */
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
    bool lstrip, rstrip; /* also takes the white space on its side */
    bool single_word;    /* not next to a character of a word */
    /* searched after the normaliser, in the text that other added tokens leave */
    bool normalized;
    bool special;
} cs_added_token;

/* The members of tokenizer.json that are stored unchanged. */
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
    int32_t unknown;     /* unk_token of the model, -1 if there is none */
    int32_t role[CS_TOKEN_ROLES];
    bool given[CS_TOKEN_ROLES]; /* by cs_tokenizer_give_roles */
    cs_added_token *added;      /* by id */
    int64_t addeds;
    const char *lacks;              /* see cs_tokenizer_lacks */
    uint8_t *special;               /* vocab: declared special */
    cs_trie find[2];                /* added tokens by text: normalized false, true */
    uint8_t begins[2][256];         /* their first bytes */
    int32_t around[CS_TEXT_PIECES]; /* ids that the post-processor adds before and after a text */
    int64_t befores, afters;
    json_t *part[CS_PARTS]; /* NULL: null */
    cs_steps normalizer, pre_tokenizer, decoder;
    cs_bpe bpe;
    bool spelled;           /* BPE: pieces are bytes, one first token each */
    bool ignore_merges;     /* BPE: a piece that is a token becomes that token */
    cs_bpe_start bpe_start; /* BPE of characters */
    cs_wordpiece wordpiece;
    cs_unigram unigram;
};

/* An empty tokenizer; NULL when out of memory. */
cs_tokenizer *cs_tokenizer_new(void) CS_MUST_CHECK;

/* Gives the next id to a token. CS_ERR_INPUT if it already has one. */
cs_status cs_tokenizer_add(cs_tokenizer *t, const char *token, bool in_model) CS_MUST_CHECK;

/* Declares a special token with that id, as the trainers do. */
cs_status cs_tokenizer_declare(cs_tokenizer *t, int32_t id) CS_MUST_CHECK;

/* Begins the internal spelling of a token whose spelling a later id has too. */
#define CS_TOKEN_EARLIER "\xFF"

/* Stores the texts of cs_tokenizer_token once the vocabulary is complete. */
cs_status cs_tokenizer_texts(cs_tokenizer *t) CS_MUST_CHECK;

/* Takes over a part (a new reference; NULL: out of memory). */
cs_status cs_tokenizer_set_part(cs_tokenizer *t, cs_token_part part, json_t *json) CS_MUST_CHECK;

/* Completes a tokenizer with vocabulary, added tokens and parts: steps, model, roles, tables of
 * encoding. `model`: that of tokenizer.json, for its merges; NULL if they are in t->bpe already.
 * CS_ERR_INPUT names an unsupported part. */
cs_status cs_tokenizer_finish(cs_tokenizer *t, const json_t *model) CS_MUST_CHECK;

enum { CS_NAMED_TOKENS = 7, CS_CLASS_EXTRA = 3 };

/* Members of tokenizer_config.json that name special tokens. */
typedef struct {
    const char *name;
    cs_token_role role;
} cs_named_token;

extern const cs_named_token cs_named_tokens[CS_NAMED_TOKENS];

/* The step of a class that puts a space before a text; add_prefix_space switches it. */
typedef enum {
    CS_PREFIX_KEPT,   /* that of tokenizer.json, whatever the key says */
    CS_PREFIX_BYTES,  /* ByteLevel; off by default */
    CS_PREFIX_ALWAYS, /* Metaspace: always or never */
    CS_PREFIX_FIRST,  /* Metaspace: always or first */
    CS_PREFIX_LLAMA, /* Metaspace: first, with `legacy` always, or never; or the normaliser Prepend */
} cs_class_prefix;

/* The normaliser of a class that do_lower_case switches. */
typedef enum {
    CS_LETTERS_KEPT,
    CS_LETTERS_BERT,   /* BertNormalizer */
    CS_LETTERS_FIRST,  /* Lowercase before all other steps */
    CS_LETTERS_LATER,  /* Lowercase before Precompiled */
    CS_LETTERS_ALBERT, /* the same, and keep_accents counts */
} cs_class_letters;

/* The tokens that a class of tokenizers adds to those that a folder lists, and the steps that keys of
 * tokenizer_config.json switch. */
typedef struct {
    /* Its names without "Tokenizer", and the model types that have it by default. */
    const char *names, *models;
    /* bos_token and the others in the order of cs_named_tokens; NULL: none. */
    const char *token[CS_NAMED_TOKENS];
    /* Special tokens where the folder lists no further ones. */
    const char *extra[CS_CLASS_EXTRA];
    /* Number of tokens "<extra_id_N>", unless extra_ids of the folder says another. */
    int sentinels;
    /* Tokens given by their texts alone are matched in normalised text. */
    bool normalized;
    /* A mask token given by its text alone takes the blanks before it; special_mask: in the text as
     * it is. */
    bool spaced_mask, special_mask;
    /* Special tokens take no blanks and are not normalised, whatever the files say; plain_defaults:
     * only those that tokenizer_config.json does not name. */
    bool plain, plain_defaults;
    cs_class_prefix prefix;
    cs_class_letters letters;
    bool lower; /* the default of do_lower_case */
    /* The class puts ids around a text. */
    bool surrounds;
    /* The pre-tokenizer is that of tokenizer.json alone. */
    bool given_cuts;
} cs_tokenizer_class;

/* The parts of a class that `root`, a tokenizer.json, lacks; NULL: none. Static. */
const char *cs_tokenizer_class_lacks(const cs_tokenizer_class *type, const json_t *root);

/* Changes the steps of `root`, a tokenizer.json, as keys of tokenizer_config.json say and the class
 * applies them. CS_ERR_INPUT names a key that contradicts tokenizer.json and cannot be applied. */
cs_status cs_tokenizer_class_steps(const cs_tokenizer_class *type, json_t *root,
                                   const json_t *config) CS_MUST_CHECK;

/* The class that AutoTokenizer chooses for a folder, by its tokenizer.json, tokenizer_config.json
 * and config.json; NULL: one that adds nothing. */
cs_status cs_tokenizer_class_of(const json_t *root, const json_t *config, const json_t *model,
                                const cs_tokenizer_class **out) CS_MUST_CHECK;

/* Adds to added_tokens of `root`, the tokenizer.json of a model's folder, the tokens that the other
 * files of the folder list (tokenizer_folder.c). *config receives tokenizer_config.json with what
 * special_tokens_map.json replaces, for cs_tokenizer_take_roles. for_model: without tokens of the
 * class for which the model has no row. *lacks: see cs_tokenizer_lacks. CS_ERR_INPUT names file and
 * key. */
cs_status cs_tokenizer_take_folder(const char *dir, bool for_model, json_t *root, json_t **config,
                                   const char **lacks) CS_MUST_CHECK;

/* The roles that bos_token and the others name, in place of those by usual names. */
void cs_tokenizer_take_roles(cs_tokenizer *t, const json_t *config);

/* The spelling of a byte, NUL-terminated (one character of at most two bytes), and the token of
 * that spelling, -1 if there is none. */
void cs_byte_spelling(uint8_t byte, char out[4]);
int32_t cs_byte_token(const cs_tokenizer *t, int byte);

/* Reads the ids around a text from the post-processor (single text). CS_ERR_INPUT names an
 * unsupported part. */
cs_status cs_tokenizer_take_post(cs_tokenizer *t) CS_MUST_CHECK;

/* Sets the post-processor to <s> text </s>. */
cs_status cs_tokenizer_surround(cs_tokenizer *t, int32_t before, int32_t after) CS_MUST_CHECK;
