#include "stats/rank_correlation.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "stats/decide.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

enum { DRAWS = 400, QUANTITIES = 3 }; /* the error of a deviation over 400 draws is 3.5 % */

/* The number of inversions between m equal objects put among a others has the Gaussian binomial
 * coefficient as generating function, that of partitions into at most m parts of at most a (Stanley,
 * Enumerative Combinatorics 1, 1.7): G(a, m) = G(a, m - 1) + q^m G(a - 1, m).
 */
static int sign(double a, double b)
{
    return (a > b) - (a < b);
}

/* G(a, m) into out[0 .. a m], as probabilities; buffer is a buffer of the same size for each of
 * 0..m. */
static void gaussian_binomial(int64_t a, int64_t m, double *buffer, double *out)
{
    const int64_t size = a * m + 1;
    memset(buffer, 0, (size_t)((m + 1) * size) * sizeof *buffer);
    for (int64_t k = 0; k <= m; ++k) {
        buffer[k * size] = 1; /* a = 0 */
    }
    for (int64_t i = 1; i <= a; ++i) {
        for (int64_t k = 1; k <= m; ++k) { /* G(i, k) in place of G(i - 1, k) */
            double *at = buffer + k * size;
            for (int64_t d = i * k; d >= 0; --d) {
                at[d] = (d >= k ? at[d - k] : 0) + at[d - size];
            }
        }
    }
    double sum = 0;
    for (int64_t d = 0; d < size; ++d) {
        sum += buffer[m * size + d];
    }
    for (int64_t d = 0; d < size; ++d) {
        out[d] = buffer[m * size + d] / sum;
    }
}

/* The distribution of D with ties of these sizes, in out[0 .. pairs that are not tied]. */
static cs_status inversions(int64_t groups, const int64_t *tied, int64_t *most, double **out)
{
    int64_t objects = 0, largest = 0;
    CS_AUTO(cs_pool) pool = {0};
    *most = 0;
    for (int64_t g = 0; g < groups; ++g) {
        *most += objects * tied[g];
        objects += tied[g];
        largest = tied[g] > largest ? tied[g] : largest;
    }
    double *sum = cs_calloc(*most + 1, sizeof *sum);
    double *next = cs_pool_take(&pool, *most + 1, sizeof *next);
    double *step = cs_pool_take(&pool, *most + 1, sizeof *step);
    double *buffer = cs_pool_take(&pool, (largest + 1) * (*most + 1), sizeof *buffer);
    cs_status status = sum ? pool.status : CS_ERR_MEMORY;
    if (status != CS_OK) goto done;
    sum[0] = 1;
    for (int64_t g = 0, before = 0, degree = 0; g < groups; before += tied[g++]) {
        const int64_t width = before * tied[g];
        gaussian_binomial(before, tied[g], buffer, step);
        memset(next, 0, (size_t)(*most + 1) * sizeof *next);
        for (int64_t d = 0; d <= degree; ++d) {
            for (int64_t w = 0; w <= width; ++w) {
                next[d + w] += sum[d] * step[w];
            }
        }
        degree += width;
        memcpy(sum, next, (size_t)(degree + 1) * sizeof *sum);
    }
done:
    return CS_DELIVER(status, out, sum, cs_drop);
}

/* P(|most - 2 D| >= size). */
static double beyond(int64_t most, const double *chance, int64_t size)
{
    double sum = 0;
    for (int64_t d = 0; d <= most; ++d) {
        const int64_t s = most - 2 * d;
        sum += (s < 0 ? -s : s) >= size ? chance[d] : 0;
    }
    return fmin(1, sum);
}

/* Sizes of the ties of x into tied, their number returned; O(n^2), as all here. */
static int64_t ties(int64_t count, const double *x, int64_t *tied)
{
    int64_t groups = 0;
    for (int64_t i = 0; i < count; ++i) {
        int64_t before = 0, all = 0;
        for (int64_t j = 0; j < count; ++j) {
            const bool same = sign(x[i], x[j]) == 0;
            before += same && j < i;
            all += same;
        }
        if (before == 0) {
            tied[groups++] = all;
        }
    }
    return groups;
}

/* S and the pairs that are not tied in the one and the other. */
typedef struct {
    int64_t balance, untied1, untied2;
} pair_counts;

static pair_counts count_pairs(int64_t count, const double *first, const double *second)
{
    pair_counts c = {0};
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = i + 1; j < count; ++j) {
            const int s1 = sign(first[i], first[j]), s2 = sign(second[i], second[j]);
            c.balance += (int64_t)s1 * s2;
            c.untied1 += s1 != 0;
            c.untied2 += s2 != 0;
        }
    }
    return c;
}

static double tau_of(pair_counts c)
{
    return c.untied1 > 0 && c.untied2 > 0
               ? (double)c.balance / sqrt((double)c.untied1 * (double)c.untied2)
               : NAN;
}

/* tau_b alone. O(n^2). */
static double kendall_tau(int64_t count, const double *first, const double *second)
{
    return tau_of(count_pairs(count, first, second));
}

cs_status cs_kendall_of(int64_t count, const double *first, const double *second, cs_kendall *out)
{
    const pair_counts c = count_pairs(count, first, second);
    const int64_t pairs = count * (count - 1) / 2;
    cs_kendall r = {tau_of(c), NAN};
    if (!isnan(r.tau) && (c.untied1 == pairs || c.untied2 == pairs)) {
        CS_AUTO_FREE double *chance = NULL;
        CS_AUTO_FREE int64_t *tied = cs_alloc(count, sizeof *tied);
        int64_t most = 0;
        if (!tied) return CS_ERR_MEMORY;
        const int64_t groups = ties(count, c.untied1 < pairs ? first : second, tied);
        cs_status status = inversions(groups, tied, &most, &chance);
        if (status != CS_OK) return status;
        r.p = beyond(most, chance, c.balance < 0 ? -c.balance : c.balance);
    }
    *out = r;
    return CS_OK;
}

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
    return partial(kendall_tau, w->n - 1, w->other, w->quantities);
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
    return partial(kendall_tau, d->objects, w->other, w->quantities);
}

static cs_status fill_correlation(const cs_rank_data *d, const work *w, cs_rank_correlation *r)
{
    cs_kendall exact = {NAN, NAN};
    cs_status status = cs_kendall_of(d->objects, w->mean[0], w->mean[1], &exact);
    if (status != CS_OK) return status;
    r->tau = partial(kendall_tau, d->objects, w->mean, w->quantities);
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

/* Pairs by their definition: there are few objects. */
static cs_error_part part_of(cs_measured m)
{
    return cs_error_of(m.se, m.freedom > 0 ? (double)m.freedom : INFINITY);
}

int cs_ranking_order(cs_measured a, cs_measured b)
{
    const double difference = a.value - b.value;
    const double margin = cs_margin(2, (const cs_error_part[]){part_of(a), part_of(b)}, 0.05);
    return (difference > margin) - (difference < -margin);
}

cs_status cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second,
                        cs_ranking *out)
{
    cs_ranking r = {.objects = count};
    CS_AUTO_FREE double *x = cs_alloc(2 * count, sizeof *x);
    double *y = x ? x + count : NULL;
    if (!x) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        x[i] = first[i].value;
        y[i] = second[i].value;
        for (int64_t j = i + 1; j < count; ++j) {
            int order =
                cs_ranking_order(first[i], first[j]) * cs_ranking_order(second[i], second[j]);
            r.agree += order > 0;
            r.disagree += order < 0;
            r.undetermined += order == 0;
        }
    }
    cs_status status = cs_kendall_of(count, x, y, &r.kendall);
    if (status == CS_OK) *out = r;
    return status;
}
