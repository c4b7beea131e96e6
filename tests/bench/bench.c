/* Times library calls on a file, without process start and reading: prints one JSON object on
 * stdout.
 *
 *   bench components FILE.npz REPEATS
 *   bench svd        FILE.npz REPEATS K
 *   bench copies     FILE.npz REPEATS K           the same without reduction: one solver call
 *   bench count      FILE.npy REPEATS WINDOW [OBJECTIVE]
 *                                                 contexts each:WINDOW over token ids (a document a
 *                                                 row) under ar or another objective
 *   bench gram       FILE.npy REPEATS             float32 rows in memory into a double Gram matrix,
 *                                                 and the rates of BLAS on one chunk of them
 *   bench density    FILE.npz REPEATS SAMPLES     stochastic Lanczos quadrature, 32 steps a sample
 *   bench moment4    FILE.npz REPEATS             sum sigma^4 exactly, and what it was said to cost
 *   bench form       FILE.npz REPEATS K FORM      triplets of a form, with eigenvalues if it is
 *                                                 symmetric, and the cost of one product of it, over
 *                                                 that of the normalised matrix
 *   bench pairs      FILE.npy REPEATS K           the K largest cosines, mean and quantiles */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cblas.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/builder.h"
#include "cooc/moments.h"
#include "cooc/reduce.h"
#include "cooc/spectrum.h"
#include "cooc/spectrum_density.h"
#include "io/npy.h"
#include "io/rows.h"
#include "linalg/gram.h"
#include "linalg/matrix_file.h"
#include "linalg/top_pairs.h"
#include "plan/spec.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cs_status components(const char *path, int repeats, json_t *seconds, json_t *result)
{
    CS_AUTO(cs_csr) a = {0};
    cs_status status = cs_matrix_read(path, &a);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_components) parts = {0};
        double start = now();
        status = cs_components_of(&a, &parts);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_object_set_new(result, "components", json_integer(parts.count));
    }
    return status;
}

/* User and system seconds of all threads; *peak: resident megabytes so far. */
static double processor(double *peak)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    *peak = (double)u.ru_maxrss / 1024;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static cs_status svd(const char *path, int repeats, int64_t k, bool reduced, json_t *seconds,
                     json_t *result)
{
    CS_AUTO(cs_csr) a = {0};
    double peak = 0;
    json_t *spent = json_array();
    cs_status status = cs_matrix_read(path, &a);
    (void)processor(&peak);
    (void)json_object_set_new(result, "before", json_real(peak));
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_spectrum) s = {0};
        cs_spectrum_options options = {.k = k,
                                       .normalised = true,
                                       .tol = 1e-10,
                                       .certify = CS_CERTIFY_USUAL,
                                       .seed = (uint64_t)r,
                                       .no_reduction = !reduced};
        double start = now(), used = processor(&peak);
        status = cs_spectrum_of(&a, &options, &s);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_array_append_new(spent, json_real(processor(&peak) - used));
        double worst = 0.0;
        json_t *sigma = json_array();
        for (int64_t j = 0; j < s.k; ++j) {
            worst = s.residual[j] > worst ? s.residual[j] : worst;
            (void)json_array_append_new(sigma, json_real(s.sigma[j]));
        }
        (void)json_object_set_new(result, "sigma", sigma);
        (void)json_object_set_new(result, "residual", json_real(worst));
        (void)json_object_set_new(
            result, "certified",
            json_boolean(s.solution.converged && s.cert.probe.state == CS_CERT_PASSED));
    }
    (void)json_object_set_new(result, "processor", spent);
    (void)json_object_set_new(result, "peak", json_real(peak));
    return status;
}

enum { PRODUCTS = 40 };

static double processor_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor seconds of one normal product of a panel for each of two operators of one size, in turn:
 * the least of some, which other work of the machine changes least. */
static cs_status product_seconds(const cs_linop *const op[2], double seconds[2])
{
    const int64_t size = op[0]->work_size > op[1]->work_size ? op[0]->work_size : op[1]->work_size;
    double *x = cs_csr_panel_alloc(op[0]->cols), *y = cs_csr_panel_alloc(op[0]->cols);
    double *work = cs_csr_panel_alloc(size / CS_PANEL + 1);
    cs_status status = x && y && work ? CS_OK : CS_ERR_MEMORY;
    seconds[0] = seconds[1] = INFINITY;
    for (int64_t i = 0; status == CS_OK && i < op[0]->cols * CS_PANEL; ++i) {
        x[i] = (double)(i % 7) - 3;
    }
    for (int r = 0; status == CS_OK && r < 2 * PRODUCTS; ++r) {
        double start = processor_now();
        status = cs_linop_normal(op[r % 2], x, y, work);
        seconds[r % 2] = fmin(seconds[r % 2], processor_now() - start);
    }
    cs_free_aligned(x);
    cs_free_aligned(y);
    cs_free_aligned(work);
    return status;
}

/* Of a form, and of the normalised matrix with its sigma_1 = 1 taken out. */
static cs_status compare_products(const cs_csr *a, const cs_matrix_form *form, double seconds[2])
{
    static const double one = 1;
    CS_AUTO(cs_csr) s = {0}, st = {0}, abar = {0}, abar_t = {0};
    CS_AUTO(cs_dense) u = {0}, v = {0}, l = {0}, r = {0};
    CS_AUTO(cs_linop_outer_ctx) outer = {0};
    cs_linop_csr_ctx sparse, normal;
    cs_linop_deflated_ctx deflated;
    bool term = false;
    cs_linop op = {0};
    cs_status status = cs_csr_copy(a, &s);
    if (status == CS_OK) status = cs_dense_init(&u, a->rows, 1);
    if (status == CS_OK) status = cs_dense_init(&v, a->cols, 1);
    if (status == CS_OK) status = cs_dense_init(&l, a->rows, 1);
    if (status == CS_OK) status = cs_dense_init(&r, a->cols, 1);
    if (status == CS_OK) status = cs_matrix_form_apply(form, &s, l.data, r.data, &term);
    if (status == CS_OK) status = cs_csr_transpose(&s, &st);
    if (status == CS_OK) status = cs_normalise(a, &abar, u.data, v.data);
    if (status == CS_OK) status = cs_csr_transpose(&abar, &abar_t);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < a->rows; ++i) {
        u.data[i] = sqrt(u.data[i]);
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        v.data[j] = sqrt(v.data[j]);
    }
    const cs_linop inner = cs_linop_csr(&sparse, &s, &st, 1);
    const cs_linop plain = cs_linop_csr(&normal, &abar, &abar_t, 1);
    const cs_linop known = cs_linop_deflated(&deflated, &plain, &u, &one, &v, true);
    status = term ? cs_linop_outer(&outer, &inner, l.data, r.data, &op) : CS_OK;
    const cs_linop *const both[] = {term ? &op : &inner, &known};
    return status ? status : product_seconds(both, seconds);
}

static cs_status form_of(const char *path, int repeats, int64_t k, const char *text,
                         json_t *seconds, json_t *result)
{
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_matrix_form) *form = NULL;
    double product[2] = {0};
    json_t *spent = json_array();
    cs_status status = cs_matrix_form_parse(text, &form);
    if (status == CS_OK) status = cs_matrix_read(path, &a);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_spectrum) s = {0};
        const cs_spectrum_options options = {.k = k,
                                             .form = form,
                                             .eigenvalues = true,
                                             .tol = 1e-10,
                                             .certify = CS_CERTIFY_USUAL,
                                             .seed = (uint64_t)r};
        const double start = now(), used = processor_now();
        status = cs_spectrum_of(&a, &options, &s);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_array_append_new(spent, json_real(processor_now() - used));
        json_t *values = json_array();
        for (int64_t j = 0; j < s.k; ++j) {
            (void)json_array_append_new(values,
                                        json_real((s.eigenvalue ? s.eigenvalue : s.sigma)[j]));
        }
        (void)json_object_set_new(result, "values", values);
        (void)json_object_set_new(
            result, "certified",
            json_boolean(s.solution.converged && s.cert.probe.state == CS_CERT_PASSED));
    }
    if (status == CS_OK) status = compare_products(&a, form, product);
    (void)json_object_set_new(result, "processor", spent);
    (void)json_object_set_new(result, "product", json_real(product[0]));
    (void)json_object_set_new(result, "normalised_product", json_real(product[1]));
    return status;
}

static cs_status density(const char *path, int repeats, int64_t samples, json_t *seconds,
                         json_t *result)
{
    CS_AUTO(cs_csr) a = {0};
    double peak = 0;
    json_t *spent = json_array();
    cs_status status = cs_matrix_read(path, &a);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_spectrum_density) d = {0};
        cs_spectrum_density_options options = {
            .spectrum = {.normalised = true, .moment4_budget = DBL_MIN, .seed = (uint64_t)r},
            .samples = samples,
            .degree = 32,
            .bins = 50,
            .level = 0.9999};
        double start = now(), used = processor(&peak);
        status = cs_spectrum_density_of(&a, &options, &d);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_array_append_new(spent, json_real(processor(&peak) - used));
        if (status == CS_OK) {
            (void)json_object_set_new(result, "low", json_real(d.sum4.low));
            (void)json_object_set_new(result, "high", json_real(d.sum4.high));
        }
    }
    (void)json_object_set_new(result, "processor", spent);
    return status;
}

static cs_status moment4(const char *path, int repeats, json_t *seconds, json_t *result)
{
    CS_AUTO(cs_csr) a = {0};
    cs_moment4_cost cost = {0};
    cs_status status = cs_matrix_read(path, &a);
    json_t *processor = json_array();
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        double sum = 0, start = now();
        clock_t before = clock();
        status = cs_moment4_cost_of(&a, &cost);
        status = status ? status : cs_moment4(&a, 0, NULL, &sum);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_array_append_new(processor,
                                    json_real((double)(clock() - before) / CLOCKS_PER_SEC));
        (void)json_object_set_new(result, "sum", json_real(sum));
    }
    (void)json_object_set_new(result, "processor_seconds", processor);
    (void)json_object_set_new(result, "multiply_adds", json_real(cost.multiply_adds));
    (void)json_object_set_new(result, "bytes", json_real(cost.bytes));
    return status;
}

static cs_status count(const char *path, int repeats, int64_t window, const char *spec,
                       json_t *seconds, json_t *result)
{
    CS_AUTO(cs_corpus) corpus = {0};
    cs_corpus_options options = {0};
    cs_objective objective;
    cs_status status = cs_objective_parse(spec, &objective);
    status = status ? status : cs_corpus_load(path, &options, &corpus);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_cooc) cooc = {0};
        cs_cooc_options build = {.objective = objective,
                                 .context = {CS_CONTEXT_EACH, window, false, 0}};
        double start = now();
        status = cs_cooc_build(&corpus, &build, &cooc);
        (void)json_array_append_new(seconds, json_real(now() - start));
        if (status == CS_OK) {
            (void)json_object_set_new(result, "nnz", json_integer(cs_csr_nnz(&cooc.matrix.a)));
            (void)json_object_set_new(result, "contributions", json_integer(cooc.contributions));
            (void)json_object_set_new(result, "mass", json_real(cooc.mass));
        }
    }
    return status;
}

/* n d^2 flops a second of ssyrk, 2 n d^2 of sgemm, with all threads: best of some. */
static void blas_rates(const float *x, int64_t n, int64_t d, json_t *result)
{
    const int rows = (int)(n < 8192 ? n : 8192), cols = (int)d;
    CS_AUTO_FREE float *c = cs_calloc(d * d, sizeof *c);
    double best[2] = {1e300, 1e300};
    for (int r = 0; r < 10 && c; ++r) {
        double start = now();
        cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, cols, rows, 1.0F, x, cols, 0.0F, c,
                    cols);
        double middle = now();
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, cols, cols, rows, 1.0F, x, cols, x,
                    cols, 0.0F, c, cols);
        double end = now();
        best[0] = middle - start < best[0] ? middle - start : best[0];
        best[1] = end - middle < best[1] ? end - middle : best[1];
    }
    double flops = (double)rows * (double)d * (double)d;
    (void)json_object_set_new(result, "ssyrk", json_real(flops / best[0]));
    (void)json_object_set_new(result, "sgemm", json_real(2.0 * flops / best[1]));
    (void)json_object_set_new(result, "kernel", json_string(openblas_get_corename()));
}

static cs_status gram(const char *path, int repeats, json_t *seconds, json_t *result)
{
    CS_AUTO(cs_array) a = {0};
    const cs_gram_options options = {0};
    cs_status status = cs_npy_read(path, 0, &a);
    if (status == CS_OK && (a.dtype != CS_F32 || a.ndim != 2)) {
        status = cs_fail(CS_ERR_USAGE, "%s: not float32 rows", path);
    }
    cs_rows rows = cs_rows_of_f32(a.shape[0], a.shape[1], a.data, path);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_gram) g = {0};
        double start = now();
        status = cs_gram_init(rows.cols, 1, &options, &g);
        if (status == CS_OK) status = cs_gram_add(&g, &rows, NULL, &options);
        (void)json_array_append_new(seconds, json_real(now() - start));
        double trace = 0.0;
        for (int64_t i = 0; i < g.cols; ++i) {
            trace += g.block[i * g.cols + i];
        }
        (void)json_object_set_new(result, "trace", json_real(trace));
        (void)json_object_set_new(result, "corner", json_real(g.cols ? g.block[g.cols - 1] : 0.0));
    }
    if (status == CS_OK) blas_rates(a.data, a.shape[0], a.shape[1], result);
    return status;
}

static cs_status pairs(const char *path, int repeats, int64_t k, json_t *seconds, json_t *result)
{
    CS_AUTO(cs_array) a = {0};
    const double quantile[] = {0.01, 0.25, 0.5, 0.75, 0.99};
    const cs_top_pairs_options options = {
        .count = k, .cosine = true, .quantiles = 5, .quantile = quantile};
    cs_status status = cs_npy_read(path, 0, &a);
    cs_rows rows = cs_rows_of_f32(a.shape[0], a.shape[1], a.data, path);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        CS_AUTO(cs_top_pairs) top = {0};
        double start = now();
        status = cs_top_pairs_of(&rows, &options, &top);
        (void)json_array_append_new(seconds, json_real(now() - start));
        if (status == CS_OK && top.count > 0) {
            (void)json_object_set_new(result, "first", json_real((double)top.pair[0].value));
            (void)json_object_set_new(result, "last",
                                      json_real((double)top.pair[top.count - 1].value));
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr,
                      "usage: bench components|svd|copies|density|moment4|form|count|gram|pairs "
                      "FILE REPEATS [K|SAMPLES|WINDOW [FORM|OBJECTIVE]]\n");
        return 2;
    }
    int repeats = atoi(argv[3]);
    int64_t parameter = argc > 4 ? atoll(argv[4]) : 0;
    json_t *seconds = json_array(), *result = json_object();
    cs_status status = cs_fail(CS_ERR_USAGE, "unknown workload %s", argv[1]);
    if (strcmp(argv[1], "components") == 0) {
        cs_reason_clear();
        status = components(argv[2], repeats, seconds, result);
    } else if (strcmp(argv[1], "svd") == 0 || strcmp(argv[1], "copies") == 0) {
        cs_reason_clear();
        status = svd(argv[2], repeats, parameter, argv[1][0] == 's', seconds, result);
    } else if (strcmp(argv[1], "density") == 0) {
        cs_reason_clear();
        status = density(argv[2], repeats, parameter, seconds, result);
    } else if (strcmp(argv[1], "form") == 0) {
        cs_reason_clear();
        status = form_of(argv[2], repeats, parameter, argc > 5 ? argv[5] : "qwem", seconds, result);
    } else if (strcmp(argv[1], "moment4") == 0) {
        cs_reason_clear();
        status = moment4(argv[2], repeats, seconds, result);
    } else if (strcmp(argv[1], "count") == 0) {
        cs_reason_clear();
        status = count(argv[2], repeats, parameter, argc > 5 ? argv[5] : "ar", seconds, result);
    } else if (strcmp(argv[1], "gram") == 0) {
        cs_reason_clear();
        cs_threads_set(0);
        status = gram(argv[2], repeats, seconds, result);
    } else if (strcmp(argv[1], "pairs") == 0) {
        cs_reason_clear();
        status = pairs(argv[2], repeats, parameter, seconds, result);
    }
    (void)json_object_set_new(result, "seconds", seconds);
    if (status == CS_OK) {
        (void)json_dumpf(result, stdout, 0);
        (void)printf("\n");
    } else {
        (void)fprintf(stderr, "bench: %s\n", cs_reason());
    }
    json_decref(result);
    return status == CS_OK ? 0 : 3;
}
