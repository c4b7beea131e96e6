/* Special tokens of a vocabulary of words. */
#pragma once

#include "model/config.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

/* Renumbers a corpus: <s> <pad> </s> <unk> <mask> first, then the words in their order. */
cs_status cs_corpus_specials_first(cs_corpus *corpus) CS_MUST_CHECK;

/* The special tokens that the tokenizer has. */
cs_special_ids cs_special_ids_of(const cs_tokenizer *t);

/* Gives the configuration those ids that it lacks and its vocabulary has. */
void cs_model_config_complete(cs_model_config *config, cs_special_ids ids);

/* Replaces the ids of roles that were given by name (cs_tokenizer_give_roles). */
void cs_model_config_given(cs_model_config *config, const cs_tokenizer *t);

/* CS_ERR_INPUT if the two give different ids, naming the first token that differs. `where` is the
 * place of the first. */
cs_status cs_tokenizer_match(const char *where, const cs_tokenizer *a,
                             const cs_tokenizer *b) CS_MUST_CHECK;
