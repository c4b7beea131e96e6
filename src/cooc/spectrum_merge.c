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
#include "cooc/spectrum_stages.h"

enum { PANEL = 32 };

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

static cs_dense panel_of(const cs_dense *a, int64_t first, int64_t count)
{
    return (cs_dense){a->rows, count, a->ld, a->data + first * a->ld};
}

static void lift_panel(const cs_reduction *r, const cs_parts *parts, const choice *chosen,
                       cs_dense *u, cs_dense *v)
{
    side rows = {r->row_list,  r->row_list_start, r->row_of,
                 r->row_start, r->row_lift,       r->row_weight};
    side cols = {r->col_list,  r->col_list_start, r->col_of,
                 r->col_start, r->col_lift,       r->col_weight};
    for (int64_t j = 0; j < u->cols; ++j) {
        const cs_part *part = &parts->part[chosen[j].block];
        double *left = u->data + j * u->ld, *right = v->data + j * v->ld;
        memset(left, 0, (size_t)u->rows * sizeof *left);
        memset(right, 0, (size_t)v->rows * sizeof *right);
        lift_column(&rows, &chosen[j], &part->u, left);
        lift_column(&cols, &chosen[j], &part->v, right);
    }
}

/* Lifts k triplets and takes their residuals; keep: into out->u and out->v. */
static cs_status lift(const cs_system *system, const cs_parts *parts, const choice *chosen,
                      int threads, bool keep, cs_spectrum *out)
{
    int64_t k = out->k, room = keep || k < PANEL ? k : PANEL;
    cs_dense u = {0}, v = {0};
    cs_linop_csr_ctx ctx;
    cs_linop abar = cs_linop_csr(&ctx, system->abar, &system->abar_t, threads);
    cs_status status = cs_dense_init(&u, abar.rows, room);
    if (status == CS_OK) {
        status = cs_dense_init(&v, abar.cols, room);
    }
    for (int64_t first = 0; status == CS_OK && first < k; first += PANEL) {
        int64_t count = k - first < PANEL ? k - first : PANEL;
        cs_dense pu = panel_of(&u, keep ? first : 0, count),
                 pv = panel_of(&v, keep ? first : 0, count);
        lift_panel(&system->reduced, parts, chosen + first, &pu, &pv);
        status =
            cs_svd_residuals(&abar, count, out->sigma + first, &pu, &pv, out->residual + first);
    }
    if (status == CS_OK && keep) {
        out->u = u;
        out->v = v;
        return CS_OK;
    }
    cs_dense_free(&u);
    cs_dense_free(&v);
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

static void judge_residuals(double tol, cs_spectrum *out)
{
    double worst = 0;
    for (int64_t j = 0; j < out->k; ++j) {
        if (!(out->residual[j] <= worst)) { /* also when it is NaN */
            worst = out->residual[j];
        }
    }
    double bound = (tol > 0 ? tol : 1e-12) * (out->k > 0 ? out->sigma[0] : 1);
    out->cert_residual =
        (cs_certificate){worst <= bound ? CS_CERT_PASSED : CS_CERT_FAILED, worst, bound};
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
    out->rank = complete ? known : -1;
    out->sigma = cs_alloc(out->k, sizeof *out->sigma);
    out->residual = cs_calloc(out->k, sizeof *out->residual);
    if (!out->sigma || !out->residual) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    for (int64_t j = 0; j < out->k; ++j) {
        out->sigma[j] = chosen[j].sigma;
    }
    if ((status = lift(system, parts, chosen, options->threads, keep, out)) == CS_OK) {
        judge_residuals(options->tol, out);
    }
done:
    cs_free(chosen);
    return status;
}
