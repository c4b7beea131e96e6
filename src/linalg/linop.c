/* Compositions of linear operators. Each holds a borrowed inner operator and adds one step around
 * its block products.
 *
 * Limits: a composition with scratch (scaled) serves one caller at a time.
 */
#include "linalg/linop.h"

#include <stddef.h>

static cs_status csr_apply(void *context, const cs_dense *x, cs_dense *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply(ctx->a, x, y, ctx->threads);
}

static cs_status csr_apply_t(void *context, const cs_dense *x, cs_dense *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply(ctx->at, x, y, ctx->threads);
}

static cs_status csr_panel(void *context, const double *x, double *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply_panel(ctx->a, x, y, ctx->threads);
}

static cs_status csr_panel_t(void *context, const double *x, double *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply_panel(ctx->at, x, y, ctx->threads);
}

static cs_status csr_normal(void *context, const double *x, double *y, double *room)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply_normal(ctx->a, x, y, room, ctx->threads);
}

static cs_status csr_normal_t(void *context, const double *x, double *y, double *room)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply_normal(ctx->at, x, y, room, ctx->threads);
}

cs_linop cs_linop_csr(cs_linop_csr_ctx *ctx, const cs_csr *a, const cs_csr *at, int threads)
{
    *ctx = (cs_linop_csr_ctx){.a = a, .at = at, .threads = threads};
    cs_linop op = {.rows = a->rows,
                   .cols = a->cols,
                   .apply = csr_apply,
                   .apply_t = csr_apply_t,
                   .ctx = ctx,
                   .panel = csr_panel,
                   .panel_t = csr_panel_t,
                   .data = {.a = a, .at = at}};
    if (cs_csr_normal_pays(a)) {
        op.normal = (cs_normal_product){csr_normal, cs_csr_normal_room(a)};
    }
    if (cs_csr_normal_pays(at)) {
        op.normal_t = (cs_normal_product){csr_normal_t, cs_csr_normal_room(at)};
    }
    return op;
}

/* *scratch becomes at least rows x cols and views as exactly that. */
static cs_status scratch_of(cs_dense *scratch, int64_t rows, int64_t cols)
{
    if (scratch->rows != rows || scratch->cols < cols) {
        cs_dense_free(scratch);
        return cs_dense_init(scratch, rows, cols);
    }
    return CS_OK;
}

/* Y = diag(d) X; X may be Y. */
static void scale_rows(const double *d, const cs_dense *x, cs_dense *y)
{
    for (int64_t j = 0; j < x->cols; ++j) {
        const double *from = x->data + j * x->ld;
        double *to = y->data + j * y->ld;
        for (int64_t i = 0; i < x->rows; ++i) {
            to[i] = d[i] * from[i];
        }
    }
}

/* Y = diag(left) op(diag(right) X), either diagonal NULL for 1. */
static cs_status scaled_product(cs_linop_scaled_ctx *ctx, bool transposed, const cs_dense *x,
                                cs_dense *y)
{
    const double *left = transposed ? ctx->c : ctx->r, *right = transposed ? ctx->r : ctx->c;
    cs_dense *scratch = transposed ? &ctx->scratch_rows : &ctx->scratch_cols;
    cs_dense view = *x;
    cs_status status = CS_OK;
    if (right) {
        status = scratch_of(scratch, x->rows, x->cols);
        if (status != CS_OK) {
            return status;
        }
        view = *scratch;
        view.cols = x->cols;
        scale_rows(right, x, &view);
    }
    status = transposed ? ctx->inner->apply_t(ctx->inner->ctx, &view, y)
                        : ctx->inner->apply(ctx->inner->ctx, &view, y);
    if (status == CS_OK && left) {
        scale_rows(left, y, y);
    }
    return status;
}

static cs_status scaled_apply(void *context, const cs_dense *x, cs_dense *y)
{
    return scaled_product(context, false, x, y);
}

static cs_status scaled_apply_t(void *context, const cs_dense *x, cs_dense *y)
{
    return scaled_product(context, true, x, y);
}

cs_linop cs_linop_scaled(cs_linop_scaled_ctx *ctx, const cs_linop *inner, const double *r,
                         const double *c)
{
    *ctx = (cs_linop_scaled_ctx){.inner = inner, .r = r, .c = c};
    return (cs_linop){.rows = inner->rows,
                      .cols = inner->cols,
                      .apply = scaled_apply,
                      .apply_t = scaled_apply_t,
                      .ctx = ctx};
}

void cs_linop_scaled_free(cs_linop_scaled_ctx *ctx)
{
    cs_dense_free(&ctx->scratch_rows);
    cs_dense_free(&ctx->scratch_cols);
}

/* Y = op(A) X - L diag(s) R^T X. */
static cs_status deflated_product(const cs_linop_deflated_ctx *ctx, bool transposed,
                                  const cs_dense *x, cs_dense *y)
{
    const cs_dense *l = transposed ? ctx->v : ctx->u, *r = transposed ? ctx->u : ctx->v;
    cs_dense inner_products;
    cs_status status = cs_dense_init(&inner_products, r->cols, x->cols);
    if (status != CS_OK) {
        return status;
    }
    status = transposed ? ctx->inner->apply_t(ctx->inner->ctx, x, y)
                        : ctx->inner->apply(ctx->inner->ctx, x, y);
    if (status == CS_OK) {
        status = cs_gemm(true, false, 1, r, x, 0, &inner_products);
    }
    if (status == CS_OK) {
        scale_rows(ctx->s, &inner_products, &inner_products);
        status = cs_gemm(false, false, -1, l, &inner_products, 1, y);
    }
    cs_dense_free(&inner_products);
    return status;
}

static cs_status deflated_apply(void *context, const cs_dense *x, cs_dense *y)
{
    return deflated_product(context, false, x, y);
}

static cs_status deflated_apply_t(void *context, const cs_dense *x, cs_dense *y)
{
    return deflated_product(context, true, x, y);
}

enum { RUN = 256 }; /* terms summed before they join the sum, which bounds its error */

/* The same for panels: y -= l (s (r^T x)), a few columns in one pass each. */
static void subtract_panel(const cs_dense *l, const double *s, int power, const cs_dense *r,
                           const double *x, double *y)
{
    for (int64_t q = 0; q < r->cols; ++q) {
        const double *left = l->data + q * l->ld, *right = r->data + q * r->ld;
        const double factor = power == 2 ? s[q] * s[q] : s[q];
        double along[CS_PANEL] = {0};
        for (int64_t first = 0; first < r->rows; first += RUN) {
            double part[CS_PANEL] = {0};
            for (int64_t i = first; i < r->rows && i < first + RUN; ++i) {
                for (int j = 0; j < CS_PANEL; ++j) {
                    part[j] += right[i] * x[i * CS_PANEL + j];
                }
            }
            for (int j = 0; j < CS_PANEL; ++j) {
                along[j] += part[j];
            }
        }
        for (int64_t i = 0; i < l->rows; ++i) {
            for (int j = 0; j < CS_PANEL; ++j) {
                y[i * CS_PANEL + j] -= left[i] * (factor * along[j]);
            }
        }
    }
}

static cs_status deflated_panel_product(const cs_linop_deflated_ctx *ctx, bool transposed,
                                        const double *x, double *y)
{
    cs_status status = transposed ? ctx->inner->panel_t(ctx->inner->ctx, x, y)
                                  : ctx->inner->panel(ctx->inner->ctx, x, y);
    if (status == CS_OK) {
        subtract_panel(transposed ? ctx->v : ctx->u, ctx->s, 1, transposed ? ctx->u : ctx->v, x, y);
    }
    return status;
}

static cs_status deflated_normal(void *context, const double *x, double *y, double *room)
{
    const cs_linop_deflated_ctx *ctx = context;
    cs_status status = ctx->inner->normal.apply(ctx->inner->ctx, x, y, room);
    if (status == CS_OK) {
        subtract_panel(ctx->v, ctx->s, 2, ctx->v, x, y);
    }
    return status;
}

static cs_status deflated_normal_t(void *context, const double *x, double *y, double *room)
{
    const cs_linop_deflated_ctx *ctx = context;
    cs_status status = ctx->inner->normal_t.apply(ctx->inner->ctx, x, y, room);
    if (status == CS_OK) {
        subtract_panel(ctx->u, ctx->s, 2, ctx->u, x, y);
    }
    return status;
}

static cs_status deflated_panel(void *context, const double *x, double *y)
{
    return deflated_panel_product(context, false, x, y);
}

static cs_status deflated_panel_t(void *context, const double *x, double *y)
{
    return deflated_panel_product(context, true, x, y);
}

cs_linop cs_linop_deflated(cs_linop_deflated_ctx *ctx, const cs_linop *inner, const cs_dense *u,
                           const double *s, const cs_dense *v)
{
    *ctx = (cs_linop_deflated_ctx){.inner = inner, .u = u, .v = v, .s = s};
    bool few = inner->panel && u->cols <= CS_PANEL; /* more are for a matrix product */
    cs_linop_data data = {0};
    if (inner->data.a && !inner->data.u) {
        data = (cs_linop_data){.a = inner->data.a, .at = inner->data.at, .u = u, .v = v, .s = s};
    }
    return (cs_linop){.rows = inner->rows,
                      .cols = inner->cols,
                      .apply = deflated_apply,
                      .apply_t = deflated_apply_t,
                      .ctx = ctx,
                      .panel = few ? deflated_panel : NULL,
                      .panel_t = few ? deflated_panel_t : NULL,
                      .data = data};
}

cs_linop cs_linop_deflated_singular(cs_linop_deflated_ctx *ctx, const cs_linop *inner,
                                    const cs_dense *u, const double *s, const cs_dense *v)
{
    cs_linop op = cs_linop_deflated(ctx, inner, u, s, v);
    if (op.panel && inner->normal.apply) {
        op.normal = (cs_normal_product){deflated_normal, inner->normal.room};
    }
    if (op.panel && inner->normal_t.apply) {
        op.normal_t = (cs_normal_product){deflated_normal_t, inner->normal_t.room};
    }
    return op;
}

cs_linop cs_linop_transposed(const cs_linop *inner)
{
    return (cs_linop){.rows = inner->cols,
                      .cols = inner->rows,
                      .apply = inner->apply_t,
                      .apply_t = inner->apply,
                      .ctx = inner->ctx,
                      .panel = inner->panel_t,
                      .panel_t = inner->panel,
                      .normal = inner->normal_t,
                      .normal_t = inner->normal,
                      .data = {.a = inner->data.at,
                               .at = inner->data.a,
                               .u = inner->data.v,
                               .v = inner->data.u,
                               .s = inner->data.s}};
}
