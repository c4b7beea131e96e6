/* Rows and items of one layer; scores and the comparison are those of cli/predictions.h. */
#include "cli/probe_report.h"

#include <math.h>

#include "base/mem.h"
#include "io/json.h"

#define SCORE_COLUMNS                                                                              \
    "value,se,low,high,coverage,seeds,n,n_test,d,classes,penalty,gradient_norm,iterations"

const char *const cs_probe_columns = "model,layer,few,probe,metric,definition," SCORE_COLUMNS;

/* --- the fits together ------------------------------------------------------------------------ */

typedef struct {
    double penalty, gradient; /* median; largest */
    int64_t iterations;       /* most */
    bool converged;
} fits;

static cs_status fits_of(const cs_probe_study *s, const cs_probe_layer *l, double *scratch,
                         fits *out)
{
    cs_seed_summary penalties = {0};
    fits f = {.converged = true};
    for (int64_t r = 0; r < s->judge.seeds; ++r) {
        const cs_linear_probe *p = &l->probe[r];
        scratch[r] = p->step[p->chosen].penalty;
        f.gradient = fmax(f.gradient, p->gradient);
        f.iterations = p->iterations > f.iterations ? p->iterations : f.iterations;
        f.converged = f.converged && p->converged;
    }
    cs_status status = cs_seed_summary_of(s->judge.seeds, scratch, &penalties);
    f.penalty = penalties.median;
    *out = f;
    return status;
}

/* --- rows and items --------------------------------------------------------------------------- */

static cs_status add_row(const cs_probe_study *s, const cs_probe_layer *l, const fits *f,
                         const char *probe, const char *metric, const char *definition,
                         const cs_seed_score *v)
{
    cs_table *t = s->table;
    const struct {
        const char *name;
        double value;
    } real[] = {{"value", v->seeds.median},
                {"se", v->se},
                {"low", v->seeds.low},
                {"high", v->seeds.high},
                {"coverage", v->seeds.coverage},
                {"penalty", f ? f->penalty : (double)NAN},
                {"gradient_norm", f ? f->gradient : (double)NAN}};
    const struct {
        const char *name;
        int64_t value;
    } whole[] = {{"seeds", v->seeds.count},
                 {"n", l->probe[0].rows},
                 {"n_test", s->judge.test->count},
                 {"d", l->features},
                 {"classes", s->judge.train->classes}};
    cs_status status;
    if ((status = cs_table_row(t)) != CS_OK ||
        (status = cs_table_text(t, "model", s->model)) != CS_OK ||
        (status = cs_table_text(t, "layer", l->layer)) != CS_OK ||
        (status = cs_table_text(t, "few", s->few)) != CS_OK ||
        (status = cs_table_text(t, "probe", probe)) != CS_OK ||
        (status = cs_table_text(t, "metric", metric)) != CS_OK ||
        (status = cs_table_text(t, "definition", definition)) != CS_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof real / sizeof *real && status == CS_OK; ++i) {
        status = cs_table_real(t, real[i].name, real[i].value);
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole && status == CS_OK; ++i) {
        status = cs_table_int(t, whole[i].name, whole[i].value);
    }
    return status == CS_OK && f ? cs_table_int(t, "iterations", f->iterations) : status;
}

static cs_status append(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
}

/* The metrics of predictions, as rows and as a list. */
static cs_status add_scores(const cs_probe_study *s, const cs_probe_layer *l, const fits *f,
                            const char *probe, const double *prediction, double *scratch,
                            json_t *list)
{
    cs_status status = CS_OK;
    for (int64_t m = 0; m < s->judge.metrics.count && status == CS_OK; ++m) {
        const char *name = cs_metric_name(s->judge.metrics.metric[m]),
                   *definition = cs_metric_definition(s->judge.metrics.metric[m]);
        cs_seed_score v = {0};
        status = cs_judge_score(&s->judge, s->judge.metrics.metric[m], prediction, scratch, &v);
        if (status == CS_OK &&
            (status = append(list, cs_seed_score_json(name, definition, &v))) == CS_OK) {
            status = add_row(s, l, f, probe, name, definition, &v);
        }
    }
    return status;
}

static json_t *path_json(const cs_linear_probe *p)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < p->steps && list; ++i) {
        json_t *step = json_pack("{s:o, s:o, s:I}", "penalty", cs_json_number(p->step[i].penalty),
                                 "held_out_loss", cs_json_number(p->step[i].held_out),
                                 "unconverged_folds", (json_int_t)p->step[i].unconverged);
        if (json_array_append_new(list, step) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static cs_status add_runs(const cs_probe_study *s, const cs_probe_layer *l, json_t *list)
{
    cs_status status = CS_OK;
    for (int64_t r = 0; r < s->judge.seeds && status == CS_OK; ++r) {
        const cs_linear_probe *p = &l->probe[r];
        status = append(
            list,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:o, s:o}", "seed",
                      (json_int_t)s->judge.seed + r, "n", (json_int_t)p->rows, "penalty",
                      cs_json_number(p->step[p->chosen].penalty), "loss", cs_json_number(p->loss),
                      "gradient_norm", cs_json_number(p->gradient), "iterations",
                      (json_int_t)p->iterations, "converged", p->converged, "constant_features",
                      (json_int_t)p->constant, "train_accuracy", cs_json_number(p->train_accuracy),
                      "least_margin", cs_json_number(p->least_margin), "path", path_json(p)));
    }
    return status;
}

/* --- the other run ---------------------------------------------------------------------------- */

static cs_status add_comparison(const cs_probe_study *s, const cs_probe_layer *l, json_t *json)
{
    const cs_judge *j = &s->judge;
    cs_comparison c = {0};
    cs_status status = cs_compare(s->rival, j, l->layer, l->prediction, &c);
    for (int64_t m = 0; m < j->metrics.count && status == CS_OK; ++m) {
        status = add_row(s, l, NULL, "difference", cs_metric_name(j->metrics.metric[m]),
                         cs_difference_definition, &c.difference[m]);
    }
    if (status == CS_OK && c.mcnemar) {
        const cs_seed_score p = cs_comparison_first_p(&c);
        status = add_row(s, l, NULL, "difference", "mcnemar_p", cs_mcnemar_definition, &p);
    }
    if (status == CS_OK) {
        status = cs_comparison_json(s->rival, j, &c, json);
    }
    cs_comparison_free(&c);
    return status;
}

/* --- the layer -------------------------------------------------------------------------------- */

static cs_status describe(const cs_probe_study *s, const cs_probe_layer *l, const fits *f,
                          json_t *json)
{
    cs_status status;
    if ((status = cs_json_set(json, "layer", json_string(l->layer))) == CS_OK &&
        (status = cs_json_set(json, "n", json_integer(l->probe[0].rows))) == CS_OK &&
        (status = cs_json_set(json, "n_test", json_integer(s->judge.test->count))) == CS_OK &&
        (status = cs_json_set(json, "d", json_integer(l->features))) == CS_OK &&
        (status = cs_json_set(json, "classes", json_integer(s->judge.train->classes))) == CS_OK &&
        (status = cs_json_set(json, "few", json_string(s->few))) == CS_OK &&
        (status = cs_json_set(json, "seeds", json_integer(s->judge.seeds))) == CS_OK &&
        (status = cs_json_set(json, "penalty", cs_json_number(f->penalty))) == CS_OK &&
        (status = cs_json_set(json, "gradient_norm", cs_json_number(f->gradient))) == CS_OK &&
        (status = cs_json_set(json, "iterations", json_integer(f->iterations))) == CS_OK) {
        status = cs_json_set(json, "converged", json_boolean(f->converged));
    }
    return status;
}

cs_status cs_probe_report(const cs_probe_study *s, const cs_probe_layer *l, json_t *json)
{
    fits f = {0};
    double *scratch = cs_alloc(2 * s->judge.seeds, sizeof *scratch);
    json_t *metrics = json_array(), *base = json_array(), *runs = json_array();
    const char *baseline = s->judge.train->classes > 0 ? "majority" : "mean";
    cs_status status = scratch ? fits_of(s, l, scratch, &f) : CS_ERR_MEMORY;
    if (status != CS_OK || (status = describe(s, l, &f, json)) != CS_OK ||
        (status = add_scores(s, l, &f, "linear", l->prediction, scratch, metrics)) != CS_OK ||
        (status = add_scores(s, l, NULL, baseline, l->baseline, scratch, base)) != CS_OK ||
        (status = add_runs(s, l, runs)) != CS_OK ||
        (status = cs_json_set(json, "metrics", json_incref(metrics))) != CS_OK ||
        (status = cs_json_set(
             json, "baseline",
             json_pack(
                 "{s:s, s:O}", "predicts",
                 s->judge.train->classes > 0
                     ? "the most frequent class of the whole training file, the first of equal ones"
                     : "the mean of the whole training file",
                 "metrics", base))) != CS_OK ||
        (status = cs_json_set(json, "runs", json_incref(runs))) != CS_OK) {
        goto done;
    }
    if (s->rival->file) {
        status = add_comparison(s, l, json);
    }
    if (status == CS_OK && s->predictions) {
        status = cs_predictions_add(&s->judge, l->layer, l->prediction, s->predictions);
    }
done:
    json_decref(metrics);
    json_decref(base);
    json_decref(runs);
    cs_free(scratch);
    return status;
}
