/* Times the builder, and the GloVe-style reference counter (our own), on Zipf text made here: one
 * JSON object on stdout.
 *
 *   count_bench reference TOKENS VOCAB WINDOW one-sided|symmetric GIB
 *   count_bench ours      TOKENS VOCAB CONTEXT OBJECTIVE THREADS
 *                         [BUDGET_MIB [DRAWS [LENGTH [TAIL]]]]
 *
 * LENGTH: of windows, one at each token; 0: whole documents.
 *
 * seconds and cpu: of the count alone; pairs: contributions; peak_mib: largest resident size of the
 * process, base_mib: before the count; collect_cpu: cpu until the sort and merge of what is left;
 * bits: a hash of all that the count returns, witnesses included; entries and pattern: sums over
 * the entries of hashes of (row's token, column, value) and (row's token, column), the same for
 * every order of the rows (each:W). */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cooc/builder.h"
#include "cooc/context_private.h"
#include "glove_style.h"
#include "plan/spec.h"
#include "zipf_text.h"

static double now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_mib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void put_hash(json_t *result, const char *name, cs_hash128 hash)
{
    char hex[33];
    cs_hash_hex(hash, hex);
    (void)json_object_set_new(result, name, json_string(hex));
}

static void put_entries(json_t *result, const cs_csr *a, const cs_hash128 *key)
{
    cs_hash128 entries = {0, 0}, pattern = {0, 0};
    for (int64_t i = 0; i < a->rows; ++i) {
        cs_hash128 row = key ? key[i] : cs_key_of(CS_KEY_ITEM, 0, i);
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            struct {
                cs_hash128 row;
                int64_t col;
                double val;
            } item = {row, a->col[e], a->val[e]};
            entries = cs_key_add(entries, cs_hash(&item, sizeof item, 0));
            pattern = cs_key_add(pattern, cs_hash(&item, offsetof(__typeof__(item), val), 0));
        }
    }
    put_hash(result, "entries", entries);
    put_hash(result, "pattern", pattern);
    (void)json_object_set_new(result, "nnz", json_integer(cs_csr_nnz(a)));
}

static void put_bits(json_t *result, const cs_cooc *c)
{
    const int64_t rows = c->matrix.a.rows, nnz = cs_csr_nnz(&c->matrix.a), word = sizeof(int64_t);
    const cs_hash128 part[] = {
        cs_hash(c->matrix.a.ptr, (size_t)((rows + 1) * word), 0),
        cs_hash(c->matrix.a.col, (size_t)nnz * sizeof(int32_t), 0),
        cs_hash(c->matrix.a.val, (size_t)nnz * sizeof(double), 0),
        cs_hash(c->key, (size_t)rows * sizeof *c->key, 0),
        cs_hash(c->witness_sequence, (size_t)(rows * word), 0),
        cs_hash(c->witness_ordinal, (size_t)(rows * word), 0),
        cs_hash(&c->mass, sizeof c->mass, 0),
        cs_hash(&c->dropped_mass, sizeof c->dropped_mass, 0),
    };
    put_hash(result, "bits", cs_hash(part, sizeof part, 0));
}

static void put_cost(json_t *result, double wall, double cpu, int64_t pairs)
{
    (void)json_object_set_new(result, "seconds", json_real(now(CLOCK_MONOTONIC) - wall));
    (void)json_object_set_new(result, "cpu", json_real(now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    (void)json_object_set_new(result, "peak_mib", json_real(peak_mib()));
    (void)json_object_set_new(result, "pairs", json_integer(pairs));
}

static cs_status reference(const cs_corpus *corpus, char **argv, json_t *result)
{
    const glove_style_options options = {.window = atoll(argv[0]),
                                         .symmetric = strcmp(argv[1], "symmetric") == 0,
                                         .units = 2520, /* the least common multiple of 1..10 */
                                         .gib = atof(argv[2])};
    CS_AUTO(cs_csr) a = {0};
    int64_t pairs = 0, files = 0;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    cs_status status = glove_style_count(corpus, &options, &a, &pairs, &files);
    if (status == CS_OK) {
        put_cost(result, wall, cpu, pairs);
        put_entries(result, &a, NULL);
        (void)json_object_set_new(result, "files", json_integer(files));
    }
    return status;
}

/* The processor time when the stage `merge` begins. */
static void note_merge(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    double *at = ctx;
    if (strcmp(stage, "merge") == 0) {
        *at = now(CLOCK_PROCESS_CPUTIME_ID);
    }
}

static cs_status ours(const cs_corpus *corpus, int argc, char **argv, json_t *result)
{
    CS_AUTO(cs_cooc) cooc = {0};
    cs_cooc_options options = {.threads = atoi(argv[2]),
                               .memory_budget = argc > 3 ? atoll(argv[3]) << 20 : 0,
                               .draws = argc > 4 ? atoll(argv[4]) : 0,
                               .max_length = argc > 5 ? atoll(argv[5]) : 0,
                               .tail = argc > 6 ? atof(argv[6]) : 0};
    double merge = 0;
    const cs_progress progress = {note_merge, &merge};
    options.stride = options.max_length > 0;
    options.progress = &progress;
    cs_status status = cs_context_parse(argv[0], &options.context);
    if (status == CS_OK) status = cs_objective_parse(argv[1], &options.objective);
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (status == CS_OK) status = cs_cooc_build(corpus, &options, &cooc);
    if (status == CS_OK) {
        put_cost(result, wall, cpu, cooc.contributions);
        (void)json_object_set_new(result, "collect_cpu", json_real(merge > 0 ? merge - cpu : 0));
        put_entries(result, &cooc.matrix.a, cooc.key);
        put_bits(result, &cooc);
        (void)json_object_set_new(result, "rows", json_integer(cooc.matrix.a.rows));
        (void)json_object_set_new(result, "runs", json_integer(cooc.runs));
    }
    return status;
}

int main(int argc, char **argv)
{
    bool peer = argc == 7 && strcmp(argv[1], "reference") == 0;
    if (!peer && (argc < 7 || argc > 11 || strcmp(argv[1], "ours") != 0)) {
        (void)fprintf(stderr,
                      "usage: count_bench reference TOKENS VOCAB WINDOW one-sided|symmetric GIB\n"
                      "       count_bench ours TOKENS VOCAB CONTEXT OBJECTIVE THREADS [BUDGET_MIB "
                      "[DRAWS [LENGTH [TAIL]]]]\n");
        return 2;
    }
    json_t *result = json_object();
    cs_corpus corpus = {0};
    cs_status status = zipf_text(atoll(argv[2]), atoll(argv[3]), 1, &corpus);
    if (status == CS_OK) {
        (void)json_object_set_new(result, "base_mib", json_real(peak_mib()));
        status =
            peer ? reference(&corpus, argv + 4, result) : ours(&corpus, argc - 4, argv + 4, result);
        (void)json_object_set_new(result, "tokens", json_integer(corpus.tokens));
        (void)json_object_set_new(result, "vocab", json_integer(corpus.vocab));
    }
    if (status == CS_OK) {
        (void)json_dumpf(result, stdout, 0);
        (void)printf("\n");
    } else {
        (void)fprintf(stderr, "count_bench: %s\n", cs_reason());
    }
    cs_corpus_free(&corpus);
    json_decref(result);
    return status == CS_OK ? 0 : 3;
}
