/* Input of a network: rows, masks and targets of some sequences, built on the host, the same for
 * every backend. All callers use it: training (train/batch.h), fine-tuning, inference and the
 * comparison with theory define each row, and this header lays out the rows, pads them and passes
 * them to a run.
 *
 * Row i attends to row j iff vis[j] <= lim[i]; padding has vis = INT32_MAX, lim = -1, and indices
 * of -1. */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"
#include "model/network.h"
#include "tensor/run.h"

/* The index tensors of a network as arrays, row-major at present sizes; members have the names of
 * those of cs_network. Arrays of rows that the form does not have are NULL with size 0. */
typedef struct {
    cs_form form;
    /* Present sizes. */
    int64_t batch, length, queries, decoder_length, predictions;
    /* batch x length; -1: no token. */
    int32_t *token, *position, *vis, *lim;
    /* Classification (train/finetune.h), else NULL: batch x length token types. */
    int32_t *type;
    /* Models of real rows, else NULL: batch x length x width values; batch x length numbers of rows
     * there, the row's own number or -1: it reads an id. */
    struct {
        int64_t width;
        float *values;
        int32_t *row;
    } real;
    /* Models of extra vectors, else NULL: batch x width values; batch numbers of sequences, the
     * sequence's own or -1: it has none; batch x length sequences whose vector a row reads, or
     * -1. */
    struct {
        int64_t width;
        float *values;
        int32_t *number, *row;
    } extra;
    /* batch x queries. */
    struct {
        int32_t *position, *lim;
    } query;
    /* batch x decoder_length; from: encoder row b * length + i, else -1; token: 0 for the mask
     * vector, a token (causal-cross), else -1. */
    struct {
        int32_t *from, *token, *position, *vis, *lim, *cross_lim;
    } decoder;
    struct {
        /* Row of the top b * (rows a sequence) + i. */
        int32_t *predict, *target;
        /* Offset minus 1, whose head the loss row reads. */
        int32_t *head;
        /* Of a regression 1, of soft targets the classes, of targets that are values real.width;
         * else 0. */
        int64_t goal_width;
        /* predictions x goal_width. */
        double *goal;
        /* Before normalisation, one for each value if targets are values, so that losses are means
         * per value. */
        double *weight, weight_sum;
        /* The example (index into the array given) and the position in its text that each loss row
         * predicts; -1 in padding. */
        int32_t *example, *place;
        /* Classification, else NULL: limits of the readout mean. */
        int32_t *readout_lim;
    } loss;
    /* Loss rows with predictions. */
    int64_t events;
    /* Of the examples, without those that are too short. */
    int64_t tokens;
    /* Examples too short for the objective: only padding. */
    int64_t skipped;
} cs_batch;

/* Only padding, for a model of this configuration, of the sizes in `sizes` (batch, length, queries,
 * decoder_length, predictions); classify: with the arrays of classification. The former content of
 * the batch is freed. CS_ERR_USAGE beyond 2^31 - 1 rows; CS_ERR_MEMORY. */
cs_status cs_batch_shape(const cs_network_options *sizes, const cs_model_config *config,
                         cs_batch *batch) CS_MUST_CHECK;
void cs_batch_free(cs_batch *batch);

/* The row of the position table for position `place` of a sequence, -1 if it is not read. */
int32_t cs_batch_position(const cs_model_config *config, int64_t place);

/* Content row i of sequence b, at position `place`, which attends to rows of ranks up to its own.
 */
void cs_batch_content(cs_batch *batch, const cs_model_config *config, int64_t b, int64_t i,
                      int32_t token, int64_t place, int32_t rank);

/* The text that content rows of sequence b read: ids before a text, its ids or vectors, ids after
 * it. The places of all of these are numbered from 0. */
typedef struct {
    cs_batch *batch;
    const cs_model_config *config;
    int64_t b;
    const int32_t *before, *token, *after;
    int64_t befores, tokens;
    /* tokens x real.width, in place of the ids; NULL: the ids. */
    const float *real;
    /* extra.width values that place 0 also reads; NULL: none. */
    const float *extra;
} cs_text_rows;

/* Row i reads place `at`, or in its place the id `shown` (a vector is read where `shown` is the id
 * of its place), and attends to rows of ranks up to its own. */
void cs_text_row(const cs_text_rows *text, int64_t i, int64_t at, int64_t place, int32_t rank);
void cs_text_row_shown(const cs_text_rows *text, int64_t i, int64_t at, int32_t shown,
                       int64_t place, int32_t rank);
/* Rows 0..rows - 1 read the same places; causal: each attends to those before it, else to all. */
void cs_text_rows_fill(const cs_text_rows *text, int64_t rows, bool causal);

/* Replacement of a masked token in the input: with the share `keep` it stays, with the share
 * `random` it is a random token that is not special, else [MASK]. */
enum { CS_SPECIALS = 5 };
typedef struct {
    double keep, random;
    int32_t mask;
    int64_t vocab;
    int specials;
    /* Of the vocabulary, ascending and distinct. */
    int32_t special[CS_SPECIALS];
} cs_replacement;
cs_replacement cs_replacement_of(const cs_model_config *config, double keep, double random);
/* CS_ERR_USAGE: random tokens are requested, but all tokens are special. */
cs_status cs_replacement_check(const cs_replacement *r) CS_MUST_CHECK;
int32_t cs_replacement_draw(const cs_replacement *r, cs_rng *rng, int32_t token);

/* Query row `row` = b * queries + i, at `position`, which attends to content rows of vis <= lim. */
void cs_batch_query(cs_batch *batch, int64_t row, int32_t position, int32_t lim);

/* Row i of the decoder of sequence b, at position `place`. causal: the row reads `token` and
 * attends to rows up to its position; else it starts from encoder row `from` or, -1, from the mask
 * vector, and attends to every row. Cross-attention reads every encoder row. Returns the number of
 * the row. */
int64_t cs_batch_decoder(cs_batch *batch, const cs_model_config *config, int64_t b, int64_t i,
                         int64_t place, int64_t from, int32_t token);

/* The rows of a masked autoencoder, place by place: one of the encoder that reads the id `shown`
 * (-1: none) at position `place`, and one of the decoder if `decodes`, which starts from the
 * encoder's row if there is one and it is not `reset`. Returns the number of the decoder row, -1 if
 * there is none. */
typedef struct {
    cs_text_rows text;
    int64_t encoded, decoded;
} cs_mae_rows;
int64_t cs_mae_row(cs_mae_rows *rows, int64_t at, int32_t shown, int64_t place, bool reset,
                   bool decodes);

/* The next loss row: row `top` of the network's top predicts `target`, which is at position `place`
 * of example `example`. */
void cs_batch_predict(cs_batch *batch, int64_t top, int32_t target, double weight, int64_t example,
                      int64_t place);

/* The last added loss row predicts these real.width values, in the form of `target`. */
void cs_batch_values(cs_batch *batch, cs_target target, const float *values);

/* to[i] = (from[i] - m) / sqrt(v + 1e-6), m the mean and v the unbiased variance of the `count` values
 * (He et al. 2022, in their code). One value: 0. Returns sqrt(v + 1e-6); *mean (NULL: not wanted) m. */
double cs_row_normalise(int64_t count, const float *from, double *mean, double *to);

/* Passes the possible distances of positions (some -1) of a batch to its run: the rows of the table
 * of distances that are read. Nothing for networks without it. */
cs_status cs_batch_places(const cs_network *network, int64_t rows, const int32_t *position,
                          cs_run *run) CS_MUST_CHECK;

/* Moves a batch into a run, weights multiplied by `scale` (1 / the weight sum of the whole step),
 * and uploads. mass: vocab values for the spectral loss, else NULL. CS_ERR_USAGE if the network is
 * of another form, too small, or its loss needs a mass that is not given. */
cs_status cs_batch_load(const cs_batch *batch, const cs_network *network, double scale,
                        const double *mass, cs_run_key key, cs_run *run) CS_MUST_CHECK;
