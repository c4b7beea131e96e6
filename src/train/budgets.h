/* Runs of several lengths that share their first steps, for comparisons with early stopping.
 *
 * At a constant rate with a cool-down (schedule.h) a run of N steps is, up to step N - C(N),
 * identical to any longer one. So the longest is trained and its checkpoints at these steps are
 * kept; from each the shorter run continues into DIR/budget-N. Its content is then, byte for byte,
 * that of cs_train with N steps. The longest may be named too: DIR/budget-N then contains only its
 * model.
 *
 *   cost: the longest run's steps and C(N) for each of the others
 */
#pragma once

#include "train/trainer.h"

typedef struct {
    int64_t steps;
    cs_train_result result;
} cs_train_budget;

/* DIR/budget-STEPS in fresh memory, NULL when out of memory. */
char *cs_train_budget_dir(const char *dir, int64_t steps);

/* Total steps of the run and its budgets. */
int64_t cs_train_budget_steps(const cs_train_options *options, int64_t count,
                              const cs_train_budget *budget);

/* cs_train, and then each budget, unless the run or one of them stops before its end (*out is the
 * first's; a budget that was not begun has step 0 and is not finished). time_limit is for all
 * together. With `resume` existing results are kept. CS_ERR_USAGE if the schedule has no cool-down,
 * or for a budget or a step to keep of more than `steps`, or one that is all cool-down; else as
 * cs_train. */
cs_status cs_train_budgets(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, int64_t count, cs_train_budget *budget,
                           cs_train_result *out) CS_MUST_CHECK;
