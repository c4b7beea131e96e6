/* From sequences to what a network reads: tokens, positions, masks, targets and weights, drawn from
 * the objective's plan. Built on the host, the same for every backend, and a function of (seed,
 * step, row).
 *
 *   objective                       form        what is drawn for a sequence of s tokens
 *   ar                              single      nothing: row i sees 0..i and predicts token i + 1
 *   masked, variable-, bernoulli-   single      the plan: masked tokens become [MASK] (or 80/10/10)
 *   group-ar, permuted-ar, gvp, file  two-stream  the plan: one query a predicted token, lim = f(i)
 * - 1 diverse-ar t                    two-stream  first group 1..t, groups of t, event weights of
 * LA Eq. 3 offset-ar w                     two-stream  for each prefix one offset d ~ w; the query
 * sits at i + d masked with a decoder           mae         the plan; a share delta of the [MASK]s
 * stays in the encoder any (arch linear)               linear      the plan's events; a query row
 * sees the conditioning set
 *
 * Event weights: `token`, each predicted token counts once; `mask`, each plan once (theory: event
 * weights).
 */
#ifndef CS_TRAIN_BATCH_H
#define CS_TRAIN_BATCH_H

#include <stdint.h>

#include "base/status.h"
#include "model/network.h"
#include "plan/objective.h"
#include "tensor/run.h"

typedef struct {
    cs_objective objective;
    double keep, random; /* of masked tokens: share left as they are, replaced by random ones (BERT
                            0.1, 0.1) */
    double delta;        /* mae: share of [MASK]s kept in the encoder */
    bool decoder_resets; /* mae: the decoder takes [MASK], not the encoder's row, at kept [MASK]s */
    bool misaligned;     /* mae: encoder positions 0, 1, 2, ... over the rows that are left */
} cs_task;

/* One training sequence, borrowed. `row` is its number within the step (over all micro-batches). */
typedef struct {
    const int32_t *token;
    int64_t length, row;
} cs_example;

/* Arrays as the index tensors of a network, row-major at present sizes. */
typedef struct {
    cs_form form;
    int64_t batch, length, queries, decoder_length, predictions; /* present sizes */
    int32_t *token, *position, *vis, *lim;
    int32_t *query_position, *query_lim;
    int32_t *decoder_from, *decoder_token, *decoder_position, *decoder_vis, *decoder_lim,
        *decoder_cross_lim;
    int32_t *predict, *target;
    double *weight, weight_sum; /* before normalisation */
    /* for tests and per-example results: the example and the position that each loss row predicts
     */
    int32_t *example, *place;
    int64_t tokens; /* content tokens, padding not counted */
} cs_batch;

/* The form that an objective takes in a model. */
cs_form cs_form_of(const cs_task *task, const cs_model_config *config);

/* Sizes that hold any batch of `batch` sequences of at most `length` tokens. */
cs_status cs_task_sizes(const cs_task *task, const cs_model_config *config, int64_t batch,
                        int64_t length, cs_network_options *out) CS_MUST_CHECK;

/* Draws plans and builds. Sequences too short for the objective predict nothing. pad_to_max: sizes
 * as cs_task_sizes, for a device that replays one shape. CS_ERR_INPUT names a token out of range.
 */
cs_status cs_batch_build(const cs_task *task, const cs_model_config *config,
                         const cs_example *example, int64_t count, uint64_t seed, int64_t step,
                         const cs_network_options *pad_to, cs_batch *out) CS_MUST_CHECK;
void cs_batch_free(cs_batch *batch);

/* Moves a batch into a run, weights multiplied by `scale` (1 / the weight sum of the whole step),
 * and uploads. mass: vocab values for the spectral loss, else NULL. */
cs_status cs_batch_load(const cs_batch *batch, const cs_network *network, double scale,
                        const double *mass, cs_run_key key, cs_run *run) CS_MUST_CHECK;

#endif
