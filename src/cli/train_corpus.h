/* The text that cospec train reads, and its tokenizer. */
#ifndef CS_CLI_TRAIN_CORPUS_H
#define CS_CLI_TRAIN_CORPUS_H

#include "cli/opt.h"
#include "model/config.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

/* --corpus by --tokenizer, or by the tokenizer of --init-from. A vocabulary of the corpus's own
 * words is renumbered: <s> <pad> </s> <unk> <mask> first, as in RoBERTa's files, then the words by
 * falling frequency; .npy ids are words written as decimal numbers, 0 .. --vocab - 1 or the
 * largest. CS_ERR_INPUT: an id that is not below --vocab; a --tokenizer that is not that of
 * --init-from. */
cs_status cs_args_train_corpus(cs_args *args, cs_corpus *corpus,
                               cs_tokenizer **tokenizer) CS_MUST_CHECK;

/* Renumbers (exposed for tests). */
cs_status cs_corpus_specials_first(cs_corpus *corpus) CS_MUST_CHECK;

/* Those that the tokenizer has. */
cs_special_ids cs_special_ids_of(const cs_tokenizer *t);

#endif
