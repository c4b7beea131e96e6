/* Truncated SVD by ARPACK-NG.
 *
 * Method: the implicitly restarted Lanczos method (dsaupd, dseupd; Lehoucq, Sorensen, Yang 1998) on
 * B^T B, B the operator with its smaller side as columns, scaled by a power of two so that sigma_1
 * is about 1 (ARPACK's stopping rule has an absolute part). Then Rayleigh-Ritz on the vectors found
 * (svd.c), which makes both sides orthonormal to rounding.
 *
 * Multiple values: a Krylov space of one start vector holds one copy of a multiple value; more come
 * only through rounding. So a probe follows: a short run from a fresh start, with the vectors found
 * projected out. While its Ritz value (a lower bound) lies above the smallest value found, copies
 * are missing: they are computed in the projected space and merged. A probe that finds nothing is
 * strong evidence, not proof.
 *
 * Over a group of processes (options->comm) the vectors are in parts, PARPACK takes ARPACK's place,
 * and inner products are summed over the ranks; the left vectors are then A v / sigma.
 *
 * Accuracy: residuals of B^T B are divided by sigma, so triplet j is good to about eps sigma_1^2 /
 * sigma_j, and values below sqrt(max(m, n) eps) sigma_1 are lost (the floor).
 *
 * Limits: ARPACK keeps its state in static variables, hence the lock; when its Krylov space ends
 * early (invariant subspace) it draws fresh vectors from its own generator, which continues from
 * call to call, so in that case repeated calls agree to rounding, not in bits. k < min(rows,
 * cols). */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <arpack/arpack.h>
#include <cblas.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

enum { NORM_STEPS = 4, PROBE_ITERATIONS = 10, DEFAULT_ITERATIONS = 3000 };
static const double PROBE_TOLERANCE = 1e-2; /* the probe compares; it need not resolve */
static const double MISSED = 1e-8;          /* relative excess that proves a missed copy */

static pthread_mutex_t arpack_lock = PTHREAD_MUTEX_INITIALIZER;

/* P B^T B P / scale^2 on vectors of n entries, P projecting out the columns of `known`. */
typedef struct {
    const cs_linop *b;
    cs_comm *comm; /* NULL: one process */
    int n, rows;   /* of the vectors' parts here */
    int64_t all_cols, all_rows;
    double scale;
    const cs_dense *known; /* orthonormal columns, or NULL */
    cs_dense half;         /* rows x 1 */
    cs_dense inside;       /* n x 1 */
    double *coefficient;   /* known->cols */
    const cs_svd_options *options;
    int64_t applications, iterations;
} normal;

/* Eigenpairs of one run. */
typedef struct {
    int64_t count;
    double *value;   /* of the scaled operator, not sorted */
    cs_dense vector; /* n x count */
    double best;     /* largest Ritz value, converged or not: a lower bound of the largest value */
    bool complete;   /* all that were requested */
} eigenpairs;

static void eigenpairs_free(eigenpairs *e)
{
    cs_free(e->value);
    cs_dense_free(&e->vector);
    *e = (eigenpairs){0};
}

static void sum_ranks(const normal *w, int64_t n, double *x)
{
    if (w->comm) cs_comm_sum(w->comm, n, x);
}

static double norm_of(const normal *w, int n, const double *x)
{
    const double norm = cblas_dnrm2(n, x, 1);
    double square = norm * norm;
    sum_ranks(w, 1, &square);
    return w->comm ? sqrt(square) : norm;
}

static void project(const normal *w, double *x)
{
    if (w->known && w->known->cols > 0) {
        int p = (int)w->known->cols, ld = (int)w->known->ld;
        cblas_dgemv(CblasColMajor, CblasTrans, w->n, p, 1, w->known->data, ld, x, 1, 0,
                    w->coefficient, 1);
        sum_ranks(w, p, w->coefficient);
        cblas_dgemv(CblasColMajor, CblasNoTrans, w->n, p, -1, w->known->data, ld, w->coefficient, 1,
                    1, x, 1);
    }
}

/* y = P B^T B P x / scale^2. */
static cs_status normal_apply(normal *w, const double *x, double *y)
{
    cs_dense out = {.rows = w->n, .cols = 1, .ld = w->n, .data = y};
    memcpy(w->inside.data, x, (size_t)w->n * sizeof *x);
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) return status;
    project(w, w->inside.data);
    status = cs_linop_apply(w->b, false, &w->inside, &w->half);
    if (status == CS_OK) {
        cblas_dscal(w->rows, 1 / w->scale, w->half.data, 1);
        status = cs_linop_apply(w->b, true, &w->half, &out);
    }
    if (status == CS_OK) {
        cblas_dscal(w->n, 1 / w->scale, y, 1);
        project(w, y);
    }
    w->applications += 2;
    cs_progress_report(w->options->progress, "ARPACK products", w->applications / 2, 0);
    return status;
}

/* Seeded standard normal vector number `run`, in the range of P. */
static void start_vector(const normal *w, uint64_t run, double *x)
{
    uint64_t index = w->comm ? run * (uint64_t)w->comm->ranks + (uint64_t)w->comm->rank : run;
    cs_rng rng = cs_rng_at(w->options->seed, CS_STREAM_SOLVER, index);
    for (int i = 0; i < w->n; ++i) {
        x[i] = cs_rng_normal(&rng);
    }
    project(w, x);
}

/* scale = power of two above a power-method estimate of sigma_1; 0 when B is zero. */
static cs_status estimate_scale(normal *w)
{
    cs_dense x;
    cs_status status = cs_dense_init(&x, w->n, 1);
    if (status != CS_OK) return status;
    start_vector(w, 0, x.data);
    double norm = norm_of(w, w->n, x.data), largest = 0;
    for (int step = 0; step < NORM_STEPS && status == CS_OK && norm > 0; ++step) {
        cblas_dscal(w->n, 1 / norm, x.data, 1);
        status = cs_linop_apply(w->b, false, &x, &w->half);
        if (status == CS_OK) norm = norm_of(w, w->rows, w->half.data);
        if (status != CS_OK || !isfinite(norm) || norm == 0) {
            largest = isfinite(norm) ? largest : norm;
            break;
        }
        largest = fmax(largest, norm);
        cblas_dscal(w->rows, 1 / norm, w->half.data, 1);
        status = cs_linop_apply(w->b, true, &w->half, &x);
        if (status == CS_OK) norm = norm_of(w, w->n, x.data);
        largest = isfinite(norm) ? fmax(largest, norm) : norm;
        w->applications += 2;
        if (!isfinite(norm)) {
            break;
        }
    }
    cs_dense_free(&x);
    if (status == CS_OK && !isfinite(largest))
        return cs_fail(CS_ERR_INPUT, "the operator of %lld x %lld returns a vector of norm %g",
                       (long long)w->b->rows, (long long)w->b->cols, largest);
    w->scale = largest > 0 ? ldexp(1, ilogb(largest) + 1) : 0;
    return status;
}

/* The arrays of one dsaupd run, named as in its manual. */
typedef struct {
    int n, nev, ncv, lworkl, iparam[11], ipntr[11], *select;
    double tol, *resid, *v, *workd, *workl, *d;
    cs_pool pool;
} arrays;

static cs_status arrays_init(arrays *r, const normal *w, int64_t nev, double tol,
                             int64_t iterations)
{
    const int n = w->n;
    int64_t ncv = cs_least(cs_most(2 * nev + 1, 20), w->all_cols);
    *r = (arrays){.n = n, .nev = (int)nev, .ncv = (int)ncv, .tol = tol};
    r->iparam[0] = 1; /* exact shifts */
    r->iparam[6] = 1; /* ordinary eigenproblem */
    cs_status status = cs_blas_int(iterations, "iteration limit", &r->iparam[2]);
    status = status ? status : cs_blas_int(ncv * (ncv + 8), "ARPACK workspace", &r->lworkl);
    if (status != CS_OK) return status;
    r->select = cs_pool_take(&r->pool, ncv, sizeof *r->select);
    r->resid = cs_pool_take(&r->pool, n, sizeof *r->resid);
    r->v = cs_pool_take(&r->pool, n * ncv, sizeof *r->v);
    r->workd = cs_pool_take(&r->pool, 3 * (int64_t)n, sizeof *r->workd);
    r->workl = cs_pool_take(&r->pool, r->lworkl, sizeof *r->workl);
    r->d = cs_pool_take(&r->pool, nev, sizeof *r->d);
    return r->pool.status;
}

/* dsaupd and dseupd of one process, or of the group. */
static void lanczos_step(const normal *w, arrays *r, int *ido, int *info)
{
    if (w->comm) {
        w->comm->arpack->dsaupd(w->comm, ido, "I", r->n, "LA", r->nev, r->tol, r->resid, r->ncv,
                                r->v, r->n, r->iparam, r->ipntr, r->workd, r->workl, r->lworkl,
                                info);
    } else {
        dsaupd_c(ido, "I", r->n, "LA", r->nev, r->tol, r->resid, r->ncv, r->v, r->n, r->iparam,
                 r->ipntr, r->workd, r->workl, r->lworkl, info);
    }
}

static void take_vectors(const normal *w, arrays *r, int *info)
{
    if (w->comm) {
        w->comm->arpack->dseupd(w->comm, 1, "A", r->select, r->d, r->v, r->n, 0, "I", r->n, "LA",
                                r->nev, r->tol, r->resid, r->ncv, r->v, r->n, r->iparam, r->ipntr,
                                r->workd, r->workl, r->lworkl, info);
    } else {
        dseupd_c(1, "A", r->select, r->d, r->v, r->n, 0, "I", r->n, "LA", r->nev, r->tol, r->resid,
                 r->ncv, r->v, r->n, r->iparam, r->ipntr, r->workd, r->workl, r->lworkl, info);
    }
}

/* Reverse communication, then the vectors, which overwrite the first columns of v. Called under
 * the lock. */
static cs_status iterate(normal *w, arrays *r, eigenpairs *e, int *found)
{
    int ido = 0, info = 1; /* info 1: resid holds the start vector */
    cs_status status = CS_OK;
    do {
        lanczos_step(w, r, &ido, &info);
        if (ido == 1 || ido == -1) {
            status = normal_apply(w, r->workd + r->ipntr[0] - 1, r->workd + r->ipntr[1] - 1);
        }
    } while (status == CS_OK && (ido == 1 || ido == -1));
    if (status != CS_OK) return status;
    w->iterations += r->iparam[2];
    /* 1: iteration limit; 3: no shifts could be applied. Both leave what has converged. */
    if (info < 0 || info == 2 || info > 3) {
        return cs_fail(CS_ERR_CONVERGE, "ARPACK's dsaupd failed (info %d) on %lld x %lld, k = %d",
                       info, (long long)w->all_rows, (long long)w->all_cols, r->nev);
    }
    e->best = -INFINITY;
    for (int j = 0; j < r->ncv; ++j) {
        e->best = fmax(e->best, r->workl[r->ipntr[5] - 1 + j]);
    }
    e->complete = info == 0 && r->iparam[4] >= r->nev;
    *found = r->iparam[4] < r->nev ? r->iparam[4] : r->nev;
    if (*found == 0) {
        return CS_OK;
    }
    take_vectors(w, r, &info);
    return info == 0 ? CS_OK : cs_fail(CS_ERR_CONVERGE, "ARPACK's dseupd failed (info %d)", info);
}

/* The nev largest eigenpairs of the operator from start vector number `run`. */
static cs_status lanczos(normal *w, int64_t nev, double tol, int64_t iterations, uint64_t run,
                         eigenpairs *out)
{
    arrays r;
    eigenpairs e = {0};
    int found = 0;
    cs_status status = arrays_init(&r, w, nev, tol, iterations);
    if (status == CS_OK) {
        start_vector(w, run, r.resid);
        (void)pthread_mutex_lock(&arpack_lock);
        /* ARPACK's own products are too small to share: waiting threads would spin through ours. */
        cs_threads_blas_hold(true);
        status = iterate(w, &r, &e, &found);
        cs_threads_blas_hold(false);
        (void)pthread_mutex_unlock(&arpack_lock);
    }
    status = status ? status : cs_dense_init(&e.vector, w->n, found);
    e.value = status == CS_OK ? cs_alloc(found, sizeof *e.value) : NULL;
    status = status || e.value ? status : CS_ERR_MEMORY;
    if (status == CS_OK) {
        e.count = found;
        memcpy(e.vector.data, r.v, (size_t)w->n * (size_t)found * sizeof *r.v);
        memcpy(e.value, r.d, (size_t)found * sizeof *r.d);
    }
    cs_pool_free(&r.pool);
    return CS_DELIVER(status, out, e, eigenpairs_free);
}

static double smallest(const eigenpairs *e)
{
    double least = INFINITY;
    for (int64_t j = 0; j < e->count; ++j) {
        least = fmin(least, e->value[j]);
    }
    return least;
}

/* The k largest of both sets into *all; `more` is freed. */
static cs_status merge(eigenpairs *all, eigenpairs *more, int64_t k)
{
    int64_t n = all->vector.rows, total = all->count + more->count;
    int64_t keep = cs_least(total, k);
    eigenpairs best = {.count = keep,
                       .complete = all->complete && more->complete,
                       .best = fmax(all->best, more->best)};
    best.value = cs_alloc(keep, sizeof *best.value);
    cs_status status = best.value ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&best.vector, n, keep);
    for (int64_t j = 0; j < keep && status == CS_OK; ++j) {
        const eigenpairs *from = all;
        int64_t at = -1;
        for (int64_t i = 0; i < total; ++i) {
            const eigenpairs *set = i < all->count ? all : more;
            int64_t l = i < all->count ? i : i - all->count;
            if (at < 0 || set->value[l] > from->value[at]) {
                from = set;
                at = l;
            }
        }
        best.value[j] = from->value[at];
        memcpy(best.vector.data + j * n, from->vector.data + at * n, (size_t)n * sizeof(double));
        from->value[at] = -INFINITY; /* taken */
    }
    eigenpairs_free(more);
    if (status != CS_OK) {
        eigenpairs_free(&best);
        return status;
    }
    eigenpairs_free(all);
    *all = best;
    return CS_OK;
}

/* Whether a fresh start orthogonal to what is known finds a larger value than the smallest known.
 */
static cs_status probe(normal *w, const eigenpairs *all, uint64_t run, bool *missed)
{
    CS_AUTO(eigenpairs) top = {0};
    double floor = (double)w->all_rows * DBL_EPSILON * all->best; /* the square of the floor */
    cs_status status = lanczos(w, 1, PROBE_TOLERANCE, PROBE_ITERATIONS, run, &top);
    *missed = status == CS_OK && top.best > fmax(smallest(all), floor) * (1 + MISSED);
    return status;
}

/* Probes and merges until nothing larger is found. Each round that finds something adds at least
 * one value, so k rounds are enough. */
static cs_status complete_copies(normal *w, eigenpairs *all, double tol, int64_t iterations)
{
    int64_t k = w->options->k, rounds = 0;
    int64_t batch = cs_most(k / 4, cs_least(k, 8));
    bool missed = true;
    cs_status status = CS_OK;
    w->coefficient = cs_alloc(k, sizeof *w->coefficient);
    if (!w->coefficient) return CS_ERR_MEMORY;
    while (status == CS_OK && all->complete && rounds <= k) {
        eigenpairs more = {0};
        w->known = &all->vector;
        status = probe(w, all, (uint64_t)(2 + 2 * rounds), &missed);
        if (status != CS_OK || !missed) break;
        status = lanczos(w, batch, tol, iterations, (uint64_t)(3 + 2 * rounds), &more);
        status = status ? status : merge(all, &more, k);
        rounds += 1;
    }
    all->complete = all->complete && !missed;
    w->known = NULL;
    return status;
}

/* Triplets of a group's eigenvectors: u = B v / sigma, which is orthogonal to the others as far as
 * the vectors are eigenvectors. Values descend. */
static cs_status left_vectors(const normal *w, eigenpairs *all, cs_svd *svd)
{
    int64_t k = all->count;
    double *sigma = cs_alloc(k, sizeof *sigma);
    svd->sigma = sigma;
    cs_status status = sigma ? cs_dense_init(&svd->u, w->rows, k) : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&svd->v, w->n, k);
    for (int64_t j = 0; status == CS_OK && j < k; ++j) {
        int64_t at = 0;
        for (int64_t i = 1; i < k; ++i) {
            at = all->value[i] > all->value[at] ? i : at;
        }
        all->value[at] = -INFINITY; /* taken */
        cs_dense v = {w->n, 1, w->n, svd->v.data + j * svd->v.ld};
        cs_dense u = {w->rows, 1, w->rows, svd->u.data + j * svd->u.ld};
        memcpy(v.data, all->vector.data + at * all->vector.ld, (size_t)w->n * sizeof(double));
        status = cs_linop_apply(w->b, false, &v, &u);
        if (status == CS_OK) sigma[j] = norm_of(w, w->rows, u.data);
        if (status == CS_OK && sigma[j] > 0) cblas_dscal(w->rows, 1 / sigma[j], u.data, 1);
    }
    svd->k = k;
    svd->applications += k;
    return status;
}

static cs_status solve(normal *w, cs_svd *svd)
{
    const cs_svd_options *o = w->options;
    double tol = o->tol > 0 ? o->tol : 1e-12;
    /* ||B^T B v - lambda v|| <= tol lambda / 4 makes the triplet's residual, which is that norm
     * over sigma, at most tol sigma / 4. */
    tol = fmax(tol / 4, DBL_EPSILON);
    int64_t iterations = o->max_iterations > 0 ? o->max_iterations : DEFAULT_ITERATIONS;
    CS_AUTO(eigenpairs) all = {0};
    cs_status status = cs_dense_init(&w->half, w->rows, 1);
    status = status ? status : cs_dense_init(&w->inside, w->n, 1);
    status = status ? status : estimate_scale(w);
    if (status == CS_OK && w->scale > 0) {
        status = lanczos(w, o->k, tol, iterations, 1, &all);
        status = status ? status : complete_copies(w, &all, tol, iterations);
    } else {
        all.complete = true; /* B is zero: no value above the floor */
    }
    svd->converged = all.complete;
    if (status == CS_OK && all.count > 0)
        status =
            w->comm ? left_vectors(w, &all, svd) : cs_svd_ritz(w->b, &all.vector, all.count, svd);
    if (status == CS_OK && all.count > 0)
        svd->floor = sqrt((double)w->all_rows * DBL_EPSILON) * svd->sigma[0];
    svd->iterations = w->iterations;
    svd->applications += w->applications;
    return status;
}

/* Sizes of the whole operator. */
static cs_status take_sizes(normal *w, cs_comm *comm)
{
    double size[] = {(double)w->b->rows, (double)w->b->cols};
    if (comm) cs_comm_sum(comm, 2, size);
    w->comm = comm;
    w->all_rows = (int64_t)size[0];
    w->all_cols = (int64_t)size[1];
    cs_status status = cs_blas_int(w->b->rows, "number of rows", &w->rows);
    return status ? status : cs_blas_int(w->b->cols, "number of columns", &w->n);
}

cs_status cs_svd_arpack(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    normal w = {.b = a, .options = options};
    *out = (cs_svd){.solver = CS_SOLVER_ARPACK};
    cs_status status = take_sizes(&w, options->comm);
    if (status == CS_OK && options->k >= w.all_cols)
        status = cs_fail(CS_ERR_USAGE,
                         "ARPACK finds fewer than min(rows, cols) = %lld triplets, but %lld are "
                         "requested: use the solver %s",
                         (long long)w.all_cols, (long long)options->k,
                         options->comm ? "block" : "lapack");
    status = status ? status : solve(&w, out);
    cs_dense_free(&w.half);
    cs_dense_free(&w.inside);
    cs_free(w.coefficient);
    if (status == CS_OK && out->k == 0) {
        status = cs_dense_init(&out->u, a->rows, 0);
        status = status ? status : cs_dense_init(&out->v, a->cols, 0);
    }
    return status;
}
