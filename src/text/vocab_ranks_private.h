/* The vocabulary of the words that the ranks of a group have counted (vocab_ranks.c). Collective;
 * CS_ERR_MEMORY, CS_ERR_INPUT past 2^31 - 2 words. */
#pragma once

#include "dist/comm.h"
#include "text/vocab.h"

/* The `most` (-1: all) most frequent words of all ranks except <unk>, by falling count, ties by byte
 * order: the same table on every rank. */
cs_status cs_vocabulary_join(cs_comm *c, const cs_word_table *words, int64_t most,
                             cs_word_table *out) CS_MUST_CHECK;

/* The names of all ranks with a positive count, in byte order; their counts are 0. */
cs_status cs_names_join(cs_comm *c, const cs_word_table *names, cs_word_table *out) CS_MUST_CHECK;
