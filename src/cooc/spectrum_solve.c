/* Triplets of the blocks of the reduced matrix.
 *
 * Method. A block's sigma = 1 triplet is known in closed form when the input was counts; it is
 * subtracted before any solver runs, and the computed vectors are projected off it afterwards (a
 * vector of value sigma picks up c = eps / sigma of it in rounding). That leaves two of them with
 * an inner product of c_i c_j: where it is above eps, the one of the smaller value is projected off
 * the other, which moves its residual by sigma_i c_i c_j, no more than eps. Blocks with a small
 * side of at most SMALL_SIDE go through dense gesdd, many at a time, each on one thread, whatever
 * solver is named; the others go one after the other through the solver dispatch on the deflated
 * operator. A block with one row or column has nothing left once its closed-form triplet is known.
 *
 * How many: with closed forms in all of `count` blocks, a triplet of rank beyond wanted - count + 1
 * in its own block cannot be among the `wanted` largest.
 *
 * Limits: the OpenBLAS thread count is set to 1 during the batch and restored.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include <cblas.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated_private.h"
#include "cooc/spectrum_private.h"

enum { SMALL_SIDE = 600, SMALL_ELEMENTS = 1 << 22 };

static void part_free(cs_part *part)
{
    cs_free(part->sigma);
    cs_dense_free(&part->u);
    cs_dense_free(&part->v);
    *part = (cs_part){0};
}

void cs_parts_free(cs_parts *parts)
{
    for (int64_t b = 0; parts->part && b < parts->count; ++b) {
        part_free(&parts->part[b]);
    }
    cs_free(parts->part);
    *parts = (cs_parts){0};
}

typedef struct {
    const cs_system *system;
    const cs_spectrum_options *options;
    cs_parts *parts;
    int64_t *block; /* of each item of the batch */
} batch;

/* Triplets to compute in a block beside the closed-form one, so that the `wanted` largest of all
 * are among them. */
static int64_t block_share(const cs_reduction *r, int64_t wanted, int64_t block)
{
    int64_t known = r->row_weight ? 1 : 0;
    int64_t most = cs_block_rank(r, block) - known;
    int64_t room = known ? wanted - r->count : wanted;
    return room < 0 ? 0 : room < most ? room : most;
}

/* sqrt(weight) of a block's rows or columns as one column. */
static cs_status closed_form(const double *weight, const int64_t *start, int64_t block,
                             cs_dense *out)
{
    int64_t n = start[block + 1] - start[block];
    cs_status status = cs_dense_init(out, n, 1);
    for (int64_t i = 0; status == CS_OK && i < n; ++i) {
        out->data[i] = sqrt(weight[start[block] + i]);
    }
    return status;
}

/* What a dense solver cannot tell from 0 when sigma_1 = 1. */
static double rounding_floor(const cs_reduction *r, int64_t block)
{
    int64_t m = cs_block_rows(r, block), n = cs_block_cols(r, block);
    return (double)(m > n ? m : n) * DBL_EPSILON;
}

/* y -= <x, y> x; returns <x, y>. */
static double take_out(int64_t n, const double *x, double *y)
{
    double along = cs_dot(n, x, y);
    for (int64_t i = 0; i < n; ++i) {
        y[i] -= along * x[i];
    }
    return along;
}

static void make_unit(int64_t n, double *y)
{
    double norm = sqrt(cs_dot(n, y, y));
    for (int64_t i = 0; i < n && norm > 0; ++i) {
        y[i] /= norm;
    }
}

/* Columns that were as much along one direction as `along` says, without it: those that are no
 * longer orthogonal to each other are projected again, larger values first, twice. */
static void reorthogonalise(cs_dense *a, const double *along)
{
    double most = 0;
    for (int64_t j = 0; j < a->cols; ++j) {
        most = fmax(most, along[j]);
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        double *y = a->data + j * a->ld;
        if (along[j] * most <= DBL_EPSILON) {
            continue;
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (int64_t i = 0; i < j; ++i) {
                if (along[i] * along[j] > DBL_EPSILON) {
                    (void)take_out(a->rows, a->data + i * a->ld, y);
                }
            }
        }
        make_unit(a->rows, y);
    }
}

/* Takes the direction x out of every column and makes them orthonormal again. */
static cs_status project_columns(cs_dense *a, const double *x)
{
    double *along = cs_alloc(a->cols, sizeof *along);
    if (!along) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < a->cols; ++j) {
        double *y = a->data + j * a->ld;
        along[j] = fabs(take_out(a->rows, x, y));
        make_unit(a->rows, y);
    }
    reorthogonalise(a, along);
    cs_free(along);
    return CS_OK;
}

/* Cuts the part to the values above its floor; `asked` of `most` possible were computed. */
static void trim(cs_part *part, int64_t asked, int64_t most)
{
    int64_t computed = part->k;
    while (part->k > 0 && !(part->sigma[part->k - 1] > part->floor)) {
        --part->k;
    }
    part->u.cols = part->v.cols = part->k;
    part->complete = part->converged && (part->k < computed || computed < asked || asked >= most);
}

/* --- small blocks ----------------------------------------------------------------------------- */

static cs_status copy_block(const cs_reduction *r, int64_t block, const cs_dense *u,
                            const cs_dense *v, cs_dense *out)
{
    int64_t r0 = r->row_start[block], c0 = r->col_start[block];
    cs_status status = cs_dense_init(out, cs_block_rows(r, block), cs_block_cols(r, block));
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < out->rows; ++i) {
        for (int64_t e = r->a.ptr[r0 + i]; e < r->a.ptr[r0 + i + 1]; ++e) {
            out->data[i + (r->a.col[e] - c0) * out->ld] = r->a.val[e];
        }
    }
    for (int64_t j = 0; u->data && j < out->cols; ++j) {
        for (int64_t i = 0; i < out->rows; ++i) {
            out->data[i + j * out->ld] -= u->data[i] * v->data[j];
        }
    }
    return CS_OK;
}

/* The k leading triplets of a thin SVD into a part of its own. */
static cs_status keep_leading(int64_t k, const double *sigma, const cs_dense *u, const cs_dense *vt,
                              cs_part *part)
{
    part->sigma = cs_alloc(k, sizeof *part->sigma);
    cs_status status = part->sigma ? cs_dense_init(&part->u, u->rows, k) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(&part->v, vt->cols, k);
    if (status != CS_OK) return status;
    part->k = k;
    memcpy(part->sigma, sigma, (size_t)k * sizeof *sigma);
    for (int64_t j = 0; j < k; ++j) {
        memcpy(part->u.data + j * part->u.ld, u->data + j * u->ld,
               (size_t)u->rows * sizeof *u->data);
        for (int64_t i = 0; i < vt->cols; ++i) {
            part->v.data[i + j * part->v.ld] = vt->data[j + i * vt->ld];
        }
    }
    return CS_OK;
}

static cs_status solve_small(void *ctx, int64_t item, int worker)
{
    (void)worker;
    batch *job = ctx;
    const cs_reduction *r = &job->system->reduced;
    int64_t block = job->block[item], rank = cs_block_rank(r, block);
    int64_t asked = block_share(r, job->parts->wanted, block), known = r->row_weight ? 1 : 0;
    cs_part part = {.converged = true, .solver = CS_SOLVER_LAPACK};
    cs_dense a = {0}, u = {0}, vt = {0}, u1 = {0}, v1 = {0};
    double *sigma = cs_alloc(rank, sizeof *sigma);
    cs_status status = sigma ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && known) {
        status = closed_form(r->row_weight, r->row_start, block, &u1);
        if (status == CS_OK) status = closed_form(r->col_weight, r->col_start, block, &v1);
    }
    if (status != CS_OK || (status = copy_block(r, block, &u1, &v1, &a)) != CS_OK ||
        (status = cs_dense_init(&u, a.rows, rank)) != CS_OK ||
        (status = cs_dense_init(&vt, rank, a.cols)) != CS_OK ||
        (status = cs_dense_svd(&a, sigma, &u, &vt)) != CS_OK ||
        (status = keep_leading(asked, sigma, &u, &vt, &part)) != CS_OK) {
        goto done;
    }
    part.floor = rounding_floor(r, block) * (known ? 1 : sigma[0]);
    trim(&part, asked, rank - known);
    if (known) {
        status = project_columns(&part.u, u1.data);
        status = status ? status : project_columns(&part.v, v1.data);
    }
    if (status == CS_OK) {
        job->parts->part[block] = part;
        part = (cs_part){0};
    }
done:
    part_free(&part);
    cs_free(sigma);
    cs_dense_free(&a);
    cs_dense_free(&u);
    cs_dense_free(&vt);
    cs_dense_free(&u1);
    cs_dense_free(&v1);
    return status;
}

static cs_status solve_batch(batch *job, int64_t items)
{
    if (items <= 1) { /* one block may have all threads */
        return items == 1 ? solve_small(job, 0, 0) : CS_OK;
    }
    int threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
    cs_status status = cs_parallel(items, job->options->threads, solve_small, job);
    openblas_set_num_threads(threads);
    return status;
}

/* --- large blocks ----------------------------------------------------------------------------- */

/* Rows r0.. and columns c0.. of a matrix whose rows there hold no other columns. */
static cs_status slice(const cs_csr *a, int64_t r0, int64_t rows, int64_t c0, int64_t cols,
                       cs_csr *out)
{
    int64_t first = a->ptr[r0], nnz = a->ptr[r0 + rows] - first;
    cs_status status = cs_csr_init(out, rows, cols, nnz);
    for (int64_t i = 0; status == CS_OK && i <= rows; ++i) {
        out->ptr[i] = a->ptr[r0 + i] - first;
    }
    for (int64_t e = 0; status == CS_OK && e < nnz; ++e) {
        out->col[e] = (int32_t)(a->col[first + e] - c0);
        out->val[e] = a->val[first + e];
    }
    return status;
}

/* A block as an operator with its closed-form triplet taken out. Operators point at their contexts:
 * the struct does not move once opened. */
typedef struct {
    cs_csr a, at; /* copies, unused when there is one block */
    cs_linop_csr_ctx csr;
    cs_linop_deflated_ctx deflated;
    cs_linop sparse, op;
    cs_dense u1, v1;
} block_operator;

static void block_operator_close(block_operator *b)
{
    cs_csr_free(&b->a);
    cs_csr_free(&b->at);
    cs_dense_free(&b->u1);
    cs_dense_free(&b->v1);
}

static const double ONE = 1; /* the closed-form singular value */

static cs_status block_operator_open(const cs_reduction *r, int64_t block, int threads,
                                     block_operator *b)
{
    int64_t r0 = r->row_start[block], c0 = r->col_start[block];
    int64_t rows = cs_block_rows(r, block), cols = cs_block_cols(r, block);
    *b = (block_operator){0};
    cs_status status = CS_OK;
    if (r->count > 1) {
        status = slice(&r->a, r0, rows, c0, cols, &b->a);
        if (status == CS_OK) status = slice(&r->at, c0, cols, r0, rows, &b->at);
    }
    if (status == CS_OK && r->row_weight)
        status = closed_form(r->row_weight, r->row_start, block, &b->u1);
    if (status == CS_OK && r->row_weight)
        status = closed_form(r->col_weight, r->col_start, block, &b->v1);
    if (status != CS_OK) {
        block_operator_close(b);
        return status;
    }
    b->sparse = cs_linop_csr(&b->csr, r->count > 1 ? &b->a : &r->a, r->count > 1 ? &b->at : &r->at,
                             threads);
    b->op = r->row_weight ? cs_linop_deflated(&b->deflated, &b->sparse, &b->u1, &ONE, &b->v1, true)
                          : b->sparse;
    return CS_OK;
}

/* A guess for the smaller side of a block, from one in the input's numbering: the adjoint of the
 * lift. Left empty when none was given. */
static cs_status start_of(const cs_reduction *r, int64_t block, const cs_spectrum_options *o,
                          cs_dense *out)
{
    bool wide = cs_block_rows(r, block) < cs_block_cols(r, block);
    const cs_dense *from = wide ? o->start_u : o->start_v;
    const int64_t *list = wide ? r->row_list : r->col_list, *of = wide ? r->row_of : r->col_of;
    const int64_t *list_start = wide ? r->row_list_start : r->col_list_start;
    const double *lift = wide ? r->row_lift : r->col_lift;
    int64_t first = wide ? r->row_start[block] : r->col_start[block];
    if (!from) {
        return CS_OK;
    }
    cs_status status = cs_dense_init(out, cs_block_rank(r, block), from->cols);
    for (int64_t j = 0; status == CS_OK && j < from->cols; ++j) {
        for (int64_t m = list_start[block]; m < list_start[block + 1]; ++m) {
            int64_t x = list[m];
            out->data[of[x] - first + j * out->ld] += lift[x] * from->data[x + j * from->ld];
        }
    }
    return status;
}

cs_svd_options cs_spectrum_solver_options(const cs_spectrum_options *o, int64_t k)
{
    return (cs_svd_options){.k = k,
                            .solver = o->solver,
                            .gpu = o->gpu,
                            .tol = o->tol,
                            .max_iterations = o->max_iterations,
                            .seed = o->seed,
                            .threads = o->threads,
                            .memory = o->solver_memory,
                            .progress = o->progress};
}

static void take_svd(cs_svd *svd, cs_part *part)
{
    *part = (cs_part){.k = svd->k,
                      .sigma = svd->sigma,
                      .u = svd->u,
                      .v = svd->v,
                      .converged = svd->converged,
                      .floor = svd->floor,
                      .solver = svd->solver};
    svd->sigma = NULL;
    svd->u = svd->v = (cs_dense){0};
    cs_svd_free(svd);
}

static cs_status solve_large(batch *job, int64_t block)
{
    const cs_reduction *r = &job->system->reduced;
    int64_t asked = block_share(r, job->parts->wanted, block);
    cs_part *part = &job->parts->part[block];
    block_operator b;
    cs_svd svd = {0};
    cs_dense start = {0};
    cs_status status = start_of(r, block, job->options, &start);
    status = status ? status : block_operator_open(r, block, job->options->threads, &b);
    if (status != CS_OK) {
        cs_dense_free(&start);
        return status;
    }
    cs_svd_options o = cs_spectrum_solver_options(job->options, asked);
    o.start = start.data ? &start : NULL;
    o.unchecked = r->count == 1; /* all of them will be merged, and checked there */
    if (r->count > 1 && asked == cs_block_rank(r, block)) {
        /* One block wanted whole does not refuse the matrix: no Krylov solver gives all of it, nor
         * saves anything there. */
        o.solver = o.gpu ? CS_SOLVER_CUSOLVER : CS_SOLVER_LAPACK;
    }
    status = cs_svd_compute(&b.op, &o, &svd);
    cs_dense_free(&start);
    if (status == CS_OK && svd.interrupted && !job->options->partial) {
        cs_svd_free(&svd);
        status = cs_interrupt_check();
    }
    if (status == CS_OK) {
        job->parts->interrupted = svd.interrupted;
        take_svd(&svd, part);
        part->unchecked = o.unchecked;
        if (r->row_weight) { /* rounding noise of the matrix whose sigma_1 = 1 was taken out */
            part->floor = fmax(part->floor, rounding_floor(r, block));
        }
        trim(part, asked, cs_block_rank(r, block) - (r->row_weight ? 1 : 0));
        if (r->row_weight) {
            status = project_columns(&part->u, b.u1.data);
            status = status ? status : project_columns(&part->v, b.v1.data);
        }
    }
    block_operator_close(&b);
    return status;
}

/* --- all blocks ------------------------------------------------------------------------------- */

static bool is_small(const cs_reduction *r, const cs_spectrum_options *o, int64_t block)
{
    int64_t cols = cs_block_cols(r, block);
    return !o->no_reduction && cols > 0 && cs_block_rank(r, block) <= SMALL_SIDE &&
           cs_block_rows(r, block) <= SMALL_ELEMENTS / cols;
}

cs_status cs_parts_solve(const cs_system *system, const cs_spectrum_options *options,
                         int64_t wanted, cs_parts *out)
{
    const cs_reduction *r = &system->reduced;
    cs_parts parts = {.count = r->count, .wanted = wanted};
    batch job = {system, options, &parts, cs_alloc(r->count, sizeof *job.block)};
    parts.part = cs_calloc(r->count, sizeof *parts.part);
    cs_status status = job.block && parts.part ? CS_OK : CS_ERR_MEMORY;
    int64_t small = 0, large = 0;
    for (int64_t b = 0; status == CS_OK && b < r->count; ++b) {
        if (block_share(r, wanted, b) ==
            0) { /* the closed form is all there is, or all that is wanted */
            parts.part[b].converged = true;
            parts.part[b].complete = cs_block_rank(r, b) == (r->row_weight ? 1 : 0);
        } else if (is_small(r, options, b)) {
            job.block[small++] = b;
        } else {
            ++large;
        }
    }
    if (status == CS_OK) status = solve_batch(&job, small);
    int64_t solved = 0;
    for (int64_t b = 0; status == CS_OK && large > 0 && !parts.interrupted && b < r->count; ++b) {
        if (block_share(r, wanted, b) > 0 && !is_small(r, options, b)) {
            cs_progress_report(options->progress, "components", solved++, large);
            status = solve_large(&job, b);
        }
    }
    cs_free(job.block);
    if (status != CS_OK) {
        cs_parts_free(&parts);
        return status;
    }
    *out = parts;
    return CS_OK;
}
