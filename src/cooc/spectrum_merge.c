/* The largest triplets of all blocks, lifted to the input's numbering.
 *
 * Method: closed-form and computed triplets are sorted by value, ties by block and then by order in
 * the block, so that the choice is the same in every run. Vectors are lifted a panel of columns at
 * a time (reduce.h: U[X] = sqrt(P_C(X) / P_C(lump)) U[lump]) and their residuals taken through the
 * full Abar, never through the reduced matrix.
 *
 * Limits: values at or below the largest floor of any block's solver count as zero.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum_stages.h"

enum { PANEL = 16 };

typedef struct {
    double sigma;
    int64_t block, index; /* index -1: the closed form */
} choice;

static int compare_choices(const void *x, const void *y)
{
    const choice *a = x, *b = y;
    if (a->sigma != b->sigma) {
        return a->sigma > b->sigma ? -1 : 1;
    }
    if (a->block != b->block) {
        return a->block < b->block ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* All triplets above the floor, in order; *count of them. */
static cs_status rank_triplets(const cs_reduction *r, const cs_parts *parts, double floor,
                               choice **out, int64_t *count)
{
    int64_t n = 0;
    for (int64_t b = 0; b < r->count; ++b) {
        n += parts->part[b].k + 1;
    }
    choice *list = cs_alloc(n, sizeof *list);
    if (!list) {
        return CS_ERR_MEMORY;
    }
    n = 0;
    for (int64_t b = 0; b < r->count; ++b) {
        if (r->row_weight) {
            list[n++] = (choice){1, b, -1};
        }
        for (int64_t j = 0; j < parts->part[b].k && parts->part[b].sigma[j] > floor; ++j) {
            list[n++] = (choice){parts->part[b].sigma[j], b, j};
        }
    }
    qsort(list, (size_t)n, sizeof *list, compare_choices);
    *out = list;
    *count = n;
    return CS_OK;
}

/* One side of the way back. */
typedef struct {
    const int64_t *list, *list_start; /* members of each block */
    const int64_t *of, *start;
    const double *lift, *weight;
} side;

static void lift_column(const side *s, const choice *c, const cs_dense *vectors, double *column)
{
    const double *reduced = c->index < 0 ? NULL : vectors->data + c->index * vectors->ld;
    for (int64_t m = s->list_start[c->block]; m < s->list_start[c->block + 1]; ++m) {
        int64_t x = s->list[m], at = s->of[x];
        column[x] = s->lift[x] * (reduced ? reduced[at - s->start[c->block]] : sqrt(s->weight[at]));
    }
}

static void sides_of(const cs_reduction *r, side *rows, side *cols)
{
    *rows =
        (side){r->row_list, r->row_list_start, r->row_of, r->row_start, r->row_lift, r->row_weight};
    *cols =
        (side){r->col_list, r->col_list_start, r->col_of, r->col_start, r->col_lift, r->col_weight};
}

/* The chosen triplets one by one into the columns of u and v (zero before). */
static cs_status lift_all(const cs_system *system, const cs_parts *parts, const choice *chosen,
                          cs_spectrum *out)
{
    side rows, cols;
    sides_of(&system->reduced, &rows, &cols);
    cs_status status = cs_dense_init(&out->u, out->rows, out->k);
    if (status == CS_OK) {
        status = cs_dense_init(&out->v, out->cols, out->k);
    }
    for (int64_t j = 0; status == CS_OK && j < out->k; ++j) {
        const cs_part *part = &parts->part[chosen[j].block];
        lift_column(&rows, &chosen[j], &part->u, out->u.data + j * out->u.ld);
        lift_column(&cols, &chosen[j], &part->v, out->v.data + j * out->v.ld);
    }
    return status;
}

/* Triplets in layers: the l-th chosen one of each block is in layer l. */
typedef struct {
    int64_t layers;
    int64_t *triplet, *start; /* triplets of layer l: triplet[start[l] .. start[l + 1] - 1] */
} layering;

static void layering_free(layering *l)
{
    cs_free(l->triplet);
    cs_free(l->start);
}

static cs_status layer_triplets(const choice *chosen, int64_t k, int64_t blocks, layering *l)
{
    int64_t *seen = cs_calloc(blocks, sizeof *seen);
    l->triplet = cs_alloc(k, sizeof *l->triplet);
    l->start = cs_calloc(k + 2, sizeof *l->start);
    cs_status status = seen && l->triplet && l->start ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        int64_t *next = l->start + 1; /* layer l is filled at next[l], which ends as start[l + 1] */
        for (int64_t j = 0; j < k; ++j) {
            int64_t layer = seen[chosen[j].block]++;
            ++next[layer + 1];
            l->layers = layer + 1 > l->layers ? layer + 1 : l->layers;
        }
        for (int64_t i = 0; i < l->layers; ++i) {
            next[i + 1] += next[i];
        }
        memset(seen, 0, (size_t)blocks * sizeof *seen);
        for (int64_t j = 0; j < k; ++j) {
            l->triplet[next[seen[chosen[j].block]++]++] = j;
        }
    }
    cs_free(seen);
    return status;
}

typedef struct {
    const cs_parts *parts;
    const choice *chosen;
    const layering *layers;
    side rows, cols;
    cs_dense u, v, product_u, product_v; /* panels of layers */
} residual_job;

static void clear(cs_dense *panel)
{
    memset(panel->data, 0, (size_t)(panel->ld * panel->cols) * sizeof *panel->data);
}

/* ||product - sigma x|| over the members of one block. */
static double block_difference(const side *s, int64_t block, double sigma, const double *product,
                               const double *x)
{
    double sum = 0;
    for (int64_t m = s->list_start[block]; m < s->list_start[block + 1]; ++m) {
        double off = product[s->list[m]] - sigma * x[s->list[m]];
        sum += off * off;
    }
    return sqrt(sum);
}

/* Residuals of the triplets in layers first .. first + u.cols - 1. */
static cs_status panel_residuals(const cs_linop *abar, residual_job *job, int64_t first,
                                 double *residual)
{
    const layering *l = job->layers;
    int64_t begin = l->start[first], end = l->start[first + job->u.cols];
    clear(&job->u);
    clear(&job->v);
    for (int64_t t = begin, column = 0; t < end; ++t) {
        const choice *c = &job->chosen[l->triplet[t]];
        column += t == l->start[first + column + 1];
        lift_column(&job->rows, c, &job->parts->part[c->block].u, job->u.data + column * job->u.ld);
        lift_column(&job->cols, c, &job->parts->part[c->block].v, job->v.data + column * job->v.ld);
    }
    cs_status status = abar->apply(abar->ctx, &job->v, &job->product_u);
    if (status == CS_OK) {
        status = abar->apply_t(abar->ctx, &job->u, &job->product_v);
    }
    for (int64_t t = begin, column = 0; status == CS_OK && t < end; ++t) {
        const choice *c = &job->chosen[l->triplet[t]];
        column += t == l->start[first + column + 1];
        double left = block_difference(&job->rows, c->block, c->sigma,
                                       job->product_u.data + column * job->product_u.ld,
                                       job->u.data + column * job->u.ld);
        double right = block_difference(&job->cols, c->block, c->sigma,
                                        job->product_v.data + column * job->product_v.ld,
                                        job->v.data + column * job->v.ld);
        residual[l->triplet[t]] = left >= right || isnan(left) ? left : right;
    }
    return status;
}

static cs_status take_residuals(const cs_system *system, const cs_parts *parts,
                                const choice *chosen, int threads, cs_spectrum *out)
{
    layering layers = {0};
    cs_linop_csr_ctx ctx;
    cs_linop abar = cs_linop_csr(&ctx, system->abar, &system->abar_t, threads);
    residual_job job = {.parts = parts, .chosen = chosen, .layers = &layers};
    sides_of(&system->reduced, &job.rows, &job.cols);
    cs_status status = layer_triplets(chosen, out->k, parts->count, &layers);
    int64_t width = layers.layers < PANEL ? layers.layers : PANEL;
    cs_dense *left[] = {&job.u, &job.product_u}, *right[] = {&job.v, &job.product_v};
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        status = cs_dense_init(left[i], abar.rows, width);
        if (status == CS_OK) {
            status = cs_dense_init(right[i], abar.cols, width);
        }
    }
    for (int64_t first = 0; status == CS_OK && first < layers.layers; first += PANEL) {
        int64_t count = layers.layers - first < PANEL ? layers.layers - first : PANEL;
        job.u.cols = job.v.cols = job.product_u.cols = job.product_v.cols = count;
        status = cs_interrupt_check();
        if (status == CS_OK) {
            status = panel_residuals(&abar, &job, first, out->residual);
        }
    }
    for (int i = 0; i < 2; ++i) {
        cs_dense_free(left[i]);
        cs_dense_free(right[i]);
    }
    layering_free(&layers);
    return status;
}

/* What the parts say together: floor, convergence, completeness, the solver of the largest block.
 */
static void summarise(const cs_reduction *r, const cs_parts *parts, bool *complete,
                      cs_spectrum *out)
{
    int64_t largest = 0;
    out->floor = DBL_EPSILON;
    out->converged = true;
    out->solver = CS_SOLVER_AUTO;
    *complete = true;
    for (int64_t b = 0; b < r->count; ++b) {
        const cs_part *part = &parts->part[b];
        int64_t size = cs_block_rank(r, b);
        out->floor = fmax(out->floor, part->floor);
        out->converged = out->converged && part->converged;
        *complete = *complete && part->complete;
        if (part->solver != CS_SOLVER_AUTO && size > largest) {
            largest = size;
            out->solver = part->solver;
        }
    }
}

/* The largest against tol sigma_1; and, as solvers promise (linalg/svd.h), what came unchecked from
 * one against tol times the largest value that it gave. */
static void judge_residuals(double tol, const cs_parts *parts, const choice *chosen,
                            cs_spectrum *out)
{
    double worst = 0;
    tol = tol > 0 ? tol : 1e-12;
    for (int64_t j = 0; j < out->k; ++j) {
        const cs_part *part = &parts->part[chosen[j].block];
        if (!(out->residual[j] <= worst)) { /* also when it is NaN */
            worst = out->residual[j];
        }
        out->converged = out->converged && (chosen[j].index < 0 || !part->unchecked ||
                                            out->residual[j] <= tol * part->sigma[0]);
    }
    double bound = tol * (out->k > 0 ? out->sigma[0] : 1);
    out->cert_residual =
        (cs_certificate){worst <= bound ? CS_CERT_PASSED : CS_CERT_FAILED, worst, bound, NAN, ""};
    out->converged = out->converged && worst <= bound;
}

cs_status cs_spectrum_merge(const cs_system *system, const cs_parts *parts,
                            const cs_spectrum_options *options, bool keep, cs_spectrum *out)
{
    const cs_reduction *r = &system->reduced;
    choice *chosen = NULL;
    bool complete = false;
    int64_t known = 0;
    summarise(r, parts, &complete, out);
    cs_status status = rank_triplets(r, parts, out->floor, &chosen, &known);
    if (status != CS_OK) {
        return status;
    }
    out->k = known < parts->wanted ? known : parts->wanted;
    out->zeros = out->converged ? parts->wanted - out->k : 0;
    out->rank = complete && out->k == known ? known : -1;
    out->sigma = cs_alloc(out->k, sizeof *out->sigma);
    out->residual = cs_calloc(out->k, sizeof *out->residual);
    if (!out->sigma || !out->residual) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    for (int64_t j = 0; j < out->k; ++j) {
        out->sigma[j] = chosen[j].sigma;
    }
    status = take_residuals(system, parts, chosen, options->threads, out);
    if (status == CS_OK) {
        judge_residuals(options->tol, parts, chosen, out);
        status = keep ? lift_all(system, parts, chosen, out) : CS_OK;
    }
done:
    cs_free(chosen);
    return status;
}
