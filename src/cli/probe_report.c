/* Scores are computed a seed at a time: the value is the median over seeds, its test-sample error
 * the median of theirs, which are all of about one size. */
#include "cli/probe_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"
#include "io/number.h"

#define SCORE_COLUMNS                                                                              \
    "value,se,low,high,coverage,seeds,n,n_test,d,classes,penalty,gradient_norm,iterations"

const char *const cs_probe_columns = "model,layer,few,probe,metric,definition," SCORE_COLUMNS,
                  *const cs_probe_columns_brief = "model,layer,few,probe,metric," SCORE_COLUMNS;

char *cs_probe_prediction_columns(int64_t seeds)
{
    char *text = cs_strdup("layer,example,truth");
    for (int64_t s = 1; s <= seeds && text; ++s) {
        char *longer = cs_format("%s,seed_%lld", text, (long long)s);
        cs_free(text);
        text = longer;
    }
    return text;
}

/* A score over the seeds: the seed's interval, and the test-sample error of one. */
typedef struct {
    cs_seed_summary seeds;
    double se;
} score;

static cs_status sum_up(int64_t count, const double *value, const double *se, score *out)
{
    cs_seed_summary errors = {.median = (double)NAN};
    cs_status status = cs_seed_summary_of(count, value, &out->seeds);
    if (status == CS_OK && !isnan(se[0])) { /* one test example has no error, in all seeds alike */
        status = cs_seed_summary_of(count, se, &errors);
    }
    out->se = errors.median;
    return status;
}

static cs_status score_of(const cs_probe_study *s, cs_metric metric, const double *prediction,
                          double *scratch, score *out)
{
    const int64_t n = s->test->count, classes = s->train->classes;
    double *value = scratch, *se = scratch + s->seeds;
    cs_status status = CS_OK;
    for (int64_t r = 0; r < s->seeds && status == CS_OK; ++r) {
        const double *guess = prediction + r * n;
        status = cs_metric_of(metric, n, s->test->value, guess, classes, &value[r]);
        if (status == CS_OK) {
            status = cs_metric_error(metric, n, s->test->value, guess, classes, 0, s->seed, &se[r]);
        }
    }
    return status == CS_OK ? sum_up(s->seeds, value, se, out) : status;
}

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
    for (int64_t r = 0; r < s->seeds; ++r) {
        const cs_linear_probe *p = &l->probe[r];
        scratch[r] = p->step[p->chosen].penalty;
        f.gradient = fmax(f.gradient, p->gradient);
        f.iterations = p->iterations > f.iterations ? p->iterations : f.iterations;
        f.converged = f.converged && p->converged;
    }
    cs_status status = cs_seed_summary_of(s->seeds, scratch, &penalties);
    f.penalty = penalties.median;
    *out = f;
    return status;
}

/* --- rows and items --------------------------------------------------------------------------- */

static cs_status add_row(const cs_probe_study *s, const cs_probe_layer *l, const fits *f,
                         const char *probe, const char *metric, const char *definition,
                         const score *v)
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
    } whole[] = {{"seeds", s->seeds},
                 {"n", l->probe[0].rows},
                 {"n_test", s->test->count},
                 {"d", l->features},
                 {"classes", s->train->classes}};
    cs_status status;
    if ((status = cs_table_row(t)) != CS_OK ||
        (status = cs_table_text(t, "model", s->model)) != CS_OK ||
        (status = cs_table_text(t, "layer", l->layer)) != CS_OK ||
        (status = cs_table_text(t, "few", s->few)) != CS_OK ||
        (status = cs_table_text(t, "probe", probe)) != CS_OK ||
        (status = cs_table_text(t, "metric", metric)) != CS_OK ||
        (!s->brief && (status = cs_table_text(t, "definition", definition)) != CS_OK)) {
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

static json_t *score_json(const char *name, const char *definition, const score *v)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:{s:o, s:o, s:o}}", "name", name, "definition",
                     definition, "value", cs_json_number(v->seeds.median), "se",
                     cs_json_number(v->se), "seed_interval", "low", cs_json_number(v->seeds.low),
                     "high", cs_json_number(v->seeds.high), "coverage",
                     cs_json_number(v->seeds.coverage));
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
    for (int64_t m = 0; m < s->metrics && status == CS_OK; ++m) {
        const char *name = cs_metric_name(s->metric[m]),
                   *definition = cs_metric_definition(s->metric[m]);
        score v = {0};
        status = score_of(s, s->metric[m], prediction, scratch, &v);
        if (status == CS_OK && (status = append(list, score_json(name, definition, &v))) == CS_OK) {
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
    for (int64_t r = 0; r < s->seeds && status == CS_OK; ++r) {
        const cs_linear_probe *p = &l->probe[r];
        status = append(
            list,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:o, s:o}", "seed",
                      (json_int_t)s->seed + r, "n", (json_int_t)p->rows, "penalty",
                      cs_json_number(p->step[p->chosen].penalty), "loss", cs_json_number(p->loss),
                      "gradient_norm", cs_json_number(p->gradient), "iterations",
                      (json_int_t)p->iterations, "converged", p->converged, "constant_features",
                      (json_int_t)p->constant, "train_accuracy", cs_json_number(p->train_accuracy),
                      "least_margin", cs_json_number(p->least_margin), "path", path_json(p)));
    }
    return status;
}

/* --- predictions of this and of another run --------------------------------------------------- */

static cs_status put_target(const cs_probe_study *s, const char *column, double value)
{
    return s->train->classes > 0
               ? cs_table_text(s->predictions, column, s->train->class_name[(int64_t)value])
               : cs_table_real(s->predictions, column, value);
}

static cs_status add_predictions(const cs_probe_study *s, const cs_probe_layer *l)
{
    cs_table *t = s->predictions;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->test->count && status == CS_OK; ++i) {
        if ((status = cs_table_row(t)) != CS_OK ||
            (status = cs_table_text(t, "layer", l->layer)) != CS_OK ||
            (status = cs_table_int(t, "example", i)) != CS_OK) {
            return status;
        }
        status = put_target(s, "truth", s->test->value[i]);
        for (int64_t r = 0; r < s->seeds && status == CS_OK; ++r) {
            status = put_target(s, t->name[3 + r], l->prediction[r * s->test->count + i]);
        }
    }
    return status;
}

static cs_status target_of(const cs_probe_study *s, const char *text, int64_t row, double *out)
{
    for (int64_t c = 0; c < s->train->classes; ++c) {
        if (strcmp(s->train->class_name[c], text) == 0) {
            *out = (double)c;
            return CS_OK;
        }
    }
    if (s->train->classes == 0 && cs_real_scan(text, out) && isfinite(*out)) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT, "%s:%" PRId64 ": \"%.80s\" is no %s", s->against, row + 2, text,
                   s->train->classes > 0 ? "class of this run" : "finite number");
}

/* The rival's rows of this layer, or of the only layer it has: first and how many. */
static cs_status find_layer(const cs_probe_study *s, const char *layer, int64_t *first,
                            int64_t *count)
{
    const cs_table *t = s->rival;
    bool single = t->rows > 0;
    for (int64_t i = 1; i < t->rows; ++i) {
        single = single && strcmp(t->cell[i * t->columns], t->cell[0]) == 0;
    }
    *first = *count = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        if (single || strcmp(t->cell[i * t->columns], layer) == 0) {
            *first = *count == 0 ? i : *first;
            *count += 1;
        }
    }
    if (*count != s->test->count) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " predictions of layer %s for %" PRId64 " test examples",
                       s->against, *count, layer, s->test->count);
    }
    return CS_OK;
}

/* Its predictions (seeds x test->count), of the same examples with the same truths. */
static cs_status read_rival(const cs_probe_study *s, const char *layer, int64_t seeds, double *out)
{
    const cs_table *t = s->rival;
    int64_t first = 0, count = 0;
    cs_status status = find_layer(s, layer, &first, &count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        char *const *cell = t->cell + (first + i) * t->columns;
        double truth = 0.0;
        int64_t example = -1;
        status = cs_int_parse(cell[1], &example);
        if (status == CS_OK) {
            status = target_of(s, cell[2], first + i, &truth);
        }
        if (status == CS_OK && (example != i || truth != s->test->value[i])) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s:%" PRId64 ": example %s of truth %s is not example %" PRId64
                             " of this run: not the same test examples",
                             s->against, first + i + 2, cell[1], cell[2], i);
        }
        for (int64_t r = 0; r < seeds && status == CS_OK; ++r) {
            status = target_of(s, cell[3 + r], first + i, &out[r * count + i]);
        }
    }
    return status;
}

/* This run less the other, seed by seed as far as both have them. */
static cs_status differences(const cs_probe_study *s, const cs_probe_layer *l, int64_t seeds,
                             const double *rival, double *scratch, json_t *list)
{
    static const char definition[] =
        "score of this run less that of the other, on the same examples; se: delete-block "
        "jackknife of the difference";
    const int64_t n = s->test->count;
    double *value = scratch, *se = scratch + s->seeds;
    cs_status status = CS_OK;
    for (int64_t m = 0; m < s->metrics && status == CS_OK; ++m) {
        score v = {0};
        for (int64_t r = 0; r < seeds && status == CS_OK; ++r) {
            status =
                cs_metric_difference(s->metric[m], n, s->test->value, l->prediction + r * n,
                                     rival + r * n, s->train->classes, s->seed, &value[r], &se[r]);
        }
        const char *name = cs_metric_name(s->metric[m]);
        if (status == CS_OK && (status = sum_up(seeds, value, se, &v)) == CS_OK &&
            (status = append(list, score_json(name, definition, &v))) == CS_OK) {
            status = add_row(s, l, NULL, "difference", name, definition, &v);
        }
    }
    return status;
}

static cs_status add_mcnemar(const cs_probe_study *s, const cs_probe_layer *l, int64_t seeds,
                             const double *rival, double *scratch, json_t *json)
{
    static const char definition[] =
        "McNemar's exact p: min(1, 2 P(Bin(a + b, 1/2) <= min(a, b))), a and b the examples that "
        "one run alone has right";
    const int64_t n = s->test->count;
    json_t *list = json_array();
    score v = {.se = (double)NAN};
    cs_status status = cs_json_set(json, "mcnemar", json_incref(list));
    for (int64_t r = 0; r < seeds && status == CS_OK; ++r) {
        cs_mcnemar_result c;
        status = cs_mcnemar(n, s->test->value, l->prediction + r * n, rival + r * n, &c);
        if (status == CS_OK) {
            scratch[r] = c.p;
            status = append(list, json_pack("{s:I, s:I, s:o}", "only_this", (json_int_t)c.only_a,
                                            "only_other", (json_int_t)c.only_b, "p",
                                            cs_json_number(c.p)));
        }
    }
    if (status == CS_OK && (status = cs_seed_summary_of(seeds, scratch, &v.seeds)) == CS_OK) {
        status = add_row(s, l, NULL, "difference", "mcnemar_p", definition, &v);
    }
    json_decref(list);
    return status;
}

static cs_status add_comparison(const cs_probe_study *s, const cs_probe_layer *l, double *scratch,
                                json_t *json)
{
    const int64_t theirs = s->rival->columns - 3, seeds = theirs < s->seeds ? theirs : s->seeds;
    double *rival = cs_alloc(seeds * s->test->count, sizeof *rival);
    json_t *list = json_array(), *against = json_pack("{s:s, s:I, s:O}", "file", s->against,
                                                      "seeds", (json_int_t)seeds, "metrics", list);
    cs_status status = rival ? cs_json_set(json, "against", json_incref(against)) : CS_ERR_MEMORY;
    if (status == CS_OK && (status = read_rival(s, l->layer, seeds, rival)) == CS_OK &&
        (status = differences(s, l, seeds, rival, scratch, list)) == CS_OK &&
        s->train->classes > 0) {
        status = add_mcnemar(s, l, seeds, rival, scratch, against);
    }
    json_decref(list);
    json_decref(against);
    cs_free(rival);
    return status;
}

/* --- the layer -------------------------------------------------------------------------------- */

static cs_status describe(const cs_probe_study *s, const cs_probe_layer *l, const fits *f,
                          json_t *json)
{
    cs_status status;
    if ((status = cs_json_set(json, "layer", json_string(l->layer))) == CS_OK &&
        (status = cs_json_set(json, "n", json_integer(l->probe[0].rows))) == CS_OK &&
        (status = cs_json_set(json, "n_test", json_integer(s->test->count))) == CS_OK &&
        (status = cs_json_set(json, "d", json_integer(l->features))) == CS_OK &&
        (status = cs_json_set(json, "classes", json_integer(s->train->classes))) == CS_OK &&
        (status = cs_json_set(json, "few", json_string(s->few))) == CS_OK &&
        (status = cs_json_set(json, "seeds", json_integer(s->seeds))) == CS_OK &&
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
    double *scratch = cs_alloc(2 * s->seeds, sizeof *scratch);
    json_t *metrics = json_array(), *base = json_array(), *runs = json_array();
    const char *baseline = s->train->classes > 0 ? "majority" : "mean";
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
                 s->train->classes > 0
                     ? "the most frequent class of the whole training file, the first of equal ones"
                     : "the mean of the whole training file",
                 "metrics", base))) != CS_OK ||
        (status = cs_json_set(json, "runs", json_incref(runs))) != CS_OK) {
        goto done;
    }
    if (s->rival) {
        status = add_comparison(s, l, scratch, json);
    }
    if (status == CS_OK && s->predictions) {
        status = add_predictions(s, l);
    }
done:
    json_decref(metrics);
    json_decref(base);
    json_decref(runs);
    cs_free(scratch);
    return status;
}
