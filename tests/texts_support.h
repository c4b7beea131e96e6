/* Small labelled texts made by hand, and a tokenizer of their words. */
#pragma once

#include "test.h"
#include "text/labelled_text.h"
#include "text/tokenizer.h"

/* Words w0 .. w29 behind <s> <pad> </s> <unk> <mask> (ids 0 to 4): word wN has id N + 5. It puts
 * nothing around a text. */
cs_tokenizer *word_tokenizer(void);

/* The value of a text. */
typedef enum {
    LABEL_BY_WORD,   /* class c of `classes`: word wc occurs in it, and no other of them */
    LABEL_BY_CHANCE, /* drawn, whatever the text */
    LABEL_NUMBER,    /* regression: a number drawn in [0, 2] */
} label_kind;

/* `count` texts of 3 to 8 words, a function of the seed; pairs: each has a second of 1 to 5 words.
 */
cs_labelled_text small_texts(int64_t count, label_kind kind, int64_t classes, bool pairs,
                             uint64_t seed);
