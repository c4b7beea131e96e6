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
 *   bench pairs      FILE.npy REPEATS K           the K largest cosines, mean and quantiles */
#include <float.h>
#include <jansson.h>
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
                      "usage: bench components|svd|copies|density|moment4|count|gram|pairs FILE "
                      "REPEATS [K|SAMPLES|WINDOW [OBJECTIVE]]\n");
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
