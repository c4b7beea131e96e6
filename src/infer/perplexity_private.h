/* A job is what one sequence of a batch is asked. Private to perplexity*.c. */
#pragma once

#include "base/rng.h"
#include "infer/perplexity.h"
#include "model/pass.h"

typedef struct {
    const int32_t *token;    /* of the piece */
    const float *real;       /* its vectors, which are read in place of ids; NULL: none */
    const float *extra;      /* what the class token of its picture reads; NULL: none */
    int64_t document, place; /* of its first token in the document */
    int32_t n;               /* tokens of the piece */
    int32_t target;          /* where a pass is of one token: that; else -1: all */
    int32_t draw;            /* of the content's masks, or of masks of the piece */
    int32_t masked;          /* elbo: tokens that are */
    int32_t rows, loss_rows; /* that it takes */
    double weight;           /* of its losses: tokens of the piece that it stands for */
} cs_ask_job;

/* elbo: what the masks of a job are drawn by; its first number was that of the masked tokens. */
cs_rng cs_ask_rng(const cs_perplexity_options *o, const cs_ask_job *job);

/* Whether a pass is of one token, not of all tokens of a piece. */
bool cs_ask_each(const cs_perplexity_options *o);

/* The first token of a piece that is predicted: 0 or 1. */
int64_t cs_ask_first(const cs_perplexity_options *o);

/* Ids before a piece: a begin token too where the first token is predicted from nothing by the row
 * before it. Rows that a piece takes beside those of its tokens: a causal model does not read the last
 * one, whose row the begin token has. */
int64_t cs_ask_begins(const cs_perplexity_options *o);
int64_t cs_ask_beside(const cs_perplexity_options *o);

/* Sizes of a network for `batch` jobs on pieces of at most `length` tokens, special ones aside. */
cs_network_options cs_ask_sizes(const cs_perplexity_options *o, const cs_model_config *config,
                                int64_t batch, int64_t length);

/* Rows of the largest kind and loss rows that a job takes. */
void cs_ask_measure(const cs_perplexity_options *o, const cs_model_config *config, cs_ask_job *job);

/* Rows of job `number` as sequence b of the batch; each of its loss rows has `number` as its
 * example and the token's place in the piece as its place. */
cs_status cs_ask_fill(const cs_perplexity_options *o, const cs_model_config *config,
                      const cs_ask_job *job, int32_t number, int64_t b,
                      cs_batch *batch) CS_MUST_CHECK;
