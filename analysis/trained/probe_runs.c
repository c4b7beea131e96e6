
#include "analysis/trained/probe_runs.h"

#include <math.h>

#include "base/auto.h"
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

/* --- record ----------------------------------------------------------------------------------- */

/* The metrics of predictions. */
static cs_status add_scores(const cs_scoring *j, const double *prediction, cs_item *in)
{
    cs_item *list = cs_item_array(in, "metrics");
    CS_AUTO_FREE double *scratch = cs_alloc(cs_scoring_work_size(j), sizeof *scratch);
    cs_status status = scratch ? CS_OK : CS_ERR_MEMORY;
    for (int64_t m = 0; m < j->metrics.count && status == CS_OK; ++m) {
        const cs_metric metric = j->metrics.metric[m];
        cs_seed_score v = {0};
        status = cs_seed_score_of(j, metric, prediction, scratch, &v);
        cs_seed_score_add(list, cs_metric_name(metric), cs_metric_definition(metric), &v);
    }
    return status;
}

static void add_run(const cs_linear_probe *p, int64_t seed, cs_item *list)
{
    cs_item *run = cs_item_object(list, NULL);
    cs_item_int(run, "seed", seed);
    cs_item_int(run, "n", p->rows);
    cs_item_real(run, "penalty", p->step[p->chosen].penalty);
    CS_ITEM_FIELDS(run, p, loss, iterations, converged, train_accuracy, least_margin);
    cs_item_real(run, "gradient_norm", p->gradient);
    cs_item_int(run, "constant_features", p->constant);
    cs_item *path = cs_item_array(run, "path");
    for (int64_t i = 0; i < p->steps; ++i) {
        cs_item *step = cs_item_object(path, NULL);
        cs_item_real(step, "penalty", p->step[i].penalty);
        cs_item_real(step, "held_out_loss", p->step[i].held_out);
        cs_item_int(step, "unconverged_folds", p->step[i].unconverged);
    }
}

/* A least loss at an end of the grid may not be the least there is. */
static void add_end(const cs_probe_study *study, const cs_probe_layer *l, bool largest,
                    cs_item *warnings)
{
    enum { LISTED = 8 };
    const cs_linear_probe *at = NULL;
    int64_t found = 0;
    CS_AUTO_FREE char *seeds = cs_strdup("");
    for (int64_t s = 0; s < study->scoring.seeds && seeds; ++s) {
        const cs_linear_probe *p = &l->probe[s];
        if (p->steps < 2 || p->chosen != (largest ? 0 : p->steps - 1)) {
            continue;
        }
        at = p;
        if (++found <= LISTED) {
            cs_append(&seeds, "%s%llu", found > 1 ? ", " : "",
                      (unsigned long long)study->scoring.seed + (uint64_t)s);
        }
    }
    if (at && seeds) {
        cs_item_take(
            warnings, NULL,
            cs_format("layer %s: the chosen penalty, %g, is the %s of the grid with %lld of %lld "
                      "seeds: %s%s",
                      l->layer, at->step[at->chosen].penalty, largest ? "largest" : "smallest",
                      (long long)found, (long long)study->scoring.seeds, seeds,
                      found > LISTED ? ", ..." : ""));
    }
    if (!seeds) cs_item_take(warnings, NULL, NULL);
}

static cs_status add_comparison(const cs_probe_study *s, const cs_reference *reference,
                                const cs_probe_layer *l, cs_item *item)
{
    CS_AUTO(cs_comparison) c = {0};
    cs_status status = cs_compare(reference, &s->scoring, l->layer, l->prediction, &c);
    if (status == CS_OK) {
        cs_item *against = cs_comparison_add(reference, &s->scoring, &c, item);
        cs_item_text(against, "~probe", "difference");
    }
    return status;
}

static void describe(const cs_probe_study *s, const cs_probe_layer *l, cs_item *item)
{
    CS_ITEM_FIELDS(item, l, layer, penalty, iterations);
    cs_item_int(item, "n", l->probe[0].rows);
    cs_item_int(item, "n_test", s->scoring.test->count);
    cs_item_int(item, "d", l->features);
    cs_item_int(item, "classes", s->scoring.train->classes);
    cs_item_text(item, "few", s->few);
    cs_item_int(item, "seeds", s->scoring.seeds);
    cs_item_real(item, "gradient_norm", l->gradient);
    cs_item_flag(item, "converged", l->unconverged == 0);
    cs_item_text(item, "~probe", "linear");
}

cs_status cs_probe_layer_record(const cs_probe_study *s, const cs_reference *reference,
                                const cs_probe_layer *l, cs_item *item)
{
    const bool classes = s->scoring.train->classes > 0;
    describe(s, l, item);
    cs_status status = add_scores(&s->scoring, l->prediction, item);
    cs_item *baseline = cs_item_object(item, "baseline");
    cs_item_text(baseline, "~probe", classes ? "majority" : "mean");
    cs_item_text(baseline, "predicts",
                 classes
                     ? "the most frequent class of the whole training file, the first of equal ones"
                     : "the mean of the whole training file");
    if (status == CS_OK) status = add_scores(&s->scoring, l->baseline, baseline);
    cs_item *runs = cs_item_array(item, "runs"), *warnings = cs_item_array(item, "warnings");
    add_end(s, l, true, warnings);
    add_end(s, l, false, warnings);
    for (int64_t r = 0; r < s->scoring.seeds; ++r) {
        add_run(&l->probe[r], (int64_t)s->scoring.seed + r, runs);
    }
    return status == CS_OK && reference->file ? add_comparison(s, reference, l, item) : status;
}
