/* AdamW's t is the number of the step, skipped ones included: then nothing but the step need be
 * known on the host, and all backends agree. */
#include "train/updates.h"

#include <math.h>

cs_status cs_updates_init(cs_params *params, cs_updates *out)
{
    const int64_t bytes = CS_NORMS * (int64_t)sizeof *out->norms;
    cs_updates u = {.params = params, .own = params->norm};
    void *norms = NULL;
    cs_backend *backend = params->backend;
    cs_status status = backend->alloc(backend, bytes, &norms);
    u.norms = norms;
    if (status == CS_OK && (status = backend->zero(backend, norms, bytes)) != CS_OK)
        backend->release(backend, norms);
    if (status == CS_OK) *out = u;
    return status;
}

void cs_updates_free(cs_updates *u)
{
    if (u->norms) {
        u->params->norm = u->own;
        u->params->backend->release(u->params->backend, u->norms);
    }
    *u = (cs_updates){0};
}

cs_status cs_updates_add(cs_updates *u, const cs_adamw_recipe *recipe, double learning_rate,
                         int64_t step)
{
    cs_adamw hyper = {
        .learning_rate = (float)learning_rate,
        .beta1 = (float)recipe->beta1,
        .beta2 = (float)recipe->beta2,
        .eps = (float)recipe->adam_eps,
        .weight_decay = (float)recipe->weight_decay,
        .clip = (float)recipe->clip,
        .bias1 = (float)(1.0 - pow(recipe->beta1, (double)step)),
        .bias2 = (float)(1.0 - pow(recipe->beta2, (double)step)),
    };
    int64_t slot = u->updates++ % CS_NORMS;
    u->updated[slot] = step;
    u->params->norm = u->norms + slot;
    ++u->unread;
    return cs_params_update(u->params, &hyper);
}

cs_status cs_updates_read(cs_updates *u, int64_t limit, double *norm, int64_t *bad,
                          int64_t *skipped)
{
    double value[CS_NORMS];
    cs_backend *backend = u->params->backend;
    cs_status status = backend->get(backend, value, u->norms, (int64_t)sizeof value);
    for (int64_t i = u->updates - u->unread; i < u->updates && status == CS_OK; ++i) {
        *norm = value[i % CS_NORMS];
        *bad = isfinite(*norm) ? 0 : *bad + 1;
        *skipped += *bad > 0;
        if (*bad >= limit) {
            status = cs_fail(CS_ERR_CONVERGE,
                             "the gradient was not finite in %lld consecutive steps, up to step "
                             "%lld" CS_TRY_RATE,
                             (long long)*bad, (long long)u->updated[i % CS_NORMS]);
        }
    }
    u->unread = 0;
    return status;
}
