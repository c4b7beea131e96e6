#include "analysis/trained/probe_runs.h"

#include <math.h>

#include "base/mem.h"

static cs_status probe_seed(const cs_probe_study *s, int64_t seed, const cs_rows *train,
                            const cs_rows *test, cs_probe_layer *l)
{
    const cs_labelled_text *t = s->scoring.train;
    const int64_t n = s->scoring.test->count;
    const double guess = cs_scoring_constant(&s->scoring);
    int64_t count = 0, *row = NULL;
    cs_linear_probe_options fit = s->fit;
    cs_linear_probe *p = &l->probe[seed];
    fit.seed = s->scoring.seed + (uint64_t)seed;
    cs_status status = cs_blame(cs_few_shot(s->few, t, fit.seed, &count, &row), "%s", t->path);
    if (status == CS_OK)
        status = cs_linear_probe_fit(train, count, row, t->value, t->classes, &fit, p);
    if (status == CS_OK)
        status = cs_linear_probe_predict(p, test, fit.threads, l->prediction + seed * n);
    for (int64_t i = 0; i < n; ++i) {
        l->baseline[seed * n + i] = guess;
    }
    cs_free(row);
    return status;
}

static cs_status sum_up(int64_t seeds, cs_probe_layer *l)
{
    cs_seed_summary penalties = {0};
    double *penalty = cs_pool_take(&l->pool, seeds, sizeof *penalty);
    if (!penalty) return CS_ERR_MEMORY;
    for (int64_t r = 0; r < seeds; ++r) {
        const cs_linear_probe *p = &l->probe[r];
        penalty[r] = p->step[p->chosen].penalty;
        l->gradient = fmax(l->gradient, p->gradient);
        l->iterations = p->iterations > l->iterations ? p->iterations : l->iterations;
        l->unconverged += !p->converged;
    }
    cs_status status = cs_seed_summary_of(seeds, penalty, &penalties);
    l->penalty = penalties.median;
    return status;
}

cs_status cs_probe_layer_of(const cs_probe_study *s, const char *layer, const cs_rows *train,
                            const cs_rows *test, cs_probe_layer *out)
{
    const int64_t seeds = s->scoring.seeds, cells = seeds * s->scoring.test->count;
    cs_probe_layer l = {.layer = layer, .features = train->cols};
    l.probe = cs_pool_take(&l.pool, seeds, sizeof *l.probe);
    CS_POOL_FIELDS(&l.pool, cells, &l, prediction, baseline);
    cs_status status = l.pool.status;
    for (int64_t r = 0; r < seeds && status == CS_OK; ++r) {
        status = probe_seed(s, r, train, test, &l);
    }
    if (status == CS_OK) status = sum_up(seeds, &l);
    if (status != CS_OK) {
        cs_probe_layer_free(s, &l);
        return status;
    }
    *out = l;
    return CS_OK;
}

void cs_probe_layer_free(const cs_probe_study *s, cs_probe_layer *l)
{
    for (int64_t r = 0; r < s->scoring.seeds && l->probe; ++r) {
        cs_linear_probe_free(&l->probe[r]);
    }
    cs_pool_free(&l->pool);
    *l = (cs_probe_layer){0};
}
