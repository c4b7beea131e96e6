/* Failures that LAPACK and ARPACK report become errors: functions of the test precede the
 * libraries' and return the wanted results. */
#include <dlfcn.h>
#include <limits.h>

#include <arpack/arpack.h>
#include <lapacke.h>

#include "linalg/svd.h"
#include "linalg_support.h"

typedef enum { GESDD, GESVD, SYEVD, SYTRF, GEQRF, ORGQR, POTRF, ROUTINES } routine;

/* The result of each routine, 0: that of the library; and the number of its calls. */
static lapack_int result[ROUTINES];
static int asked[ROUTINES];

/* Functions of the test hide those of ARPACK that the library calls: this one keeps it linked. */
__attribute__((used)) static void (*const kept)(void) = (void (*)(void))ssaupd_c;

static void *next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    assert_non_null(symbol);
    return symbol;
}

#define INSTEAD(which, name, parameters, ...)                                                      \
    lapack_int name parameters                                                                     \
    {                                                                                              \
        lapack_int(*real) parameters;                                                              \
        void *symbol = next(#name);                                                                \
        memcpy(&real, &symbol, sizeof real);                                                       \
        ++asked[which];                                                                            \
        return result[which] ? result[which] : real(__VA_ARGS__);                                  \
    }

/* A failed gesdd leaves nothing of A. */
lapack_int LAPACKE_dgesdd(int layout, char job, lapack_int m, lapack_int n, double *a,
                          lapack_int lda, double *s, double *u, lapack_int ldu, double *vt,
                          lapack_int ldvt)
{
    lapack_int (*real)(int, char, lapack_int, lapack_int, double *, lapack_int, double *, double *,
                       lapack_int, double *, lapack_int);
    void *symbol = next("LAPACKE_dgesdd");
    memcpy(&real, &symbol, sizeof real);
    ++asked[GESDD];
    for (lapack_int j = 0; result[GESDD] && j < n; ++j) {
        memset(a + (ptrdiff_t)j * lda, 0, (size_t)m * sizeof *a);
    }
    return result[GESDD] ? result[GESDD] : real(layout, job, m, n, a, lda, s, u, ldu, vt, ldvt);
}

INSTEAD(GESVD, LAPACKE_dgesvd,
        (int layout, char job, char jobvt, lapack_int m, lapack_int n, double *a, lapack_int lda,
         double *s, double *u, lapack_int ldu, double *vt, lapack_int ldvt, double *superb),
        layout, job, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, superb)
INSTEAD(SYEVD, LAPACKE_dsyevd,
        (int layout, char job, char uplo, lapack_int n, double *a, lapack_int lda, double *w),
        layout, job, uplo, n, a, lda, w)
INSTEAD(SYTRF, LAPACKE_dsytrf_rk,
        (int layout, char uplo, lapack_int n, double *a, lapack_int lda, double *e,
         lapack_int *pivot),
        layout, uplo, n, a, lda, e, pivot)
INSTEAD(GEQRF, LAPACKE_dgeqrf,
        (int layout, lapack_int m, lapack_int n, double *a, lapack_int lda, double *tau), layout, m,
        n, a, lda, tau)
INSTEAD(ORGQR, LAPACKE_dorgqr,
        (int layout, lapack_int m, lapack_int n, lapack_int k, double *a, lapack_int lda,
         const double *tau),
        layout, m, n, k, a, lda, tau)
INSTEAD(POTRF, LAPACKE_dpotrf, (int layout, char uplo, lapack_int n, double *a, lapack_int lda),
        layout, uplo, n, a, lda)

static void library_works(void)
{
    memset(result, 0, sizeof result);
    memset(asked, 0, sizeof asked);
}

/* Values 3, 2, 1 at scattered places of m x n, with and without vectors. */
static void solves(int64_t m, int64_t n, bool vectors)
{
    double sigma[3];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, m, n));
    AUTO_OK(cs_dense, u, cs_dense_init(&u, m, 3));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, 3, n));
    for (int64_t j = 0; j < 3; ++j) {
        a.data[(m - 1 - j) + (j * (n - 1) / 2) * m] = 3 - (double)j;
    }
    OK(cs_dense_svd(&a, sigma, vectors ? &u : NULL, vectors ? &vt : NULL));
    for (int64_t j = 0; j < 3; ++j) {
        assert_true(fabs(sigma[j] - (3 - (double)j)) <= 20 * DBL_EPSILON);
        if (vectors) {
            const double x = u.data[(m - 1 - j) + j * m], y = vt.data[j + (j * (n - 1) / 2) * 3];
            assert_true(fabs(x * y - 1) <= 20 * DBL_EPSILON);
        }
    }
}

TEST(gesvd_takes_over_where_gesdd_gives_up)
{
    library_works();
    for (int way = 0; way < 4; ++way) {
        solves(way < 2 ? 5 : 3, way < 2 ? 3 : 5, way % 2);
    }
    assert_int_equal(asked[GESDD], 4);
    assert_int_equal(asked[GESVD], 0);
    result[GESDD] = 1;
    for (int way = 0; way < 4; ++way) {
        solves(way < 2 ? 5 : 3, way < 2 ? 3 : 5, way % 2);
    }
    assert_int_equal(asked[GESVD], 4);
    double sigma[3];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 5, 3));
    result[GESVD] = 2;
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_CONVERGE,
                 "gesvd of 5 x 3 did not converge (info 2)");
    result[GESVD] = LAPACK_WORK_MEMORY_ERROR;
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_MEMORY,
                 "gesvd of 5 x 3: not enough memory for its workspace");
    result[GESDD] = LAPACK_WORK_MEMORY_ERROR; /* nor would gesvd have any */
    asked[GESVD] = 0;
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_MEMORY,
                 "gesdd of 5 x 3: not enough memory");
    result[GESDD] = -4;
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_USAGE,
                 "gesdd of 5 x 3: argument 4 is invalid");
    assert_int_equal(asked[GESVD], 0);
    result[GESDD] = 1;
    result[GESVD] = 0;
    (void)cs_mem_fail_at(1); /* the copy */
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_MEMORY, "5 x 3");
    (void)cs_mem_fail_at(2); /* the vectors of gesvd, computed in addition to the values */
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_MEMORY, "allocation 2 failed");
    (void)cs_mem_fail_at(0);
    assert_int_equal(asked[GESVD], 0);
}

static cs_status eigh(cs_dense *a, double *value)
{
    return cs_dense_eigh(a, value, false);
}

static cs_status ldl(cs_dense *a, double *value)
{
    int pivot[4];
    return cs_dense_ldl(a, value, pivot);
}

static cs_status qr(cs_dense *a, double *value)
{
    (void)value;
    return cs_dense_orthonormalise(a);
}

TEST(failures_of_lapack_are_named)
{
    static const struct {
        routine which;
        const char *name;
        cs_status (*solve)(cs_dense *a, double *value);
        cs_status stopped; /* where info is positive */
    } cases[] = {{SYEVD, "syevd", eigh, CS_ERR_CONVERGE},
                 {SYTRF, "sytrf_rk", ldl, CS_OK}, /* D is singular */
                 {GEQRF, "geqrf", qr, CS_ERR_CONVERGE},
                 {ORGQR, "orgqr", qr, CS_ERR_CONVERGE}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double value[4];
        char part[80];
        AUTO_OK(cs_dense, a, cs_dense_init(&a, 4, 4));
        library_works();
        OK(cases[c].solve(&a, value));
        assert_int_equal(asked[cases[c].which], 1);
        result[cases[c].which] = LAPACK_TRANSPOSE_MEMORY_ERROR;
        (void)snprintf(part, sizeof part, "%s of 4 x 4: not enough memory for its workspace",
                       cases[c].name);
        assert_fails(cases[c].solve(&a, value), CS_ERR_MEMORY, part);
        result[cases[c].which] = -7;
        (void)snprintf(part, sizeof part, "%s of 4 x 4: argument 7 is invalid", cases[c].name);
        assert_fails(cases[c].solve(&a, value), CS_ERR_USAGE, part);
        result[cases[c].which] = 3;
        cs_status status = cases[c].solve(&a, value);
        assert_int_equal(status, cases[c].stopped);
        cs_reason_clear();
    }
    library_works();
    result[GEQRF] = 1; /* what it left is no matrix for orgqr */
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 4, 4));
    assert_fails(cs_dense_orthonormalise(&a), CS_ERR_CONVERGE, "geqrf");
    assert_int_equal(asked[ORGQR], 0);
    library_works();
}

/* Each number that does not fit an int is named, whatever those after it. */
TEST(sizes_beyond_an_int_are_named)
{
    const int64_t most = INT_MAX, over = most + 1;
    double x = 0;
    cs_dense none = {0, 0, 1, &x}, one = {1, 1, 1, &x};
    struct {
        cs_dense a;
        const char *part;
    } cases[] = {{{over, 0, 1, &x}, "number of rows 2147483648 does not fit"},
                 {{0, over, 1, &x}, "number of columns 2147483648 does not fit"},
                 {{0, 0, over, &x}, "leading dimension 2147483648 does not fit"}};
    for (size_t c = 0; c < 3; ++c) {
        const cs_dense *a = &cases[c].a;
        cs_dense right = {a->cols, 0, 1, &x}, left = {0, a->rows, 1, &x}, out = {a->rows, 0, 1, &x};
        if (c < 2) { /* else its product fits */
            assert_fails(cs_gemm(false, false, 1, a, &right, 0, &out), CS_ERR_INPUT, cases[c].part);
        } else {
            assert_fails(cs_gemm(false, false, 1, a, &right, 0, &none), CS_ERR_INPUT,
                         "left factor: leading dimension 2147483648");
            assert_fails(cs_gemm(false, false, 1, &left, a, 0, &none), CS_ERR_INPUT,
                         "right factor: leading dimension 2147483648");
            assert_fails(cs_gemm(false, false, 1, &left, &right, 0, &cases[2].a), CS_ERR_INPUT,
                         "product: leading dimension 2147483648");
        }
    }
    double sigma[1];
    cs_dense wide_u = {1, 1, over, &x};
    assert_fails(cs_dense_svd(&one, sigma, &wide_u, &one), CS_ERR_INPUT, "left vectors: leading");
    assert_fails(cs_dense_svd(&one, sigma, &one, &wide_u), CS_ERR_INPUT, "right vectors: leading");
    assert_fails(cs_dense_svd(&wide_u, sigma, &one, &one), CS_ERR_INPUT, "matrix: leading");
    assert_fails(cs_dense_eigh(&wide_u, sigma, false), CS_ERR_INPUT, "matrix: leading");
    assert_fails(cs_dense_orthonormalise(&wide_u), CS_ERR_INPUT, "matrix: leading");
    int pivot;
    assert_fails(cs_dense_ldl(&wide_u, sigma, &pivot), CS_ERR_INPUT, "matrix: leading");
    int got = 0;
    OK(cs_blas_int(most, "width", &got));
    assert_int_equal(got, INT_MAX);
    OK(cs_blas_int(0, "width", &got));
    assert_int_equal(got, 0);
    assert_fails(cs_blas_int(-1, "width", &got), CS_ERR_INPUT, "width -1 does not fit");
}

/* The block solver's left vectors come from the root of the Gram matrix of A V. */
TEST(a_gram_matrix_without_a_root)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    cs_svd s;
    falling_operator(&f, 60);
    const cs_svd_options o = {.k = 5, .solver = CS_SOLVER_BLOCK};
    library_works();
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(asked[POTRF], 1);
    cs_svd_free(&s);
    result[POTRF] = 3;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_CONVERGE,
                 "the computed singular vectors are linearly dependent");
    library_works();
}

/* --- ARPACK ----------------------------------------------------------------------------------- */

static struct {
    int step, vectors; /* what info becomes; 0: what ARPACK says */
    int iterations;    /* steps until then */
    int least;         /* converged values are no more than that, where positive */
} arpack;

/* The request of each run. */
enum { MOST_RUNS = 20 };
static struct {
    int n, nev, ncv, shifts, iterations, mode;
    double tol;
} run[MOST_RUNS];
static int runs;

void dsaupd_c(int *ido, char const *bmat, int n, char const *which, int nev, double tol,
              double *resid, int ncv, double *v, int ldv, int *iparam, int *ipntr, double *workd,
              double *workl, int lworkl, int *info)
{
    void (*real)(int *, char const *, int, char const *, int, double, double *, int, double *, int,
                 int *, int *, double *, double *, int, int *);
    void *symbol = next("dsaupd_c");
    memcpy(&real, &symbol, sizeof real);
    if (*ido == 0 && runs < MOST_RUNS) {
        run[runs].n = n;
        run[runs].nev = nev;
        run[runs].ncv = ncv;
        run[runs].shifts = iparam[0];
        run[runs].iterations = iparam[2];
        run[runs].mode = iparam[6];
        run[runs++].tol = tol;
    }
    real(ido, bmat, n, which, nev, tol, resid, ncv, v, ldv, iparam, ipntr, workd, workl, lworkl,
         info);
    if (arpack.step && *ido == 99) {
        *info = arpack.step;
        if (arpack.least >= 0) iparam[4] = arpack.least;
    }
}

void dseupd_c(int rvec, char const *howmny, int const *select, double *d, double *z, int ldz,
              double sigma, char const *bmat, int n, char const *which, int nev, double tol,
              double *resid, int ncv, double *v, int ldv, int *iparam, int *ipntr, double *workd,
              double *workl, int lworkl, int *info)
{
    void (*real)(int, char const *, int const *, double *, double *, int, double, char const *, int,
                 char const *, int, double, double *, int, double *, int, int *, int *, double *,
                 double *, int, int *);
    void *symbol = next("dseupd_c");
    memcpy(&real, &symbol, sizeof real);
    real(rvec, howmny, select, d, z, ldz, sigma, bmat, n, which, nev, tol, resid, ncv, v, ldv,
         iparam, ipntr, workd, workl, lworkl, info);
    if (arpack.vectors) *info = arpack.vectors;
}

TEST(what_arpack_reports)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    cs_svd s;
    falling_operator(&f, 60);
    const cs_svd_options o = {.k = 5, .solver = CS_SOLVER_ARPACK};
    static const int broken[] = {-1, -9999, 2, 4};
    for (size_t b = 0; b < sizeof broken / sizeof *broken; ++b) {
        char part[80];
        arpack.step = broken[b];
        arpack.least = -1;
        (void)snprintf(part, sizeof part, "dsaupd failed (info %d) on 60 x 60, k = 5", broken[b]);
        assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_CONVERGE, part);
    }
    for (int info = 1; info <= 3; info += 2) { /* a limit: what has converged is there */
        arpack.step = info;
        arpack.least = 2;
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_false(s.converged);
        assert_int_equal(s.k, 2);
        cs_svd_free(&s);
        arpack.least = 0;
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_false(s.converged);
        assert_int_equal(s.k, 0);
        assert_int_equal(s.u.rows, 60);
        assert_int_equal(s.v.rows, 60);
        assert_int_equal(s.u.cols + s.v.cols, 0);
        cs_svd_free(&s);
    }
    arpack.step = 0;
    arpack.vectors = -14;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_CONVERGE, "dseupd failed (info -14)");
    arpack.vectors = 0;
}

/* The wanted values, then a coarse look for one more; where that finds a copy, a batch of them and
 * another look. Twice as many vectors as values and one, 20 at least (the manual's advice). */
TEST(requests_of_arpack)
{
    static const struct {
        int64_t k;
        int copies, batch, ncv, batch_ncv;
    } cases[] = {{3, 3, 3, 20, 20}, {9, 9, 8, 20, 20}, {12, 12, 8, 25, 20}, {40, 30, 10, 81, 21}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        enum { N = 90 };
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        ARRAY(double, value, N, i, i < cases[c].copies ? N : N - i);
        operator_of(&f, diagonal_matrix(N, value), 1);
        cs_svd_options o = {.k = cases[c].k, .solver = CS_SOLVER_ARPACK};
        runs = 0;
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_true(s.converged);
        cs_svd_free(&s);
        assert_true(runs >= 4 && runs % 2 == 0);
        for (int r = 0; r < runs; ++r) {
            const bool first = r == 0, look = r % 2 == 1;
            assert_int_equal(run[r].n, N);
            assert_int_equal(run[r].shifts, 1); /* exact ones */
            assert_int_equal(run[r].mode, 1);
            assert_int_equal(run[r].nev, look ? 1 : first ? cases[c].k : cases[c].batch);
            assert_int_equal(run[r].ncv, look ? 20 : first ? cases[c].ncv : cases[c].batch_ncv);
            assert_int_equal(run[r].iterations, look ? 10 : 3000);
            assert_true(run[r].tol == (look ? 1e-2 : 0.25e-12));
        }
        o.max_iterations = 77;
        o.tol = 1e-16;
        runs = 0;
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(run[0].iterations, 77);
        assert_true(run[0].tol == DBL_EPSILON); /* no finer than rounding */
    }
}

/* --- ARPACK over a group ---------------------------------------------------------------------- */

static void group_step(cs_comm *c, int *ido, const char *bmat, int n, const char *which, int nev,
                       double tol, double *resid, int ncv, double *v, int ldv, int *iparam,
                       int *ipntr, double *workd, double *workl, int lworkl, int *info)
{
    *(int *)c->ctx += 1;
    dsaupd_c(ido, bmat, n, which, nev, tol, resid, ncv, v, ldv, iparam, ipntr, workd, workl, lworkl,
             info);
}

static void group_vectors(cs_comm *c, int rvec, const char *howmny, const int *select, double *d,
                          double *z, int ldz, double sigma, const char *bmat, int n,
                          const char *which, int nev, double tol, double *resid, int ncv, double *v,
                          int ldv, int *iparam, int *ipntr, double *workd, double *workl,
                          int lworkl, int *info)
{
    *(int *)c->ctx += 1000;
    dseupd_c(rvec, howmny, select, d, z, ldz, sigma, bmat, n, which, nev, tol, resid, ncv, v, ldv,
             iparam, ipntr, workd, workl, lworkl, info);
}

/* A group of one: its PARPACK is ARPACK, its left vectors are A v / sigma. Two values twice, which
 * only the probe's round brings. */
TEST(a_group_of_one_finds_the_same)
{
    enum { COLS = 70, ROWS = 90, K = 7 };
    const cs_comm_arpack table = {group_step, group_vectors};
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    int calls = 0;
    cs_comm comm = {.ranks = 1, .neighbours = 1, .ctx = &calls, .arpack = &table};
    ARRAY(double, value, COLS, i, COLS - i);
    value[1] = value[2];
    value[5] = value[4];
    operator_of(&f, scattered(ROWS, COLS, COLS, value), 1);
    cs_svd_options o = {.k = K, .comm = &comm, .seed = 4};
    cs_svd s = {0};
    OK(cs_svd_arpack(&f.op, &o, &s));
    assert_true(calls > 2000); /* two runs or more, with vectors */
    assert_true(s.converged);
    assert_int_equal(s.k, K);
    assert_int_equal(s.solver, CS_SOLVER_ARPACK);
    assert_true(s.floor == sqrt(ROWS * DBL_EPSILON) * s.sigma[0]);
    double residual[K];
    OK(cs_svd_residuals(&f.op, K, s.sigma, &s.u, &s.v, residual));
    assert_each(j, 0, K, fabs(s.sigma[j] - value[j]) <= 1e-12 * COLS);
    assert_each(j, 0, K, residual[j] <= 1e-12 * COLS);
    assert_true(orthonormality(&s.v) < 1e-13 && orthonormality(&s.u) < 1e-10);
    cs_svd_free(&s);
    o.k = COLS;
    s = (cs_svd){0};
    assert_fails(
        cs_svd_arpack(&f.op, &o, &s), CS_ERR_USAGE,
        "fewer than min(rows, cols) = 70 triplets, but 70 are requested: use the solver block");
}
