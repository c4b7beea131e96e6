/* Conditional means of Gaussian fields: C_ss = L L', W' = L^-T L^-1 C_st, and the error of a target
 * is 1 less the squared length of its column of L^-1 C_st. */
#include "analysis/measures/field_optimum.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/field.h"
#include "linalg/dense.h"
#include "plan/pairs.h"
#include "plan/plan.h"

cs_status cs_field_predict(const cs_field_places *of, double *weights, double *error)
{
    const int64_t count = of->count, targets = of->targets;
    CS_AUTO(cs_dense) c = {0}, to = {0};
    int n = 0, m = 0;
    cs_status status = cs_blas_int(count, "places seen", &n);
    if (status == CS_OK) status = cs_blas_int(targets, "targets", &m);
    if (status == CS_OK) status = cs_dense_init(&c, count, count);
    if (status == CS_OK) status = cs_dense_init(&to, count, targets);
    if (status != CS_OK) return status;
    for (int64_t a = 0; a < count; ++a) {
        for (int64_t b = 0; b < count; ++b) {
            c.data[a + b * c.ld] =
                cs_field_covariance(of->rho, of->width, of->seen[a], of->seen[b]);
        }
        for (int64_t t = 0; t < targets; ++t) {
            to.data[a + t * to.ld] =
                cs_field_covariance(of->rho, of->width, of->seen[a], of->target[t]);
        }
    }
    if (n > 0 && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, c.data, n) != 0) {
        status = cs_fail(CS_ERR_USAGE, "a patch is listed twice among the %d visible patches", n);
        return status;
    }
    if (n > 0) {
        (void)LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'L', 'N', 'N', n, m, c.data, n, to.data, n);
    }
    for (int64_t t = 0; t < targets; ++t) {
        error[t] = 1;
        for (int64_t a = 0; a < count; ++a) {
            error[t] -= to.data[a + t * to.ld] * to.data[a + t * to.ld];
        }
        error[t] = fmax(error[t], 0); /* a target that is seen */
    }
    if (weights && n > 0) {
        (void)LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'L', 'T', 'N', n, m, c.data, n, to.data, n);
        for (int64_t i = 0; i < count * targets; ++i) {
            weights[i] = to.data[i]; /* column t is row t of W */
        }
    }
    return status;
}

/* --- under an objective ----------------------------------------------------------------------- */

/* The buffers of a plan. */
typedef struct {
    cs_dense c; /* covariance of all pixels, later groups behind earlier ones, then its factor */
    int64_t *pixel; /* those pixels */
    int64_t *begin; /* of each: pixels of earlier groups, -1: not predicted */
    double *weight; /* of each */
    int64_t *row, *col;
    double *power; /* the covariance of pixels at each distance */
} plan_buffers;

/* Appends the pixels of the patch at place k. */
static int64_t add_pixels(const cs_field_case *f, int64_t k, int64_t *to, int64_t count)
{
    const int64_t t = f->order ? f->order[k] : k, across = f->width / f->patch;
    for (int64_t p = 0; p < f->patch * f->patch; ++p) {
        to[count++] = (t / across * f->patch + p / f->patch) * f->width + t % across * f->patch +
                      p % f->patch;
    }
    return count;
}

/* The weighted error of one plan, and the weight. Of C = L L' in the order of the groups, the error
 * of pixel p given the first b is sum of L_pj^2 over j >= b: one factor serves all groups. */
static cs_status plan_error(const cs_field_case *f, const cs_plan *plan, plan_buffers *r,
                            double *sum, double *weight)
{
    const int64_t pixels = f->patch * f->patch, ld = r->c.ld;
    double *c = r->c.data;
    int64_t count = 0;
    int n = 0;
    for (int64_t g = 0; g <= plan->groups; ++g) {
        const int64_t begin = count;
        for (int64_t k = 0; k < plan->length; ++k) {
            if (plan->group[k] != g) {
                continue;
            }
            const bool predicted = g > 0 && plan->weight[k] > 0;
            for (int64_t p = count; p < count + pixels; ++p) {
                r->begin[p] = predicted ? begin : -1;
                r->weight[p] = plan->weight[k] / (double)pixels;
            }
            count = add_pixels(f, k, r->pixel, count);
        }
    }
    for (int64_t a = 0; a < count; ++a) {
        r->row[a] = r->pixel[a] / f->width;
        r->col[a] = r->pixel[a] % f->width;
    }
    for (int64_t b = 0; b < count; ++b) {
        for (int64_t a = b; a < count; ++a) {
            c[a + b * ld] = r->power[llabs(r->row[a] - r->row[b]) + llabs(r->col[a] - r->col[b])];
        }
    }
    cs_status status = cs_blas_int(count, "pixels", &n);
    if (status == CS_OK) status = cs_interrupt_check();
    if (status == CS_OK && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, c, n) != 0)
        status = cs_fail(CS_ERR_USAGE,
                         "a correlation of %g between neighbours is too close to 1 for %lld pixels",
                         f->rho, (long long)count);
    *sum = *weight = 0;
    for (int64_t a = 0; a < count && status == CS_OK; ++a) {
        for (int64_t b = r->begin[a]; b >= 0 && b <= a; ++b) {
            *sum += r->weight[a] * c[a + b * ld] * c[a + b * ld];
        }
        *weight += r->begin[a] >= 0 ? r->weight[a] : 0;
    }
    return status;
}

/* A mean over all plans, as they are listed. */
typedef struct {
    const cs_field_case *field;
    plan_buffers *buffers;
    double sum, weight;
} every_plan;

static cs_status add_plan(void *to, const cs_plan *plan, double probability)
{
    every_plan *e = to;
    double sum = 0, weight = 0;
    cs_status status = plan_error(e->field, plan, e->buffers, &sum, &weight);
    e->sum += probability * sum;
    e->weight += probability * weight;
    return status;
}

static cs_status check_weight(double weight, int64_t patches)
{
    return weight > 0 ? CS_OK
                      : cs_fail(CS_ERR_USAGE, "no plan predicts any of the %lld patches",
                                (long long)patches);
}

/* *mean of a ratio of sums, by drawn plans. */
static cs_status draw_plans(const cs_objective *objective, const cs_field_case *f, int64_t patches,
                            plan_buffers *r, double *mean, double *se)
{
    CS_AUTO(cs_pool) memory = {0};
    double *sum = cs_pool_take(&memory, f->draws, sizeof *sum);
    double *weight = cs_pool_take(&memory, f->draws, sizeof *weight);
    CS_AUTO(cs_plan) plan = {0};
    CS_AUTO_FREE double *factor = NULL; /* of uniform target weights */
    double total = 0, weights = 0, squares = 0;
    cs_status status = memory.status;
    if (status == CS_OK) status = cs_plan_init(&plan, patches);
    if (status == CS_OK) status = cs_target_factors(objective, patches, &factor);
    plan.factor = factor;
    for (int64_t d = 0; d < f->draws && status == CS_OK; ++d) {
        cs_rng rng = cs_rng_at(f->seed, CS_STREAM_PLAN, (uint64_t)d);
        status = cs_plan_sample_training(objective, &rng, &plan);
        if (status == CS_OK) status = plan_error(f, &plan, r, &sum[d], &weight[d]);
        total += status == CS_OK ? sum[d] : 0;
        weights += status == CS_OK ? weight[d] : 0;
    }
    if (status == CS_OK) status = check_weight(weights, patches);
    if (status == CS_OK) {
        *mean = total / weights;
        for (int64_t d = 0; d < f->draws; ++d) {
            const double off = sum[d] - *mean * weight[d];
            squares += off * off;
        }
        const double n = (double)f->draws;
        *se = sqrt(squares * n / (n - 1)) / weights;
    }
    return status;
}

cs_status cs_field_optimum(const cs_objective *objective, const cs_field_case *f, double *mean,
                           double *se)
{
    if (f->patch < 1 || f->height % f->patch || f->width % f->patch || f->draws < 2) {
        return cs_fail(CS_ERR_USAGE,
                       "fields of %lld x %lld in patches of %lld, %lld plans (expected: a patch "
                       "size that divides both sizes, 2 plans)",
                       (long long)f->height, (long long)f->width, (long long)f->patch,
                       (long long)f->draws);
    }
    const int64_t pixels = f->height * f->width, patches = pixels / (f->patch * f->patch);
    CS_AUTO(cs_pool) memory = {0};
    plan_buffers r = {.pixel = cs_pool_take(&memory, pixels, sizeof *r.pixel),
                      .begin = cs_pool_take(&memory, pixels, sizeof *r.begin),
                      .weight = cs_pool_take(&memory, pixels, sizeof *r.weight),
                      .row = cs_pool_take(&memory, pixels, sizeof *r.row),
                      .col = cs_pool_take(&memory, pixels, sizeof *r.col),
                      .power = cs_pool_take(&memory, f->height + f->width, sizeof *r.power)};
    every_plan every = {f, &r, 0, 0};
    cs_threads_blas_hold(true); /* thousands of small factors: threads would only wait */
    cs_status status = memory.status;
    for (int64_t i = 0; status == CS_OK && i < f->height + f->width; ++i) {
        r.power[i] = pow(f->rho, (double)i);
    }
    if (status == CS_OK) status = cs_dense_init(&r.c, pixels, pixels);
    if (status == CS_OK) status = cs_plan_enumerate(objective, patches, f->draws, add_plan, &every);
    if (status == CS_OK) {
        status = check_weight(every.weight, patches);
        *mean = every.sum / every.weight;
        *se = 0;
    } else if (status == CS_ERR_USAGE) { /* more plans; what else is wrong is so of draws too */
        cs_reason_clear();
        status = draw_plans(objective, f, patches, &r, mean, se);
    }
    cs_threads_blas_hold(false);
    cs_dense_free(&r.c);
    return status;
}
