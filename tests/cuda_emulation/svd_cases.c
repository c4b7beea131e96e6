#include "svd_cases.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"

/* --- matrices --------------------------------------------------------------------------------- */

static cs_status random_dense(int64_t rows, int64_t cols, cs_csr *out)
{
    cs_rng rng = cs_rng_at(21, CS_STREAM_TEST, (uint64_t)(rows * 1000 + cols));
    cs_status status = cs_csr_init(out, rows, cols, rows * cols);
    for (int64_t e = 0; status == CS_OK && e < rows * cols; ++e) { /* column by column */
        const int64_t i = e % rows, j = e / rows;
        out->col[i * cols + j] = (int32_t)j;
        out->val[i * cols + j] = cs_rng_normal(&rng);
        out->ptr[i + 1] = (i + 1) * cols;
    }
    return status;
}

static cs_status tall(cs_csr *out)
{
    return random_dense(61, 37, out);
}

static cs_status wide(cs_csr *out)
{
    return random_dense(23, 70, out);
}

static cs_status column(cs_csr *out)
{
    return random_dense(9, 1, out);
}

/* n triplets drawn by `draw`. */
static cs_status of_triplets(int64_t rows, int64_t cols, int64_t n,
                             void (*draw)(int64_t t, int64_t *row, int64_t *col, double *val),
                             cs_csr *out)
{
    int64_t *row = cs_alloc(n, sizeof *row), *col = cs_alloc(n, sizeof *col);
    CS_AUTO_FREE double *val = cs_alloc(n, sizeof *val);
    cs_status status = row && col && val ? CS_OK : CS_ERR_MEMORY;
    for (int64_t t = 0; status == CS_OK && t < n; ++t) {
        draw(t, &row[t], &col[t], &val[t]);
    }
    status = status ? status : cs_csr_from_triplets(rows, cols, n, row, col, val, out);
    cs_free(row);
    cs_free(col);
    return status;
}

/* Rows with many entries, rows with none, 400 x 230. */
static void draw_sparse(int64_t t, int64_t *row, int64_t *col, double *val)
{
    cs_rng rng = cs_rng_at(22, CS_STREAM_TEST, (uint64_t)t);
    int64_t r = cs_rng_below(&rng, 400);
    *row = r * r / 400;
    *col = cs_rng_below(&rng, 230);
    *val = cs_rng_uniform(&rng);
}

static cs_status sparse(cs_csr *out)
{
    return of_triplets(400, 230, 2500, draw_sparse, out);
}

static cs_status sparse_wide(cs_csr *out)
{
    CS_AUTO(cs_csr) a = {0};
    cs_status status = sparse(&a);
    status = status ? status : cs_csr_transpose(&a, out);
    return status;
}

/* The d-cube, d = 8: |8 - 2 i| with multiplicity C(8, i). */
static void draw_cube(int64_t t, int64_t *row, int64_t *col, double *val)
{
    *row = t / 8;
    *col = *row ^ (1 << t % 8);
    *val = 1;
}

static cs_status cube(cs_csr *out)
{
    return of_triplets(256, 256, 256 * 8, draw_cube, out);
}

/* 40 equal blocks of 5 x 3 ones: sqrt(15), 40 times, and nothing else. */
static void draw_blocks(int64_t t, int64_t *row, int64_t *col, double *val)
{
    *row = t / 3;
    *col = *row / 5 * 3 + t % 3;
    *val = 1;
}

static cs_status blocks(cs_csr *out)
{
    return of_triplets(200, 120, 600, draw_blocks, out);
}

/* A diagonal from 1 to 1e-9: its end is not distinguishable from 0 in A^T A. */
static void draw_falling(int64_t t, int64_t *row, int64_t *col, double *val)
{
    *row = (t * 7 + 3) % 160;
    *col = t;
    *val = pow(10, -9 * (double)t / 149);
}

static cs_status falling(cs_csr *out)
{
    return of_triplets(160, 150, 150, draw_falling, out);
}

const cs_svd_case cs_svd_cases[] = {
    {"cusolver, 61 x 37", tall, CS_SOLVER_CUSOLVER, 37, CS_OUT_NOTHING, false},
    {"cusolver, wide, five", wide, CS_SOLVER_CUSOLVER, 5, CS_OUT_NOTHING, false},
    {"cusolver, one column", column, CS_SOLVER_CUSOLVER, 1, CS_OUT_NOTHING, false},
    {"cusolver, sparse, deflated", sparse, CS_SOLVER_CUSOLVER, 229, CS_OUT_LARGEST, false},
    {"cusolver, sparse and wide, deflated", sparse_wide, CS_SOLVER_CUSOLVER, 30, CS_OUT_LARGEST,
     false},
    {"cusolver, multiplicities", cube, CS_SOLVER_CUSOLVER, 186, CS_OUT_NOTHING, false},
    {"cusolver, falling to 1e-9", falling, CS_SOLVER_CUSOLVER, 150, CS_OUT_NOTHING, false},
    {"cusolver by the Gram matrix", tall, CS_SOLVER_CUSOLVER, 12, CS_OUT_NOTHING, true},
    {"cusolver by the Gram matrix, wide, deflated", sparse_wide, CS_SOLVER_CUSOLVER, 80,
     CS_OUT_LARGEST, true},
    {"auto, 61 x 37", tall, CS_SOLVER_AUTO, 9, CS_OUT_NOTHING, false},
    {"block, sparse", sparse, CS_SOLVER_BLOCK, 12, CS_OUT_NOTHING, false},
    {"block, sparse and wide", sparse_wide, CS_SOLVER_BLOCK, 20, CS_OUT_NOTHING, false},
    {"block, sparse, deflated", sparse, CS_SOLVER_BLOCK, 12, CS_OUT_LARGEST, false},
    {"block, sparse and wide, deflated", sparse_wide, CS_SOLVER_BLOCK, 3, CS_OUT_LARGEST, false},
    {"cusolver, minus an outer product", sparse, CS_SOLVER_CUSOLVER, 40, CS_OUT_OUTER, false},
    {"cusolver by the Gram matrix, wide, minus an outer product", sparse_wide, CS_SOLVER_CUSOLVER,
     30, CS_OUT_OUTER, true},
    {"block, minus an outer product", sparse, CS_SOLVER_BLOCK, 12, CS_OUT_OUTER, false},
    {"block, wide, minus an outer product", sparse_wide, CS_SOLVER_BLOCK, 8, CS_OUT_OUTER, false},
    {"block, multiplicities", cube, CS_SOLVER_BLOCK, 30, CS_OUT_NOTHING, false},
    {"block, equal blocks", blocks, CS_SOLVER_BLOCK, 40, CS_OUT_NOTHING, false},
    {"block, Golub-Kahan", falling, CS_SOLVER_BLOCK, 110, CS_OUT_NOTHING, false},
    {NULL, NULL, CS_SOLVER_AUTO, 0, CS_OUT_NOTHING, false},
};

/* --- comparison ------------------------------------------------------------------------------- */

/* A less an outer product that is larger than A. */
static cs_status outer_world(cs_svd_world *w)
{
    cs_status status = cs_dense_init(&w->first.u, w->a.rows, 1);
    if (status == CS_OK) status = cs_dense_init(&w->first.v, w->a.cols, 1);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < w->a.rows; ++i) {
        w->first.u.data[i] = 2 + (double)(i % 5) / 3;
    }
    for (int64_t j = 0; j < w->a.cols; ++j) {
        w->first.v.data[j] = 1 - (double)(j % 7) / 9;
    }
    return cs_linop_outer(&w->outer, &w->sparse, w->first.u.data, w->first.v.data, &w->op);
}

cs_status cs_svd_world_open(const cs_svd_case *c, cs_svd_world *w)
{
    *w = (cs_svd_world){0};
    cs_status status = c->make(&w->a);
    status = status ? status : cs_csr_transpose(&w->a, &w->at);
    w->sparse = cs_linop_csr(&w->csr, &w->a, &w->at, 1);
    w->op = w->sparse;
    if (status == CS_OK && c->out == CS_OUT_OUTER) {
        status = outer_world(w);
    } else if (status == CS_OK && c->out == CS_OUT_LARGEST) {
        cs_svd_options o = {.k = 1, .solver = CS_SOLVER_LAPACK};
        status = cs_svd_compute(&w->sparse, &o, &w->first);
        w->op = cs_linop_deflated(&w->deflated, &w->sparse, &w->first.u, w->first.sigma,
                                  &w->first.v, false);
    }
    if (status != CS_OK) cs_svd_world_close(w);
    return status;
}

void cs_svd_world_close(cs_svd_world *w)
{
    cs_csr_free(&w->a);
    cs_csr_free(&w->at);
    cs_linop_outer_ctx_free(&w->outer);
    cs_svd_free(&w->first);
}

static double off_orthonormal(const cs_dense *u)
{
    double worst = 0;
    for (int64_t j = 0; j < u->cols; ++j) {
        for (int64_t l = 0; l <= j; ++l) {
            double sum = 0;
            for (int64_t i = 0; i < u->rows; ++i) {
                sum += u->data[i + j * u->ld] * u->data[i + l * u->ld];
            }
            worst = fmax(worst, fabs(sum - (j == l)));
        }
    }
    return worst;
}

static bool same_bits(const cs_svd *a, const cs_svd *b)
{
    size_t values = (size_t)a->k * sizeof(double);
    return a->k == b->k && memcmp(a->sigma, b->sigma, values) == 0 &&
           memcmp(a->u.data, b->u.data, values * (size_t)a->u.rows) == 0 &&
           memcmp(a->v.data, b->v.data, values * (size_t)a->v.rows) == 0;
}

static bool say(char why[CS_SVD_WHY], const char *what, double is, double most)
{
    (void)snprintf(why, CS_SVD_WHY, "%s: %.3g, at most %.3g", what, is, most);
    return false;
}

static bool agrees(const cs_svd_case *c, const cs_linop *op, const cs_svd *s, const cs_svd *want,
                   char why[CS_SVD_WHY])
{
    double first = want->sigma[0], rounding = 50 * (double)(op->rows + op->cols) * DBL_EPSILON;
    if (c->solver != CS_SOLVER_AUTO && s->solver != c->solver) {
        return say(why, "solver", s->solver, c->solver);
    }
    if (!s->converged || s->k < 1 || s->k > c->k) {
        return say(why, "triplets, or not converged", (double)s->k, (double)c->k);
    }
    for (int64_t j = 0; j < c->k && j < want->k; ++j) {
        double value = j < s->k ? s->sigma[j] : 0;
        double most = j < s->k ? 1e-10 * first : s->floor * (1 + 1e-10);
        if (!(fabs(value - want->sigma[j]) <= most)) {
            (void)snprintf(why, CS_SVD_WHY, "sigma_%lld is %.17g, not %.17g", (long long)j + 1,
                           value, want->sigma[j]);
            return false;
        }
    }
    for (int64_t j = 0; j < s->k; ++j) {
        if (!(s->residual[j] <= 1e-12 * first)) {
            return say(why, "residual", s->residual[j], 1e-12 * first);
        }
    }
    double off = fmax(off_orthonormal(&s->u), off_orthonormal(&s->v));
    return off <= rounding || say(why, "not orthonormal", off, rounding);
}

bool cs_svd_compare(cs_gpu *gpu, const cs_svd_case *c, char why[CS_SVD_WHY])
{
    cs_svd_world w;
    cs_svd want = {0}, got = {0}, again = {0};
    cs_svd_options lapack = {.k = c->k, .solver = CS_SOLVER_LAPACK};
    cs_svd_options o = {
        .k = c->k, .solver = c->solver, .seed = 3, .gpu = gpu, .dense_limit = c->gram ? 1 : 0};
    cs_status status = cs_svd_world_open(c, &w);
    bool good = false;
    if (status != CS_OK) {
        (void)snprintf(why, CS_SVD_WHY, "%s", cs_reason());
        return false;
    }
    status = cs_svd_compute(&w.op, &lapack, &want);
    status = status ? status : cs_svd_compute(&w.op, &o, &got);
    status = status ? status : cs_svd_compute(&w.op, &o, &again);
    if (status != CS_OK) {
        (void)snprintf(why, CS_SVD_WHY, "%s", cs_reason());
        cs_reason_clear();
    } else {
        good = agrees(c, &w.op, &got, &want, why);
        if (good && !same_bits(&got, &again)) {
            (void)snprintf(why, CS_SVD_WHY, "other bits when repeated");
            good = false;
        }
    }
    cs_svd_free(&want);
    cs_svd_free(&got);
    cs_svd_free(&again);
    cs_svd_world_close(&w);
    return good;
}
