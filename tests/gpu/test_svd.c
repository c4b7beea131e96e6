/* Singular value decompositions by the CUDA plug-in on a GPU: correctness, then time.
 *
 * test_svd check [WORD [SECONDS]]
 *                           every case of svd_cases.c (whose name holds WORD), lines "ok" and "not
 *                           ok"; one that dies or takes longer than SECONDS (20) fails and the next
 *                           runs (0: no limit, all in this process)
 * test_svd dense ROWS COLS REPEATS gesvd|gesvdj FILE
 *                           a dense random matrix, all triplets: one line of JSON; singular values,
 *                           a line each, into FILE
 * test_svd sparse ROWS COLS PER_ROW K REPEATS FILE
 *                           a sparse matrix of PER_ROW entries a row, K triplets by the block
 *                           solver, on the GPU and on the CPU
 *
 * The matrices are those of bench_svd.py, entry for entry. Residuals of the dense case are taken on
 * the GPU, through the sparse product, which is not cuSOLVER's, for all triplets, and on the CPU
 * for some; those of the sparse case on the CPU for all. Without a GPU: one line SKIP with the
 * reason, exit code 77.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../cuda_emulation/svd_cases.h"
#include "base/auto.h"
#include "base/mem.h"
#include "each_case.h"

enum { SAMPLED = 32, MOST_REPEATS = 32 };
static const double LAPACK_WORK = 5e10; /* rows cols^2 up to which the CPU does it too */

static void must(cs_status status, const char *what)
{
    if (status != CS_OK) {
        (void)fprintf(stderr, "%s: %s\n", what, cs_reason());
        exit(1);
    }
}

static cs_gpu *open_or_skip(void)
{
    cs_gpu *gpu = NULL;
    cs_status status = cs_gpu_open(NULL, 0, &gpu);
    if (status != CS_OK) {
        (void)printf("SKIP %s\n", cs_reason());
        exit(status == CS_ERR_DEVICE ? CASE_SKIPPED : 1);
    }
    return gpu;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int64_t n, double *x)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static cs_gpu *gpu_now; /* of the process that runs cases */

static int open_case(void)
{
    gpu_now = open_or_skip();
    return 0;
}

static const char *case_name(int64_t i)
{
    return cs_svd_cases[i].name;
}

static bool case_one(int64_t i, char why[CASE_WHY])
{
    return cs_svd_compare(gpu_now, &cs_svd_cases[i], why);
}

static int check(const char *word, unsigned seconds)
{
    int64_t count = 0;
    while (cs_svd_cases[count].name) {
        ++count;
    }
    const case_list list = {.count = count,
                            .open = open_case,
                            .name = case_name,
                            .run = case_one,
                            .mode = "svd",
                            .word = word,
                            .seconds = seconds};
    int code = each_case(&list);
    cs_gpu_close(&gpu_now);
    return code;
}

/* --- matrices, as in bench_svd.py ------------------------------------------------------------- */

/* splitmix64 (Steele, Lea & Flood, 2014) as a hash. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static void dense_matrix(int64_t rows, int64_t cols, cs_csr *out)
{
    must(cs_csr_init(out, rows, cols, rows * cols), "matrix");
    for (int64_t e = 0; e < rows * cols; ++e) {
        out->col[e] = (int32_t)(e % cols);
        out->val[e] = (double)(mix((uint64_t)e) >> 11) * 0x1p-53 - 0.5;
    }
    for (int64_t i = 0; i <= rows; ++i) {
        out->ptr[i] = i * cols;
    }
}

/* Rows belong to one of 100 topics; every other entry lies among the topic's columns, the rest
 * where frequent columns are. Repeats add up. */
static void sparse_matrix(int64_t rows, int64_t cols, int64_t each, cs_csr *out)
{
    int64_t n = rows * each, topic = cols / 100;
    CS_AUTO_FREE int64_t *row = cs_alloc(n, sizeof *row), *col = cs_alloc(n, sizeof *col);
    CS_AUTO_FREE double *val = cs_alloc(n, sizeof *val);
    must(row && col && val && topic > 0 ? CS_OK : CS_ERR_MEMORY, "matrix");
    for (int64_t e = 0; e < n; ++e) {
        uint64_t h = mix((uint64_t)e), u = h % (uint64_t)cols,
                 v = (h >> 32) % (uint64_t)cols * u / (uint64_t)cols;
        row[e] = e / each;
        col[e] = e % 2 ? row[e] % 100 * topic + (int64_t)(h % (uint64_t)topic) : (int64_t)v;
        val[e] = e % 2 ? (double)(1 + row[e] % 100 % 7) : 1;
    }
    must(cs_csr_from_triplets(rows, cols, n, row, col, val, out), "matrix");
}

static void write_values(const char *path, int64_t n, const double *sigma)
{
    FILE *f = fopen(path, "w");
    bool ok = f != NULL;
    for (int64_t j = 0; ok && j < n; ++j) {
        ok = fprintf(f, "%.17g\n", sigma[j]) > 0;
    }
    if (!f || fclose(f) != 0 || !ok) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
}

/* --- dense ------------------------------------------------------------------------------------ */

/* The largest ||A v - sigma u|| or ||A^T u - sigma v|| over all triplets, by the operations of a
 * space. */
static double residual_on_device(cs_space *s, const cs_svd *svd)
{
    cs_panel *u = NULL, *v = NULL, *y[2] = {NULL, NULL};
    double worst = 0;
    must(s->create(s, CS_LEFT, &u), "panel");
    must(s->create(s, CS_RIGHT, &v), "panel");
    must(s->create(s, CS_LEFT, &y[0]), "panel");
    must(s->create(s, CS_RIGHT, &y[1]), "panel");
    for (int64_t first = 0; first < svd->k; first += s->block) {
        int64_t count = svd->k - first < s->block ? svd->k - first : s->block;
        double c[CS_PANEL * CS_PANEL] = {0}, g[CS_PANEL * CS_PANEL];
        must(s->put(s, &svd->u, first, count, u), "panel");
        must(s->put(s, &svd->v, first, count, v), "panel");
        for (int64_t j = 0; j < count; ++j) {
            c[j * CS_PANEL + j] = -svd->sigma[first + j];
        }
        must(s->apply(s, v, y[0]), "product");
        must(s->apply(s, u, y[1]), "product");
        must(s->combine(s, 1, &u, c, true, y[0]), "difference");
        must(s->combine(s, 1, &v, c, true, y[1]), "difference");
        for (int side = 0; side < 2; ++side) {
            must(s->gram(s, 1, &y[side], y[side], g), "norm");
            for (int64_t j = 0; j < count; ++j) {
                double square = g[j * CS_PANEL + j];
                worst = square <= worst ? worst : square; /* NaN stays */
            }
        }
    }
    s->destroy(u);
    s->destroy(v);
    s->destroy(y[0]);
    s->destroy(y[1]);
    return sqrt(worst);
}

/* The same of SAMPLED triplets on the CPU. */
static double residual_sampled(const cs_linop *a, const cs_svd *svd)
{
    int64_t count = svd->k < SAMPLED ? svd->k : SAMPLED;
    CS_AUTO(cs_dense) u = {0}, v = {0};
    double sigma[SAMPLED], residual[SAMPLED], worst = 0;
    must(cs_dense_init(&u, a->rows, count), "vectors");
    must(cs_dense_init(&v, a->cols, count), "vectors");
    for (int64_t j = 0; j < count; ++j) {
        int64_t from = count > 1 ? j * (svd->k - 1) / (count - 1) : 0;
        sigma[j] = svd->sigma[from];
        memcpy(u.data + j * u.ld, svd->u.data + from * svd->u.ld, (size_t)a->rows * sizeof *u.data);
        memcpy(v.data + j * v.ld, svd->v.data + from * svd->v.ld, (size_t)a->cols * sizeof *v.data);
    }
    must(cs_svd_residuals(a, count, sigma, &u, &v, residual), "residuals");
    for (int64_t j = 0; j < count; ++j) {
        worst = residual[j] <= worst ? worst : residual[j];
    }
    return worst;
}

/* Largest difference from LAPACK's values over sigma_1; NaN where that would take too long. */
static double against_lapack(const cs_csr *a, const double *sigma, double *seconds)
{
    CS_AUTO(cs_dense) d = {0};
    double worst = 0, *want = cs_alloc(a->cols, sizeof *want), start = now();
    *seconds = NAN;
    if ((double)a->rows * (double)a->cols * (double)a->cols > LAPACK_WORK) {
        cs_free(want);
        return NAN;
    }
    must(cs_csr_to_dense(a, &d), "dense copy");
    start = now();
    must(cs_dense_svd(&d, want, NULL, NULL), "LAPACK");
    *seconds = now() - start;
    for (int64_t j = 0; j < a->cols; ++j) {
        worst = fmax(worst, fabs(sigma[j] - want[j]) / want[0]);
    }
    cs_free(want);
    return worst;
}

static double squares_off(const cs_csr *a, const double *sigma)
{
    double norm = 0, sum = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double row = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            row += a->val[e] * a->val[e];
        }
        norm += row;
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        sum += sigma[j] * sigma[j];
    }
    return fabs(sum - norm) / norm;
}

/* A number, or null where there is none. */
static void field(const char *name, double x)
{
    if (isfinite(x)) {
        (void)printf(", \"%s\": %.6g", name, x);
    } else {
        (void)printf(", \"%s\": null", name);
    }
}

static int dense(char **word)
{
    int64_t rows = strtoll(word[0], NULL, 10), cols = strtoll(word[1], NULL, 10);
    int64_t repeats = strtoll(word[2], NULL, 10), need = 0, available = 0, all = 0;
    bool jacobi = strcmp(word[3], "gesvdj") == 0;
    CS_AUTO_BY(cs_gpu_close, cs_gpu) *gpu = open_or_skip();
    CS_AUTO(cs_csr) a = {0}, at = {0};
    cs_linop_csr_ctx ctx;
    cs_space space;
    CS_AUTO(cs_svd) s = {.k = cols};
    double seconds[MOST_REPEATS], lapack = NAN;
    if (rows < cols || cols < 1 || repeats < 1 || repeats > MOST_REPEATS) {
        (void)fprintf(stderr, "test_svd: rows >= cols >= 1, repeats 1..%d\n", MOST_REPEATS);
        return 2;
    }
    cs_gpu_method method = jacobi ? CS_GPU_GESVDJ : CS_GPU_GESVD;
    dense_matrix(rows, cols, &a);
    must(cs_csr_transpose(&a, &at), "transpose");
    cs_linop op = cs_linop_csr(&ctx, &a, &at, 0);
    must(gpu->need(gpu, method, &op, &need), "estimate");
    must(gpu->memory(gpu, &available, &all), "memory");
    if (need > available) {
        (void)printf("SKIP %lld x %lld takes %.1f GiB of GPU memory, %.1f are free\n",
                     (long long)rows, (long long)cols, (double)need / 0x1p30,
                     (double)available / 0x1p30);
        return 0;
    }
    s.sigma = cs_alloc(cols, sizeof *s.sigma);
    must(s.sigma ? CS_OK : CS_ERR_MEMORY, "values");
    must(cs_dense_init(&s.u, rows, cols), "vectors");
    must(cs_dense_init(&s.v, cols, cols), "vectors");
    for (int64_t r = 0; r < repeats; ++r) {
        double start = now();
        must(gpu->dense(gpu, method, &op, cols, s.sigma, &s.u, &s.v), word[3]);
        seconds[r] = now() - start;
    }
    write_values(word[4], cols, s.sigma);
    must(gpu->space(gpu, &op, &space), "space");
    (void)printf("{\"program\": \"cospec, %s\", \"solver\": \"%s\", \"rows\": %lld, \"cols\": %lld",
                 gpu->name, word[3], (long long)rows, (long long)cols);
    double worst = residual_on_device(&space, &s), sampled = residual_sampled(&op, &s);
    double error = against_lapack(&a, s.sigma, &lapack), off = squares_off(&a, s.sigma);
    field("seconds", median(repeats, seconds));
    field("residual", worst / s.sigma[0]);
    field("residual_sampled_on_cpu", sampled / s.sigma[0]);
    field("error_against_lapack", error);
    field("seconds_of_lapack_values", lapack);
    field("squares_off", off);
    (void)printf("}\n");
    /* Backward error of a QR iteration: m eps sigma_1; LAPACK's value has it too. */
    double floor = 4 * (double)rows * 2.3e-16;
    bool good = worst <= floor * s.sigma[0] && sampled <= floor * s.sigma[0] && !(error > floor) &&
                off <= floor * sqrt((double)cols);
    gpu->space_free(&space);
    return good ? 0 : 1;
}

/* --- sparse ----------------------------------------------------------------------------------- */

static int sparse(char **word)
{
    int64_t rows = strtoll(word[0], NULL, 10), cols = strtoll(word[1], NULL, 10);
    int64_t each = strtoll(word[2], NULL, 10), k = strtoll(word[3], NULL, 10);
    int64_t repeats = strtoll(word[4], NULL, 10);
    CS_AUTO_BY(cs_gpu_close, cs_gpu) *gpu = open_or_skip();
    CS_AUTO(cs_csr) a = {0}, at = {0};
    cs_linop_csr_ctx ctx;
    CS_AUTO(cs_svd) s = {0}, want = {0};
    double seconds[MOST_REPEATS], worst = 0, error = 0;
    if (repeats < 1 || repeats > MOST_REPEATS) {
        (void)fprintf(stderr, "test_svd: repeats 1..%d\n", MOST_REPEATS);
        return 2;
    }
    sparse_matrix(rows, cols, each, &a);
    must(cs_csr_transpose(&a, &at), "transpose");
    cs_linop op = cs_linop_csr(&ctx, &a, &at, 0);
    cs_svd_options o = {.k = k, .solver = CS_SOLVER_BLOCK, .tol = 1e-10, .seed = 1};
    double start = now();
    must(cs_svd_compute(&op, &o, &want), "on the CPU");
    double cpu = now() - start;
    o.gpu = gpu;
    for (int64_t r = 0; r < repeats; ++r) {
        cs_svd_free(&s);
        start = now();
        must(cs_svd_compute(&op, &o, &s), "on the GPU");
        seconds[r] = now() - start;
    }
    for (int64_t j = 0; j < s.k && j < want.k; ++j) {
        worst = fmax(worst, s.residual[j] / s.sigma[0]);
        error = fmax(error, fabs(s.sigma[j] - want.sigma[j]) / want.sigma[0]);
    }
    write_values(word[5], s.k, s.sigma);
    (void)printf("{\"program\": \"cospec, %s\", \"solver\": \"block\", \"rows\": %lld, \"cols\": "
                 "%lld, \"nonzeros\": %lld, \"k\": %lld, \"found\": %lld, \"applications\": %lld",
                 gpu->name, (long long)rows, (long long)cols, (long long)cs_csr_nnz(&a),
                 (long long)k, (long long)s.k, (long long)s.applications);
    field("seconds", median(repeats, seconds));
    field("seconds_on_cpu", cpu);
    field("residual", worst);
    field("error_against_cpu", error);
    (void)printf("}\n");
    bool good = s.converged && want.converged && s.k == k && want.k == k && worst <= 1e-10 &&
                error <= 1e-10;
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "check") == 0) {
        return check(argc > 2 ? argv[2] : "", argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 20);
    }
    if (argc == 7 && strcmp(argv[1], "dense") == 0) {
        return dense(argv + 2);
    }
    if (argc == 8 && strcmp(argv[1], "sparse") == 0) {
        return sparse(argv + 2);
    }
    (void)fprintf(
        stderr,
        "usage: test_svd check [WORD [SECONDS]] | dense ROWS COLS REPEATS gesvd|gesvdj FILE "
        "| sparse ROWS COLS PER_ROW K REPEATS FILE\n");
    return 2;
}
