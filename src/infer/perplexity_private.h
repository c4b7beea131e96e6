/* A job is one sequence of a batch. Private to perplexity*.c. */
#pragma once

#include "base/rng.h"
#include "infer/perplexity.h"
#include "model/pass.h"

typedef struct {
    const int32_t *token;    /* of the piece */
    const float *real;       /* its vectors, which are read in place of ids; NULL: none */
    const float *extra;      /* input of the class token of its image; NULL: none */
    int64_t start;           /* of its first token in the corpus */
    int64_t document, place; /* of its first token in the document */
    int32_t n;               /* tokens of the piece */
    int32_t target;          /* for a pass of one token: that; else -1: all */
    int32_t draw;            /* of the masks of the content, or of the piece */
    int32_t masked;          /* elbo: number of masked tokens */
    int32_t rows, loss_rows; /* rows that it takes */
    /* of its losses: number of tokens of the piece that it represents */
    double weight;
} cs_score_job;

/* elbo: the generator of the masks of a job; its first number was the number of masked tokens. */
cs_rng cs_ask_rng(const cs_perplexity_options *o, const cs_score_job *job);

/* Whether a pass predicts one token, not all tokens of a piece. */
bool cs_ask_each(const cs_perplexity_options *o);

/* The first token of a piece that is predicted: 0 or 1. */
int64_t cs_ask_first(const cs_perplexity_options *o);

/* Ids before a piece, including a begin token if the first token is predicted from nothing by the
 * row before it. Rows of a piece in addition to those of its tokens: a causal model does not read
 * the last one, whose row the begin token has. */
int64_t cs_ask_begins(const cs_perplexity_options *o);
int64_t cs_score_extra_rows(const cs_perplexity_options *o);

/* Sizes of a network for `batch` jobs on pieces of at most `length` tokens, without special ones.
 */
cs_network_options cs_ask_sizes(const cs_perplexity_options *o, const cs_model_config *config,
                                int64_t batch, int64_t length);

/* Number of rows of the largest kind and of loss rows of a job. */
void cs_ask_measure(const cs_perplexity_options *o, const cs_model_config *config,
                    cs_score_job *job);

/* Adds the rows of job `number` as sequence b of the batch; each of its loss rows has `number` as
 * its example and the position of the token in the piece as its place. */
cs_status cs_ask_fill(const cs_perplexity_options *o, const cs_model_config *config,
                      const cs_score_job *job, int32_t number, int64_t b,
                      cs_batch *batch) CS_MUST_CHECK;
