/* Shared by the tests of tokenizers. */
#pragma once

#include "test.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"

/* Tokenizers made by the `tokenizers` package, with texts and what it makes of them. */
#define GOLDEN_TOKENIZERS "tests/golden/tokenizers.json"

/* One document; as the `each` of a cs_text_source. */
cs_status english(void *from, cs_text_take take, void *to);

/* Byte-level BPE of 290 tokens, trained on that document. */
cs_tokenizer *small_bpe(void);

/* The tokenizer of a file; fails the test with the reason when it cannot be read. */
cs_tokenizer *tokenizer_at(const char *path);

/* Asserts the text of ids. */
void assert_decodes(const cs_tokenizer *t, const int32_t *ids, int64_t count, bool skip,
                    const char *want);

/* The ids of one text, in fresh memory. */
cs_status encode_once(const cs_tokenizer *t, const char *text, int64_t size, bool add_special,
                      int32_t **ids, int64_t *count);
