/* The largest triplets of all blocks, lifted to the input's numbering.
 *
 * Method: closed-form and computed triplets are sorted by value, ties by block and then by order in
 * the block, so that the choice is the same in every run. Vectors are lifted a panel of columns at
 * a time (reduce.h: U[X] = sqrt(P_C(X) / P_C(lump)) U[lump]) and their residuals taken through the
 * full Abar, never through the reduced matrix.
 *
 * Limits: values at or below the largest floor of any block's solver, and below eps times the
 * largest of all, count as zero.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum_stages_private.h"

enum { PANEL = CS_PANEL };

typedef struct {
    double sigma;
    int64_t block, index; /* index -1: the closed form */
} choice;

static int compare_choices(const void *x, const void *y)
{
    const choice *a = x, *b = y;
    const int sigma = CS_ORDER(b->sigma, a->sigma), block = CS_ORDER(a->block, b->block);
    return sigma ? sigma : block ? block : CS_ORDER(a->index, b->index);
}

/* All triplets above the floor, in order; *count of them. */
static cs_status rank_triplets(const cs_reduction *r, const cs_parts *parts, double floor,
                               choice **out, int64_t *count)
{
    int64_t n = 0;
    for (int64_t b = 0; b < r->count; ++b) {
        n += parts->part[b].svd.k + 1;
    }
    choice *list = cs_alloc(n, sizeof *list);
    if (!list) return CS_ERR_MEMORY;
    n = 0;
    for (int64_t b = 0; b < r->count; ++b) {
        const cs_svd *svd = &parts->part[b].svd;
        if (r->known) {
            list[n++] = (choice){1, b, -1};
        }
        for (int64_t j = 0; j < svd->k && svd->sigma[j] > floor; ++j) {
            list[n++] = (choice){svd->sigma[j], b, j};
        }
    }
    qsort(list, (size_t)n, sizeof *list, compare_choices);
    *out = list;
    *count = n;
    return CS_OK;
}

/* One side of a triplet in the input's numbering: column[X * stride], zero before. */
static void lift_column(const cs_reduction_side *s, const choice *c, const cs_dense *vectors,
                        double *column, int64_t stride)
{
    const double *reduced = c->index < 0 ? NULL : vectors->data + c->index * vectors->ld;
    for (int64_t m = s->list_start[c->block]; m < s->list_start[c->block + 1]; ++m) {
        int64_t x = s->list[m], at = s->of[x];
        column[x * stride] =
            s->lift[x] * (reduced ? reduced[at - s->start[c->block]] : sqrt(s->weight[at]));
    }
}

typedef struct {
    const cs_parts *parts;
    const choice *chosen;
    const cs_reduction_side *side;
    cs_spectrum *out;
} lift_job;

static cs_status lift_triplet(void *ctx, int64_t j)
{
    const lift_job *job = ctx;
    const choice *c = &job->chosen[j];
    const cs_part *part = &job->parts->part[c->block];
    cs_spectrum *out = job->out;
    lift_column(&job->side[CS_LEFT], c, &part->svd.u, out->u.data + j * out->u.ld, 1);
    lift_column(&job->side[CS_RIGHT], c, &part->svd.v, out->v.data + j * out->v.ld, 1);
    return CS_OK;
}

/* The chosen triplets into the columns of u and v (zero before). */
static cs_status lift_all(const cs_system *system, const cs_parts *parts, const choice *chosen,
                          int threads, cs_spectrum *out)
{
    lift_job job = {.parts = parts, .chosen = chosen, .side = system->reduced.side, .out = out};
    cs_status status = cs_dense_init(&out->u, system->abar->rows, out->k);
    if (status == CS_OK) status = cs_dense_init(&out->v, system->abar->cols, out->k);
    return status ? status : cs_parallel(out->k, threads, lift_triplet, &job);
}

/* The second triplet of one block, if it is among the chosen ones. */
static cs_status lift_second(const cs_system *system, const cs_parts *parts, const choice *chosen,
                             int64_t block, cs_spectrum *out)
{
    const cs_reduction_side *side = system->reduced.side;
    const int64_t index = system->reduced.known ? 0 : 1;
    int64_t t = 0;
    out->second.index = -1;
    while (t < out->k && (chosen[t].block != block || chosen[t].index != index)) {
        ++t;
    }
    if (t == out->k) return CS_OK;
    const cs_svd *svd = &parts->part[block].svd;
    cs_status status = cs_dense_init(&out->second.u, system->abar->rows, 1);
    if (status == CS_OK) status = cs_dense_init(&out->second.v, system->abar->cols, 1);
    if (status != CS_OK) return status;
    out->second.index = t;
    lift_column(&side[CS_LEFT], &chosen[t], &svd->u, out->second.u.data, 1);
    lift_column(&side[CS_RIGHT], &chosen[t], &svd->v, out->second.v.data, 1);
    return CS_OK;
}

/* Triplets in layers: the l-th chosen one of each block is in layer l. */
typedef struct {
    int64_t layers;
    int64_t *triplet, *start; /* triplets of layer l: triplet[start[l] .. start[l + 1] - 1] */
} layering;

static cs_status layer_triplets(const choice *chosen, int64_t k, int64_t blocks, cs_pool *pool,
                                layering *l)
{
    int64_t *seen = cs_pool_take(pool, blocks, sizeof *seen);
    l->triplet = cs_pool_take(pool, k, sizeof *l->triplet);
    l->start = cs_pool_take(pool, k + 2, sizeof *l->start);
    if (pool->status != CS_OK) return pool->status;
    int64_t *next = l->start + 1; /* layer l is filled at next[l], which ends as start[l + 1] */
    for (int64_t j = 0; j < k; ++j) {
        int64_t layer = seen[chosen[j].block]++;
        ++next[layer + 1];
        l->layers = layer + 1 > l->layers ? layer + 1 : l->layers;
    }
    cs_starts(l->layers, next);
    memset(seen, 0, (size_t)blocks * sizeof *seen);
    for (int64_t j = 0; j < k; ++j) {
        l->triplet[next[seen[chosen[j].block]++]++] = j;
    }
    return CS_OK;
}

typedef struct {
    const cs_parts *parts;
    const choice *chosen;
    const layering *layers;
    const cs_reduction_side *side;
    const cs_system *system;
    int threads;
    double *u, *v, *product_u, *product_v; /* panels of layers, row by row */
    double *work;                          /* of the products */
    const cs_linop *form;                  /* of a form with a part of rank one, or NULL */
    int64_t first;                         /* layer in the panels' first column */
    double *residual;
} residual_job;

/* product_u = Abar V, product_v = Abar^T U. */
static cs_status multiply(const residual_job *job)
{
    const cs_csr *a = job->system->abar, *at = &job->system->abar_t;
    const cs_csr *tall = cs_system_one_pass(job->system);
    if (job->form) {
        cs_status status = cs_linop_panel(job->form, false, job->v, job->product_u);
        return status ? status : cs_linop_panel(job->form, true, job->u, job->product_v);
    }
    if (tall == a) {
        return cs_csr_apply_both(a, job->v, job->u, job->product_u, job->product_v, job->work,
                                 job->threads);
    }
    if (tall) {
        return cs_csr_apply_both(at, job->u, job->v, job->product_v, job->product_u, job->work,
                                 job->threads);
    }
    cs_status status = cs_csr_apply_panel(a, job->v, job->product_u, job->threads);
    return status ? status : cs_csr_apply_panel(at, job->u, job->product_v, job->threads);
}

/* ||product - sigma x|| over the members of one block, in one column of the panels. */
static double block_difference(const cs_reduction_side *s, int64_t block, double sigma,
                               const double *product, const double *x)
{
    double sum = 0;
    for (int64_t m = s->list_start[block]; m < s->list_start[block + 1]; ++m) {
        double off = product[s->list[m] * PANEL] - sigma * x[s->list[m] * PANEL];
        sum += off * off;
    }
    return sqrt(sum);
}

/* Residuals of the triplets in one layer, which is a column of the panels. */
static cs_status layer_residuals(void *ctx, int64_t column)
{
    const residual_job *job = ctx;
    const layering *l = job->layers;
    for (int64_t t = l->start[job->first + column]; t < l->start[job->first + column + 1]; ++t) {
        const choice *c = &job->chosen[l->triplet[t]];
        double left = block_difference(&job->side[CS_LEFT], c->block, c->sigma,
                                       job->product_u + column, job->u + column);
        double right = block_difference(&job->side[CS_RIGHT], c->block, c->sigma,
                                        job->product_v + column, job->v + column);
        job->residual[l->triplet[t]] = left >= right || isnan(left) ? left : right;
    }
    return CS_OK;
}

/* Residuals of the triplets in layers first .. first + count - 1. */
static cs_status panel_residuals(residual_job *job, int64_t first, int64_t count)
{
    const layering *l = job->layers;
    const cs_csr *abar = job->system->abar;
    memset(job->u, 0, (size_t)(abar->rows * PANEL) * sizeof *job->u);
    memset(job->v, 0, (size_t)(abar->cols * PANEL) * sizeof *job->v);
    for (int64_t column = 0; column < count; ++column) {
        for (int64_t t = l->start[first + column]; t < l->start[first + column + 1]; ++t) {
            const choice *c = &job->chosen[l->triplet[t]];
            const cs_part *part = &job->parts->part[c->block];
            lift_column(&job->side[CS_LEFT], c, &part->svd.u, job->u + column, PANEL);
            lift_column(&job->side[CS_RIGHT], c, &part->svd.v, job->v + column, PANEL);
        }
    }
    job->first = first;
    cs_status status = multiply(job);
    return status ? status : cs_parallel(count, job->threads, layer_residuals, job);
}

static cs_status take_residuals(const cs_system *system, const cs_parts *parts,
                                const choice *chosen, int threads, cs_spectrum *out)
{
    layering layers = {0};
    CS_AUTO(cs_pool) pool = {0};
    const cs_csr *abar = system->abar, *tall = cs_system_one_pass(system);
    residual_job job = {.parts = parts,
                        .chosen = chosen,
                        .layers = &layers,
                        .side = system->reduced.side,
                        .system = system,
                        .threads = threads,
                        .residual = out->residual};
    cs_status status = layer_triplets(chosen, out->k, parts->count, &pool, &layers);
    const struct {
        double **panel;
        int64_t rows;
    } buffers[] = {{&job.u, abar->rows},
                   {&job.v, abar->cols},
                   {&job.product_u, abar->rows},
                   {&job.product_v, abar->cols},
                   {&job.work, tall ? cs_csr_normal_work_size(tall) / PANEL : 0}};
    enum { BUFFERS = sizeof buffers / sizeof *buffers };
    cs_matrix_form_operator form = {0};
    if (status == CS_OK && system->term[CS_LEFT]) {
        status = cs_matrix_form_operator_open(abar, &system->abar_t, system->term, threads, &form);
        job.form = &form.op;
    }
    for (int i = 0; i < BUFFERS && status == CS_OK; ++i) {
        *buffers[i].panel = cs_csr_panel_alloc(buffers[i].rows);
        status = *buffers[i].panel ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t first = 0; status == CS_OK && first < layers.layers; first += PANEL) {
        int64_t count = cs_least(layers.layers - first, PANEL);
        status = cs_interrupt_check();
        if (status == CS_OK) status = panel_residuals(&job, first, count);
    }
    for (int i = 0; i < BUFFERS; ++i) {
        cs_free_aligned(*buffers[i].panel);
    }
    cs_matrix_form_operator_close(&form);
    return status;
}

/* Combines the parts: floor, convergence, completeness, the solver of the largest block. */
static void summarise(const cs_reduction *r, const cs_parts *parts, bool *complete,
                      cs_spectrum *out)
{
    int64_t largest = 0;
    double top = r->known ? 1 : 0; /* the largest value of all */
    out->solution.floor = 0;
    out->solution.converged = true;
    out->solution.solver = CS_SOLVER_AUTO;
    *complete = true;
    for (int64_t b = 0; b < r->count; ++b) {
        const cs_svd *svd = &parts->part[b].svd;
        int64_t size = cs_block_rank(r, b);
        out->solution.floor = fmax(out->solution.floor, svd->floor);
        top = svd->k > 0 ? fmax(top, svd->sigma[0]) : top;
        out->solution.converged = out->solution.converged && svd->converged;
        *complete = *complete && parts->part[b].complete;
        if (svd->solver != CS_SOLVER_AUTO && size > largest) {
            largest = size;
            out->solution.solver = svd->solver;
        }
    }
    out->solution.floor = fmax(out->solution.floor, DBL_EPSILON * top);
}

/* As solvers promise (linalg/svd.h): what came unchecked from one, against tol times the largest
 * value that it gave. Then the largest of all. */
static void check_residuals(double tol, const cs_parts *parts, const choice *chosen,
                            cs_spectrum *out)
{
    for (int64_t j = 0; j < out->k; ++j) {
        const cs_part *part = &parts->part[chosen[j].block];
        out->solution.converged =
            out->solution.converged && (chosen[j].index < 0 || !part->unchecked ||
                                        out->residual[j] <= tol * part->svd.sigma[0]);
    }
    cs_certificate_residual(tol, out);
}

void cs_certificate_residual(double tol, cs_spectrum *s)
{
    double worst = 0, bound = tol * (s->k > 0 ? s->sigma[0] : 1);
    for (int64_t j = 0; j < s->k; ++j) {
        if (!(s->residual[j] <= worst) && !isnan(worst)) { /* a NaN stays */
            worst = s->residual[j];
        }
    }
    s->cert.residual =
        (cs_certificate){worst <= bound ? CS_CERT_PASSED : CS_CERT_FAILED, worst, bound, NAN, ""};
    s->solution.converged = s->solution.converged && worst <= bound;
    s->solution.tol = tol;
}

cs_status cs_spectrum_merge(const cs_system *system, const cs_parts *parts,
                            const cs_spectrum_options *options, bool keep, cs_spectrum *out)
{
    const cs_reduction *r = &system->reduced;
    CS_AUTO_FREE choice *chosen = NULL;
    bool complete = false;
    int64_t known = 0;
    summarise(r, parts, &complete, out);
    cs_status status = rank_triplets(r, parts, out->solution.floor, &chosen, &known);
    if (status != CS_OK) return status;
    out->k = known < parts->wanted ? known : parts->wanted;
    out->zeros = out->solution.converged ? parts->wanted - out->k : 0;
    out->rank = complete && out->k == known ? known : -1;
    out->sigma = cs_alloc(out->k, sizeof *out->sigma);
    out->residual = cs_calloc(out->k, sizeof *out->residual);
    if (!out->sigma || !out->residual) {
        status = CS_ERR_MEMORY;
        return status;
    }
    for (int64_t j = 0; j < out->k; ++j) {
        out->sigma[j] = chosen[j].sigma;
    }
    status = take_residuals(system, parts, chosen, options->threads, out);
    if (status == CS_OK) {
        check_residuals(system->tol, parts, chosen, out);
        status = keep ? lift_all(system, parts, chosen, options->threads, out) : CS_OK;
        if (status == CS_OK) status = lift_second(system, parts, chosen, options->second - 1, out);
    }
    return status;
}
