/* Next-token perplexity of every kind of model (LA Eq. 2, Table 7, Figure 3).
 *
 * In each piece x_1 .. x_n (at most max_length tokens: the beginning of a document, or with `split`
 * all of its consecutive pieces) every x_{k+1} is predicted from x_1 .. x_k, k = 1 .. n-1 (also k =
 * 0 if the model was trained to predict the first token):
 *
 *   nll = -mean log p(x_{k+1} | x_1 .. x_k),    perplexity = exp(nll)
 *
 * Evaluation by kind of model:
 *   causal      one forward pass for each piece
 *   two-stream  causal content: one pass a piece, with a query at each position k+1 that attends to
 *               content rows 1 .. k. Content under other masks (`content`): one pass a predicted
 *               token, whose content rows 1 .. k attend to each other by these masks; for drawn plans,
 *               which are plans of k rows, the loss is the mean over the draws
 *   linear      one pass a piece: a query row that attends to rows 1 .. k
 *   masked      one pass a predicted token. CS_ASK_APPEND: x_1 .. x_k [MASK], length k+1;
 *               CS_ASK_REMAINING: [MASK] at k+1 .. s, where s is the length of the piece (which the
 *               model thus learns) or fill_length. The paper does not specify which
 *   mntp        the same two, predicted by the row before the token; k = 0 after the begin token
 *   hybrid      as causal, and as mntp
 *   two stacks  (t5, `decoder`): as causal, one pass a piece, by teacher forcing: the decoder reads the
 *               piece after its start token, so that k = 0 too, and the encoder its source, one
 *               for all pieces or one a document: p(x_{k+1} | x_1 .. x_k, source). Without a source the
 *               encoder reads the piece, as in transformers with labels = input_ids: then the model
 *               has read what it predicts, and the result measures copying, not a likelihood
 *   mae-lm      the same two with the mask vectors of the decoder, the encoder reading only x_1 .. x_k
 *               and, of m masked positions, round(delta m) [MASK]s from k+1 on; decoders in which
 *               masked rows do not attend to each other give one number for both if delta is 0
 * CS_ASK_PSEUDO, for models that mask tokens: every token is masked in turn and predicted from all
 * others on both sides (Salazar et al., ACL 2020). This is not a likelihood and not comparable with
 * the above.
 *
 * CS_ASK_ELBO, masked (diffusion): a bound, not a likelihood. A masked model generates texts in any
 * order, p(x) = E_sigma prod_t p(x_sigma(t) | x_sigma(<t)), sigma uniform, and by Jensen's
 * inequality
 *
 *   -log p(x) <= E_sigma sum_t -log p(x_sigma(t) | x_sigma(<t))
 *              = N E_n (1/n) E_mask sum_{k masked} -log p(x_k | the others),   n uniform in 1..N
 *
 * the negative ELBO of absorbing-state diffusion (Sahoo et al. 2024; Hoogeboom et al. 2022). N is
 * the length of the piece if the model was trained to predict the first token. Else it is one less:
 * the token that is revealed first is given, and the bound is on the mean over it of -log p(the
 * others | it). In each piece `positions` masks are drawn (0: 4), their n stratified: the mean over
 * draws is the bound.
 *
 * Sampled positions (for passes of one token). Of the N_p predictable tokens of piece p n_p =
 * min(positions, N_p) are drawn without replacement, all sets equally likely; each is drawn with
 * probability n_p / N_p and has its inverse as weight (Horvitz and Thompson, JASA 47, 1952):
 *
 *   sum_p N_p / n_p sum_{k drawn in p} f_pk,    expectation over draws: sum_p sum_k f_pk
 *
 * for losses, bytes and ones, over all tokens and over those at one k; the jackknife uses the same
 * sums. The weights of a piece sum to N_p for every draw, so nll is unbiased, while nll_at and bits
 * per byte are ratios of two estimates. Unweighted, long pieces would count as much as short ones.
 *
 * A reference without context: r_v = -log q(v) of each token v, such as a unigram (cs_unigram_of).
 * It is computed for the same predicted tokens with the same weights; the difference, model minus
 * reference, has a separate (paired) jackknife.
 *
 * Intervals: delete-block jackknife over documents, blocks fixed by (seed, document): se^2 =
 * (B-1)/B sum_b (theta_b - mean theta)^2 of the ratio of sums, to be used with Student's quantile
 * at B - 1 degrees of freedom (cs_student_width); it includes the error of the draws. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "model/model.h"
#include "plan/content_masks.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/model_kind.h"

typedef enum {
    CS_ASK_PREFIX, /* causal, two-stream, linear, hybrid: as they are */
    CS_ASK_APPEND,
    CS_ASK_REMAINING,
    CS_ASK_PSEUDO,
    CS_ASK_ELBO,
    CS_ASKS
} cs_ask;

const char *cs_ask_name(cs_ask ask); /* "prefix", "append", "remaining", "pseudo", "elbo" */

/* The evaluation modes of models of a kind, into *out; returns their number. */
int cs_asks_of(cs_kind kind, cs_ask out[CS_ASKS]);

typedef struct {
    cs_kind kind;
    cs_ask ask;
    bool from_nothing; /* k = 0 too; causal, mntp, hybrid: after the begin token */
    /* 0: the model's positions, for text at most 512. Special tokens count, and a begin token of
     * from_nothing only if it takes an additional row (mntp; hybrid except by prefix) and
     * max_length is 0 or the table of positions has no such row */
    int64_t max_length;
    /* documents longer than that: all of their pieces; else only the first */
    bool split;
    int64_t fill_length;             /* CS_ASK_REMAINING: s; 0: the piece's length */
    const cs_content_masks *content; /* two-stream: of the prefix; NULL: causal */
    bool decoder;                    /* of a model of two stacks; kind causal */
    const cs_corpus *sources;        /* input of its encoder (cs_sources_check); NULL: the piece */
    int64_t source_rows;             /* set by cs_perplexity_of */
    double delta;                    /* mae-lm: share of [MASK] in the encoder, in [0, 1] */
    bool decoder_resets;             /* mae-lm: the decoder takes its mask vector at those */
    /* For passes of one token: predicted tokens for each piece, drawn by seed; 0: all. elbo: masks
     * for each piece. */
    int64_t positions;
    int64_t batch;  /* 0: 16; fewer if the logits would exceed 2^26 numbers */
    int64_t blocks; /* of the jackknife; 0: 20. At most the documents */
    uint64_t seed;
    cs_special_tokens around;   /* ids around each piece; mae-lm: a class token alone */
    const uint8_t *keep;        /* documents to take; NULL: all */
    const int32_t *token_bytes; /* bytes of the text of a token, by id; NULL: unknown */
    const double *reference;    /* nats of a token by id; NULL: none */
    /* NULL, or corpus->tokens numbers: -log p of each token that is predicted, as cs_hidden_states
     * gives them with the same options. The model is not run. Only of causal models. */
    const float *losses;
    const cs_progress *progress;
} cs_perplexity_options;

/* A mean over the predicted tokens, also by k, and its standard errors. left_out: the means without
 * each block, dealt x (lengths + 1), with the last over all k; NaN if the block predicts nothing.
 */
typedef struct {
    double nll, se;
    double *nll_at, *se_at, *left_out;
} cs_score_means;

typedef struct {
    double nll, se;                /* nats per token; se NaN if fewer than two blocks predict */
    double bits_per_byte, bits_se; /* NaN without token_bytes */
    double *bits_left_out;         /* dealt: without each block */
    int64_t documents, pieces;     /* with predictions */
    int64_t tokens, bytes;         /* predicted: drawn ones, unweighted */
    int64_t blocks, dealt;         /* with predictions; all */
    /* By k, the number of tokens seen (pseudo: before it): 0 .. lengths - 1. */
    int64_t lengths;
    double *nll_at, *se_at; /* NaN where nothing is predicted */
    double *left_out;       /* as in cs_score_means */
    int64_t *tokens_at;
    /* The reference and model minus reference, over all and by k; NaN or NULL without one. */
    cs_score_means reference, difference;
} cs_perplexity;

void cs_perplexity_free(cs_perplexity *p);

typedef struct {
    cs_ask ask;
    cs_perplexity p;
} cs_perplexity_answer;

/* root["results"]: the results of each evaluation mode, with 95% intervals; the numbers of the
 * first at the root too. bytes_a_token: used if bytes of tokens are unknown; NaN: unknown, or those
 * of each are known. */
void cs_perplexity_record(int count, const cs_perplexity_answer *answer, double bytes_a_token,
                          cs_item *root);

/* A unigram of the documents that are not held out, add-one smoothed over `vocab` tokens:
 *
 *   nats[v] = -log( (c_v + 1) / (N + vocab) ),   c_v of the N tokens are v
 *
 * CS_ERR_INPUT: no such token, or one that is not in 0..vocab - 1, with its document. */
cs_status cs_unigram_of(const cs_corpus *corpus, int64_t vocab, double *nats) CS_MUST_CHECK;

/* Cost: causal, two-stream, linear: a forward pass of n rows a piece; masked, mae-lm and two-stream
 * with `content`: one a predicted token and draw, so about n / 2 (append) or n (remaining, pseudo)
 * times as much. CS_ERR_USAGE: an option out of range, an ask that the kind has not, a model
 * without the mask token, begin token, query vector or decoder that its kind needs, or with a second stack; max_length
 * above its positions. CS_ERR_INPUT: a token that the model does not know, nothing to predict, a
 * log-probability that is not finite, with its document and place. */
cs_status cs_perplexity_of(cs_model *model, const cs_corpus *corpus,
                           const cs_perplexity_options *options, cs_perplexity *out) CS_MUST_CHECK;
