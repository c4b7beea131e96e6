/* The losses, by rows; backward writes the gradient over the logits. */
#include <math.h>
#include <string.h>

#include "tensor/cpu_private.h"

typedef struct {
    const cs_cpu_kernels *kernels;
    cs_cpu_matrix z, weight, lse, loss, goal; /* goal: or the masses */
    const int32_t *target;
    int64_t classes;
    float factor;
} loss_job;

/* scratch: as long as a row, not used by all. */
static cs_status by_rows(const cs_run *run, const cs_op *op, cs_cpu_row row)
{
    const cs_op_loss *o = &op->loss;
    loss_job t = {.kernels = cs_cpu_of(run)->kernels,
                  .z = cs_cpu_operand(run, o->z),
                  .weight = cs_cpu_tensor(run, o->weight),
                  .goal = cs_cpu_tensor(run, o->goal),
                  .lse = cs_cpu_tensor(run, o->lse),
                  .loss = cs_cpu_tensor(run, o->loss),
                  .target = cs_run_ints(run, o->target),
                  .classes = o->classes,
                  .factor = (float)o->factor};
    return cs_cpu_rows(cs_cpu_of(run), t.z.rows, t.z.cols, row, &t);
}

static void clear(float *z, int64_t from, int64_t to)
{
    memset(z + from, 0, (size_t)(to - from) * sizeof *z);
}

/* --- cross-entropy ---------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void entropy_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    const float *z = t->z.x + r * t->z.ld;
    float lse = 0, loss = 0;
    if (t->target[r] >= 0) {
        float most = t->kernels->max(t->classes, z);
        lse = most + logf(t->kernels->exp_sum(t->classes, most, z));
        loss = t->weight.x[r * t->weight.ld] * (lse - z[t->target[r]]);
    }
    t->lse.x[r * t->lse.ld] = lse;
    t->loss.x[r * t->loss.ld] = loss;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void entropy_back_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    float *z = t->z.grad + r * t->z.ld;
    if (t->target[r] < 0) {
        clear(z, 0, t->z.cols);
        return;
    }
    float weight = t->weight.x[r * t->weight.ld];
    t->kernels->entropy_back(t->classes, t->lse.x[r * t->lse.ld], weight, z);
    z[t->target[r]] -= weight;
    clear(z, t->classes, t->z.cols);
}

CS_CPU_BOTH(cross_entropy, by_rows, entropy_row, entropy_back_row)

/* --- of soft targets -------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void soft_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    const float *z = t->z.x + r * t->z.ld;
    const float most = t->kernels->max(t->z.cols, z);
    const float lse = most + logf(t->kernels->exp_sum(t->z.cols, most, z));
    t->lse.x[r * t->lse.ld] = lse;
    t->loss.x[r * t->loss.ld] = t->weight.x[r * t->weight.ld] *
                                (lse - t->kernels->dot(t->z.cols, t->goal.x + r * t->goal.ld, z));
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void soft_back_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    float *z = t->z.grad + r * t->z.ld, weight = t->weight.x[r * t->weight.ld];
    t->kernels->entropy_back(t->z.cols, t->lse.x[r * t->lse.ld], weight, z);
    t->kernels->axpy(t->z.cols, -weight, t->goal.x + r * t->goal.ld, z);
}

CS_CPU_BOTH(soft_cross_entropy, by_rows, soft_row, soft_back_row)

/* --- spectral loss ---------------------------------------------------------------------------- */

static void spectral_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    const float *z = t->z.x + r * t->z.ld;
    float loss = 0;
    if (t->target[r] >= 0) {
        t->kernels->copy(t->classes, z, scratch);
        t->kernels->multiply(t->classes, t->goal.x, scratch);
        loss = t->weight.x[r * t->weight.ld] *
               (t->kernels->dot(t->classes, scratch, z) - t->factor * z[t->target[r]]);
    }
    t->loss.x[r * t->loss.ld] = loss;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void spectral_back_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    float *z = t->z.grad + r * t->z.ld, weight = t->weight.x[r * t->weight.ld];
    if (t->target[r] < 0) {
        clear(z, 0, t->z.cols);
        return;
    }
    t->kernels->multiply(t->classes, t->goal.x, z);
    t->kernels->scale(t->classes, 2 * weight, z, z);
    z[t->target[r]] -= weight * t->factor;
    clear(z, t->classes, t->z.cols);
}

CS_CPU_BOTH(spectral_loss, by_rows, spectral_row, spectral_back_row)

/* --- squared error ---------------------------------------------------------------------------- */

static void square_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    t->kernels->copy(t->z.cols, t->z.x + r * t->z.ld, scratch);
    t->kernels->axpy(t->z.cols, -1, t->goal.x + r * t->goal.ld, scratch);
    t->loss.x[r * t->loss.ld] =
        t->weight.x[r * t->weight.ld] * t->kernels->dot(t->z.cols, scratch, scratch);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a cs_cpu_row */
static void square_back_row(const void *ctx, int64_t r, float *scratch)
{
    const loss_job *t = ctx;
    (void)scratch;
    float *z = t->z.grad + r * t->z.ld;
    t->kernels->axpy(t->z.cols, -1, t->goal.x + r * t->goal.ld, z);
    t->kernels->scale(t->z.cols, 2 * t->weight.x[r * t->weight.ld], z, z);
}

CS_CPU_BOTH(squared_error, by_rows, square_row, square_back_row)
