#include "stats/rank_correlation.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "stats/jackknife.h"
#include "stats/kendall.h"
#include "stats/student.h"

enum { DRAWS = 400, QUANTITIES = 3 }; /* the error of a deviation over 400 draws is 3.5 % */

/* The means of x, y and z, and buffers for the quantities computed from them. */
typedef struct {
    int64_t n;
    int quantities; /* 2 without z */
    double *mean[QUANTITIES], *other[QUANTITIES];
    double *theta; /* the larger of n and DRAWS */
} work;

typedef double (*correlation)(int64_t n, const double *x, const double *y);

static double partial(correlation of, int64_t n, double *const *q, int quantities)
{
    const double xy = of(n, q[0], q[1]);
    if (quantities < QUANTITIES) {
        return xy;
    }
    const double xz = of(n, q[0], q[2]), yz = of(n, q[1], q[2]);
    return (xy - xz * yz) / sqrt((1 - xz * xz) * (1 - yz * yz));
}

/* Of the mid-ranks: twice the rank of i, from 0, is the number below it less the number above. */
static double spearman(int64_t n, const double *x, const double *y)
{
    double xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; ++i) {
        double a = 0, b = 0;
        for (int64_t j = 0; j < n; ++j) {
            a += (x[j] < x[i]) - (x[j] > x[i]);
            b += (y[j] < y[i]) - (y[j] > y[i]);
        }
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* tau of the objects but one. */
static double without(const work *w, int64_t left_out)
{
    for (int q = 0; q < w->quantities; ++q) {
        for (int64_t i = 0, to = 0; i < w->n; ++i) {
            if (i != left_out) {
                w->other[q][to++] = w->mean[q][i];
            }
        }
    }
    return partial(cs_kendall_tau, w->n - 1, w->other, w->quantities);
}

/* tau where each object has runs drawn from its own, the same ones of x, y and z. */
static double drawn(const cs_rank_data *d, const work *w, int64_t draw)
{
    const double *const from[QUANTITIES] = {d->x, d->y, d->z};
    const double wider = sqrt((double)d->runs / (double)(d->runs - 1));
    cs_rng rng = cs_rng_at(d->seed, CS_STREAM_RUNS, (uint64_t)draw);
    for (int64_t i = 0; i < d->objects; ++i) {
        double sum[QUANTITIES] = {0};
        for (int64_t r = 0; r < d->runs; ++r) {
            const int64_t run = cs_rng_below(&rng, d->runs);
            for (int q = 0; q < w->quantities; ++q) {
                sum[q] += from[q][i * d->runs + run] - w->mean[q][i];
            }
        }
        for (int q = 0; q < w->quantities; ++q) {
            w->other[q][i] = w->mean[q][i] + wider * sum[q] / (double)d->runs;
        }
    }
    return partial(cs_kendall_tau, d->objects, w->other, w->quantities);
}

static cs_status fill_correlation(const cs_rank_data *d, const work *w, cs_rank_correlation *r)
{
    cs_kendall exact = {NAN, NAN};
    cs_status status = cs_kendall_of(d->objects, w->mean[0], w->mean[1], &exact);
    if (status != CS_OK) return status;
    r->tau = partial(cs_kendall_tau, d->objects, w->mean, w->quantities);
    r->p = d->z ? NAN : exact.p;
    r->rho = partial(spearman, d->objects, w->mean, w->quantities);
    for (int64_t i = 0; i < d->objects; ++i) {
        w->theta[i] = atanh(without(w, i));
    }
    const double half = d->objects > 2 ? cs_jackknife_error(d->objects, w->theta, 1) *
                                             cs_student_width(0.95, (double)(d->objects - 1))
                                       : NAN;
    r->low = tanh(atanh(r->tau) - half);
    r->high = tanh(atanh(r->tau) + half);
    if (!isfinite(half) || !isfinite(atanh(r->tau))) {
        r->low = r->high = NAN;
    }
    for (int64_t draw = 0; draw < DRAWS && d->runs > 1; ++draw) {
        w->theta[draw] = drawn(d, w, draw);
    }
    /* The standard deviation, by the jackknife's sum: equal draws give 0. */
    r->runs_se = d->runs > 1 ? cs_jackknife_error(DRAWS, w->theta, 1) * sqrt(DRAWS) / (DRAWS - 1)
                             : (double)NAN;
    return CS_OK;
}

cs_status cs_rank_correlation_of(const cs_rank_data *data, cs_rank_correlation *out)
{
    const double *const from[QUANTITIES] = {data->x, data->y, data->z};
    const int64_t n = data->objects;
    CS_AUTO(cs_pool) pool = {0};
    work w = {.n = n, .quantities = data->z ? QUANTITIES : QUANTITIES - 1};
    w.theta = cs_pool_take(&pool, n > DRAWS ? n : DRAWS, sizeof *w.theta);
    for (int q = 0; q < w.quantities; ++q) {
        w.mean[q] = cs_pool_take(&pool, n, sizeof **w.mean);
        w.other[q] = cs_pool_take(&pool, n, sizeof **w.other);
    }
    cs_status status = pool.status;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        for (int q = 0; q < w.quantities; ++q) { /* from the first on: equal runs have this mean */
            const double *run = from[q] + i * data->runs;
            for (int64_t r = 0; r < data->runs; ++r) {
                w.mean[q][i] += (run[r] - run[0]) / (double)data->runs;
            }
            w.mean[q][i] += run[0];
        }
    }
    cs_rank_correlation r = {0};
    if (status == CS_OK) status = fill_correlation(data, &w, &r);
    if (status == CS_OK) *out = r;
    return status;
}
