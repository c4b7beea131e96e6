/* Conditional means of Gaussian fields: C_ss = L L', W' = L^-T L^-1 C_st, and the error of a target
 * is 1 less the squared length of its column of L^-1 C_st. */
#include "analysis/measures/field_optimum.h"

#include <lapacke.h>
#include <math.h>

#include "base/mem.h"
#include "base/threads.h"
#include "image/field.h"
#include "linalg/dense.h"
#include "plan/plan.h"

cs_status cs_field_predict(const cs_field_places *of, double *weights, double *error)
{
    const int64_t count = of->count, targets = of->targets;
    cs_dense c = {0}, to = {0};
    int n = 0, m = 0;
    cs_status status = cs_blas_int(count, "places seen", &n);
    if (status == CS_OK) status = cs_blas_int(targets, "targets", &m);
    if (status == CS_OK) status = cs_dense_init(&c, count, count);
    if (status == CS_OK) status = cs_dense_init(&to, count, targets);
    if (status != CS_OK) goto done;
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
        status = cs_fail(CS_ERR_USAGE, "a place is there twice among the %d seen", n);
        goto done;
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
done:
    cs_dense_free(&c);
    cs_dense_free(&to);
    return status;
}

/* --- under an objective ----------------------------------------------------------------------- */

/* Room for the pixels of a plan's groups. */
typedef struct {
    int64_t *seen, *target;
    double *error;
} room;

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

/* The weighted error of one plan, and the weight. */
static cs_status plan_error(const cs_field_case *f, const cs_plan *plan, room *r, double *sum,
                            double *weight)
{
    const int64_t pixels = f->patch * f->patch;
    int64_t count = 0;
    *sum = *weight = 0;
    for (int64_t g = 0; g <= plan->groups; ++g) {
        int64_t targets = 0;
        for (int64_t k = 0; k < plan->length; ++k) {
            if (plan->group[k] == g && g > 0 && plan->weight[k] > 0) {
                targets = add_pixels(f, k, r->target, targets);
            }
        }
        cs_status status = cs_interrupt_check();
        const cs_field_places of = {f->rho, f->width, count, targets, r->seen, r->target};
        if (status == CS_OK && targets > 0) status = cs_field_predict(&of, NULL, r->error);
        if (status != CS_OK) return status;
        targets = 0;
        for (int64_t k = 0; k < plan->length; ++k) {
            if (plan->group[k] != g) {
                continue;
            }
            if (g > 0 && plan->weight[k] > 0) {
                for (int64_t p = 0; p < pixels; ++p) {
                    *sum += plan->weight[k] * r->error[targets++] / (double)pixels;
                }
                *weight += plan->weight[k];
            }
            count = add_pixels(f, k, r->seen, count);
        }
    }
    return CS_OK;
}

cs_status cs_field_optimum(const cs_objective *objective, const cs_field_case *f, double *mean,
                           double *se)
{
    if (f->patch < 1 || f->height % f->patch || f->width % f->patch || f->draws < 2) {
        return cs_fail(CS_ERR_USAGE,
                       "fields of %lld x %lld in patches of %lld, %lld plans (wanted: patches that "
                       "divide the sizes, 2 plans)",
                       (long long)f->height, (long long)f->width, (long long)f->patch,
                       (long long)f->draws);
    }
    const int64_t pixels = f->height * f->width, patches = pixels / (f->patch * f->patch);
    cs_pool memory = {0};
    room r = {cs_pool_take(&memory, pixels, sizeof *r.seen),
              cs_pool_take(&memory, pixels, sizeof *r.target),
              cs_pool_take(&memory, pixels, sizeof *r.error)};
    double *sum = cs_pool_take(&memory, f->draws, sizeof *sum);
    double *weight = cs_pool_take(&memory, f->draws, sizeof *weight);
    cs_plan plan = {0};
    double total = 0, weights = 0, squares = 0;
    cs_status status = memory.status;
    if (status == CS_OK) status = cs_plan_init(&plan, patches);
    for (int64_t d = 0; d < f->draws && status == CS_OK; ++d) {
        cs_rng rng = cs_rng_at(f->seed, CS_STREAM_PLAN, (uint64_t)d);
        status = cs_plan_sample(objective, &rng, &plan);
        if (status == CS_OK) status = plan_error(f, &plan, &r, &sum[d], &weight[d]);
        total += status == CS_OK ? sum[d] : 0;
        weights += status == CS_OK ? weight[d] : 0;
    }
    if (status == CS_OK && weights <= 0)
        status = cs_fail(CS_ERR_USAGE, "no drawn plan predicts anything of %lld patches",
                         (long long)patches);
    if (status == CS_OK) {
        *mean = total / weights;
        for (int64_t d = 0; d < f->draws; ++d) { /* of a ratio of sums */
            const double off = sum[d] - *mean * weight[d];
            squares += off * off;
        }
        const double n = (double)f->draws;
        *se = sqrt(squares * n / (n - 1)) / weights;
    }
    cs_plan_free(&plan);
    cs_pool_free(&memory);
    return status;
}
