/* Compositions of linear operators. Each holds a borrowed inner operator and adds one step around
 * its products.
 */
#include "linalg/linop.h"

#include <stddef.h>
#include <string.h>

#include "base/auto.h"
#include "base/vector_ops.h"

static cs_status csr_apply(void *context, bool turn, const cs_dense *x, cs_dense *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply(turn ? ctx->at : ctx->a, x, y, ctx->threads);
}

static cs_status csr_panel(void *context, bool turn, const double *x, double *y)
{
    const cs_linop_csr_ctx *ctx = context;
    return cs_csr_apply_panel(turn ? ctx->at : ctx->a, x, y, ctx->threads);
}

/* In one pass where that pays, else one product after the other. */
static cs_status csr_normal(void *context, bool turn, const double *x, double *y, double *work)
{
    const cs_linop_csr_ctx *ctx = context;
    const cs_csr *a = turn ? ctx->at : ctx->a;
    if (cs_csr_normal_pays(a)) {
        return cs_csr_apply_normal(a, x, y, work, ctx->threads);
    }
    cs_status status = cs_csr_apply_panel(a, x, work, ctx->threads);
    return status ? status : cs_csr_apply_panel(turn ? ctx->a : ctx->at, work, y, ctx->threads);
}

static int64_t normal_work_size(const cs_csr *a)
{
    return cs_csr_normal_pays(a) ? cs_csr_normal_work_size(a) : a->rows * CS_PANEL;
}

cs_linop cs_linop_csr(cs_linop_csr_ctx *ctx, const cs_csr *a, const cs_csr *at, int threads)
{
    *ctx = (cs_linop_csr_ctx){.a = a, .at = at, .threads = threads};
    return (cs_linop){.rows = a->rows,
                      .cols = a->cols,
                      .ctx = ctx,
                      .apply = csr_apply,
                      .panel = csr_panel,
                      .normal = csr_normal,
                      .work_size = normal_work_size(a),
                      .work_size_t = normal_work_size(at),
                      .data = {.a = a, .at = at}};
}

/* Y = op(A) X - L diag(s) R^T X. */
static cs_status deflated_apply(void *context, bool turn, const cs_dense *x, cs_dense *y)
{
    const cs_linop_deflated_ctx *ctx = context;
    const cs_dense *l = turn ? ctx->v : ctx->u, *r = turn ? ctx->u : ctx->v;
    CS_AUTO(cs_dense) along = {0};
    cs_status status = cs_dense_init(&along, r->cols, x->cols);
    if (status != CS_OK) return status;
    status = cs_linop_apply(ctx->inner, turn, x, y);
    if (status == CS_OK) status = cs_gemm(true, false, 1, r, x, 0, &along);
    for (int64_t e = 0; status == CS_OK && e < r->cols * x->cols; ++e) {
        along.data[e] *= ctx->s[e % r->cols];
    }
    if (status == CS_OK) status = cs_gemm(false, false, -1, l, &along, 1, y);
    return status;
}

enum { RUN = 256 }; /* terms summed before they join the sum, which bounds its error */

/* along[q] = r[q]^T x of a panel with n rows, for `count` vectors (a constant where it is called). */
static inline void inner_panel(int count, int64_t n, const double *const *r, const double *x,
                               double (*along)[CS_PANEL])
{
    memset(along, 0, (size_t)count * sizeof *along);
    for (int64_t first = 0; first < n; first += RUN) {
        double part[2][CS_PANEL] = {{0}};
        for (int64_t i = first; i < n && i < first + RUN; ++i) {
            for (int q = 0; q < count; ++q) {
                for (int j = 0; j < CS_PANEL; ++j) {
                    part[q][j] += r[q][i] * x[i * CS_PANEL + j];
                }
            }
        }
        for (int q = 0; q < count; ++q) {
            for (int j = 0; j < CS_PANEL; ++j) {
                along[q][j] += part[q][j];
            }
        }
    }
}

/* The same for panels: y -= l (s (r^T x)), a few columns in one pass each. */
static void subtract_panel(const cs_dense *l, const double *s, int power, const cs_dense *r,
                           const double *x, double *y)
{
    for (int64_t q = 0; q < r->cols; ++q) {
        const double *left = l->data + q * l->ld, *right = r->data + q * r->ld;
        const double factor = power == 2 ? s[q] * s[q] : s[q];
        double along[1][CS_PANEL];
        inner_panel(1, r->rows, &right, x, along);
        for (int64_t i = 0; i < l->rows; ++i) {
            for (int j = 0; j < CS_PANEL; ++j) {
                y[i * CS_PANEL + j] -= left[i] * (factor * along[0][j]);
            }
        }
    }
}

static cs_status deflated_panel(void *context, bool turn, const double *x, double *y)
{
    const cs_linop_deflated_ctx *ctx = context;
    cs_status status = cs_linop_panel(ctx->inner, turn, x, y);
    if (status == CS_OK)
        subtract_panel(turn ? ctx->v : ctx->u, ctx->s, 1, turn ? ctx->u : ctx->v, x, y);
    return status;
}

static cs_status deflated_normal(void *context, bool turn, const double *x, double *y, double *work)
{
    const cs_linop_deflated_ctx *ctx = context;
    const cs_linop *a = ctx->inner;
    const cs_dense *known = turn ? ctx->u : ctx->v;
    cs_status status = a->normal(a->ctx, a->turned != turn, x, y, work);
    if (status == CS_OK) subtract_panel(known, ctx->s, 2, known, x, y);
    return status;
}

cs_linop cs_linop_deflated(cs_linop_deflated_ctx *ctx, const cs_linop *inner, const cs_dense *u,
                           const double *s, const cs_dense *v, bool singular)
{
    *ctx = (cs_linop_deflated_ctx){.inner = inner, .u = u, .v = v, .s = s};
    bool few = inner->panel && u->cols <= CS_PANEL; /* more are for a matrix product */
    bool normal = few && singular && inner->normal;
    cs_linop op = {.rows = inner->rows,
                   .cols = inner->cols,
                   .ctx = ctx,
                   .apply = deflated_apply,
                   .panel = few ? deflated_panel : NULL,
                   .normal = normal ? deflated_normal : NULL,
                   .work_size = normal ? inner->work_size : -1,
                   .work_size_t = normal ? inner->work_size_t : -1};
    if (inner->data.a && !inner->data.u) {
        op.data = (cs_linop_data){.a = inner->data.a, .at = inner->data.at, .u = u, .v = v, .s = s};
    }
    return op;
}

/* With z = A^T l - r |l|^2 / 2: (A - l r^T)^T (A - l r^T) = A^T A - z r^T - r z^T. */
static cs_status outer_normal(void *context, bool turn, const double *x, double *y, double *work)
{
    const cs_linop_outer_ctx *ctx = context;
    const cs_linop *a = ctx->minus.inner;
    const cs_dense *side = turn ? &ctx->left : &ctx->right;
    const double *const zr[] = {ctx->correction[turn], side->data};
    double along[2][CS_PANEL];
    cs_status status = a->normal(a->ctx, a->turned != turn, x, y, work);
    if (status != CS_OK) return status;
    inner_panel(2, side->rows, zr, x, along);
    for (int64_t i = 0; i < side->rows; ++i) {
        for (int j = 0; j < CS_PANEL; ++j) {
            y[i * CS_PANEL + j] -= zr[0][i] * along[1][j] + zr[1][i] * along[0][j];
        }
    }
    return CS_OK;
}

/* The vector z of A^T A, or of A A^T with `turn`. */
static cs_status fill_correction(cs_linop_outer_ctx *ctx, bool turn)
{
    const cs_dense *near = turn ? &ctx->left : &ctx->right, *far = turn ? &ctx->right : &ctx->left;
    cs_dense z = cs_dense_in(&ctx->pool, near->rows, 1);
    if (!z.data) return ctx->pool.status;
    cs_status status = cs_linop_apply(ctx->minus.inner, !turn, far, &z);
    const double half = cs_inner(far->rows, far->data, far->data) / 2;
    cs_add_multiple(near->rows, -half, near->data, z.data);
    ctx->correction[turn] = z.data;
    return status;
}

cs_status cs_linop_outer(cs_linop_outer_ctx *ctx, const cs_linop *inner, double *left,
                         double *right, cs_linop *out)
{
    static const double one = 1;
    *ctx = (cs_linop_outer_ctx){.left = {inner->rows, 1, inner->rows, left},
                                .right = {inner->cols, 1, inner->cols, right}};
    cs_linop op = cs_linop_deflated(&ctx->minus, inner, &ctx->left, &one, &ctx->right, false);
    cs_status status = fill_correction(ctx, false);
    if (status == CS_OK) status = fill_correction(ctx, true);
    if (inner->normal) {
        op.normal = outer_normal;
        op.work_size = inner->work_size;
        op.work_size_t = inner->work_size_t;
    }
    if (status == CS_OK) *out = op;
    return status;
}

void cs_linop_outer_ctx_free(cs_linop_outer_ctx *ctx)
{
    cs_pool_free(&ctx->pool);
    *ctx = (cs_linop_outer_ctx){0};
}

cs_linop cs_linop_transposed(const cs_linop *inner)
{
    const cs_linop_data *d = &inner->data;
    cs_linop op = *inner;
    op.rows = inner->cols;
    op.cols = inner->rows;
    op.turned = !inner->turned;
    op.work_size = inner->work_size_t;
    op.work_size_t = inner->work_size;
    op.data = (cs_linop_data){.a = d->at, .at = d->a, .u = d->v, .v = d->u, .s = d->s};
    return op;
}
