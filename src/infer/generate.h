/* Texts drawn from a model, a token at a time, each from what the model says of it given those before.
 *
 * What a step reads, by kind, of L tokens of which some are revealed (the prompt, then what was drawn):
 *   causal       the revealed prefix; the last row predicts. Order left alone
 *   masked       the revealed tokens and [MASK] at the others
 *   mntp         the same, each token predicted by the row before it
 *   hybrid       left: as causal; else as mntp
 *                These all between the ids `around` a text, those behind it only where [MASK]s are read
 *   two-stream   content rows of the revealed tokens, a query at the place to be filled that sees all of
 *                them. Content rows see what they saw in training: rows up to them (order left alone),
 *                all rows, or, by plans, those revealed before them (the prompt sees itself)
 *
 * Which token is revealed next:
 *   left         the first hidden one
 *   random       by a uniform permutation: of a masked model the law is p(x) = E_sigma prod_t
 *                p(x_sigma(t) | x_sigma(<t)), which --ask elbo bounds (perplexity.h)
 *   confidence   the one whose likeliest token has the largest probability, ties by place (Chang et al.
 *                2022, MaskGIT)
 *
 * Its token v has probability proportional to exp(z_v / temperature) among the fewest tokens whose
 * probabilities so formed reach top_p (nucleus, Holtzman et al. 2020; ties by id); temperature 0: the
 * largest z_v, the first of them. Special tokens are tokens like others: nothing is left out that the
 * model gives probability to. Text i is a function of (seed, i), whatever else is drawn.
 */
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
    cs_attention content; /* two-stream: what content rows see */
    bool from_nothing;    /* causal, mntp, hybrid: a begin token precedes the text */
    cs_around around;     /* ids around a text; none of two streams */
    cs_reveal order;
    int64_t count, length; /* texts, and tokens of each, the prompt's included */
    const int32_t *prompt;
    int64_t prompt_length;
    double temperature, top_p;
    int64_t batch; /* texts a forward pass; less where the logits would pass 2^26 numbers */
    uint64_t seed;
    const cs_progress *progress;
} cs_generate_options;

typedef struct {
    int64_t count, length;
    int32_t *token; /* count x length */
    int32_t *place; /* count x drawn: the places in the order in which they were revealed */
    int64_t drawn;  /* length less the prompt */
    double *nll;    /* count: sum over the drawn tokens of -log p, at temperature 1 */
    cs_pool pool;   /* of all arrays */
} cs_generated;

void cs_generated_free(cs_generated *g); /* accepts a zeroed object */

/* Whether a model of this kind and content reveals in this order; else CS_ERR_USAGE with the reason, for
 * kinds that are not drawn from at all (linear, mae-lm) too. */
cs_status cs_generate_check(cs_kind kind, cs_attention content, cs_reveal order) CS_MUST_CHECK;

/* A forward pass a token and batch. CS_ERR_USAGE: as cs_generate_check; an option out of range; length
 * above the model's positions; nothing to predict the first token from (no prompt, not from_nothing);
 * a model without the mask token, begin token or query vector that it needs, of pictures, of blind
 * queries, or of two streams with ids around a text. CS_ERR_INPUT: a prompt token that the model does not
 * know, logits that are not finite. */
cs_status cs_generate(cs_model *model, const cs_generate_options *options,
                      cs_generated *out) CS_MUST_CHECK;

/* kind, order, temperature, top_p, length, prompt_tokens, a warning where a masked model's prompt has mask
 * tokens, which nothing fills, and texts: text, nll, tokens, places.
 * CS_ERR_MEMORY. */
cs_status cs_generated_record(const cs_generated *g, const cs_generate_options *options,
                              const cs_tokenizer *tokenizer, cs_item *root) CS_MUST_CHECK;
