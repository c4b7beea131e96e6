/* A job is what one sequence of a batch is asked. Private to perplexity*.c. */
#ifndef CS_ANALYSIS_PERPLEXITY_PRIVATE_H
#define CS_ANALYSIS_PERPLEXITY_PRIVATE_H

#include "analysis/perplexity.h"
#include "model/network.h"
#include "tensor/run.h"

typedef struct {
    const int32_t *token;    /* of the piece */
    int64_t document, place; /* of its first token in the document */
    int32_t n;               /* tokens of the piece */
    int32_t target;          /* masked, mae-lm: the token to predict; else -1: all */
    int32_t rows, loss_rows; /* that it takes */
    double weight;           /* of its losses: tokens of the piece that it stands for */
} cs_ask_job;

/* What a loss row predicts. */
typedef struct {
    int32_t job; /* -1: padding */
    int32_t target;
} cs_ask_row;

typedef struct {
    const cs_model_config *config;
    const cs_perplexity_options *options;
    const cs_network *network;
    cs_run *run;
    cs_ask_row *row; /* loss rows of the batch */
    int64_t loss_rows;
} cs_asker;

/* The first token of a piece that is predicted: 0 or 1. */
int64_t cs_ask_first(const cs_perplexity_options *o);

/* Sizes of a network for `batch` jobs on pieces of at most `length` tokens, special ones aside. */
cs_network_options cs_ask_sizes(const cs_perplexity_options *o, const cs_model_config *config,
                                int64_t batch, int64_t length);

/* Rows of the largest kind and loss rows that a job takes. */
void cs_ask_measure(const cs_perplexity_options *o, const cs_model_config *config, cs_ask_job *job);

/* Fills the run with `count` jobs (order[i]: number of job) of at most `length` rows, and sets
 * asker->row; `batch` sequences in all, the rest padding. */
cs_status cs_ask_fill(cs_asker *asker, const cs_ask_job *job, const int32_t *order, int64_t count,
                      int64_t batch, int64_t length, int64_t loss_rows) CS_MUST_CHECK;

#endif
