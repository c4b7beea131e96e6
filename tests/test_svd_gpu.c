/* The use of a GPU's linear algebra, on a device made of LAPACK: which solver, whether it fits,
 * that wrong values are noticed, and how a plug-in is taken. */
#include "base/threads.h"
#include "linalg/gpu.h"
#include "linalg/svd.h"
#include "linalg_support.h"

/* A device, what it says, and what it was asked. */
typedef struct {
    cs_gpu gpu;
    int64_t free_bytes, need[3];
    bool refuses;   /* to compute: says which method was wanted */
    double squares; /* added to the sum of the squares of its values */
    int dense, eigen, memory, spaces, closed;
    int64_t tall_rows, tall_cols;
} device;

static cs_status report_memory(cs_gpu *gpu, int64_t *free_bytes, int64_t *all)
{
    device *d = gpu->state;
    d->memory += 1;
    *free_bytes = d->free_bytes;
    *all = 2 * d->free_bytes;
    return CS_OK;
}

static cs_status report_need(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t *bytes)
{
    device *d = gpu->state;
    d->tall_rows = a->data.a->rows;
    d->tall_cols = a->data.a->cols;
    *bytes = d->need[method];
    return a->rows == d->tall_rows && a->cols == d->tall_cols && a->rows >= a->cols
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "the operator is not its matrix, or not tall");
}

static double known(const cs_linop_data *d, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t q = 0; d->u && q < d->u->cols; ++q) {
        sum += d->u->data[i + q * d->u->ld] * d->s[q] * d->v->data[j + q * d->v->ld];
    }
    return sum;
}

/* A - U diag(s) V^T, entry by entry. */
static cs_dense laid_out(const cs_linop *op)
{
    const cs_csr *a = op->data.a;
    cs_dense x;
    OK(cs_dense_init(&x, a->rows, a->cols));
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            x.data[i + a->col[e] * x.ld] = a->val[e];
        }
        for (int64_t j = 0; j < a->cols; ++j) {
            x.data[i + j * x.ld] -= known(&op->data, i, j);
        }
    }
    return x;
}

static cs_status by_lapack(cs_gpu *gpu, cs_gpu_method method, const cs_linop *op, int64_t k,
                           double *sigma, cs_dense *u, cs_dense *v)
{
    device *d = gpu->state;
    d->dense += 1;
    if (d->refuses) return cs_fail(CS_ERR_DEVICE, "method %d was requested", (int)method);
    CS_AUTO(cs_dense) x = laid_out(op), left = {0}, right = {0};
    OK(cs_dense_init(&left, x.rows, x.cols));
    OK(cs_dense_init(&right, x.cols, x.cols));
    OK(cs_dense_svd(&x, sigma, &left, &right));
    for (int64_t j = 0; j < k; ++j) {
        memcpy(u->data + j * u->ld, left.data + j * left.ld, (size_t)u->rows * sizeof(double));
        for (int64_t i = 0; i < v->rows; ++i) {
            v->data[i + j * v->ld] = right.data[j + i * right.ld];
        }
    }
    sigma[0] = sqrt(sigma[0] * sigma[0] + d->squares);
    return CS_OK;
}

static cs_status by_syevd(cs_gpu *gpu, const cs_linop *op, int64_t k, cs_dense *basis)
{
    device *d = gpu->state;
    d->eigen += 1;
    if (d->refuses) return cs_fail(CS_ERR_DEVICE, "method %d was requested", (int)CS_GPU_SYEVD);
    CS_AUTO(cs_dense) x = laid_out(op), g = {0};
    const int64_t n = x.cols;
    double *value = test_zeros(n, sizeof *value);
    OK(cs_dense_init(&g, n, n));
    OK(cs_gemm(true, false, 1, &x, &x, 0, &g));
    OK(cs_dense_eigh(&g, value, false));
    memcpy(basis->data, g.data + (n - k) * n, (size_t)(k * n) * sizeof(double));
    return CS_OK;
}

static cs_status in_memory(cs_gpu *gpu, const cs_linop *a, cs_space *out)
{
    device *d = gpu->state;
    d->spaces += 1;
    return d->refuses ? cs_fail(CS_ERR_DEVICE, "a space was requested") : cs_space_cpu(a, 1, out);
}

static void close_device(cs_gpu *gpu)
{
    device *d = gpu->state;
    d->closed += 1;
}

static void device_of(device *d)
{
    *d = (device){.free_bytes = 1 << 20};
    d->gpu = (cs_gpu){.name = "LAPACK",
                      .state = d,
                      .close = close_device,
                      .memory = report_memory,
                      .need = report_need,
                      .dense = by_lapack,
                      .eigen = by_syevd,
                      .space = in_memory,
                      .space_free = cs_space_cpu_free};
}

/* 8, 7, ..., 1 at scattered places of 12 x 8 or, turned, of 8 x 12. */
static const double VALUE[] = {8, 7, 6, 5, 4, 3, 2, 1};
enum { M = 12, N = 8 };

static void eight(csr_operator *f, bool wide)
{
    operator_of(f, wide ? scattered(N, M, N, VALUE) : scattered(M, N, N, VALUE), 1);
}

static void has_values(const cs_svd *s, int64_t k, const double *want, double tolerance)
{
    assert_int_equal(s->k, k);
    assert_true(s->converged);
    assert_each(j, 0, k, fabs(s->sigma[j] - want[j]) <= tolerance);
    assert_each(j, 0, k, s->residual[j] <= 100 * DBL_EPSILON * want[0]);
}

TEST(a_dense_svd_that_fits_is_the_devices)
{
    for (int wide = 0; wide < 2; ++wide) {
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        device d;
        cs_svd s;
        eight(&f, wide);
        device_of(&d);
        d.need[CS_GPU_GESVD] = d.free_bytes; /* to the byte */
        for (int64_t k = 1; k <= N; ++k) {
            cs_svd_options o = {.k = k, .solver = CS_SOLVER_CUSOLVER, .gpu = &d.gpu};
            OK(cs_svd_compute(&f.op, &o, &s));
            assert_int_equal(s.solver, CS_SOLVER_CUSOLVER);
            has_values(&s, k, VALUE, 50 * DBL_EPSILON * VALUE[0]);
            assert_true(s.floor == M * DBL_EPSILON * s.sigma[0]);
            assert_int_equal(s.u.rows, wide ? N : M);
            assert_int_equal(s.v.rows, wide ? M : N);
            cs_svd_free(&s);
        }
        assert_int_equal(d.dense, N);
        assert_int_equal(d.eigen, 0);
        assert_int_equal(d.tall_rows, M);
    }
}

/* The bound of the squares' sum: 4 m eps sqrt(n) times the squares of the matrix and of what is
 * subtracted from it. */
TEST(wrong_values_of_a_device_are_noticed)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    device d;
    cs_svd s;
    cs_linop_deflated_ctx ctx;
    const double first[] = {8, 7};
    eight(&f, false);
    device_of(&d);
    AUTO_OK(cs_dense, u, cs_dense_init(&u, M, 2));
    AUTO_OK(cs_dense, v, cs_dense_init(&v, N, 2));
    for (int j = 0; j < 2; ++j) {
        u.data[7 * j % M + j * M] = v.data[11 * j % N + j * N] = 1;
    }
    cs_linop rest = cs_linop_deflated(&ctx, &f.op, &u, first, &v, true);
    const struct {
        const cs_linop *op;
        double squares, scale;
        const double *want;
        const char *sum;
    } cases[] = {{&f.op, 204, 204, VALUE, "but the squares of the entries sum to 204"},
                 {&rest, 91, 204, VALUE + 2, "but the squares of the entries sum to 91"}};
    for (size_t c = 0; c < 2; ++c) {
        const double most = 4 * M * DBL_EPSILON * sqrt(N) * cases[c].scale;
        cs_svd_options o = {.k = 3, .solver = CS_SOLVER_CUSOLVER, .gpu = &d.gpu, .unchecked = true};
        d.squares = 0.9 * most;
        OK(cs_svd_compute(cases[c].op, &o, &s));
        assert_true(fabs(s.sigma[2] - cases[c].want[2]) <= 50 * DBL_EPSILON * 8);
        assert_null(s.residual);
        cs_svd_free(&s);
        for (int sign = -1; sign < 2; sign += 2) {
            d.squares = sign * 1.1 * most;
            assert_fails(cs_svd_compute(cases[c].op, &o, &s), CS_ERR_DEVICE, cases[c].sum);
        }
        d.squares = -cases[c].want[0] * cases[c].want[0]; /* one is left out */
        assert_fails(cs_svd_compute(cases[c].op, &o, &s), CS_ERR_DEVICE,
                     "singular values of 12 x 8 sum to");
        d.squares = NAN;
        assert_fails(cs_svd_compute(cases[c].op, &o, &s), CS_ERR_DEVICE,
                     "cuSOLVER's result is wrong");
        assert_null(s.sigma);
    }
}

/* The reported stages, in order. */
static void take_stage(void *ctx, const char *stage, int64_t done, int64_t total)
{
    char *reported = ctx;
    assert_int_equal(done, 0);
    assert_int_equal(total, 0);
    (void)strncat(reported, stage, 127 - strlen(reported));
}

TEST(a_dense_svd_that_does_not_fit_is_by_the_gram_matrix)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    device d;
    CS_AUTO(cs_svd) s = {0};
    char reported[128] = "";
    cs_progress progress = {take_stage, reported};
    eight(&f, true);
    device_of(&d);
    for (int way = 0; way < 2; ++way) { /* the device's memory, the limit of the caller */
        cs_svd_options o = {
            .k = 3, .solver = CS_SOLVER_CUSOLVER, .gpu = &d.gpu, .progress = &progress};
        d.need[CS_GPU_GESVD] = d.free_bytes + (way == 0);
        o.dense_limit = way == 0 ? 0 : M * N - 1;
        OK(cs_svd_compute(&f.op, &o, &s));
        /* A basis of rounding eps lambda_1 / gap, squared in the values (Ritz). */
        has_values(&s, 3, VALUE, 100 * DBL_EPSILON * VALUE[0]);
        assert_true(s.floor == sqrt(M * DBL_EPSILON) * s.sigma[0]);
        cs_svd_free(&s);
        assert_int_equal(d.eigen, way + 1);
        assert_int_equal(d.dense, 0);
        assert_string_equal(reported, "Gram matrix on the GPU");
        reported[0] = '\0';
    }
    d.need[CS_GPU_GESVD] = d.free_bytes;
    cs_svd_options o = {.k = 3,
                        .solver = CS_SOLVER_CUSOLVER,
                        .gpu = &d.gpu,
                        .progress = &progress,
                        .dense_limit = M * N};
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(d.dense, 1);
    assert_string_equal(reported, "dense SVD on the GPU");
}

/* n ones on the diagonal. */
static void ones(csr_operator *f, int64_t n)
{
    ARRAY(double, one, n, i, 1);
    operator_of(f, diagonal_matrix(n, one), 1);
}

TEST(beyond_4000_columns_there_is_no_gram_matrix)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0}, g = {0};
    device d;
    cs_svd s;
    ones(&f, 4001);
    ones(&g, 4000);
    device_of(&d);
    d.refuses = true;
    cs_svd_options o = {.k = 3, .solver = CS_SOLVER_CUSOLVER, .gpu = &d.gpu};
    d.need[CS_GPU_GESVD] = 3 << 20;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_MEMORY,
                 "GPU memory: a dense SVD of 4001 x 4001 needs 3.0 MiB, but only 1.0 MiB are free, "
                 "and the smaller side exceeds 4000");
    assert_fails(cs_svd_compute(&g.op, &o, &s), CS_ERR_DEVICE, "method 2 was requested");
    d.need[CS_GPU_GESVD] = CS_GPU_REFUSED;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_MEMORY,
                 "cuSOLVER refuses a dense SVD of 4001 x 4001, and the smaller side exceeds 4000");
    assert_fails(cs_svd_compute(&g.op, &o, &s), CS_ERR_DEVICE, "method 2 was requested");
    d.need[CS_GPU_GESVD] = 1 << 20;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_DEVICE, "method 0 was requested");
    f.a.col[7] = 4001;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_INPUT, "row 7");
}

/* auto: m n min(m, n) <= 4e9 or k above a quarter of the smaller side is for cuSOLVER. */
TEST(auto_chooses_what_a_device_is_good_at)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0}, g = {0};
    device d;
    cs_svd s;
    ones(&f, 1587); /* 3.997e9 */
    ones(&g, 1588); /* 4.005e9 */
    device_of(&d);
    d.refuses = true;
    cs_svd_options o = {.k = 1, .gpu = &d.gpu};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_DEVICE, "method 0 was requested");
    assert_fails(cs_svd_compute(&g.op, &o, &s), CS_ERR_DEVICE, "a space was requested");
    o.k = 397;
    assert_fails(cs_svd_compute(&g.op, &o, &s), CS_ERR_DEVICE, "a space was requested");
    o.k = 398;
    assert_fails(cs_svd_compute(&g.op, &o, &s), CS_ERR_DEVICE, "method 0 was requested");
    o.solver = CS_SOLVER_BLOCK;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_DEVICE, "a space was requested");
    o.solver = CS_SOLVER_LAPACK;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE,
                 "solver lapack computes on the CPU only; give --device cpu");
    o.solver = CS_SOLVER_ARPACK;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "solver arpack computes on the CPU");
    o = (cs_svd_options){.k = 1, .solver = CS_SOLVER_CUSOLVER};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "solver cusolver needs a GPU");
    o = (cs_svd_options){.k = 1, .gpu = &d.gpu};
    f.op.data.a = NULL;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "a GPU needs the matrix");
}

/* The basis has nine tenths of what is free, less the results: ceil(k / 8) + 8 panels of 64 bytes a
 * row. */
TEST(the_block_solvers_basis_fits_into_the_device)
{
    enum { ROWS = 100, COLS = 90, K = 9 };
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    device d;
    cs_svd s;
    ARRAY(double, value, COLS, i, COLS - i);
    operator_of(&f, scattered(COLS, ROWS, COLS, value), 1); /* wide */
    device_of(&d);
    cs_svd_options o = {.k = K, .solver = CS_SOLVER_BLOCK, .gpu = &d.gpu, .seed = 3};
    OK(cs_svd_compute(&f.op, &o, &s));
    has_values(&s, K, value, 1e-12 * COLS);
    cs_svd_free(&s);
    assert_int_equal(d.spaces, 1);
    assert_int_equal(d.memory, 1);
    d.free_bytes = (10 * ROWS * 64 + 12338) / 9 * 10 + 9; /* the last 9 bytes are no tenth */
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_MEMORY, "the limit is 12338");
    d.free_bytes = 1000;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_MEMORY, "the limit is 1");
    assert_int_equal(d.memory, 3);
    o.memory = 1 << 20; /* the caller's word */
    OK(cs_svd_compute(&f.op, &o, &s));
    cs_svd_free(&s);
    assert_int_equal(d.memory, 3);
    o.memory = 777;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_MEMORY, "the limit is 777");
}

TEST(estimates_of_bytes)
{
    static const struct {
        int64_t rows, cols, k, basis;
    } cases[] = {{1200, 1000, 30, 230},   {1200, 1000, 50, 300}, {1000, 1200, 40, 240},
                 {1200, 1000, 900, 1000}, {60, 50, 2, 50},       {50, 60, 0, 50}};
    const double value[] = {1, 2, 3, 4, 5};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const int64_t rows = cases[c].rows, cols = cases[c].cols, n = rows < cols ? rows : cols;
        const int64_t k = cases[c].k > 0 ? cases[c].k : n;
        device d;
        device_of(&d);
        memcpy(d.need, (int64_t[]){11, 22, 33}, sizeof d.need);
        CS_AUTO(cs_csr) a = scattered(rows, cols, 5, value);
        cs_gpu_bytes b = {0};
        OK(cs_gpu_estimate(&d.gpu, &a, cases[c].k, &b));
        assert_int_equal(b.dense, 11);
        assert_int_equal(b.gram, 33);
        assert_int_equal(b.free_bytes, 1 << 20);
        /* A and A^T: 12 bytes an entry, 4 a row and column; basis; results and two panels a side */
        assert_int_equal(b.sparse, 2 * 5 * 12 + (rows + cols + 2) * 4 + 8 * n * cases[c].basis +
                                       8 * (rows + cols) * (k + 16));
        assert_int_equal(d.tall_cols, n);
    }
    assert_int_equal(cs_gpu_sparse_bytes(10, 20, INT32_MAX), 2 * (int64_t)INT32_MAX * 16 + 32 * 8);
    assert_int_equal(cs_gpu_sparse_bytes(10, 20, INT32_MAX - 1),
                     2 * ((int64_t)INT32_MAX - 1) * 12 + 32 * 4);
}

static device opened;
static const cs_gpu_host *host_seen;
static int number_seen;

static cs_status open_it(const cs_gpu_host *host, int number, cs_gpu **out)
{
    host_seen = host;
    number_seen = number;
    device_of(&opened);
    *out = &opened.gpu;
    return CS_OK;
}

TEST(plug_ins_of_another_build_are_refused)
{
    cs_gpu_table t = {.version = CS_GPU_VERSION, .open = open_it};
    cs_gpu *gpu = NULL;
    cs_gpu_sizes(t.size);
    OK(cs_gpu_table_open(&t, 3, &gpu));
    assert_ptr_equal(gpu, &opened.gpu);
    assert_int_equal(number_seen, 3);
    cs_gpu_close(&gpu);
    assert_null(gpu);
    cs_gpu_close(&gpu);
    assert_int_equal(opened.closed, 1);
    for (int i = 0; i < CS_GPU_SIZES; ++i) {
        t.size[i] += 1;
        assert_fails(cs_gpu_table_open(&t, 0, &gpu), CS_ERR_DEVICE, "");
        t.size[i] -= 1;
    }
    t.version += 1;
    assert_fails(cs_gpu_table_open(&t, 0, &gpu), CS_ERR_DEVICE, "");
    assert_fails(cs_gpu_table_open(NULL, 0, &gpu), CS_ERR_DEVICE, "");
    assert_fails(cs_gpu_open("no/such/plug-in.so", 0, &gpu), CS_ERR_DEVICE, "no/such/plug-in.so");
    assert_null(gpu);
}

TEST(a_plug_in_may_use_the_host)
{
    enum { ROWS = 30 };
    double theirs[ROWS * CS_PANEL], ours[ROWS * CS_PANEL];
    OK(host_seen->random(5, 6, ROWS, theirs));
    OK(cs_space_random(5, 6, ROWS, 2, ours));
    assert_memory_equal(theirs, ours, sizeof ours);
    double *work = host_seen->alloc(3, sizeof *work);
    assert_true(work && work[0] == 0 && work[2] == 0);
    host_seen->free(work);
    OK(host_seen->interrupted());
    assert_fails((host_seen->fail)(CS_ERR_DEVICE, "card %d is hot", 2), CS_ERR_DEVICE,
                 "card 2 is hot");
}
