/* Lanczos with full reorthogonalisation on P A^T A P from sign vectors, a group of samples at a
 * time: the products of a group are one block product, its orthogonalisations run side by side.
 *
 * Method. Every vector is made orthogonal to the known ones and, twice (Kahan's "twice is enough"),
 * to all before it: without that, copies of values already found would turn up as nodes, and the
 * bounds of jacobi.h are for the true Jacobi matrix. A sample ends when what is left is rounding
 * noise of the product.
 *
 * Limits: degree vectors a sample are kept. Sums over a vector run in a fixed order in one thread;
 * BLAS is not used, for its bits depend on its threads.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/density_private.h"

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

void cs_density_group_free(cs_density_group *g)
{
    cs_pool_free(&g->pool);
    *g = (cs_density_group){0};
}

double cs_density_room(int64_t rows, int64_t cols, int64_t degree)
{
    return CS_DENSITY_GROUP * ((double)cols * (double)(degree + 2) + (double)rows);
}

cs_status cs_density_group_init(const cs_linop *a, int64_t degree, cs_density_group *out)
{
    cs_density_group g = {0};
    g.x = cs_dense_in(&g.pool, a->cols, CS_DENSITY_GROUP);
    g.y = cs_dense_in(&g.pool, a->cols, CS_DENSITY_GROUP);
    g.half = cs_dense_in(&g.pool, a->rows, CS_DENSITY_GROUP);
    for (int c = 0; c < CS_DENSITY_GROUP; ++c) {
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
    cs_density_group *group;
    int64_t first, step;
    double scale; /* the largest value known: a product's rounding is relative to it */
    bool running[CS_DENSITY_GROUP];
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
    for (int c = 0; c < CS_DENSITY_GROUP; ++c) {
        any = any || l->running[c];
    }
    return any;
}

cs_status cs_density_group_run(const cs_linop *a, const cs_density_options *options, int64_t first,
                               int64_t count, cs_density_group *group)
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
                           first / CS_DENSITY_GROUP * options->degree + l.step + 1,
                           (options->samples + CS_DENSITY_GROUP - 1) / CS_DENSITY_GROUP *
                               options->degree);
    }
    return status;
}
