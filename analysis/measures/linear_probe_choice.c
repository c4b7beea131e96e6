/* Which rows a probe is fitted on, its path of penalties, and its predictions. The fits themselves
 * are in linear_probe.c. */
#include "analysis/measures/linear_probe.h"
#include "base/auto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/linear_probe_private.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"

enum { FOLDS = 5, ITERATIONS = 2000, ROWS_AT_ONCE = 256 };
static const double usual_penalty[] = {10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5};
static const double TOLERANCE = 1e-6, LOOSER = 100.0;

/* --- checks ----------------------------------------------------------------------------------- */

static cs_status resolve(const cs_linear_probe_options *given, cs_linear_probe_options *o)
{
    *o = *given;
    if (!o->penalty) {
        o->penalty = usual_penalty;
        o->penalties = sizeof usual_penalty / sizeof usual_penalty[0];
    }
    o->folds = o->folds == 0 ? FOLDS : o->folds;
    o->tolerance = o->tolerance == 0.0 ? TOLERANCE : o->tolerance;
    o->max_iterations = o->max_iterations == 0 ? ITERATIONS : o->max_iterations;
    o->threads = o->threads > 0 ? o->threads : cs_threads();
    if (o->penalties < 1) {
        return cs_fail(CS_ERR_USAGE, "no penalties are given");
    }
    for (int64_t i = 0; i < o->penalties; ++i) {
        if (!(o->penalty[i] > 0.0) || isinf(o->penalty[i]) ||
            (i > 0 && !(o->penalty[i] < o->penalty[i - 1]))) {
            return cs_fail(CS_ERR_USAGE,
                           "penalty %g: penalties must be positive, finite and descending",
                           o->penalty[i]);
        }
    }
    if (o->folds < 2 || !(o->share >= 0.0 && o->share < 1.0) || !(o->tolerance > 0.0) ||
        o->max_iterations < 1) {
        return cs_fail(CS_ERR_USAGE,
                       "out of range: %lld folds (at least 2), share %g ([0, 1)), tolerance %g "
                       "(positive), %lld iterations (at least 1)",
                       (long long)o->folds, o->share, o->tolerance, (long long)o->max_iterations);
    }
    return CS_OK;
}

static cs_status check_labels(const cs_rows *x, int64_t count, const int64_t *row, const double *y,
                              int64_t classes)
{
    if (count < 2) {
        return cs_fail(CS_ERR_INPUT, "%lld training rows, but at least 2 are needed",
                       (long long)count);
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t r = row ? row[i] : i;
        if (r < 0 || r >= x->rows) {
            return cs_fail(CS_ERR_INPUT, "row %lld does not exist: there are %lld rows",
                           (long long)r, (long long)x->rows);
        }
        if (!isfinite(y[r]) ||
            (classes > 0 && (y[r] != floor(y[r]) || y[r] < 0.0 || y[r] >= (double)classes))) {
            return classes > 0 ? cs_fail(CS_ERR_INPUT, "row %lld: label %g is not in 0..%lld",
                                         (long long)r, y[r], (long long)classes - 1)
                               : cs_fail(CS_ERR_INPUT, "row %lld: value %g is not finite",
                                         (long long)r, y[r]);
        }
    }
    return CS_OK;
}

/* --- predictions ------------------------------------------------------------------------------ */

/* Scores of one row, whose features are in x. */
static void scores_of(const cs_linear_probe *p, const double *x, double *score)
{
    const int64_t k = p->outputs;
    memcpy(score, p->intercept, (size_t)k * sizeof *score);
    for (int64_t j = 0; j < p->features; ++j) {
        const double z = (x[j] - p->mean[j]) * p->scale[j], *w = p->weight + j * k;
        for (int64_t c = 0; c < k && z != 0.0; ++c) {
            score[c] += z * w[c];
        }
    }
}

static int64_t best_of(int64_t k, const double *score)
{
    int64_t best = 0;
    for (int64_t c = 1; c < k; ++c) {
        best = score[c] > score[best] ? c : best;
    }
    return best;
}

/* The computation for a list of rows: predictions, or losses against y. */
typedef struct {
    const cs_linear_probe *p;
    const cs_probe_sample *s;
    const double *class_weight; /* outputs, for losses */
    double *scratch;            /* a worker: features + outputs */
    double *prediction;         /* of row i of the sample, or NULL */
    double *score;              /* the same: outputs */
    double *loss;               /* NaN: a class that training has not */
} asked;

static double loss_of(const asked *a, int64_t row, const double *score)
{
    const cs_linear_probe *p = a->p;
    double y = a->s->y[row], sum = 0.0;
    if (!p->class_of) {
        double d = score[0] - (y - p->value_mean) / p->value_scale;
        return 0.5 * d * d;
    }
    int64_t best = best_of(p->outputs, score), own = -1;
    for (int64_t c = 0; c < p->outputs; ++c) {
        own = p->class_of[c] == (int64_t)y ? c : own;
        sum += exp(score[c] - score[best]);
    }
    return own < 0 ? NAN : a->class_weight[own] * (score[best] + log(sum) - score[own]);
}

static cs_status answer_some(void *ctx, int64_t item, int worker)
{
    const asked *a = ctx;
    const cs_linear_probe *p = a->p;
    const int64_t first = item * ROWS_AT_ONCE;
    double *x = a->scratch + worker * (p->features + p->outputs), *score = x + p->features;
    for (int64_t i = first; i < a->s->count && i < first + ROWS_AT_ONCE; ++i) {
        const int64_t row = cs_probe_row(a->s, i);
        cs_status status = cs_rows_read_finite(a->s->x, row, 1, x);
        if (status != CS_OK) return status;
        scores_of(p, x, score);
        if (a->loss) {
            a->loss[i] = loss_of(a, row, score);
        }
        if (a->score) {
            memcpy(a->score + i * p->outputs, score, (size_t)p->outputs * sizeof *score);
        }
        if (a->prediction) {
            a->prediction[i] = p->class_of ? (double)p->class_of[best_of(p->outputs, score)]
                                           : p->value_mean + p->value_scale * score[0];
        }
    }
    return CS_OK;
}

static cs_status answer(asked *a, int threads)
{
    const int workers = threads > 0 ? threads : cs_threads();
    a->scratch = cs_alloc(workers * (a->p->features + a->p->outputs), sizeof *a->scratch);
    cs_status status = a->scratch
                           ? cs_parallel_workers((a->s->count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE,
                                                 workers, answer_some, a)
                           : CS_ERR_MEMORY;
    cs_free(a->scratch);
    return status;
}

/* Of every row: its prediction, its scores; NULL: not wanted. */
static cs_status answer_all(const cs_linear_probe *p, const cs_rows *x, int threads,
                            double *prediction, double *score)
{
    if (x->cols != p->features) {
        return cs_fail(CS_ERR_INPUT, "%s: %lld columns, but the probe was trained on %lld",
                       x->name ? x->name : "features", (long long)x->cols, (long long)p->features);
    }
    const cs_probe_sample s = {.x = x, .count = x->rows};
    asked a = {.p = p, .s = &s};
    a.prediction = prediction;
    a.score = score;
    return answer(&a, threads);
}

cs_status cs_linear_probe_predict(const cs_linear_probe *p, const cs_rows *x, int threads,
                                  double *prediction)
{
    return answer_all(p, x, threads, prediction, NULL);
}

cs_status cs_linear_probe_scores(const cs_linear_probe *p, const cs_rows *x, int threads,
                                 double *score)
{
    return answer_all(p, x, threads, NULL, score);
}

/* --- rows held out ---------------------------------------------------------------------------- */

typedef struct {
    int64_t class, unit, at; /* unit: rows that stay together */
    uint64_t draw;
} lot;

static int by_class_and_draw(const void *pa, const void *pb)
{
    const lot *a = pa, *b = pb;
    const int class = CS_ORDER(a->class, b->class), draw = CS_ORDER(a->draw, b->draw);
    return class ? class : draw ? draw : CS_ORDER(a->at, b->at);
}

/* Numbers the units of lots[first..end-1], in their order, from `first`; returns how many. */
static int64_t number_units(lot *lots, int64_t first, int64_t end)
{
    int64_t units = 0, last = -1;
    for (int64_t j = first; j < end; ++j) {
        units += lots[j].unit != last;
        last = lots[j].unit;
        lots[j].unit = first + units - 1;
    }
    return units;
}

/* fold[i] of row i of the sample. Folds: rows are dealt round through the classes (units through
 * all), each in drawn order, so that folds differ by one in all and in each class. A share: the
 * first of each class, rounded, never all of it; the others get -1. */
static cs_status deal_folds(const cs_probe_sample *s, const cs_linear_probe_options *o,
                            int64_t folds, int64_t *fold)
{
    CS_AUTO_FREE lot *lots = cs_alloc(s->count, sizeof *lots);
    if (!lots) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->count; ++i) {
        const int64_t row = cs_probe_row(s, i);
        const int64_t unit = o->unit ? o->unit[row] : row;
        cs_rng rng = cs_rng_at(o->seed, CS_STREAM_FOLDS, (uint64_t)unit);
        lots[i] =
            (lot){s->classes > 0 && !o->unit ? (int64_t)s->y[row] : 0, unit, i, cs_rng_u64(&rng)};
    }
    qsort(lots, (size_t)s->count, sizeof *lots, by_class_and_draw);
    for (int64_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; end < s->count && lots[end].class == lots[i].class; ++end) {
        }
        const int64_t units = number_units(lots, i, end);
        int64_t held = (int64_t)floor(o->share * (double)units + 0.5);
        held = held < units ? held : units - 1;
        for (int64_t j = i; j < end; ++j) {
            const int64_t unit = lots[j].unit;
            fold[lots[j].at] = o->share > 0.0 ? (unit < i + held ? 0 : -1) : unit % folds;
        }
    }
    return CS_OK;
}

/* Parts the sample's rows by whether they are of the fold: `in` of them first. */
static int64_t part_rows(const cs_probe_sample *s, const int64_t *fold, int64_t f, int64_t *row)
{
    int64_t in = 0;
    for (int pass = 0, at = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i < s->count; ++i) {
            if ((fold[i] == f) == (pass == 0)) {
                row[at++] = cs_probe_row(s, i);
                in += pass == 0;
            }
        }
    }
    return in;
}

/* Rows of one class, or of one value, cannot be fitted: such a fold says nothing. */
static bool can_fit(const cs_probe_sample *s)
{
    for (int64_t i = 1; i < s->count; ++i) {
        if (s->y[cs_probe_row(s, i)] != s->y[cs_probe_row(s, 0)]) {
            return true;
        }
    }
    return false;
}

/* The path on the rows outside a fold; adds the losses on those inside. */
static cs_status try_fold(const cs_probe_sample *train, const cs_probe_sample *held,
                          const cs_linear_probe_options *o, cs_linear_probe_step *step,
                          double *total)
{
    CS_AUTO(cs_linear_probe) p = {0};
    CS_AUTO(cs_probe_problem) q = {0};
    double *x = NULL, *loss = cs_pool_take(&q.pool, held->count, sizeof *loss);
    cs_status status = loss ? cs_probe_pose(train, o->threads, &p, &q) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_probe_start(&q, &x);
    for (int64_t i = 0; i < o->penalties && status == CS_OK; ++i) {
        cs_probe_fit fit;
        q.penalty = o->penalty[i];
        status = cs_probe_minimise(&q, LOOSER * o->tolerance, o->max_iterations, x, &fit);
        if (status == CS_OK) {
            step[i].unconverged += !fit.converged;
            cs_probe_spread(&q, x, &p);
            asked a = {.p = &p, .s = held, .class_weight = q.weight, .loss = loss};
            status = answer(&a, o->threads);
        }
        for (int64_t r = 0; r < held->count && status == CS_OK; ++r) {
            /* In units of the values themselves: those of a fold are its own. */
            double unit = p.value_scale * p.value_scale;
            total[i] += isnan(loss[r]) ? 0.0 : loss[r] * unit;
            total[o->penalties + i] += !isnan(loss[r]);
        }
    }
    return status;
}

static bool any_held(const cs_probe_sample *s, const int64_t *fold)
{
    for (int64_t i = 0; i < s->count; ++i) {
        if (fold[i] >= 0) {
            return true;
        }
    }
    return false;
}

/* The penalty whose loss on rows held out is least. */
static cs_status choose_penalty(const cs_probe_sample *s, const cs_linear_probe_options *given,
                                cs_linear_probe *p)
{
    cs_linear_probe_options own = *given, *o = &own;
    const int64_t all = o->folds < s->count ? o->folds : s->count;
    int64_t folds = o->share > 0.0 ? 1 : all;
    CS_AUTO(cs_pool) pool = {0};
    int64_t *fold = cs_pool_take(&pool, s->count, sizeof *fold);
    int64_t *row = cs_pool_take(&pool, s->count, sizeof *row);
    double *total = cs_pool_take(&pool, 2 * o->penalties, sizeof *total);
    cs_status status = total ? deal_folds(s, o, folds, fold) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        !any_held(s, fold)) { /* the share of each class is less than a half row */
        o->share = 0;
        folds = all;
        status = deal_folds(s, o, folds, fold);
    }
    for (int64_t f = 0; f < folds && status == CS_OK; ++f) {
        cs_probe_sample held = *s, train = *s;
        held.count = part_rows(s, fold, f, row);
        held.row = row;
        train.count = s->count - held.count;
        train.row = row + held.count;
        cs_progress_report(o->progress, "folds", f, folds);
        if (held.count > 0 && can_fit(&train)) {
            status = try_fold(&train, &held, o, p->step, total);
        }
    }
    if (status == CS_OK && !(total[o->penalties] > 0.0))
        status = cs_fail(CS_ERR_INPUT,
                         "%lld training rows are too few to hold any out; give one penalty",
                         (long long)s->count);
    for (int64_t i = 0; i < o->penalties && status == CS_OK; ++i) {
        p->step[i].held_out = total[i] / total[o->penalties + i];
        p->chosen = p->step[i].held_out < p->step[p->chosen].held_out ? i : p->chosen;
    }
    return status;
}

/* --- the probe -------------------------------------------------------------------------------- */

static void measure_margins(const cs_probe_problem *q, const double *x, cs_linear_probe *p)
{
    const double *bias = x + q->p * q->k;
    int64_t right = 0;
    double least = INFINITY;
    for (int64_t i = 0; i < q->n; ++i) {
        double *s = q->score, other = -INFINITY;
        const int64_t own = (int64_t)q->target[i];
        memcpy(s, bias, (size_t)q->k * sizeof *s);
        for (int64_t j = 0; j < q->p; ++j) {
            for (int64_t c = 0; c < q->k; ++c) {
                s[c] += q->z[i * q->p + j] * x[j * q->k + c];
            }
        }
        for (int64_t c = 0; c < q->k; ++c) {
            other = c == own ? other : fmax(other, s[c]);
        }
        right += best_of(q->k, s) == own;
        least = fmin(least, s[own] - other);
    }
    p->train_accuracy = (double)right / (double)q->n;
    p->least_margin = least;
}

/* The path down to the chosen penalty, that fit with the full tolerance. */
static cs_status fit_chosen(const cs_probe_sample *s, const cs_linear_probe_options *o,
                            cs_linear_probe *p)
{
    CS_AUTO(cs_probe_problem) q = {0};
    cs_probe_fit fit = {0};
    double *x = NULL;
    cs_status status = cs_probe_pose(s, o->threads, p, &q);
    if (status == CS_OK) status = cs_probe_start(&q, &x);
    for (int64_t i = q.regression ? p->chosen : 0; i <= p->chosen && status == CS_OK; ++i) {
        double tolerance = i == p->chosen ? o->tolerance : LOOSER * o->tolerance;
        q.penalty = o->penalty[i];
        status = cs_probe_minimise(&q, tolerance, o->max_iterations, x, &fit);
    }
    if (status == CS_OK) {
        cs_probe_spread(&q, x, p);
        p->loss = fit.loss;
        p->gradient = fit.gradient;
        p->iterations = fit.iterations;
        p->converged = fit.converged;
        p->train_accuracy = p->least_margin = NAN;
        if (!q.regression) {
            measure_margins(&q, x, p);
        }
    }
    return status;
}

/* The grid of a sample, each penalty with its loss on held-out rows where there are several. */
static cs_status grid_of(const cs_probe_sample *s, const cs_linear_probe_options *given,
                         cs_linear_probe_options *o, cs_linear_probe *p)
{
    cs_status status = resolve(given, o);
    if (status == CS_OK) status = check_labels(s->x, s->count, s->row, s->y, s->classes);
    p->steps = status == CS_OK ? o->penalties : 0;
    p->step = cs_pool_take(&p->pool, p->steps, sizeof *p->step);
    if (status == CS_OK) status = p->pool.status;
    for (int64_t i = 0; i < p->steps && status == CS_OK; ++i) {
        p->step[i] = (cs_linear_probe_step){o->penalty[i], NAN, 0};
    }
    return status == CS_OK && o->penalties > 1 && can_fit(s) ? choose_penalty(s, o, p) : status;
}

cs_status cs_linear_probe_fit(const cs_rows *x, int64_t count, const int64_t *row, const double *y,
                              int64_t classes, const cs_linear_probe_options *options,
                              cs_linear_probe *out)
{
    const cs_probe_sample s = {x, count, row, y, classes, options->balanced && classes > 0};
    cs_linear_probe_options o;
    cs_linear_probe p = {0};
    cs_status status = grid_of(&s, options, &o, &p);
    if (status == CS_OK) status = fit_chosen(&s, &o, &p);
    return CS_DELIVER(status, out, p, cs_linear_probe_free);
}

cs_status cs_linear_probe_held_out(const cs_rows *x, const double *y, int64_t classes,
                                   const cs_linear_probe_options *options, double *out)
{
    const cs_probe_sample s = {x, x->rows, NULL, y, classes, options->balanced && classes > 0};
    cs_linear_probe_options o;
    CS_AUTO(cs_linear_probe) p = {0};
    cs_status status = grid_of(&s, options, &o, &p);
    *out = status == CS_OK ? p.step[p.chosen].held_out : NAN;
    return status;
}

void cs_linear_probe_free(cs_linear_probe *p)
{
    cs_pool_free(&p->pool);
    memset(p, 0, sizeof *p);
}
