/* One training step of a GPT on the CPU backend, timed beside PyTorch by train_bench.py.
 *
 * train_bench FILE THREADS [--profile]
 * FILE: seven int64 (layers, width, heads, vocabulary, batch, length, parameters), then the
 * parameters as floats in the order of `build`, then batch x length tokens and as many targets as
 * int32. Reads lines "steps N" and answers each with one line of JSON: the seconds of each step
 * (forward, backward, AdamW) and the loss of the last; with --profile the seconds of each operation
 * at the end.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tensor/cpu_private.h"
#include "tensor/graph.h"
#include "tensor/params.h"
#include "tensor/run.h"

typedef struct {
    int64_t layers, width, heads, vocabulary, batch, length, parameters;
} shape;

typedef struct {
    shape s;
    cs_graph graph;
    cs_params params;
    cs_backend *backend;
    cs_run *run;
    int ids, places, vis, lim, target, weight, loss;
} gpt;

static void must(cs_status status, const char *what)
{
    if (status != CS_OK) {
        (void)fprintf(stderr, "train_bench: %s: %s\n", what, cs_reason());
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the network ------------------------------------------------------------------------------ */

static int matrix(gpt *g, int64_t rows, int64_t cols)
{
    int64_t number = cs_params_add(&g->params, "matrix", rows, cols, rows > 1);
    must(number < 0 ? CS_ERR_MEMORY : CS_OK, "parameters");
    return cs_graph_param(&g->graph, "matrix", rows, cols, g->params.param[number].offset, true);
}

/* Pre-LN blocks; x + r is the residual stream so far. Returns the last r. */
static int block(gpt *g, int *x, int r)
{
    cs_graph *n = &g->graph;
    const int64_t d = g->s.width;
    int gain = matrix(g, 1, d), bias = matrix(g, 1, d);
    int a = cs_graph_layer_norm(n, *x, r, 0, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, x);
    int w = matrix(g, 3 * d, d), b = matrix(g, 1, 3 * d);
    int qkv = cs_graph_linear(n, a, w, b, CS_ACT_NONE);
    cs_attention_options options = {
        .vis = g->vis, .lim = g->lim, .table = CS_NONE, .heads = g->s.heads};
    int y = cs_graph_attention(n, cs_graph_cols(n, qkv, 0, d), cs_graph_cols(n, qkv, d, d),
                               cs_graph_cols(n, qkv, 2 * d, d), &options);
    w = matrix(g, d, d);
    b = matrix(g, 1, d);
    r = cs_graph_linear(n, y, w, b, CS_ACT_NONE);
    gain = matrix(g, 1, d);
    bias = matrix(g, 1, d);
    a = cs_graph_layer_norm(n, *x, r, 0, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, x);
    w = matrix(g, 4 * d, d);
    b = matrix(g, 1, 4 * d);
    a = cs_graph_linear(n, a, w, b, CS_ACT_GELU_TANH);
    w = matrix(g, d, 4 * d);
    b = matrix(g, 1, d);
    return cs_graph_linear(n, a, w, b, CS_ACT_NONE);
}

static void build(gpt *g)
{
    cs_graph *n = &g->graph;
    const shape *s = &g->s;
    cs_graph_init(n, true);
    int rows = cs_graph_rows(n, s->batch, s->length);
    g->ids = cs_graph_index(n, rows, "ids");
    g->places = cs_graph_index(n, rows, "positions");
    g->vis = cs_graph_index(n, rows, "vis");
    g->lim = cs_graph_index(n, rows, "lim");
    g->target = cs_graph_index(n, rows, "target");
    g->weight = cs_graph_input(n, rows, 1, "weight");
    int words = matrix(g, s->vocabulary, s->width), positions = matrix(g, s->length, s->width);
    const int table[] = {words, positions}, index[] = {g->ids, g->places};
    int x = cs_graph_embed(n, CS_NONE, rows, 2, table, index), r = CS_NONE;
    for (int64_t layer = 0; layer < s->layers; ++layer) {
        r = block(g, &x, r);
    }
    int gain = matrix(g, 1, s->width), bias = matrix(g, 1, s->width);
    int h =
        cs_graph_layer_norm(n, x, r, 0, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, NULL);
    int logits = cs_graph_linear(n, h, words, CS_NONE, CS_ACT_NONE);
    g->loss = cs_graph_cross_entropy(n, logits, s->vocabulary, g->target, g->weight);
    must(cs_graph_finish(n), "graph");
}

static void read_items(FILE *in, void *to, size_t size, int64_t count)
{
    if (fread(to, size, (size_t)count, in) != (size_t)count) {
        (void)fprintf(stderr, "train_bench: the file is too short\n");
        exit(1);
    }
}

static void fill(gpt *g, FILE *in)
{
    const int64_t rows = g->s.batch * g->s.length;
    int64_t total = 0;
    for (int64_t i = 0; i < g->params.count; ++i) {
        int64_t items = g->params.param[i].rows * g->params.param[i].cols;
        float *value = cs_alloc(items, sizeof *value);
        must(value ? CS_OK : CS_ERR_MEMORY, "memory");
        read_items(in, value, sizeof *value, items);
        must(cs_params_set(&g->params, i, CS_PARAM_VALUE, value), "parameters");
        cs_free(value);
        total += items;
    }
    if (total != g->s.parameters) {
        (void)fprintf(stderr, "train_bench: %" PRId64 " parameters, not %" PRId64 "\n", total,
                      g->s.parameters);
        exit(1);
    }
    read_items(in, cs_run_index(g->run, g->ids), sizeof(int32_t), rows);
    read_items(in, cs_run_index(g->run, g->target), sizeof(int32_t), rows);
    for (int64_t r = 0; r < rows; ++r) {
        int32_t place = (int32_t)(r % g->s.length);
        cs_run_index(g->run, g->places)[r] = place;
        cs_run_index(g->run, g->vis)[r] = place;
        cs_run_index(g->run, g->lim)[r] = place;
        cs_run_input(g->run, g->weight, r, 0, 1.0 / (double)rows);
    }
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
    must(cs_params_zero_grad(&g->params), "gradients");
    spent_zero += now() - start;
    must(cs_run_upload(g->run, (cs_run_key){0}), "batch");
    must(cs_run_forward(g->run), "forward");
    must(cs_run_backward(g->run), "backward");
    start = now();
    must(cs_params_update(&g->params, &hyper), "update");
    spent_update += now() - start;
    must(cs_run_sum(g->run, g->loss, &loss), "loss");
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
                     ((cs_cpu *)g->backend)->kernels->name);
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
    read_items(in, &g.s, sizeof(int64_t), 7);
    build(&g);
    must(cs_backend_cpu((int)strtol(argv[2], NULL, 10), &g.backend), "backend");
    must(cs_params_allocate(&g.params, g.backend, true), "parameters");
    must(cs_run_init(&g.graph, &g.params, &g.run), "run");
    fill(&g, in);
    (void)fclose(in);
    if (profile) {
        add_timers(g.backend);
    }
    serve(&g);
    if (profile) {
        print_profile();
    }
    cs_run_free(&g.run);
    cs_params_free(&g.params);
    cs_graph_free(&g.graph);
    cs_backend_free(&g.backend);
    return 0;
}
