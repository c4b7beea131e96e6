/* The steps of a tokenizer: normalisers, pre-tokenizers and decoders of tokenizer.json, in their
 * order, with their parameters. Private to src/text. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "text/charsmap_private.h"
#include "text/pattern_private.h"
#include "text/pieces.h"

typedef enum { CS_PREPEND_NEVER, CS_PREPEND_FIRST, CS_PREPEND_ALWAYS } cs_prepend;

typedef struct cs_text_step cs_text_step;
struct cs_text_step {
    const struct cs_step_kind *kind;
    cs_pattern pattern; /* Replace, Split; Metaspace: its replacement */
    /* Replace: the replacement; Prepend; Metaspace, BPEDecoder, Strip, WordPiece: the mark of
     * spaces, ends or continuations */
    char *content;
    int64_t content_size;
    int form;                     /* NFC ...: options of utf8proc */
    cs_cut_manner manner;         /* Split, Punctuation, Digits */
    bool inverted;                /* Split */
    bool left, right;             /* Strip of normalisers: at which sides */
    int64_t start, stop;          /* Strip of decoders: how many at the sides of a token */
    int32_t delimiter;            /* CharDelimiterSplit */
    cs_prepend prepend;           /* Metaspace */
    bool split;                   /* Metaspace */
    bool prefix_space, use_regex; /* ByteLevel */
    bool spelled;                 /* ByteLevel: the model reads the bytes */
    bool clean_text, chinese, strip_accents, lowercase; /* BertNormalizer */
    bool cleanup;                                       /* WordPiece */
    cs_charsmap charsmap;
};

typedef struct cs_step_kind {
    const char *type, *keys; /* in tokenizer.json: the keys that it may have */
    cs_status (*read)(const json_t *json, const char *field,
                      cs_text_step *out); /* NULL: nothing more */
    cs_status (*run)(const cs_text_step *step, cs_pieces *p);
    /* Of a pre-tokenizer that cuts each piece alone. */
    cs_status (*cut)(const cs_text_step *step, cs_span piece, cs_pieces *p);
} cs_step_kind;

/* A kind of steps: its name in messages, the key of the list of a Sequence, and the kinds. */
typedef struct {
    const char *field, *list;
    const cs_step_kind *kind;
    int kinds;
} cs_stage;
extern const cs_stage cs_stage_normalizer, cs_stage_pre_tokenizer, cs_stage_decoder;

typedef struct {
    cs_text_step *step;
    int64_t steps, capacity;
} cs_steps;

/* null: no steps; a Sequence: those of its list. CS_ERR_INPUT names the first unknown key or value.
 * Free it in every case. */
cs_status cs_steps_read(const json_t *json, const cs_stage *stage, cs_steps *out) CS_MUST_CHECK;
cs_status cs_steps_run(const cs_steps *steps, cs_pieces *p) CS_MUST_CHECK;
void cs_steps_free(cs_steps *steps);

/* --- for the files of steps --- */

/* Members of a step; those that are absent or null have the fallback. CS_ERR_INPUT names the field.
 */
cs_status cs_step_flag(const json_t *json, const char *field, const char *key, bool fallback,
                       bool *out) CS_MUST_CHECK;
cs_status cs_step_text(const json_t *json, const char *field, const char *key, const char *fallback,
                       cs_text_step *out) CS_MUST_CHECK; /* into content; fallback NULL: required */

/* The fields of Metaspace, in pre-tokenizers and in decoders, and of ByteLevel. */
cs_status cs_step_read_metaspace(const json_t *json, const char *field,
                                 cs_text_step *out) CS_MUST_CHECK;
cs_status cs_step_read_byte_level(const json_t *json, const char *field,
                                  cs_text_step *out) CS_MUST_CHECK;
cs_status cs_step_read_replace(const json_t *json, const char *field,
                               cs_text_step *out) CS_MUST_CHECK;

/* Replaces the matches of a pattern in each piece. */
cs_status cs_step_replace(const cs_text_step *step, cs_pieces *p) CS_MUST_CHECK;

/* Appends bytes to the next text, each as the character that represents it (bpe.h). */
cs_status cs_step_spell_bytes(const char *bytes, int64_t size, cs_pieces *p) CS_MUST_CHECK;
