/* The options of cospec train: task, model and recipe. */
#pragma once

#include "cli/opt.h"
#include "model/config.h"
#include "plan/plan_file.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

/* --objective with mae-lm and linear; --keep ... --loss. */
extern const cs_opt cs_group_train_objective[];
extern const cs_opt cs_group_train_task[];

/* --arch --preset and sizes, --init-from. */
extern const cs_opt cs_group_train_model[];

/* --batch --steps ... --clip, --loss, and how often to log, evaluate, save. */
extern const cs_opt cs_group_train_pictures[];
extern const cs_opt cs_group_train_recipe[];

/* Values that --arch vit implies for options that are not given. */
cs_status cs_args_picture_recipe(cs_args *args) CS_MUST_CHECK;

/* Objective, loss, batches, schedule, optimizer, cadence; `dir` and `progress` too. `file` and `phases`
 * must be zeroed and outlive *out. */
cs_status cs_args_train(const cs_args *args, cs_plan_file *file, cs_phases *phases,
                        cs_train_options *out) CS_MUST_CHECK;

/* The configuration of a new model except vocabulary and special tokens. */
cs_status cs_args_model(const cs_args *args, const cs_train_options *options,
                        cs_model_config *out) CS_MUST_CHECK;

/* Heads of offsets that multi-token, alone or as a phase, needs; 0: none. */
int64_t cs_args_ahead(const cs_args *args, const cs_train_options *options);

/* CS_ERR_USAGE if an option of decoder rows has no effect: --keep, --random and --decoder-resets if
 * the encoder of a model with a decoder reads no [MASK]; --decoder-resets if no decoder row starts
 * from an encoder row; --misaligned if the encoder reads every position. */
cs_status cs_args_check_decoder(const cs_task *task, const cs_model_config *config) CS_MUST_CHECK;

/* Notes a run that ended worse than it began, on the last batch and on the held-out side: a rate too
 * high does that, while overfitting raises the second alone. Else notes skipped steps. */
void cs_args_note_divergence(const cs_args *args, const cs_train_options *options, int64_t vocab,
                             const cs_train_result *trained);

/* CS_ERR_USAGE if an option of sizes or architecture is given with --init-from. */
cs_status cs_args_refuse_model(const cs_args *args) CS_MUST_CHECK;

/* --corpus by --tokenizer, or by the tokenizer of --init-from. A vocabulary of the corpus's own
 * words is renumbered: <s> <pad> </s> <unk> <mask> first, as in RoBERTa's files, then the words by
 * falling frequency; .npy ids are words written as decimal numbers, 0 .. --vocab - 1 or the
 * largest. CS_ERR_INPUT: an id that is not below --vocab; a --tokenizer that is not that of
 * --init-from. */
cs_status cs_args_train_corpus(cs_args *args, cs_corpus *corpus,
                               cs_tokenizer **tokenizer) CS_MUST_CHECK;

/* Puts all documents on the training side if a hash holds out all of a few, which happens to one
 * document in five times: there would be nothing to train on, without --test-share requesting it. */
void cs_args_keep_some(const cs_args *args, cs_corpus *corpus);
