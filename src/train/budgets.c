#include "train/budgets.h"

#include <math.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/mem.h"

char *cs_train_budget_dir(const char *dir, int64_t steps)
{
    return cs_format("%s/budget-%lld", dir, (long long)steps);
}

/* The steps that a run of `steps` steps shares with a longer one, or with one of the same
 * number. */
static int64_t shared(const cs_train_options *options, int64_t steps)
{
    cs_train_options o = *options;
    o.steps = steps;
    return steps < options->steps ? steps - cs_train_cool(&o) : steps;
}

int64_t cs_train_budget_steps(const cs_train_options *options, int64_t count,
                              const cs_train_budget *budget)
{
    int64_t steps = options->steps;
    for (int64_t i = 0; i < count; ++i) {
        steps += budget[i].steps - shared(options, budget[i].steps);
    }
    return steps;
}

static cs_status check_budgets(const cs_train_options *o, int64_t count,
                               const cs_train_budget *budget)
{
    if (count > 0 &&
        (o->rate.schedule != CS_SCHEDULE_CONSTANT || !(o->rate.cool_down > 0) || !o->dir)) {
        return cs_fail(CS_ERR_USAGE,
                       "budgets need a directory and a constant schedule with a cool-down, so that "
                       "the learning rate before the cool-down does not depend on the steps");
    }
    if (count > 0 && o->phases && o->phases->steps[0] == 0) {
        return cs_fail(CS_ERR_USAGE, "budgets: a phase ends at a share of the steps, which is a "
                                     "different step in a shorter run; give \"for N\" instead");
    }
    for (int64_t i = 0; i < count; ++i) {
        long long steps = budget[i].steps;
        if (steps < 1 || steps > o->steps) {
            return cs_fail(CS_ERR_USAGE, "budget %lld is not in 1..%lld, the steps of the run",
                           steps, (long long)o->steps);
        }
        if (shared(o, budget[i].steps) < 1) {
            return cs_fail(CS_ERR_USAGE, "budget %lld consists of cool-down only (share %g)", steps,
                           o->rate.cool_down);
        }
    }
    for (int64_t i = 0; i < o->intervals.keep.count; ++i) {
        if (o->intervals.keep.step[i] > o->steps) {
            return cs_fail(CS_ERR_USAGE,
                           "cannot keep a checkpoint at step %lld of a run of %lld steps",
                           (long long)o->intervals.keep.step[i], (long long)o->steps);
        }
    }
    return CS_OK;
}

/* From the checkpoint that the long run has left. */
static cs_status train_budget(cs_model *model, const cs_corpus *corpus,
                              const cs_tokenizer *tokenizer, const cs_train_options *options,
                              cs_train_budget *budget)
{
    cs_train_options o = *options;
    CS_AUTO_FREE char *dir = cs_train_budget_dir(options->dir, budget->steps);
    o.dir = dir;
    o.steps = budget->steps;
    o.start.trunk = options->dir;
    o.start.trunk_step = shared(options, budget->steps);
    o.begun = NULL;
    cs_status status =
        dir ? cs_train(model, corpus, tokenizer, &o, &budget->result) : CS_ERR_MEMORY;
    return status;
}

cs_status cs_train_budgets(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, int64_t count, cs_train_budget *budget,
                           cs_train_result *out)
{
    cs_train_options o = *options;
    const double start = cs_seconds(), limit = o.time_limit;
    *out = (cs_train_result){.loss = NAN, .eval_loss = NAN};
    cs_status status = check_budgets(&o, count, budget);
    if (status != CS_OK) return status;
    CS_AUTO_FREE int64_t *keep = cs_alloc(o.intervals.keep.count + count, sizeof *keep);
    if (!keep) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < o.intervals.keep.count; ++i) {
        keep[i] = o.intervals.keep.step[i];
    }
    for (int64_t i = 0; i < count; ++i) {
        keep[o.intervals.keep.count + i] = shared(&o, budget[i].steps);
        budget[i].result = *out;
    }
    o.intervals.keep = (cs_train_steps){o.intervals.keep.count + count, keep};
    status = cs_train(model, corpus, tokenizer, &o, out);
    bool whole = out->finished;
    for (int64_t i = 0; i < count && whole && status == CS_OK; ++i) {
        if (limit > 0) o.time_limit = fmax(limit - (cs_seconds() - start), 1e-9);
        status = train_budget(model, corpus, tokenizer, &o, &budget[i]);
        whole = budget[i].result.finished;
    }
    return status;
}
