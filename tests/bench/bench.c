/* Times library calls on a file, without process start and reading: prints one JSON object on
 * stdout.
 *
 *   bench components FILE.npz REPEATS
 *   bench svd        FILE.npz REPEATS K
 *   bench count      FILE.npy REPEATS WINDOW      AR contexts each:WINDOW over token ids (a
 * document a row) */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cooc/builder.h"
#include "cooc/reduce.h"
#include "cooc/spectrum.h"
#include "linalg/matrix_file.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cs_status components(const char *path, int repeats, json_t *seconds, json_t *result)
{
    cs_csr a = {0};
    cs_status status = cs_matrix_read(path, &a);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        cs_components parts = {0};
        double start = now();
        status = cs_components_of(&a, &parts);
        (void)json_array_append_new(seconds, json_real(now() - start));
        (void)json_object_set_new(result, "components", json_integer(parts.count));
        cs_components_free(&parts);
    }
    cs_csr_free(&a);
    return status;
}

static cs_status svd(const char *path, int repeats, int64_t k, json_t *seconds, json_t *result)
{
    cs_csr a = {0};
    cs_status status = cs_matrix_read(path, &a);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        cs_spectrum s = {0};
        cs_spectrum_options options = {
            .k = k, .normalised = true, .tol = 1e-10, .probe = true, .seed = (uint64_t)r};
        double start = now();
        status = cs_spectrum_of(&a, &options, &s);
        (void)json_array_append_new(seconds, json_real(now() - start));
        double worst = 0.0;
        json_t *sigma = json_array();
        for (int64_t j = 0; j < s.k; ++j) {
            worst = s.residual[j] > worst ? s.residual[j] : worst;
            (void)json_array_append_new(sigma, json_real(s.sigma[j]));
        }
        (void)json_object_set_new(result, "sigma", sigma);
        (void)json_object_set_new(result, "residual", json_real(worst));
        cs_spectrum_free(&s);
    }
    cs_csr_free(&a);
    return status;
}

static cs_status count(const char *path, int repeats, int64_t window, json_t *seconds,
                       json_t *result)
{
    cs_corpus corpus = {0};
    cs_corpus_options options = {0};
    cs_status status = cs_corpus_load(path, &options, &corpus);
    for (int r = 0; r < repeats && status == CS_OK; ++r) {
        cs_cooc cooc = {0};
        cs_cooc_options build = {.objective = cs_objective_default(CS_OBJ_AR),
                                 .context = {CS_CONTEXT_EACH, window, false}};
        double start = now();
        status = cs_cooc_build(&corpus, &build, &cooc);
        (void)json_array_append_new(seconds, json_real(now() - start));
        if (status == CS_OK) {
            (void)json_object_set_new(result, "nnz", json_integer(cs_csr_nnz(&cooc.matrix.a)));
            (void)json_object_set_new(result, "contributions", json_integer(cooc.contributions));
            (void)json_object_set_new(result, "mass", json_real(cooc.mass));
        }
        cs_cooc_free(&cooc);
    }
    cs_corpus_free(&corpus);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: bench components|svd|count FILE REPEATS [K|WINDOW]\n");
        return 2;
    }
    int repeats = atoi(argv[3]);
    int64_t parameter = argc > 4 ? atoll(argv[4]) : 0;
    json_t *seconds = json_array(), *result = json_object();
    cs_status status = cs_fail(CS_ERR_USAGE, "unknown workload %s", argv[1]);
    if (strcmp(argv[1], "components") == 0) {
        cs_reason_clear();
        status = components(argv[2], repeats, seconds, result);
    } else if (strcmp(argv[1], "svd") == 0) {
        cs_reason_clear();
        status = svd(argv[2], repeats, parameter, seconds, result);
    } else if (strcmp(argv[1], "count") == 0) {
        cs_reason_clear();
        status = count(argv[2], repeats, parameter, seconds, result);
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
