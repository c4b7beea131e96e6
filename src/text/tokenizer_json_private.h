/* Parts of tokenizer.json that reader and writer share. Private to src/text. */
#pragma once

#include <jansson.h>

#include "text/tokenizer_private.h"

/* "normalizer", "pre_tokenizer" and "decoder" of a tokenizer; NULL when out of memory. */
json_t *cs_tokenizer_normalizer_json(const cs_tokenizer *t);
json_t *cs_tokenizer_pre_tokenizer_json(const cs_tokenizer *t);
json_t *cs_tokenizer_decoder_json(const cs_tokenizer *t);
