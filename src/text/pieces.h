/* A text and the pieces that it is split into, on which the steps of a tokenizer work in sequence:
 * normalisers write another text, pre-tokenizers split pieces into smaller ones, decoders change
 * the texts of tokens.
 *
 * A step reads the current text and pieces, writes the next ones to separate buffers, and swaps;
 * the memory of both is kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* text[from .. to-1] */
typedef struct {
    int64_t from, to;
} cs_span;

/* Zeroed: no text. */
typedef struct {
    const char *text; /* now: borrowed, or `own` */
    int64_t size;
    cs_span *span; /* its pieces, in order; empty ones are ignored */
    int64_t spans, span_capacity;
    /* the first character of the text comes from the first of the whole input */
    bool lead;
    char *own, *made; /* made: the next text, `fresh` bytes so far */
    int64_t own_capacity, made_capacity, fresh;
    cs_span *cut; /* the next pieces */
    int64_t cuts, cut_capacity;
    int32_t *point; /* characters of a part that is being normalised */
    int64_t point_capacity;
    struct cs_regex_scratch *regex; /* memory of matching, made at the first match */
} cs_pieces;

/* Sets a text as one piece, borrowed until the first step that writes another. */
cs_status cs_pieces_start(cs_pieces *p, const char *text, int64_t size, bool lead) CS_MUST_CHECK;

/* Appends to the next text. */
cs_status cs_pieces_put(cs_pieces *p, const char *bytes, int64_t size) CS_MUST_CHECK;
cs_status cs_pieces_put_char(cs_pieces *p, int32_t c) CS_MUST_CHECK;

/* Appends to the next pieces. */
cs_status cs_pieces_cut(cs_pieces *p, int64_t from, int64_t to) CS_MUST_CHECK;

/* Replaces the current pieces by the next pieces of the same text. */
void cs_pieces_turn(cs_pieces *p);

/* Replaces the current text and pieces by the next ones. */
void cs_pieces_turn_text(cs_pieces *p);

/* The same, with the next text as one piece. */
cs_status cs_pieces_turn_whole(cs_pieces *p) CS_MUST_CHECK;

void cs_pieces_free(cs_pieces *p);
