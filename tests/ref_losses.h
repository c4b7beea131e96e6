/* Part of backend_ref.c: the losses. Each writes one loss for each row; backward writes z' where the graph
 * put it: over z itself. Rows with a negative target: loss and lse 0, z' zero. Columns beyond the
 * classes get zero gradient. */
#pragma once

#include "ref_scalar.h"

/* --- cross-entropy: loss[r] = weight[r] (lse(z[r]) - z[r][target]) ---------------------------- */

static cs_real ref_lse(const cs_real *z, int64_t classes)
{
    cs_real most = z[0], sum = 0;
    for (int64_t c = 1; c < classes; ++c) {
        most = fmax(most, z[c]);
    }
    for (int64_t c = 0; c < classes; ++c) {
        sum += exp(z[c] - most);
    }
    return most + log(sum);
}

static cs_status ref_cross_entropy(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix lse = ref_of(run, o->lse), loss = ref_of(run, o->loss);
    const int32_t *target = cs_run_ints(run, o->target);
    for (int64_t r = 0; r < z.rows; ++r) {
        const cs_real *zr = z.x + r * z.ld;
        lse.x[r * lse.ld] = 0;
        loss.x[r * loss.ld] = 0;
        if (target[r] < 0) {
            continue;
        }
        lse.x[r * lse.ld] = ref_lse(zr, o->classes);
        loss.x[r * loss.ld] = weight.x[r * weight.ld] * (lse.x[r * lse.ld] - zr[target[r]]);
    }
    return CS_OK;
}

/* z'[r][c] = weight[r] (exp(z[r][c] - lse[r]) - [c = target]) */
static cs_status ref_cross_entropy_back(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix lse = ref_of(run, o->lse);
    const int32_t *target = cs_run_ints(run, o->target);
    for (int64_t r = 0; r < z.rows; ++r) {
        for (int64_t c = 0; c < z.cols; ++c) {
            cs_real dz = 0;
            if (target[r] >= 0 && c < o->classes) {
                cs_real p = exp(z.x[r * z.ld + c] - lse.x[r * lse.ld]);
                dz = weight.x[r * weight.ld] * (p - (cs_real)(c == target[r]));
            }
            z.grad[r * z.ld + c] = dz;
        }
    }
    return CS_OK;
}

/* --- of soft targets: loss[r] = weight[r] (lse(z[r]) - sum_c goal[r][c] z[r][c]) -------------- */

static cs_status ref_soft_cross_entropy(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix goal = ref_of(run, o->goal), lse = ref_of(run, o->lse), loss = ref_of(run, o->loss);
    for (int64_t r = 0; r < z.rows; ++r) {
        cs_real sum = ref_lse(z.x + r * z.ld, z.cols);
        lse.x[r * lse.ld] = sum;
        for (int64_t c = 0; c < z.cols; ++c) {
            sum -= goal.x[r * goal.ld + c] * z.x[r * z.ld + c];
        }
        loss.x[r * loss.ld] = weight.x[r * weight.ld] * sum;
    }
    return CS_OK;
}

/* z'[r][c] = weight[r] (exp(z[r][c] - lse[r]) - goal[r][c]) */
static cs_status ref_soft_cross_entropy_back(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix goal = ref_of(run, o->goal), lse = ref_of(run, o->lse);
    for (int64_t r = 0; r < z.rows; ++r) {
        for (int64_t c = 0; c < z.cols; ++c) {
            cs_real p = exp(z.x[r * z.ld + c] - lse.x[r * lse.ld]);
            z.grad[r * z.ld + c] = weight.x[r * weight.ld] * (p - goal.x[r * goal.ld + c]);
        }
    }
    return CS_OK;
}

/* --- spectral loss: loss[r] = weight[r] (-factor z[r][target] + sum_j mass[j] z[r][j]^2) ------ */

static cs_status ref_spectral_loss(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix mass = ref_of(run, o->goal), loss = ref_of(run, o->loss);
    const int32_t *target = cs_run_ints(run, o->target);
    for (int64_t r = 0; r < z.rows; ++r) {
        const cs_real *zr = z.x + r * z.ld;
        cs_real sum = 0;
        for (int64_t c = 0; c < o->classes; ++c) {
            sum += mass.x[c] * zr[c] * zr[c];
        }
        loss.x[r * loss.ld] =
            target[r] < 0 ? 0
                          : weight.x[r * weight.ld] * (sum - (cs_real)o->factor * zr[target[r]]);
    }
    return CS_OK;
}

/* z'[r][j] = weight[r] (2 mass[j] z[r][j] - factor [j = target]) */
static cs_status ref_spectral_loss_back(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix mass = ref_of(run, o->goal);
    const int32_t *target = cs_run_ints(run, o->target);
    for (int64_t r = 0; r < z.rows; ++r) {
        for (int64_t c = 0; c < z.cols; ++c) {
            cs_real dz = 0;
            if (target[r] >= 0 && c < o->classes) {
                dz = 2 * mass.x[c] * z.x[r * z.ld + c];
                dz -= c == target[r] ? (cs_real)o->factor : 0;
            }
            z.grad[r * z.ld + c] = dz * weight.x[r * weight.ld];
        }
    }
    return CS_OK;
}

/* --- squared error: loss[r] = weight[r] sum_c (z[r][c] - goal[r][c])^2 ------------------------ */

static cs_status ref_squared_error(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix goal = ref_of(run, o->goal), loss = ref_of(run, o->loss);
    for (int64_t r = 0; r < z.rows; ++r) {
        cs_real sum = 0;
        for (int64_t c = 0; c < z.cols; ++c) {
            cs_real e = z.x[r * z.ld + c] - goal.x[r * goal.ld + c];
            sum += e * e;
        }
        loss.x[r * loss.ld] = weight.x[r * weight.ld] * sum;
    }
    return CS_OK;
}

/* z' = 2 weight (z - goal) */
static cs_status ref_squared_error_back(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    ref_matrix z = ref_of(run, o->z.tensor), weight = ref_of(run, o->weight);
    ref_matrix goal = ref_of(run, o->goal);
    for (int64_t r = 0; r < z.rows; ++r) {
        for (int64_t c = 0; c < z.cols; ++c) {
            cs_real e = z.x[r * z.ld + c] - goal.x[r * goal.ld + c];
            z.grad[r * z.ld + c] = 2 * weight.x[r * weight.ld] * e;
        }
    }
    return CS_OK;
}
