/* What a model was made to predict, read off its directory.
 *
 * A directory of `cospec train` says so itself (train.json, key "objective"). Elsewhere the
 * architecture does: gpt2 is causal; bert and roberta are masked, and causal where config.json has
 * "is_decoder": true; a query vector means two streams, a decoder MAE-LM.
 */
#ifndef CS_ANALYSIS_MODEL_KIND_H
#define CS_ANALYSIS_MODEL_KIND_H

#include "base/status.h"
#include "model/config.h"
#include "text/tokenizer.h"

typedef enum {
    CS_KIND_CAUSAL,     /* row i sees 0..i and predicts i + 1 */
    CS_KIND_MASKED,     /* every row sees every row, [MASK] stands where it predicts */
    CS_KIND_TWO_STREAM, /* causal content; queries sit at the positions they predict */
    CS_KIND_MAE,        /* bidirectional encoder without [MASK], shallow decoder */
    CS_KIND_LINEAR,     /* pooled linear attention over what a query sees */
    CS_KINDS,
} cs_kind;

typedef struct {
    cs_kind kind;
    bool trained_here; /* has a train.json */
    bool from_nothing; /* trained to predict the first token too */
    bool likelihood;   /* its outputs are log-probabilities: not the spectral loss */
    double
        spectral_factor; /* of the spectral loss it was trained with: 1, or 2 (also if not known) */
    double delta; /* mae-lm: share of [MASK] that its encoder was trained with; 0 if not known */
    bool decoder_resets; /* mae-lm: the decoder took its own mask vector at those */
} cs_model_kind;

/* Missing config.json or one that is no object: as cs_json_read. A train.json whose objective is
 * not known is CS_ERR_INPUT. */
cs_status cs_model_kind_read(const char *dir, const cs_model_config *config,
                             cs_model_kind *out) CS_MUST_CHECK;

const char *cs_kind_name(cs_kind kind); /* "causal", "masked", "two-stream", "mae-lm", "linear" */
cs_status cs_kind_by_name(const char *name, cs_kind *out) CS_MUST_CHECK;

/* Whether attention over plain text looks backwards only. */
bool cs_kind_is_causal(cs_kind kind);

/* Special tokens that config.json does not name, [MASK] above all, from the tokenizer. */
void cs_model_config_specials(cs_model_config *config, const cs_tokenizer *tokenizer);

#endif
