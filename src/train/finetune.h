/* Fine-tuning: a pretrained encoder under a classification head, all parameters trained on labelled
 * texts (Devlin et al. 2019, section 4.1; the recipe for GLUE of Geiping and Goldstein 2023).
 *
 *   loss of a step = mean over its texts of -log softmax(z)[class], or of (z - value)^2
 *
 * Of spans (train/spans.h) the loss is that of windows, means over them; it is taken on the host, over the
 * rows of each, so that a model on a device is refused.
 *
 * Soft targets: with label smoothing e (Szegedy et al. 2016) a class among C has the share e / C + 1 - e,
 * the others e / C, and the loss is -sum_c share_c log softmax(z)[c]. Mixup of pictures (Zhang et al.
 * 2018) reads, at place b of a batch of n, l x_b + (1 - l) x_{n-1-b} and has the same mean of the two
 * shares; l ~ Beta(a, a), one a step, as in the code that MAE fine-tunes with. Both in training alone.
 *
 * Every epoch is a permutation fixed by (seed, epoch); the last batch of an epoch is smaller where
 * the texts do not fill it. All random is a
 * function of (seed, step, row): the same bits for any number of threads.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "model/model.h"
#include "plan/content_masks.h"
#include "train/schedule.h"
#include "train/texts.h"
#include "train/updates.h"

typedef struct {
    int64_t epochs, batch;
    cs_schedule schedule;
    double learning_rate, final_share; /* peak, and last / peak */
    double warmup;                     /* share of the steps */
    cs_adamw_recipe adamw;
    uint64_t seed;
    /* attention masks of a text; training draws new ones in every step, predictions are means over
     * the draws */
    cs_content_masks masks;
    int64_t bad_limit;      /* skipped steps in a row that end a run */
    int64_t log_every;      /* steps; the last always */
    double label_smoothing; /* e, in [0, 1) */
    double mixup;           /* a, in [0, 8]; 0: none */
    const char *dir;        /* of log.csv; NULL: none */
    const cs_progress *progress;
    const char *stage; /* of the progress */
} cs_finetune_options;

/* Members that have the names of their options; the results of a run depend on all of them. */
#define CS_FINETUNE_SETTINGS epochs, batch, warmup, label_smoothing, mixup

/* Defaults with their sources in docs/reference/fine-tuning-options.md. */
cs_finetune_options cs_finetune_defaults(void);

typedef struct {
    int64_t steps, skipped, tokens;
    double loss; /* mean a text over the last epoch, each text before its step's update */
} cs_finetune_result;

/* The configuration of a classifier on `config` for these texts (one output for a regression), with
 * that dropout. CS_ERR_USAGE: architecture linear, which has no encoder; fewer than two classes. */
cs_status cs_finetune_config(const cs_model_config *config, const cs_texts *texts,
                             cs_readout readout, double dropout,
                             cs_model_config *out) CS_MUST_CHECK;

/* Trains a model made for training, of such a configuration, on the texts index[0 .. count - 1]
 * (NULL: all). CS_ERR_USAGE: an option out of range; a text longer than the model's positions; a
 * model of other outputs. CS_ERR_INPUT: a token out of the vocabulary, with its text; no texts.
 * CS_ERR_INPUT names a parameter that is not finite before the first step.
 * CS_ERR_CONVERGE: bad_limit reached, the last step skipped, a parameter that is not finite.
 * CS_ERR_INTERRUPT between two steps. CS_ERR_IO of the log. */
cs_status cs_finetune(cs_model *model, const cs_texts *texts, const int64_t *index, int64_t count,
                      const cs_finetune_options *options, cs_finetune_result *out) CS_MUST_CHECK;

/* predicted[i]: the class of the largest output (the first of equal ones), or the output, for text
 * index[i] (NULL: i); *loss: the mean loss against the values of the texts, which affect nothing
 * else. Of the options, batch, masks and progress are read. Errors as above; CS_ERR_CONVERGE names
 * a text whose output is not finite. */
cs_status cs_finetune_predict(cs_model *model, const cs_texts *texts, const int64_t *index,
                              int64_t count, const cs_finetune_options *options, double *predicted,
                              double *loss) CS_MUST_CHECK;

/* Texts that have spans: the two outputs of every row, 2 x texts->start[count] numbers, text after
 * text, and the mean loss. Otherwise as cs_finetune_predict. */
cs_status cs_finetune_rows(cs_model *model, const cs_texts *texts,
                           const cs_finetune_options *options, float *logits,
                           double *loss) CS_MUST_CHECK;
