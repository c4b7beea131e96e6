/* Dense matrices over CBLAS and LAPACKE.
 *
 * Methods: thin SVD by divide and conquer (dgesdd; Gu and Eisenstat 1995), which reduces a very
 * tall or wide matrix by its own QR first, and by implicit QR (dgesvd; Demmel and Kahan 1990) when
 * that fails; symmetric eigenproblem by dsyevd; L D L^T by dsytrf_rk (Ashcraft, Grimes and Lewis
 * 1998); Householder QR by dgeqrf and dorgqr; tridiagonal form by dsytrd.
 * Limits: LAPACK's sizes and workspaces are 32-bit ints, which holds the smaller side of an SVD
 * below about 23,000 and of an eigenproblem below about 32,000; larger ones are refused. Bits
 * depend on the BLAS kernel, and those of problems above SHARED_WORK on the number of BLAS threads.
 * None of the libraries looks for an interrupt: calls above LONG_WORK are left behind when one comes.
 */
#include "linalg/dense.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <float.h>
#include <lapacke.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"

/* Problems of fewer flops, a few seconds of a core, get one BLAS thread: their bits are the same for any number
 * of threads, and OpenBLAS, which shares an eigenproblem of 8 x 8 already, loses by it where cores are busy. An
 * SVD of 1,700 x 1,700 is the largest below it; all that svd.c gives to LAPACK unasked, unless more than a
 * quarter of the values is wanted, is smaller. */
static const double SHARED_WORK = 2e10;

/* A tenth of a second of a core, and more. */
static const double LONG_WORK = 1e9;

/* A call of BLAS or LAPACK with what it is given, and what it returns. */
typedef struct {
    char job;
    bool trans_a, trans_b;
    int rows, cols, inner, lda, ldb, ldc, work_size, *pivot;
    double alpha, beta, *a, *b, *c; /* matrices: A and products, or A, U and V^T */
    double *x, *work;               /* singular values, eigenvalues, a diagonal, tau; a workspace */
    lapack_int info;
} library_call;

static cs_status compute(double flops, void (*fn)(void *), library_call *call)
{
    const bool hold = flops < SHARED_WORK;
    cs_status status = CS_OK;
    if (hold) cs_threads_blas_hold(true);
    if (flops >= LONG_WORK) {
        status = cs_run_abandonable(fn, call, sizeof *call);
    } else {
        fn(call);
    }
    if (hold) cs_threads_blas_hold(false);
    return status;
}

cs_status cs_dense_init(cs_dense *a, int64_t rows, int64_t cols)
{
    *a = (cs_dense){0};
    if (rows < 0 || cols < 0) {
        return cs_fail(CS_ERR_USAGE, "invalid size of a dense matrix: %lld x %lld", (long long)rows,
                       (long long)cols);
    }
    if (cols > 0 && rows > INT64_MAX / cols) {
        return cs_fail(CS_ERR_MEMORY, "dense matrix of %lld x %lld is too large", (long long)rows,
                       (long long)cols);
    }
    double *data = cs_calloc(rows * cols, sizeof *data);
    if (!data) {
        return cs_blame(CS_ERR_MEMORY, "dense matrix of %lld x %lld", (long long)rows,
                        (long long)cols);
    }
    *a = (cs_dense){.rows = rows, .cols = cols, .ld = cs_most(rows, 1), .data = data};
    return CS_OK;
}

cs_dense cs_dense_in(cs_pool *pool, int64_t rows, int64_t cols)
{
    bool fits = rows >= 0 && cols >= 0 && (cols == 0 || rows <= INT64_MAX / cols);
    double *data = cs_pool_take(pool, fits ? rows * cols : -1, sizeof *data);
    return (cs_dense){.rows = rows, .cols = cols, .ld = cs_most(rows, 1), .data = data};
}

void cs_dense_free(cs_dense *a)
{
    cs_free(a->data);
    *a = (cs_dense){0};
}

cs_status cs_blas_int(int64_t value, const char *what, int *out)
{
    if (value < 0 || value > INT_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s %lld does not fit the linear algebra library's int", what,
                       (long long)value);
    }
    *out = (int)value;
    return CS_OK;
}

/* The three numbers that BLAS wants of a matrix. */
typedef struct {
    int rows, cols, ld;
} blas_shape;

static cs_status shape_of(const cs_dense *a, const char *name, blas_shape *out)
{
    cs_status status = cs_blas_int(a->rows, "number of rows", &out->rows);
    if (status == CS_OK) status = cs_blas_int(a->cols, "number of columns", &out->cols);
    if (status == CS_OK) status = cs_blas_int(cs_most(a->ld, 1), "leading dimension", &out->ld);
    return cs_blame(status, "%s", name);
}

static void gemm(void *call)
{
    const library_call *p = call;
    cblas_dgemm(CblasColMajor, p->trans_a ? CblasTrans : CblasNoTrans,
                p->trans_b ? CblasTrans : CblasNoTrans, p->rows, p->cols, p->inner, p->alpha, p->a,
                p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

cs_status cs_gemm(bool trans_a, bool trans_b, double alpha, const cs_dense *a, const cs_dense *b,
                  double beta, cs_dense *c)
{
    int64_t m = trans_a ? a->cols : a->rows, inner = trans_a ? a->rows : a->cols;
    int64_t inner_b = trans_b ? b->cols : b->rows, n = trans_b ? b->rows : b->cols;
    if (inner != inner_b || m != c->rows || n != c->cols) {
        return cs_fail(CS_ERR_USAGE,
                       "product of %lld x %lld and %lld x %lld does not give %lld x %lld",
                       (long long)m, (long long)inner, (long long)inner_b, (long long)n,
                       (long long)c->rows, (long long)c->cols);
    }
    blas_shape sa = {0}, sb = {0}, sc = {0};
    cs_status status = shape_of(a, "left factor", &sa);
    if (status == CS_OK) status = shape_of(b, "right factor", &sb);
    if (status == CS_OK) status = shape_of(c, "product", &sc);
    if (status != CS_OK || m == 0 || n == 0) return status;
    library_call call = {.trans_a = trans_a,
                         .trans_b = trans_b,
                         .rows = sc.rows,
                         .cols = sc.cols,
                         .inner = trans_a ? sa.rows : sa.cols,
                         .alpha = alpha,
                         .a = a->data,
                         .lda = sa.ld,
                         .b = b->data,
                         .ldb = sb.ld,
                         .beta = beta,
                         .c = c->data,
                         .ldc = sc.ld};
    return compute(2 * (double)m * (double)n * (double)inner, gemm, &call);
}

/* LAPACK may loop or return nonsense on NaN and infinity. lower: below the diagonal, and on it. */
static cs_status part_finite(const cs_dense *a, bool lower)
{
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = lower ? j : 0; i < a->rows; ++i) {
            double x = a->data[i + j * a->ld];
            if (!isfinite(x)) {
                return cs_fail(CS_ERR_INPUT, "row %lld, column %lld: value %g is not finite",
                               (long long)i, (long long)j, x);
            }
        }
    }
    return CS_OK;
}

static cs_status all_finite(const cs_dense *a)
{
    return part_finite(a, false);
}

/* A LAPACKE return value as a status. */
static cs_status lapack_status(lapack_int info, const char *routine, int64_t rows, int64_t cols)
{
    if (info == 0) {
        return CS_OK;
    }
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) {
        return cs_fail(CS_ERR_MEMORY, "%s of %lld x %lld: not enough memory for its workspace",
                       routine, (long long)rows, (long long)cols);
    }
    if (info > 0) {
        return cs_fail(CS_ERR_CONVERGE, "%s of %lld x %lld did not converge (info %d)", routine,
                       (long long)rows, (long long)cols, (int)info);
    }
    return cs_fail(CS_ERR_USAGE, "%s of %lld x %lld: argument %d is invalid", routine,
                   (long long)rows, (long long)cols, (int)-info);
}

void cs_dense_copy(const cs_dense *from, cs_dense *to)
{
    for (int64_t j = 0; j < from->cols; ++j) {
        memcpy(to->data + j * to->ld, from->data + j * from->ld,
               (size_t)from->rows * sizeof *to->data);
    }
}

cs_dense cs_dense_copy_in(cs_pool *pool, const cs_dense *a)
{
    cs_dense out = cs_dense_in(pool, a->rows, a->cols);
    if (out.data) cs_dense_copy(a, &out);
    return out;
}

double cs_dense_squares(const cs_dense *a)
{
    double sum = 0;
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = 0; i < a->rows; ++i) {
            sum += a->data[i + j * a->ld] * a->data[i + j * a->ld];
        }
    }
    return sum;
}

static void gesdd(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, p->job, p->rows, p->cols, p->a, p->lda, p->x, p->b,
                             p->ldb, p->c, p->ldc);
}

static void gesvd(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dgesvd(LAPACK_COL_MAJOR, p->job, p->job, p->rows, p->cols, p->a, p->lda, p->x,
                             p->b, p->ldb, p->c, p->ldc, p->work);
}

static cs_status svd_with_fallback(cs_dense *a, const blas_shape *s, double *sigma, cs_dense *u,
                                   cs_dense *vt)
{
    double unused = 0;
    cs_dense kept; /* gesdd destroys A before it is known to fail */
    library_call call = {.job = u ? 'S' : 'N',
                         .rows = s->rows,
                         .cols = s->cols,
                         .a = a->data,
                         .lda = s->ld,
                         .x = sigma,
                         .b = u ? u->data : &unused,
                         .ldb = u ? (int)u->ld : 1,
                         .c = vt ? vt->data : &unused,
                         .ldc = vt ? (int)vt->ld : 1};
    const int p = s->rows < s->cols ? s->rows : s->cols;
    const double flops = 4 * (double)s->rows * s->cols * p;
    cs_status status = cs_dense_init(&kept, a->rows, a->cols);
    if (status != CS_OK) return status;
    cs_dense_copy(a, &kept);
    status = compute(flops, gesdd, &call);
    if (status == CS_OK && call.info <= 0) {
        status = lapack_status(call.info, "gesdd", a->rows, a->cols);
    } else if (status == CS_OK) {
        call.work = cs_alloc(p, sizeof *call.work);
        status = call.work ? CS_OK : CS_ERR_MEMORY;
        cs_dense_copy(&kept, a);
        if (status == CS_OK) status = compute(flops, gesvd, &call);
        if (status == CS_OK) status = lapack_status(call.info, "gesvd", a->rows, a->cols);
        cs_free(call.work);
    }
    cs_dense_free(&kept);
    return status;
}

cs_status cs_dense_svd(cs_dense *a, double *sigma, cs_dense *u, cs_dense *vt)
{
    int64_t p = cs_least(a->rows, a->cols);
    if (!u != !vt) {
        return cs_fail(CS_ERR_USAGE, "left and right singular vectors must be requested together");
    }
    if (u && (u->rows != a->rows || u->cols != p || vt->rows != p || vt->cols != a->cols)) {
        return cs_fail(
            CS_ERR_USAGE,
            "the arrays for singular vectors of %lld x %lld are %lld x %lld and %lld x %lld",
            (long long)a->rows, (long long)a->cols, (long long)u->rows, (long long)u->cols,
            (long long)vt->rows, (long long)vt->cols);
    }
    if (p == 0) {
        return CS_OK;
    }
    blas_shape s = {0}, side = {0};
    int work;
    cs_status status = shape_of(a, "matrix", &s);
    if (status == CS_OK && u) status = shape_of(u, "left vectors", &side);
    if (status == CS_OK && vt) status = shape_of(vt, "right vectors", &side);
    if (status == CS_OK) status = cs_blas_int(4 * p * p + 7 * p, "gesdd workspace", &work);
    if (status == CS_OK) status = all_finite(a);
    if (status != CS_OK) return status;
    return svd_with_fallback(a, &s, sigma, u, vt);
}

/* The shape of a square matrix, for an eigenproblem or a linear system named by `problem`. */
static cs_status square_shape(const cs_dense *a, const char *problem, blas_shape *out)
{
    return a->rows == a->cols ? shape_of(a, "matrix", out)
                              : cs_fail(CS_ERR_USAGE, "%s of %lld x %lld: not square", problem,
                                        (long long)a->rows, (long long)a->cols);
}

static void syevd(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, p->job, 'L', p->rows, p->a, p->lda, p->x);
}

cs_status cs_dense_eigh(cs_dense *a, double *values, bool values_only)
{
    blas_shape s = {0};
    int work;
    cs_status status = square_shape(a, "eigenproblem", &s);
    if (status == CS_OK)
        status = cs_blas_int(1 + 6 * a->rows + 2 * a->rows * a->rows, "syevd workspace", &work);
    if (status == CS_OK) status = all_finite(a);
    if (status != CS_OK || a->rows == 0) return status;
    const double n = s.rows;
    library_call call = {
        .job = values_only ? 'N' : 'V', .rows = s.rows, .a = a->data, .lda = s.ld, .x = values};
    status = compute((values_only ? 2 : 4) * n * n * n, syevd, &call);
    return status ? status : lapack_status(call.info, "syevd", a->rows, a->cols);
}

/* Fails for bad arguments only. */
static void sytrd(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', p->rows, p->a, p->lda, p->x, p->b, p->c,
                                  p->work, p->work_size);
}

cs_status cs_dense_tridiagonalise(cs_dense *a, double *d, double *e)
{
    enum { BLOCK = 64 }; /* columns of dsytrd's workspace: the number that it reduces at once */
    blas_shape s = {0};
    CS_AUTO(cs_pool) pool = {0};
    library_call call = {.a = a->data, .x = d, .b = e};
    cs_status status = square_shape(a, "eigenproblem", &s);
    if (status == CS_OK) status = cs_blas_int(BLOCK * a->rows, "sytrd workspace", &call.work_size);
    if (status == CS_OK) status = part_finite(a, true);
    if (status != CS_OK || a->rows == 0) return status;
    call.rows = s.rows;
    call.lda = s.ld;
    call.c = cs_pool_take(&pool, a->rows, sizeof *call.c);
    call.work = cs_pool_take(&pool, BLOCK * a->rows, sizeof *call.work);
    const double n = s.rows;
    status = pool.status ? pool.status : compute(4 * n * n * n / 3, sytrd, &call);
    return status == CS_OK ? lapack_status(call.info, "sytrd", a->rows, a->cols) : status;
}

static void ssytrd(void *call)
{
    library_call *p = call;
    void *a = p->a, *d = p->x, *e = p->b, *tau = p->c, *work = p->work; /* of floats */
    p->info = LAPACKE_ssytrd_work(LAPACK_COL_MAJOR, 'L', p->rows, a, p->lda, d, e, tau, work,
                                  p->work_size);
}

/* The largest absolute value of the lower triangle; infinity if one is not finite. */
static double largest_lower(const cs_dense *a)
{
    double largest = 0;
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = j; i < a->rows; ++i) {
            const double x = fabs(a->data[i + j * a->ld]);
            largest = x <= largest ? largest : x <= DBL_MAX ? x : INFINITY;
        }
    }
    return largest;
}

/* The lower triangle over 2^power, rounded. */
static void round_lower(const cs_dense *a, int power, float *to)
{
    const double by = ldexp(1, -power);
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = j; i < a->rows; ++i) {
            to[i + j * a->rows] = (float)(a->data[i + j * a->ld] * by);
        }
    }
}

cs_status cs_dense_tridiagonalise_single(const cs_dense *a, double *d, double *e)
{
    enum { BLOCK = 32 }; /* as BLOCK above; narrower panels suit the smaller matrix */
    blas_shape s = {0};
    CS_AUTO(cs_pool) pool = {0};
    library_call call = {0};
    cs_status status = square_shape(a, "eigenproblem", &s);
    if (status == CS_OK) status = cs_blas_int(BLOCK * a->rows, "sytrd workspace", &call.work_size);
    if (status != CS_OK || a->rows == 0) return status;
    const int64_t n = a->rows;
    const double largest = largest_lower(a);
    int power = 0;
    if (!isfinite(largest)) return part_finite(a, true); /* names the entry */
    (void)frexp(largest, &power);
    void *x = cs_pool_take(&pool, n * n, sizeof(float));
    float *diagonal = cs_pool_take(&pool, n, sizeof *diagonal);
    float *off = cs_pool_take(&pool, n, sizeof *off);
    call.c = cs_pool_take(&pool, n, sizeof(float));
    call.work = cs_pool_take(&pool, call.work_size, sizeof(float));
    if (pool.status != CS_OK) return pool.status;
    round_lower(a, power, x);
    call.rows = call.lda = s.rows;
    call.a = x;
    call.x = (void *)diagonal;
    call.b = (void *)off;
    status = compute(4.0 / 3 * (double)n * (double)n * (double)n, ssytrd, &call);
    if (status == CS_OK) status = lapack_status(call.info, "ssytrd", n, n);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        d[i] = ldexp((double)diagonal[i], power);
        e[i] = i + 1 < n ? ldexp((double)off[i], power) : 0;
    }
    return status;
}

static void sytrf(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dsytrf_rk(LAPACK_COL_MAJOR, 'L', p->rows, p->a, p->lda, p->x, p->pivot);
}

cs_status cs_dense_ldl(cs_dense *a, double *below, int *pivot)
{
    blas_shape s = {0};
    cs_status status = square_shape(a, "L D L^T", &s);
    if (status == CS_OK) status = part_finite(a, true);
    if (status != CS_OK || a->rows == 0) return status;
    const double n = s.rows;
    library_call call = {.rows = s.rows, .a = a->data, .lda = s.ld, .x = below, .pivot = pivot};
    status = compute(n * n * n / 3, sytrf, &call);
    if (status != CS_OK) return status;
    below[a->rows - 1] = 0;
    return lapack_status(call.info > 0 ? 0 : call.info, "sytrf_rk", a->rows, a->cols);
}

static void geqrf(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, p->rows, p->cols, p->a, p->lda, p->x);
}

static void orgqr(void *call)
{
    library_call *p = call;
    p->info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, p->rows, p->cols, p->cols, p->a, p->lda, p->x);
}

cs_status cs_dense_orthonormalise(cs_dense *a)
{
    if (a->rows < a->cols) {
        return cs_fail(CS_ERR_USAGE, "%lld columns of %lld rows cannot be orthonormal",
                       (long long)a->cols, (long long)a->rows);
    }
    blas_shape s = {0};
    cs_status status = shape_of(a, "matrix", &s);
    if (status == CS_OK) status = all_finite(a);
    if (status != CS_OK || a->cols == 0) return status;
    library_call call = {.rows = s.rows, .cols = s.cols, .a = a->data, .lda = s.ld};
    call.x = cs_alloc(a->cols, sizeof *call.x);
    if (!call.x) return CS_ERR_MEMORY;
    const double n = s.cols, flops = 4 * n * n * s.rows;
    status = compute(flops, geqrf, &call);
    if (status == CS_OK) status = lapack_status(call.info, "geqrf", a->rows, a->cols);
    if (status == CS_OK) status = compute(flops, orgqr, &call);
    if (status == CS_OK) status = lapack_status(call.info, "orgqr", a->rows, a->cols);
    cs_free(call.x);
    return status;
}
