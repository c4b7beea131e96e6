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

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/spectrum_stages_private.h"

enum { SMALL_SIDE = 600, SMALL_ELEMENTS = 1 << 22 };

void cs_parts_free(cs_parts *parts)
{
    for (int64_t b = 0; parts->part && b < parts->count; ++b) {
        cs_svd_free(&parts->part[b].svd);
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

/* Triplets to compute in a block in addition to the closed-form one, so that the `wanted` largest
 * of all are among them. */
static int64_t block_share(const cs_reduction *r, int64_t wanted, int64_t block)
{
    int64_t most = cs_block_rank(r, block) - r->known;
    int64_t left = r->known ? wanted - r->count : wanted;
    return left < 0 ? 0 : left < most ? left : most;
}

/* The closed-form vectors of a block, sqrt(weight), as one column each, or those of the part of rank
 * one; left empty where there are none. */
static cs_status taken_out(const cs_reduction *r, int64_t block, cs_pool *pool, cs_dense out[2])
{
    for (cs_side t = CS_LEFT; t <= CS_RIGHT; ++t) {
        const int64_t n = cs_block_size(r, t, block);
        out[t] = r->term[t] ? (cs_dense){n, 1, n, r->term[t]} : (cs_dense){0};
    }
    for (cs_side t = CS_LEFT; r->known && t <= CS_RIGHT; ++t) {
        const double *weight = r->side[t].weight + r->side[t].start[block];
        out[t] = cs_dense_in(pool, cs_block_size(r, t, block), 1);
        for (int64_t i = 0; out[t].data && i < out[t].rows; ++i) {
            out[t].data[i] = sqrt(weight[i]);
        }
    }
    return pool->status;
}

/* Values below this are rounding errors of a dense solver of a matrix of this norm, or of what is
 * left of it without its closed form or its part of rank one. */
static double rounding_floor(const cs_reduction *r, int64_t block, double norm)
{
    const int64_t m = cs_block_size(r, CS_LEFT, block), n = cs_block_size(r, CS_RIGHT, block);
    const double *left = r->term[CS_LEFT], *right = r->term[CS_RIGHT];
    const double out = r->known ? 1
                       : left   ? sqrt(cs_inner(m, left, left) * cs_inner(n, right, right))
                                : 0;
    return (double)(m > n ? m : n) * DBL_EPSILON * fmax(norm, out);
}

/* y -= <x, y> x; returns <x, y>. */
static double take_out(int64_t n, const double *x, double *y)
{
    double along = cs_dot(n, x, y);
    cs_add_multiple(n, -along, x, y);
    return along;
}

static void make_unit(int64_t n, double *y)
{
    double norm = sqrt(cs_dot(n, y, y));
    if (norm > 0) cs_divide(n, norm, y);
}

/* Columns that were as much along one direction as `along` says, without it: those that are no
 * longer orthogonal to each other are projected again, larger values first, twice. */
static void reorthogonalise(cs_dense *a, const double *along)
{
    const double most = cs_largest(a->cols, along);
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
    CS_AUTO_FREE double *along = cs_alloc(a->cols, sizeof *along);
    if (!along) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < a->cols; ++j) {
        double *y = a->data + j * a->ld;
        along[j] = fabs(take_out(a->rows, x, y));
        make_unit(a->rows, y);
    }
    reorthogonalise(a, along);
    return CS_OK;
}

void cs_part_trim(cs_part *part, int64_t asked, int64_t most)
{
    cs_svd *svd = &part->svd;
    int64_t computed = svd->k;
    while (svd->k > 0 && !(svd->sigma[svd->k - 1] > svd->floor)) {
        --svd->k;
    }
    svd->u.cols = svd->v.cols = svd->k;
    part->complete = svd->converged && (svd->k < computed || computed < asked || asked >= most);
}

/* Cuts the solved triplets to those above the floor, and takes the closed form out of them. */
static cs_status finish(const cs_reduction *r, int64_t block, int64_t asked, const cs_dense one[2],
                        cs_part *part)
{
    cs_part_trim(part, asked, cs_block_rank(r, block) - r->known);
    cs_status status = r->known ? project_columns(&part->svd.u, one[CS_LEFT].data) : CS_OK;
    return status || !r->known ? status : project_columns(&part->svd.v, one[CS_RIGHT].data);
}

/* --- small blocks ----------------------------------------------------------------------------- */

/* A block, less its closed form or its part of rank one, as a dense matrix. */
static void copy_block(const cs_reduction *r, int64_t block, const cs_dense one[2], cs_dense *out)
{
    int64_t r0 = r->side[CS_LEFT].start[block], c0 = r->side[CS_RIGHT].start[block];
    for (int64_t i = 0; i < out->rows; ++i) {
        for (int64_t e = r->a.ptr[r0 + i]; e < r->a.ptr[r0 + i + 1]; ++e) {
            out->data[i + (r->a.col[e] - c0) * out->ld] = r->a.val[e];
        }
    }
    for (int64_t j = 0; one[CS_LEFT].data && j < out->cols; ++j) {
        for (int64_t i = 0; i < out->rows; ++i) {
            out->data[i + j * out->ld] -= one[CS_LEFT].data[i] * one[CS_RIGHT].data[j];
        }
    }
}

/* Copies the k leading triplets of a thin SVD to a new one. */
static cs_status keep_leading(int64_t k, const double *sigma, const cs_dense *u, const cs_dense *vt,
                              cs_svd *out)
{
    out->sigma = cs_alloc(k, sizeof *out->sigma);
    cs_status status = out->sigma ? cs_dense_init(&out->u, u->rows, k) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(&out->v, vt->cols, k);
    if (status != CS_OK) return status;
    const cs_dense leading = {u->rows, k, u->ld, u->data};
    out->k = k;
    memcpy(out->sigma, sigma, (size_t)k * sizeof *sigma);
    cs_dense_copy(&leading, &out->u);
    for (int64_t j = 0; j < k; ++j) {
        for (int64_t i = 0; i < vt->cols; ++i) {
            out->v.data[i + j * out->v.ld] = vt->data[j + i * vt->ld];
        }
    }
    return CS_OK;
}

static cs_status solve_small(void *ctx, int64_t item)
{
    batch *job = ctx;
    const cs_reduction *r = &job->system->reduced;
    int64_t block = job->block[item], rank = cs_block_rank(r, block);
    int64_t asked = block_share(r, job->parts->wanted, block);
    cs_part *part = &job->parts->part[block];
    CS_AUTO(cs_pool) pool = {0};
    cs_dense one[2];
    cs_dense a =
        cs_dense_in(&pool, cs_block_size(r, CS_LEFT, block), cs_block_size(r, CS_RIGHT, block));
    cs_dense u = cs_dense_in(&pool, a.rows, rank), vt = cs_dense_in(&pool, rank, a.cols);
    double *sigma = cs_pool_take(&pool, rank, sizeof *sigma);
    cs_status status = taken_out(r, block, &pool, one);
    if (status == CS_OK) {
        copy_block(r, block, one, &a);
        status = cs_dense_svd(&a, sigma, &u, &vt);
    }
    if (status == CS_OK) status = keep_leading(asked, sigma, &u, &vt, &part->svd);
    if (status == CS_OK) {
        part->svd.converged = true;
        part->svd.solver = CS_SOLVER_LAPACK;
        part->svd.floor = rounding_floor(r, block, r->known ? 1 : sigma[0]);
        status = finish(r, block, asked, one, part);
    }
    return status;
}

static cs_status solve_batch(batch *job, int64_t items)
{
    if (items <= 1) { /* one block may have all threads */
        return items == 1 ? solve_small(job, 0) : CS_OK;
    }
    cs_threads_blas_hold(true);
    cs_status status = cs_parallel(items, job->options->threads, solve_small, job);
    cs_threads_blas_hold(false);
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

/* A block as an operator with its closed-form triplet or its part of rank one taken out. Operators point at their contexts:
 * the struct does not move once opened. */
typedef struct {
    cs_csr a, at; /* copies, unused when there is one block */
    cs_matrix_form_operator matrix;
    cs_linop_deflated_ctx deflated;
    cs_linop op;
    cs_dense one[2];
    cs_pool pool;
} block_operator;

static void block_operator_close(block_operator *b)
{
    cs_csr_free(&b->a);
    cs_csr_free(&b->at);
    cs_matrix_form_operator_close(&b->matrix);
    cs_pool_free(&b->pool);
}

static const double ONE = 1; /* the closed-form singular value */

/* Closed by the caller, also after a failure. */
static cs_status block_operator_open(const cs_reduction *r, int64_t block, int threads,
                                     block_operator *b)
{
    int64_t r0 = r->side[CS_LEFT].start[block], c0 = r->side[CS_RIGHT].start[block];
    int64_t rows = cs_block_size(r, CS_LEFT, block), cols = cs_block_size(r, CS_RIGHT, block);
    bool whole = r->count == 1;
    *b = (block_operator){0};
    cs_status status = whole ? CS_OK : slice(&r->a, r0, rows, c0, cols, &b->a);
    if (status == CS_OK && !whole) status = slice(&r->at, c0, cols, r0, rows, &b->at);
    if (status == CS_OK) status = taken_out(r, block, &b->pool, b->one);
    if (status == CS_OK)
        status = cs_matrix_form_operator_open(whole ? &r->a : &b->a, whole ? &r->at : &b->at,
                                              r->term, threads, &b->matrix);
    if (status != CS_OK) return status;
    b->op = r->known ? cs_linop_deflated(&b->deflated, &b->matrix.op, &b->one[CS_LEFT], &ONE,
                                         &b->one[CS_RIGHT], true)
                     : b->matrix.op;
    return CS_OK;
}

/* A guess for the smaller side of a block, from one in the input's numbering: the adjoint of the
 * lift. Left empty when none was given. */
static cs_status start_of(const cs_reduction *r, int64_t block, const cs_spectrum_options *o,
                          cs_dense *out)
{
    bool wide = cs_block_size(r, CS_LEFT, block) < cs_block_size(r, CS_RIGHT, block);
    const cs_dense *from = wide ? o->start_u : o->start_v;
    const cs_reduction_side *s = &r->side[wide ? CS_LEFT : CS_RIGHT];
    cs_status status = from ? cs_dense_init(out, cs_block_rank(r, block), from->cols) : CS_OK;
    for (int64_t j = 0; status == CS_OK && from && j < from->cols; ++j) {
        for (int64_t m = s->list_start[block]; m < s->list_start[block + 1]; ++m) {
            int64_t x = s->list[m], at = s->of[x] - s->start[block];
            out->data[at + j * out->ld] += s->lift[x] * from->data[x + j * from->ld];
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

static cs_status solve_large(batch *job, int64_t block)
{
    const cs_reduction *r = &job->system->reduced;
    int64_t asked = block_share(r, job->parts->wanted, block);
    cs_part *part = &job->parts->part[block];
    block_operator b = {0};
    CS_AUTO(cs_dense) start = {0};
    cs_status status = start_of(r, block, job->options, &start);
    if (status == CS_OK) status = block_operator_open(r, block, job->options->threads, &b);
    cs_svd_options o = cs_spectrum_solver_options(job->options, asked);
    o.start = start.data ? &start : NULL;
    o.unchecked = r->count == 1; /* all of them will be merged, and checked there */
    if (r->count > 1 && asked == cs_block_rank(r, block)) {
        /* One block wanted whole does not refuse the matrix: no Krylov solver gives all of it, nor
         * saves anything there. */
        o.solver = o.gpu ? CS_SOLVER_CUSOLVER : CS_SOLVER_LAPACK;
    }
    if (status == CS_OK) status = cs_svd_compute(&b.op, &o, &part->svd);
    if (status == CS_OK && part->svd.interrupted && !job->options->partial)
        status = cs_interrupt_check();
    if (status == CS_OK) {
        job->parts->interrupted = part->svd.interrupted;
        part->unchecked = o.unchecked;
        part->svd.floor = fmax(part->svd.floor, rounding_floor(r, block, 0));
        status = finish(r, block, asked, b.one, part);
    }
    block_operator_close(&b);
    return status;
}

/* --- all blocks ------------------------------------------------------------------------------- */

static bool is_small(const cs_reduction *r, const cs_spectrum_options *o, int64_t block)
{
    int64_t cols = cs_block_size(r, CS_RIGHT, block);
    return !o->no_reduction && cols > 0 && cs_block_rank(r, block) <= SMALL_SIDE &&
           cs_block_size(r, CS_LEFT, block) <= SMALL_ELEMENTS / cols;
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
        if (block_share(r, wanted, b) == 0) { /* the closed form is all there is, or is wanted */
            parts.part[b].svd.converged = true;
            parts.part[b].complete = cs_block_rank(r, b) == r->known;
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
    return CS_DELIVER(status, out, parts, cs_parts_free);
}
