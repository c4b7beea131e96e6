/* The prediction task and the attention masks of a model, stored in its config.json.
 *
 * Every model of `cospec train` and `cospec finetune`, and every checkpoint, has a record
 * (config.json, "cospec" . "trained"); older ones in the train.json or trainer.json in the same
 * folder. Otherwise the architecture decides: gpt2 is causal; bert and roberta are masked, and
 * causal if config.json has "is_decoder": true; a query vector means two streams, a decoder MAE-LM.
 */
#pragma once

#include <jansson.h>

#include "base/status.h"
#include "model/model.h"
#include "plan/content_masks.h"
#include "plan/plan_file.h"
#include "text/tokenizer.h"
#include "train/batch.h"

typedef enum {
    CS_KIND_CAUSAL,     /* row i sees 0..i and predicts i + 1 */
    CS_KIND_MASKED,     /* every row sees every row, predicted tokens are [MASK] */
    CS_KIND_TWO_STREAM, /* content under the plan's masks; queries, which predict */
    CS_KIND_MAE,        /* bidirectional encoder without [MASK], shallow decoder */
    CS_KIND_LINEAR,     /* pooled linear attention over what a query sees */
    CS_KIND_MNTP,       /* as masked, but row i predicts i + 1 */
    CS_KIND_HYBRID,     /* causal and mntp in one network */
    CS_KINDS,
} cs_kind;

typedef struct {
    cs_kind kind;
    cs_attention pretrained; /* attention of its content rows in training (cs_kind_attention) */
    cs_attention attention;  /* and in the last one: for fine-tuned models that of fine-tuning */
    bool trained_here;       /* by cospec train: its objective is known */
    bool from_nothing;       /* also trained to predict the first token */
    /* "on": its queries depended on the positions they filled; "off": they did not; NULL: no two
     * streams */
    const char *query_position;
    cs_loss loss;
    bool likelihood; /* its outputs are log-probabilities: the loss is cross-entropy */
    /* of the spectral loss it was trained with: 1, or 2 (also if unknown) */
    double spectral_factor;
    /* mae-lm: share of [MASK] that its encoder was trained with; 0 if unknown */
    double delta;
    bool decoder_resets; /* mae-lm: the decoder took its own mask vector at those */
    char *spec;          /* text of the objective; NULL: unknown */
    char *plan_path;     /* objective `file`: of its plans; else NULL */
    json_t *mixture;     /* of a file that holds a mixture, or of one that holds files; else NULL */
    const char *record,
        /* names of the files with this information, other than config.json; NULL: none */
        *options;
} cs_model_kind;

/* Of a model that was read from DIR, into a zeroed object. A record whose objective is unknown, or
 * missing where one is required, is CS_ERR_INPUT. */
cs_status cs_model_kind_read(const char *dir, const cs_model *model,
                             cs_model_kind *out) CS_MUST_CHECK;
void cs_model_kind_free(cs_model_kind *kind); /* accepts a zeroed object */

/* Of a model that is being trained with this task. CS_ERR_MEMORY. */
cs_status cs_model_kind_of(const cs_task *task, const cs_model_config *config, cs_loss loss,
                           double spectral_factor, cs_model_kind *out) CS_MUST_CHECK;

/* The record for config.json (cs_model.trained), with the content attention of `attention`. */
cs_status cs_model_kind_record(const cs_model_kind *kind, cs_attention attention,
                               json_t **out) CS_MUST_CHECK;

/* The objective whose plans were the attention masks of the content rows; `file` (zeroed) takes the
 * plans of a file and is borrowed by *out. CS_ERR_USAGE if it is unknown. */
cs_status cs_model_kind_objective(const cs_model_kind *kind, cs_plan_file *file,
                                  cs_objective *out) CS_MUST_CHECK;

/* Attention of content rows in training: for two streams the groups of the plan, except for ar and
 * offset-ar, whose content is causal, as is that of an unknown objective (NULL), and for masked
 * objectives, whose content rows are unmasked tokens that attend to each other. */
cs_attention cs_kind_attention(cs_kind kind, const cs_objective_row *objective);

/* "causal", "masked", "two-stream", "mae-lm", "linear", "mntp", "hybrid" */
const char *cs_kind_name(cs_kind kind);

/* Whether rows of one stream read [MASK]: masked, mntp, hybrid. */
bool cs_kind_masks(cs_kind kind);

/* Whether a token is predicted by the row before it: causal, mntp, hybrid. */
bool cs_kind_shifts(cs_kind kind);
cs_status cs_kind_by_name(const char *name, cs_kind *out) CS_MUST_CHECK;

/* Special tokens that config.json does not name, above all [MASK], from the tokenizer. */
void cs_model_config_specials(cs_model_config *config, const cs_tokenizer *tokenizer);
