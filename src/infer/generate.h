/* Texts drawn from a model token by token, each from the prediction given the revealed tokens.
 *
 * Input of a step, by kind, for L tokens with some revealed ones (the prompt, then drawn
 * tokens):
 *   causal       the revealed prefix; the last row predicts. Only order left
 *   masked       the revealed tokens, and [MASK] at the others
 *   mntp         the same, each token predicted by the row before it
 *   hybrid       left: as causal; else as mntp
 *                All of these between the ids `around` a text, those after it only with [MASK]s
 *   two-stream   content rows of the revealed tokens, and a query at the position to be filled that
 *                attends to all of them. Content rows attend as in training: to rows up to them (only
 *                order left), to all rows, or, by plans, to those revealed before them (the prompt
 *                attends to itself)
 *
 * Order in which tokens are revealed:
 *   left         the first hidden one
 *   random       by a uniform permutation: a masked model then samples from p(x) = E_sigma prod_t
 *                p(x_sigma(t) | x_sigma(<t)), which --ask elbo bounds (perplexity.h)
 *   confidence   the one whose likeliest token has the largest probability, ties by position (Chang et
 *                al. 2022, MaskGIT)
 *
 * Token v has probability proportional to exp(z_v / temperature) among the fewest tokens whose
 * probabilities so computed reach top_p (nucleus, Holtzman et al. 2020; ties by id); temperature 0:
 * the largest z_v, the first of them. Special tokens are ordinary tokens: no token with positive
 * probability is excluded. Text i is a function of (seed, i), independent of other texts. */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "model/model.h"
#include "text/tokenizer.h"
#include "train/model_kind.h"

typedef enum { CS_REVEAL_LEFT, CS_REVEAL_RANDOM, CS_REVEAL_CONFIDENCE } cs_reveal;

typedef struct {
    cs_kind kind;
    cs_attention content;     /* two-stream: attention mask of content rows */
    bool from_nothing;        /* causal, mntp, hybrid: a begin token precedes the text */
    cs_special_tokens around; /* ids around a text; none of two streams */
    cs_reveal order;
    int64_t count, length; /* number of texts, and tokens of each, including the prompt */
    const int32_t *prompt;
    int64_t prompt_length;
    double temperature, top_p;
    /* texts a forward pass; fewer if the logits would exceed 2^26 numbers */
    int64_t batch;
    uint64_t seed;
    const cs_progress *progress;
} cs_generate_options;

typedef struct {
    int64_t count, length;
    int32_t *token; /* count x length */
    /* count x drawn: the positions in the order in which they were revealed */
    int32_t *place;
    int64_t drawn; /* length minus the prompt */
    double *nll;   /* count: sum over the drawn tokens of -log p, at temperature 1 */
    cs_pool pool;  /* of all arrays */
} cs_generated;

void cs_generated_free(cs_generated *g); /* accepts a zeroed object */

/* Whether a model of this kind and content supports this order; else CS_ERR_USAGE with the reason,
 * also for kinds that do not generate (linear, mae-lm). */
cs_status cs_generate_check(cs_kind kind, cs_attention content, cs_reveal order) CS_MUST_CHECK;

/* A forward pass for each token and batch. CS_ERR_USAGE: as cs_generate_check; an option out of
 * range; length above the model's positions; no input for the first token (no prompt, not
 * from_nothing); a model without the mask token, begin token or query vector that it needs, of
 * images, of blind queries, or of two streams with ids around a text. CS_ERR_INPUT: a prompt token
 * that the model does not have, logits that are not finite. */
cs_status cs_generate(cs_model *model, const cs_generate_options *options,
                      cs_generated *out) CS_MUST_CHECK;

/* kind, order, temperature, top_p, length, prompt_tokens, a warning if the prompt of a masked model
 * has mask tokens, which are not filled, and texts: text, nll, tokens, places. CS_ERR_MEMORY. */
cs_status cs_generated_record(const cs_generated *g, const cs_generate_options *options,
                              const cs_tokenizer *tokenizer, cs_item *root) CS_MUST_CHECK;
