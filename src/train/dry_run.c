/* What a run would take. Times are measured: the first step pays for pages that are touched for the
 * first time and is left out. */
#include "train/trainer_private.h"

enum { TIMED = 3 };

static cs_status time_steps(cs_trainer *t, double *seconds)
{
    cs_status status = cs_trainer_step(t, true);
    double start = cs_seconds();
    for (int i = 0; i < TIMED && status == CS_OK; ++i) {
        status = cs_trainer_step(t, true);
    }
    *seconds = (cs_seconds() - start) / TIMED;
    return status;
}

static void count(const cs_trainer *t, cs_train_estimate *e)
{
    const cs_params *params = &t->model->params;
    for (int64_t i = 0; i < params->count; ++i) {
        e->parameters += params->param[i].rows * params->param[i].cols;
    }
    for (int64_t i = 0; i < t->train.count; ++i) {
        e->tokens += t->train.length[i];
    }
    e->sequences = t->train.count;
    e->held_out = t->held.count;
    e->too_short = t->train.too_short;
    e->bytes = 4 * params->items * cs_real_size(t->backend->parameter) + params->items;
    e->bytes += cs_run_bytes(&t->step.network.graph, t->backend);
    if (t->eval.run) {
        e->bytes += cs_run_bytes(&t->eval.network.graph, t->backend);
    }
    e->flops = 3.0 * (double)t->options.accumulate * cs_network_flops(&t->step.network);
}

cs_status cs_train_dry_run(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, cs_train_estimate *out)
{
    cs_trainer t = {0};
    cs_train_estimate e = {0};
    cs_status status = cs_trainer_init(model, corpus, tokenizer, options, &t);
    if (status == CS_OK) {
        count(&t, &e);
        status = time_steps(&t, &e.step_seconds);
    }
    cs_trainer_free(&t);
    if (status == CS_OK) {
        *out = e;
    }
    return status;
}
