/* One training step of a GPT on the CPU backend, timed together with PyTorch by train_bench.py.
 *
 * train_bench FILE THREADS [--profile] FILE: seven int64 (layers, width, heads, vocabulary, batch,
 * length, parameters), then the parameters as floats in the order of gpt_graph.h, then batch x
 * length tokens and as many targets as int32. Reads lines "steps N" and replies to each with one
 * line of JSON: the seconds of each step (forward, backward, AdamW) and the loss of the last; with
 * --profile the seconds of each operation at the end. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../gpt_graph.h"
#include "../tensor_support.h"
#include "base/auto.h"
#include "tensor/cpu_private.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_items(FILE *in, void *to, size_t size, int64_t count)
{
    if (fread(to, size, (size_t)count, in) != (size_t)count) {
        (void)fprintf(stderr, "train_bench: the file is too short\n");
        exit(1);
    }
}

static void fill(gpt *g, int64_t parameters, FILE *in)
{
    const int64_t rows = g->s.batch * g->s.length;
    int64_t total = 0;
    for (int64_t i = 0; i < g->params.count; ++i) {
        int64_t items = g->params.param[i].rows * g->params.param[i].cols;
        float *value = cs_tensor_zeros(items, sizeof *value);
        read_items(in, value, sizeof *value, items);
        cs_tensor_must(cs_params_set(&g->params, i, CS_PARAM_VALUE, value), "parameters");
        free(value);
        total += items;
    }
    if (total != parameters) {
        (void)fprintf(stderr, "train_bench: %" PRId64 " parameters, not %" PRId64 "\n", total,
                      parameters);
        exit(1);
    }
    read_items(in, cs_run_index(g->run, g->ids), sizeof(int32_t), rows);
    read_items(in, cs_run_index(g->run, g->target), sizeof(int32_t), rows);
    gpt_places(g);
}

/* --- time by operation ------------------------------------------------------------------------ */

static const char *const kind_name[CS_OP_COUNT] = {
    [CS_OP_LINEAR] = "linear",
    [CS_OP_EMBED] = "embed",
    [CS_OP_LAYER_NORM] = "layer_norm",
    [CS_OP_ATTENTION] = "attention",
    [CS_OP_CROSS_ENTROPY] = "cross_entropy",
};
static cs_backend plain; /* the table before the timers */
static double spent[2][CS_OP_COUNT], spent_zero, spent_update;

static cs_status timed_forward(const cs_run *run, const cs_op *op)
{
    double start = now();
    cs_status status = plain.forward[op->kind](run, op);
    spent[0][op->kind] += now() - start;
    return status;
}

static cs_status timed_backward(const cs_run *run, const cs_op *op)
{
    double start = now();
    cs_status status = plain.backward[op->kind](run, op);
    spent[1][op->kind] += now() - start;
    return status;
}

static void add_timers(cs_backend *backend)
{
    plain = *backend;
    for (int kind = 0; kind < CS_OP_COUNT; ++kind) {
        backend->forward[kind] = timed_forward;
        backend->backward[kind] = timed_backward;
    }
}

static void print_profile(void)
{
    (void)printf("{");
    for (int kind = 0; kind < CS_OP_COUNT; ++kind) {
        if (spent[0][kind] > 0) {
            (void)printf("\"%s\": %.6f, \"%s_back\": %.6f, ", kind_name[kind], spent[0][kind],
                         kind_name[kind], spent[1][kind]);
        }
    }
    (void)printf("\"zero\": %.6f, \"update\": %.6f}\n", spent_zero, spent_update);
}

/* --- steps ------------------------------------------------------------------------------------ */

static double step(gpt *g, int64_t number)
{
    const cs_adamw hyper = {.learning_rate = 3e-4F,
                            .beta1 = 0.9F,
                            .beta2 = 0.95F,
                            .eps = 1e-8F,
                            .weight_decay = 0.1F,
                            .clip = 1.0F,
                            .bias1 = 1.0F - __builtin_powif(0.9F, (int)number),
                            .bias2 = 1.0F - __builtin_powif(0.95F, (int)number)};
    double loss = 0, start = now();
    cs_tensor_must(cs_params_zero_grad(&g->params), "gradients");
    spent_zero += now() - start;
    cs_tensor_must(cs_run_upload(g->run, (cs_run_key){0}), "batch");
    cs_tensor_must(cs_run_forward(g->run), "forward");
    cs_tensor_must(cs_run_backward(g->run), "backward");
    start = now();
    cs_tensor_must(cs_params_update(&g->params, &hyper), "update");
    spent_update += now() - start;
    cs_tensor_must(cs_run_sum(g->run, g->loss, &loss), "loss");
    return loss;
}

static void serve(gpt *g)
{
    char line[64];
    int64_t done = 0;
    while (fgets(line, sizeof line, stdin) && strncmp(line, "steps ", 6) == 0) {
        double loss = 0;
        (void)printf("{\"seconds\": [");
        for (long i = 0, count = strtol(line + 6, NULL, 10); i < count; ++i) {
            double start = now();
            loss = step(g, ++done);
            (void)printf("%s%.6f", i > 0 ? ", " : "", now() - start);
        }
        (void)printf("], \"loss\": %.9g, \"setting\": \"%s\"}\n", loss,
                     ((cs_cpu *)g->params.backend)->kernels->name);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    gpt g = {0};
    FILE *in = argc > 2 ? fopen(argv[1], "rb") : NULL;
    if (!in) {
        (void)fprintf(stderr, "usage: train_bench FILE THREADS [--profile]\n");
        return 2;
    }
    bool profile = argc > 3 && strcmp(argv[3], "--profile") == 0;
    CS_AUTO(cs_backend) *backend = NULL;
    int64_t parameters = 0;
    read_items(in, &g.s, sizeof(int64_t), sizeof g.s / sizeof(int64_t));
    read_items(in, &parameters, sizeof parameters, 1);
    gpt_build(&g);
    cs_tensor_must(cs_backend_cpu((int)strtol(argv[2], NULL, 10), &backend), "backend");
    cs_tensor_must(cs_params_allocate(&g.params, backend, true), "parameters");
    cs_tensor_must(cs_run_init(&g.graph, &g.params, &g.run), "run");
    fill(&g, parameters, in);
    (void)fclose(in);
    if (profile) {
        add_timers(backend);
    }
    serve(&g);
    if (profile) {
        print_profile();
    }
    cs_run_free(&g.run);
    cs_params_free(&g.params);
    cs_graph_free(&g.graph);
    return 0;
}
