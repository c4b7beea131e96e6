/* A trained model and its text, from the options of commands that read models. */
#pragma once

#include "analysis/trained/probe_runs.h"
#include "cli/opt.h"
#include "image/images.h"
#include "infer/model_text.h"
#include "tensor/device.h"
#include "text/labelled_text.h"

/* --split --limit --limit-tokens --special --max-length --long --batch. Use it with
 * cs_group_corpus_form. */
extern const cs_opt cs_group_model_text[];

/* --attention --draws: attention masks of a text. */
extern const cs_opt cs_group_attention[];

/* --stack: one of two stacks. --source --sources: the input of its encoder. */
extern const cs_opt cs_group_stack[];
extern const cs_opt cs_group_sources[];

/* The backend of --device and --threads for models; if --device requests a GPU and there is none,
 * the reason is noted. */
cs_status cs_args_backend(const cs_args *args, cs_device_options options,
                          cs_backend **out) CS_MUST_CHECK;
/* Notes the products that the library of a GPU refused: they make a step many times slower. */
cs_status cs_args_note_refused(const cs_args *args, cs_backend *backend) CS_MUST_CHECK;

/* NAME=MODEL, or MODEL named by the last part of its path. CS_ERR_USAGE: no name, or one with
 * commas. */
cs_status cs_args_named_model(cs_args *args, const char *argument, const char **name,
                              const char **dir) CS_MUST_CHECK;

/* Records as inputs the existing files of a directory: configuration, weights (every shard), codes
 * and tokenizer. */
cs_status cs_args_model_inputs(cs_args *args, const char *dir) CS_MUST_CHECK;

/* Backend of --device (in float), configuration, weights and tokenizer of a directory, which are
 * recorded as inputs; with --stack, --source and --sources for commands that have them. */
cs_status cs_args_model_open(cs_args *args, const char *dir, cs_model_text *out) CS_MUST_CHECK;

/* --attention and --draws for this model (cs_model_text_attention). CS_ERR_USAGE also for --draws
 * without effect. */
cs_status cs_args_attention(const cs_args *args, cs_model_text *t,
                            cs_content_masks *out) CS_MUST_CHECK;

/* Images as input of the model (cs_model_pictures), with a note if they are resized, cropped or made
 * colour for it. */
cs_status cs_args_model_pictures(cs_args *args, const cs_model *model, const cs_images *images,
                                 cs_corpus *out) CS_MUST_CHECK;

/* A corpus in the tokens of the model. CS_ERR_INPUT if it is text and the model has no
 * tokenizer.json. */
cs_status cs_args_encode_corpus(cs_args *args, const char *source, const cs_model_text *t,
                                cs_corpus *out) CS_MUST_CHECK;

/* Both sides of a task of images, at most limit[side] (0: all) of each: for a named corpus and for
 * a single source the images that are not held out and the held-out ones. */
cs_status cs_args_picture_sides(cs_args *args, const int64_t limit[2],
                                cs_images side[2]) CS_MUST_CHECK;

/* The same, labelled as in cs_labelled_sides_read, as the patches that the model reads. */
cs_status cs_args_labelled_patches(cs_args *args, const cs_model *model, const int64_t limit[2],
                                   cs_labelled_text side[2], cs_corpus patches[2]) CS_MUST_CHECK;

/* The same as the text of the model, with its selected documents. CS_ERR_INPUT also if nothing is
 * left. */
cs_status cs_args_model_corpus(cs_args *args, const char *source, cs_model_text *t) CS_MUST_CHECK;

/* --long, with a note about the part of the selected documents that --max-length leaves unread. */
cs_status cs_args_long(const cs_args *args, const cs_model_text *t, const cs_special_tokens *around,
                       bool *split) CS_MUST_CHECK;

/* The common options of commands on hidden states: layers (a list, "all" or "last", by the option
 * of this name), attention masks, special tokens, --max-length, --batch. *o borrows from `t`. */
cs_status cs_args_hidden(const cs_args *args, cs_model_text *t, const char *layers,
                         cs_hidden_options *o) CS_MUST_CHECK;

/* As cs_args_note_masked, for the pieces of text that a model reads for its hidden states. */
void cs_args_note_share_of_pieces(const cs_args *args, const cs_model_text *text,
                                  const cs_hidden_options *hidden);

/* cospec probe: labels, metrics, seeds and fits; and the options for a model and texts. */
extern const cs_opt cs_group_probe[], cs_group_probe_texts[];

/* Everything in the first group that is known before anything is read: few, seed, seeds and fit of
 * *s, whose penalties are in *penalty (fresh memory, NULL: the defaults). */
cs_status cs_args_probe(cs_args *args, cs_probe_study *s, double **penalty) CS_MUST_CHECK;
