/* A batch under construction, shared by the forms: private to the train room.
 *
 * Every plan is drawn first, then each form says how many rows a sequence takes; arrays of the
 * largest are filled with padding, and the forms write over it.
 */
#ifndef CS_TRAIN_BATCH_PRIVATE_H
#define CS_TRAIN_BATCH_PRIVATE_H

#include "base/rng.h"
#include "plan/offsets.h"
#include "plan/plan.h"
#include "train/batch.h"

enum { CS_SPECIALS = 5 };

/* Rows of one sequence. */
typedef struct {
    int64_t length, queries, decoder_length, predictions;
} cs_batch_rows;

typedef struct {
    const cs_task *task;
    const cs_model_config *config;
    const cs_example *example;
    int64_t count, step;
    uint64_t seed;
    cs_plan *plan;      /* count; length 0: too short. offset-ar: only the length is set */
    cs_offsets offsets; /* offset-ar */
    int32_t *scratch;   /* longest + 2: rows of groups (linear) */
    int32_t special[CS_SPECIALS]; /* rising, distinct */
    int specials;
    cs_batch *batch;
    int64_t next; /* loss row */
} cs_draft;

/* One form: rows of sequence b; its values over the padding. Neither fails. */
typedef struct {
    cs_batch_rows (*rows)(const cs_draft *draft, int64_t b);
    void (*fill)(cs_draft *draft, int64_t b);
} cs_batch_form;

extern const cs_batch_form cs_batch_single, cs_batch_two_stream, cs_batch_mae, cs_batch_linear;

/* --- of tasks --- */

/* Special tokens of the vocabulary, rising and distinct; returns how many. */
int cs_task_specials(const cs_model_config *config, int32_t special[CS_SPECIALS]);

bool cs_task_masks(const cs_task *task); /* masked, variable-masked, bernoulli-masked */

/* The most tokens that a plan of at most `length` positions predicts, and that the encoder of an
 * mae form reads; 0 where the objective does not exist at such lengths. */
int64_t cs_task_most_predicted(const cs_task *task, int64_t length);
int64_t cs_task_most_encoded(const cs_task *task, int64_t length);

/* Of `masked` tokens, those that stay in the encoder: half away from zero. Rises with `masked` by
 * at most as much. */
int64_t cs_task_kept(const cs_task *task, int64_t masked);

/* --- of drafts --- */

cs_rng cs_draft_rng(const cs_draft *draft, cs_stream stream, int64_t b);

/* The row of the position table for place i, -1 where nothing reads it. */
int32_t cs_draft_position(const cs_draft *draft, int64_t i);

/* Whether the plan of sequence b predicts place i (positive weight), and how many it does. */
bool cs_draft_predicts(const cs_draft *draft, int64_t b, int64_t i);
int64_t cs_draft_predicted(const cs_draft *draft, int64_t b);

/* offset-ar: length of the first prefix that predicts (0 or 1), and the weight of each. */
int64_t cs_draft_first(const cs_draft *draft);
double cs_draft_prefix_weight(const cs_draft *draft, int64_t b);

/* Content row i of sequence b, which sits at `position` (a row of the table). */
void cs_draft_content(cs_draft *draft, int64_t b, int64_t i, int32_t token, int32_t position,
                      int32_t vis, int32_t lim);

/* What the encoder reads in place of a masked token: [MASK], the token or a random one that is not
 * special. */
int32_t cs_draft_replace(const cs_draft *draft, cs_rng *rng, int32_t token);

/* The next loss row: row `top` of the network's top predicts place k of sequence b. */
void cs_draft_predict(cs_draft *draft, int64_t b, int64_t top, int64_t k, double weight);

/* offset-ar in the forms with query rows: causal content, and a query a prefix, which sees the
 * prefix and predicts a token drawn after it; `placed`: knowing that token's position. */
void cs_draft_offsets(cs_draft *draft, int64_t b, bool placed);

#endif
