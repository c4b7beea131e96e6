/* Stochastic Lanczos quadrature: from the measures of the samples to curves with intervals.
 *
 * Method (density.h). Every quantity of one sample is an interval [low, high] that holds what exact
 * quadrature would give; low and high ends are averaged over the samples apart, and Student's
 * interval is put around each average: [mean low - t se(low), mean high + t se(high)]. Averages and
 * variances are updated sample by sample in their order (Welford, Technometrics 4, 1962).
 */
#include "linalg/density.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/jacobi_private.h"
#include "stats/moderated.h"

static const double ROUNDING = 1e-12; /* of a sample's mass */
static const double WIDTH = 1.5;      /* times top / degree: a bias below 1e-5 of an even density */
static const double LEVEL = 0.95;

/* The averaged quantities: 2 sums, and 5 curves of `points` values. */
enum { SUM2, SUM4, SUMS };
enum { DENSITY, ABOVE_LOW, ABOVE_HIGH, FOURTH_LOW, FOURTH_HIGH, CURVES };

typedef struct {
    int64_t count;
    double *mean, *square; /* of each quantity: mean, sum of squared deviations */
    double mass;           /* mean mass of the samples with quadrature error (0 for the others) */
    double whole;          /* mean mass of all */
} averages;

void cs_density_free(cs_density *d)
{
    cs_pool_free(&d->pool);
    *d = (cs_density){0};
}

/* --- Lanczos ----------------------------------------------------------------------------------- */

/* Lanczos with full reorthogonalisation on P A^T A P from sign vectors, a group of samples at a
 * time: the products of a group are one block product, its orthogonalisations run side by side.
 * Every vector is made orthogonal to the known ones and, twice (Kahan's "twice is enough"), to all
 * before it: without that, copies of values already found would turn up as nodes, and the bounds of
 * jacobi.h are for the true Jacobi matrix. A sample ends when what is left is rounding noise of the
 * product. `degree` vectors a sample are kept. Sums over a vector run in a fixed order in one
 * thread; BLAS is not used, for its bits depend on its threads. */

/* Samples that share each product. More than one, so that the bits of a sample do not depend on its
 * group (csr_apply.c sums a single column in another order). */
enum { GROUP = 8 };

/* Memory of one group; j[c] is the measure of sample first + c after a run. */
typedef struct {
    cs_dense basis[GROUP]; /* cols x degree */
    cs_dense x, y, half;   /* panels: cols, cols, rows x GROUP */
    cs_jacobi j[GROUP];
    cs_pool pool; /* owns all of these */
} sample_group;

static const double NOISE = 1e-13; /* of the largest value: the Krylov space has ended */
static const double EMPTY = 1e-10; /* of a start: the known vectors span everything */

typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

/* Eight partial sums, whose order is the same everywhere. */
static double dot(int64_t n, const double *x, const double *y)
{
    v4 a = {0}, b = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        a += *(const v4 *)(x + i) * *(const v4 *)(y + i);
        b += *(const v4 *)(x + i + 4) * *(const v4 *)(y + i + 4);
    }
    a += b;
    double sum = (a[0] + a[1]) + (a[2] + a[3]);
    for (; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y -= s x. */
static void subtract(int64_t n, double s, const double *x, double *y)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        *(v4 *)(y + i) -= s * *(const v4 *)(x + i);
    }
    for (; i < n; ++i) {
        y[i] -= s * x[i];
    }
}

static void free_group(sample_group *g)
{
    cs_pool_free(&g->pool);
    *g = (sample_group){0};
}

double cs_density_bytes(int64_t rows, int64_t cols, int64_t degree)
{
    return GROUP * ((double)cols * (double)(degree + 2) + (double)rows);
}

static cs_status init_group(const cs_linop *a, int64_t degree, sample_group *out)
{
    sample_group g = {0};
    g.x = cs_dense_in(&g.pool, a->cols, GROUP);
    g.y = cs_dense_in(&g.pool, a->cols, GROUP);
    g.half = cs_dense_in(&g.pool, a->rows, GROUP);
    for (int c = 0; c < GROUP; ++c) {
        g.basis[c] = cs_dense_in(&g.pool, a->cols, degree);
        g.j[c].alpha = cs_pool_take(&g.pool, degree, sizeof(double));
        g.j[c].beta = cs_pool_take(&g.pool, degree, sizeof(double));
    }
    if (g.pool.status != CS_OK) {
        cs_pool_free(&g.pool);
        return CS_ERR_MEMORY;
    }
    *out = g;
    return CS_OK;
}

/* x := (I - V V^T) x. */
static void project_out(const cs_density_known *known, double *x)
{
    for (int64_t b = 0; known && b < known->blocks; ++b) {
        const cs_dense *v = &known->v[b];
        for (int64_t k = 0; k < v->cols; ++k) {
            const double *column = v->data + k * v->ld;
            double *part = x + known->start[b];
            subtract(v->rows, dot(v->rows, column, part), column, part);
        }
    }
}

typedef struct {
    const cs_linop *a;
    const cs_density_options *options;
    sample_group *group;
    int64_t first, step;
    double scale; /* the largest value known: a product's rounding is relative to it */
    bool running[GROUP];
} lanczos;

static double *column_of(const cs_dense *panel, int64_t c)
{
    return panel->data + c * panel->ld;
}

/* The start of one sample into its first basis vector and the panel. */
static cs_status begin_sample(void *ctx, int64_t c)
{
    lanczos *l = ctx;
    int64_t n = l->a->cols;
    double *z = column_of(&l->group->x, c);
    cs_jacobi *j = &l->group->j[c];
    cs_rng rng = cs_rng_at(l->options->seed, CS_STREAM_DENSITY, (uint64_t)(l->first + c));
    cs_rng_signs(&rng, n, z);
    project_out(l->options->known, z);
    project_out(l->options->known, z);
    double norm = sqrt(dot(n, z, z));
    l->running[c] = norm > EMPTY * sqrt((double)n);
    j->order = 0;
    j->mass = l->running[c] ? norm * norm : 0;
    for (int64_t i = 0; i < n; ++i) {
        z[i] = l->running[c] ? z[i] / norm : 0;
    }
    memcpy(l->group->basis[c].data, z, (size_t)n * sizeof *z);
    return CS_OK;
}

/* From the product in y: alpha, beta and the next basis vector of one sample. */
static cs_status step_sample(void *ctx, int64_t c)
{
    lanczos *l = ctx;
    int64_t n = l->a->cols, k = l->step;
    double *x = column_of(&l->group->x, c), *w = column_of(&l->group->y, c);
    const cs_dense *basis = &l->group->basis[c];
    cs_jacobi *j = &l->group->j[c];
    if (!l->running[c]) {
        return CS_OK;
    }
    j->alpha[k] = dot(n, x, w);
    if (!isfinite(j->alpha[k])) {
        return cs_fail(CS_ERR_INPUT, "the product of A with a vector is not finite");
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i <= k; ++i) {
            const double *q = basis->data + i * basis->ld;
            subtract(n, dot(n, q, w), q, w);
        }
        project_out(l->options->known, w);
    }
    double left = sqrt(dot(n, w, w)), scale = l->scale;
    for (int64_t i = 0; i <= k; ++i) {
        scale = fmax(scale, j->alpha[i]);
    }
    j->order = k + 1;
    l->running[c] = left > NOISE * scale && k + 1 < n;
    j->beta[k] = l->running[c] ? left : 0;
    for (int64_t i = 0; i < n; ++i) {
        x[i] = l->running[c] ? w[i] / left : 0;
    }
    if (k + 1 < l->options->degree) {
        memcpy(basis->data + (k + 1) * basis->ld, x, (size_t)n * sizeof *x);
    }
    return CS_OK;
}

static bool any_running(const lanczos *l)
{
    bool any = false;
    for (int c = 0; c < GROUP; ++c) {
        any = any || l->running[c];
    }
    return any;
}

/* Runs samples first .. first + count - 1, count <= GROUP. */
static cs_status run_group(const cs_linop *a, const cs_density_options *options, int64_t first,
                           int64_t count, sample_group *group)
{
    lanczos l = {.a = a, .options = options, .group = group, .first = first};
    const cs_density_known *known = options->known;
    cs_dense *first_half = options->gram ? &group->y : &group->half;
    for (int64_t i = 0; known && i < known->count; ++i) {
        l.scale = fmax(l.scale, known->sigma[i] * known->sigma[i]);
    }
    memset(group->x.data, 0, (size_t)(group->x.ld * group->x.cols) * sizeof *group->x.data);
    cs_status status = cs_parallel(count, options->threads, begin_sample, &l);
    for (; status == CS_OK && l.step < options->degree && any_running(&l); ++l.step) {
        status = cs_interrupt_check();
        if (status == CS_OK) status = cs_linop_apply(a, false, &group->x, first_half);
        if (status == CS_OK && !options->gram)
            status = cs_linop_apply(a, true, &group->half, &group->y);
        if (status == CS_OK) status = cs_parallel(count, options->threads, step_sample, &l);
        cs_progress_report(options->progress, "Lanczos steps",
                           first / GROUP * options->degree + l.step + 1,
                           (options->samples + GROUP - 1) / GROUP * options->degree);
    }
    return status;
}

static cs_status check_known(const cs_linop *a, const cs_density_known *known)
{
    int64_t columns = 0;
    for (int64_t b = 0; known && b < known->blocks; ++b) {
        int64_t size = known->start[b + 1] - known->start[b];
        columns += known->v[b].cols;
        if (known->start[b] < 0 || known->start[b + 1] > a->cols || known->v[b].rows != size) {
            return cs_fail(CS_ERR_USAGE,
                           "known vectors of block %lld have %lld entries, but columns %lld..%lld "
                           "of %lld are given",
                           (long long)b, (long long)known->v[b].rows, (long long)known->start[b],
                           (long long)known->start[b + 1] - 1, (long long)a->cols);
        }
    }
    if (known && columns != known->count) {
        return cs_fail(CS_ERR_USAGE, "%lld known values do not match %lld known vectors",
                       (long long)known->count, (long long)columns);
    }
    return CS_OK;
}

static cs_status check_options(const cs_linop *a, const cs_density_options *o)
{
    enum { LEAST_SAMPLES = 2, LEAST_DEGREE = 4 };
    if (o->samples < LEAST_SAMPLES) {
        return cs_fail(CS_ERR_USAGE, "%lld samples are too few: an interval needs at least 2",
                       (long long)o->samples);
    }
    if (o->degree < LEAST_DEGREE) {
        return cs_fail(CS_ERR_USAGE,
                       "degree %lld is too small: at least 4 Lanczos steps are needed",
                       (long long)o->degree);
    }
    if (o->gram && a->rows != a->cols) {
        return cs_fail(CS_ERR_USAGE, "a Gram form must be square, not %lld x %lld",
                       (long long)a->rows, (long long)a->cols);
    }
    if (!(o->top > 0) || !isfinite(o->top)) {
        return cs_fail(CS_ERR_USAGE, "bound %g on the singular values is not positive", o->top);
    }
    if (!(o->width >= 0) || !isfinite(o->width)) {
        return cs_fail(CS_ERR_USAGE, "smoothing width %g is not positive", o->width);
    }
    if (!(o->level >= 0 && o->level < 1)) {
        return cs_fail(CS_ERR_USAGE, "confidence level %g is not in (0, 1)", o->level);
    }
    for (int64_t i = 0; i < o->points; ++i) {
        if (!(o->x[i] >= 0) || !isfinite(o->x[i])) {
            return cs_fail(CS_ERR_USAGE,
                           "point %lld of the curves must be finite and not negative: %g",
                           (long long)i, o->x[i]);
        }
    }
    return check_known(a, o->known);
}

/* G(sigma - x) + G(sigma + x). */
static double kernel(double sigma, double x, double width)
{
    double near = (sigma - x) / width, far = (sigma + x) / width;
    return (exp(-0.5 * near * near) + exp(-0.5 * far * far)) / (width * sqrt(2 * M_PI));
}

/* E of density.h at the best u of a grid: the bound holds at every u. */
static double kernel_error(double top, double width, int64_t degree)
{
    enum { STEPS = 620 }; /* u from 1e-4 to about 20 by 2 per cent */
    double q = (double)degree, ratio = top / width, best = INFINITY;
    for (int i = 0; i < STEPS; ++i) {
        double u = 1e-4 * pow(1.02, i), s = ratio * sinh(u);
        best = fmin(best, 0.5 * s * s - 4 * q * u - log1p(-exp(-2 * u)));
    }
    double peak = 1 / (width * sqrt(2 * M_PI));
    return fmin(4 * peak * exp(best), 2 * peak); /* 0 is a polynomial too */
}

typedef struct {
    const cs_density_options *options;
    const sample_group *group;
    double width;
    int64_t quantities;
    double *value; /* GROUP x quantities */
    double *work;  /* by sample of the group */
    int64_t work_size;
} evaluation;

/* All quantities of one sample. */
static cs_status evaluate_sample(void *ctx, int64_t c)
{
    const evaluation *e = ctx;
    const cs_density_options *o = e->options;
    const cs_jacobi *j = &e->group->j[c];
    int64_t q = j->order, n = o->points;
    double *out = e->value + c * e->quantities, *curve = out + SUMS;
    double *node = e->work + c * e->work_size, *weight = node + o->degree;
    cs_jacobi fourth = {.alpha = weight + o->degree, .beta = weight + 2 * o->degree};
    double *work = weight + 3 * o->degree;
    memset(out, 0, (size_t)e->quantities * sizeof *out);
    if (q == 0) {
        return CS_OK;
    }
    out[SUM2] = j->mass * j->alpha[0];
    out[SUM4] = j->mass * (j->alpha[0] * j->alpha[0] + j->beta[0] * j->beta[0]);
    cs_status status = cs_jacobi_squared(j, work, &fourth);
    if (status == CS_OK) status = cs_jacobi_rule(j, work, node, weight);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        double x = o->x[i], low = 0, high = 0;
        for (int64_t k = 0; k < q; ++k) {
            curve[DENSITY * n + i] += weight[k] * kernel(sqrt(fmax(node[k], 0)), x, e->width);
        }
        status = cs_jacobi_above(j, x * x, work, &low, &high);
        curve[ABOVE_LOW * n + i] = fmax(0, low - ROUNDING * j->mass);
        curve[ABOVE_HIGH * n + i] = fmin(j->mass, high + ROUNDING * j->mass);
        if (status == CS_OK) status = cs_jacobi_above(&fourth, x * x, work, &low, &high);
        double least = fourth.mass - high, most = fourth.mass - low;
        curve[FOURTH_LOW * n + i] = fmax(0, least - ROUNDING * fourth.mass);
        curve[FOURTH_HIGH * n + i] = fmin(fourth.mass, most + ROUNDING * fourth.mass);
    }
    return status;
}

static void add_sample(averages *a, int64_t quantities, const double *value, const cs_jacobi *j)
{
    double count = (double)++a->count;
    bool ended = j->order == 0 || j->beta[j->order - 1] == 0;
    a->mass += ((ended ? 0 : j->mass) - a->mass) / count;
    a->whole += (j->mass - a->whole) / count;
    for (int64_t i = 0; i < quantities; ++i) {
        double off = value[i] - a->mean[i];
        a->mean[i] += off / count;
        a->square[i] += off * (value[i] - a->mean[i]);
    }
}

static cs_status draw_all(const cs_linop *a, const cs_density_options *o, evaluation *e,
                          sample_group *group, averages *av, cs_density *d)
{
    cs_status status = CS_OK;
    e->group = group;
    for (int64_t first = 0; first < o->samples && status == CS_OK; first += GROUP) {
        int64_t left = o->samples - first, count = cs_least(left, GROUP);
        status = run_group(a, o, first, count, group);
        if (status == CS_OK) status = cs_parallel(count, o->threads, evaluate_sample, e);
        for (int64_t c = 0; c < count && status == CS_OK; ++c) {
            const cs_jacobi *j = &group->j[c];
            add_sample(av, e->quantities, e->value + c * e->quantities, j);
            d->ended += j->order == 0 || j->beta[j->order - 1] == 0;
        }
    }
    return status;
}

static double error_of(const averages *a, int64_t i)
{
    double n = (double)a->count;
    return sqrt(fmax(0, a->square[i]) / (n - 1) / n);
}

/* Student's interval around the averages of a low and a high end, never beyond least and most, all
 * moved by what is known. */
static cs_interval interval_of(const averages *a, double factor, int64_t low, int64_t high,
                               double bias, double most, double known)
{
    cs_interval r = {.value = 0.5 * (a->mean[low] + a->mean[high])};
    r.low = fmin(fmax(0, a->mean[low] - factor * error_of(a, low) - bias), most);
    r.high = fmin(a->mean[high] + factor * error_of(a, high) + bias, most);
    r.value = fmin(fmax(r.value, r.low), r.high);
    return (cs_interval){known + r.value, known + r.low, known + r.high};
}

static void fill_curves(const cs_density_options *o, const averages *a, cs_density *d)
{
    const cs_density_known *known = o->known;
    int64_t n = o->points;
    double unknown = (double)(d->dimension - d->known);
    for (int64_t i = 0; i < n; ++i) {
        double density = 0, above = 0, fourth = 0;
        for (int64_t k = 0; k < d->known; ++k) {
            double s = known->sigma[k];
            density += kernel(s, o->x[i], d->width);
            above += s > o->x[i];
            fourth += s > o->x[i] ? 0 : s * s * s * s;
        }
        int64_t at = SUMS + i;
        d->density[i] = interval_of(a, d->factor, at + DENSITY * n, at + DENSITY * n, d->bias,
                                    INFINITY, density);
        d->above[i] =
            interval_of(a, d->factor, at + ABOVE_LOW * n, at + ABOVE_HIGH * n, 0, unknown, above);
        d->fourth_below[i] = interval_of(a, d->factor, at + FOURTH_LOW * n, at + FOURTH_HIGH * n, 0,
                                         INFINITY, fourth);
    }
}

cs_status cs_density_of(const cs_linop *a, const cs_density_options *options, cs_density *out)
{
    cs_density d = {.dimension = a->cols,
                    .known = options->known ? options->known->count : 0,
                    .points = options->points};
    sample_group group = {0};
    CS_AUTO(cs_pool) pool = {0};
    averages av = {0};
    evaluation e = {.options = options};
    cs_status status = check_options(a, options);
    if (status != CS_OK) return status;
    int64_t n = options->points, q = options->degree;
    d.width = e.width =
        options->width > 0 ? options->width : WIDTH * options->top / (double)options->degree;
    d.factor = cs_student_width(options->level > 0 ? options->level : LEVEL,
                                (double)(options->samples - 1));
    e.quantities = SUMS + CURVES * n;
    e.work_size = 4 * q + cs_jacobi_work_size(q);
    CS_POOL_FIELDS(&d.pool, n, &d, density, above, fourth_below);
    CS_POOL_FIELDS(&pool, e.quantities, &av, mean, square);
    e.value = cs_pool_take(&pool, e.quantities, GROUP * sizeof *e.value);
    e.work = cs_pool_take(&pool, e.work_size, GROUP * sizeof *e.work);
    status = d.pool.status ? d.pool.status : pool.status;
    status = status ? status : init_group(a, q, &group);
    status = status ? status : draw_all(a, options, &e, &group, &av, &d);
    if (status != CS_OK) goto done;
    d.bias = 2 * av.mass * kernel_error(options->top, d.width, q);
    double most2 = av.whole * options->top * options->top;
    d.rest2 = interval_of(&av, d.factor, SUM2, SUM2, ROUNDING * most2, INFINITY, 0);
    d.rest4 = interval_of(&av, d.factor, SUM4, SUM4, ROUNDING * av.mean[SUM4], INFINITY, 0);
    d.rest4_error = error_of(&av, SUM4);
    fill_curves(options, &av, &d);
done:
    free_group(&group);
    return CS_DELIVER(status, out, d, cs_density_free);
}
