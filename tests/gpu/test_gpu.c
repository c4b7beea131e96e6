/* The CUDA plug-in on a GPU: every operation against the reference, and a training step timed.
 *
 * test_gpu check [WORD]     every case (whose name holds WORD), lines "ok" and "not ok"; memory
 *                           poisoned and guarded, repeated bit for bit (tensor_support.h)
 * test_gpu parity FILE      models in float against the golden numbers of PyTorch in double
 *                           (tests/golden/trainer_parity.json)
 * test_gpu step LAYERS WIDTH HEADS VOCABULARY BATCH LENGTH STEPS [fp32]
 *                           a GPT's step (forward, backward, clipping, AdamW): one line of JSON
 *
 * Without a GPU: one line SKIP with the reason, exit code 77.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cuda_emulation/cuda_cases.h"
#include "../parity_support.h"
#include "../tensor_support.h"
#include "io/json.h"
#include "tensor/device.h"

enum { SKIPPED = 77 };

static cs_backend *open_or_skip(const cs_device_options *options)
{
    cs_backend *backend = NULL;
    cs_status status = cs_backend_cuda(NULL, options, &backend);
    if (status != CS_OK) {
        (void)printf("SKIP %s\n", cs_reason());
        exit(status == CS_ERR_DEVICE ? SKIPPED : 1);
    }
    return backend;
}

/* --- every operation -------------------------------------------------------------------------- */

static int failures, passes;

static void report(bool good, const char *mode, const char *name, const char *why)
{
    failures += !good;
    passes += good;
    (void)printf("%s %s, %s%s%s\n", good ? "ok" : "not ok", mode, name, good ? "" : ": ", why);
    (void)fflush(stdout);
}

static void check_list(const char *mode, const cs_device_options *options,
                       const cs_tensor_case *list, const char *word)
{
    cs_backend *backend = open_or_skip(options);
    for (const cs_tensor_case *c = list; c->name; ++c) {
        char why[CS_TENSOR_WHY] = "";
        if (strstr(c->name, word)) {
            bool good = cs_tensor_compare(backend, c, why);
            report(good, mode, c->name, why);
        }
    }
    cs_backend_free(&backend);
}

static void check_updates(const char *mode, const cs_device_options *options)
{
    cs_backend *backend = open_or_skip(options);
    for (int clip = 0; clip < 2; ++clip) {
        char why[CS_TENSOR_WHY] = "";
        bool good = cs_tensor_check_adamw(backend, clip ? 0.5 : 0, why);
        report(good, mode, clip ? "AdamW, clipped" : "AdamW", why);
    }
    cs_backend_free(&backend);
}

static int check(const char *word)
{
    static const struct {
        const char *mode;
        cs_device_options options;
    } modes[] = {
        {"fp32", {.f32 = true}},
        {"fp32, own products, no graphs", {.f32 = true, .own_products = true, .no_graphs = true}},
        {"bf16", {.f32 = false}},
        {"bf16, own products, no graphs", {.own_products = true, .no_graphs = true}},
    };
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
        check_list(modes[m].mode, &modes[m].options, cs_tensor_cases, word);
        check_list(modes[m].mode, &modes[m].options, cs_tensor_large_cases, word);
        check_list(modes[m].mode, &modes[m].options, cs_cuda_cases, word);
        check_updates(modes[m].mode, &modes[m].options);
    }
    (void)printf("%d passed, %d failed\n", passes, failures);
    return failures > 0;
}

/* --- whole models against PyTorch ------------------------------------------------------------- */

/* Largest difference of an array from what is expected, over its scale; NAN: another size. */
static double apart(const json_t *what, const char *name, const double *x, int64_t n)
{
    const json_t *expected = json_object_get(json_object_get(what, "expected"), name);
    double scale = json_number_value(json_object_get(json_object_get(what, "scale"), name));
    double most = (int64_t)json_array_size(expected) == n ? 0 : NAN;
    for (int64_t i = 0; i < n; ++i) {
        double d = fabs(x[i] - json_number_value(json_array_get(expected, (size_t)i))) / scale;
        most = isnan(most) || d <= most ? most : d;
    }
    return most;
}

/* The loss and every gradient, with the tolerance that the case brings (8 times what PyTorch is off
 * in float). Names the worst. */
static void check_model(const json_t *what)
{
    const cs_device_options options = {.f32 = true};
    cs_backend *backend = open_or_skip(&options);
    parity_world w;
    double worst = 0, loss = 0;
    double tolerance = json_number_value(json_object_get(what, "float_tolerance"));
    char why[CS_TENSOR_WHY] = "nothing was compared", name[CS_TENSOR_WHY];
    cs_tensor_must(parity_open(what, &backend, &w), "model");
    cs_tensor_must(parity_step(&w), "step");
    cs_tensor_must(cs_run_sum(w.run, w.net.loss, &loss), "loss");
    for (int64_t p = -1; p < w.model.params.count; ++p) { /* -1: the loss */
        const cs_param *param = p < 0 ? NULL : &w.model.params.param[p];
        int64_t n = param ? param->rows * param->cols : 1;
        double *x = cs_tensor_room(n, sizeof *x);
        x[0] = loss;
        if (param) {
            cs_tensor_must(cs_params_get64(&w.model.params, p, CS_PARAM_GRAD, x), "gradient");
        }
        (void)snprintf(name, sizeof name, "%s%s", param ? "grad." : "loss",
                       param ? param->name : "");
        double d = apart(what, name, x, n);
        if (p < 0 || (!isnan(worst) && !(d <= worst))) {
            worst = d;
            (void)snprintf(why, sizeof why, "%.100s off by %.3g of its scale, tolerance %.3g", name,
                           d, tolerance);
        }
        free(x);
    }
    bool good = worst <= tolerance && tolerance < 1e-3;
    report(good, "parity", json_string_value(json_object_get(what, "name")), good ? "" : why);
    parity_close(&w);
}

static int parity(const char *path)
{
    json_t *cases = NULL;
    cs_tensor_must(cs_json_read(path, &cases), path);
    for (size_t i = 0; i < json_array_size(cases); ++i) {
        check_model(json_array_get(cases, i));
    }
    json_decref(cases);
    (void)printf("%d passed, %d failed\n", passes, failures);
    return failures > 0 || passes == 0;
}

/* --- a step ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t layers, width, heads, vocabulary, batch, length, steps;
} shape;

typedef struct {
    shape s;
    cs_graph graph;
    cs_params params;
    cs_run *run;
    int ids, places, vis, lim, target, weight, loss;
    double flops; /* of the matrix products executed in a step */
} gpt;

static int matrix(gpt *g, int64_t rows, int64_t cols)
{
    int64_t number = cs_params_add(&g->params, "matrix", rows, cols, rows > 1);
    cs_tensor_must(number < 0 ? CS_ERR_MEMORY : CS_OK, "parameters");
    return cs_graph_param(&g->graph, "matrix", rows, cols, g->params.param[number].offset, true);
}

/* Forward and two products backward. */
static int linear(gpt *g, int x, int64_t in, int64_t out, cs_activation act)
{
    int w = matrix(g, out, in), b = matrix(g, 1, out);
    g->flops += 6.0 * (double)(g->s.batch * g->s.length) * (double)in * (double)out;
    return cs_graph_linear(&g->graph, x, w, b, act);
}

static int norm(gpt *g, int *x, int r)
{
    int gain = matrix(g, 1, g->s.width), bias = matrix(g, 1, g->s.width);
    return cs_graph_layer_norm(&g->graph, *x, r, 0,
                               (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, x);
}

static int block(gpt *g, int *x, int r)
{
    cs_graph *n = &g->graph;
    const int64_t d = g->s.width, tiles = (g->s.length + 63) / 64;
    int qkv = linear(g, norm(g, x, r), d, 3 * d, CS_ACT_NONE);
    cs_attention_options o = {.vis = g->vis,
                              .lim = g->lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = g->s.heads};
    int y = cs_graph_attention(n, cs_graph_cols(n, qkv, 0, d), cs_graph_cols(n, qkv, d, d),
                               cs_graph_cols(n, qkv, 2 * d, d), &o);
    /* 2 products forward, 3 and 4 in the two kernels of backward, over tiles on and below the
     * diagonal. */
    g->flops += 9 * 2.0 * (double)(g->s.batch * d) * 64 * 32 * (double)(tiles * (tiles + 1));
    r = linear(g, y, d, d, CS_ACT_NONE);
    int up = linear(g, norm(g, x, r), d, 4 * d, CS_ACT_GELU_TANH);
    return linear(g, up, 4 * d, d, CS_ACT_NONE);
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
    int logits = cs_graph_linear(n, norm(g, &x, r), words, CS_NONE, CS_ACT_NONE);
    g->flops += 6.0 * (double)(s->batch * s->length) * (double)(s->width * s->vocabulary);
    g->loss = cs_graph_cross_entropy(n, logits, s->vocabulary, g->target, g->weight);
    cs_tensor_must(cs_graph_finish(n), "graph");
}

static void fill(gpt *g)
{
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 3);
    const int64_t rows = g->s.batch * g->s.length;
    for (int64_t i = 0; i < g->params.count; ++i) {
        const cs_param *p = &g->params.param[i];
        float *value = cs_tensor_room(p->rows * p->cols, sizeof *value);
        for (int64_t k = 0; k < p->rows * p->cols; ++k) {
            value[k] = (float)(p->rows > 1 ? 0.04 * (cs_rng_uniform(&rng) - 0.5) : 1.0);
        }
        cs_tensor_must(cs_params_set(&g->params, i, CS_PARAM_VALUE, value), "parameters");
        free(value);
    }
    for (int64_t r = 0; r < rows; ++r) {
        int32_t place = (int32_t)(r % g->s.length);
        cs_run_index(g->run, g->ids)[r] = (int32_t)(r * 7919 % g->s.vocabulary);
        cs_run_index(g->run, g->target)[r] = (int32_t)((r + 1) * 7919 % g->s.vocabulary);
        cs_run_index(g->run, g->places)[r] = place;
        cs_run_index(g->run, g->vis)[r] = place;
        cs_run_index(g->run, g->lim)[r] = place;
        cs_run_input(g->run, g->weight, r, 0, 1.0 / (double)rows);
    }
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nothing waits for the device until the end. */
static double steps(gpt *g, int64_t count)
{
    double loss = 0, start = now();
    const cs_adamw hyper = {.learning_rate = 3e-4F,
                            .beta1 = 0.9F,
                            .beta2 = 0.95F,
                            .eps = 1e-8F,
                            .weight_decay = 0.1F,
                            .clip = 1.0F,
                            .bias1 = 0.1F,
                            .bias2 = 0.05F};
    for (int64_t i = 0; i < count; ++i) {
        cs_tensor_must(cs_params_zero_grad(&g->params), "gradients");
        cs_tensor_must(cs_run_upload(g->run, (cs_run_key){.seed = 1, .step = (uint32_t)i}),
                       "batch");
        cs_tensor_must(cs_run_forward(g->run), "forward");
        cs_tensor_must(cs_run_backward(g->run), "backward");
        cs_tensor_must(cs_params_update(&g->params, &hyper), "update");
    }
    cs_tensor_must(cs_run_sum(g->run, g->loss, &loss), "loss");
    double seconds = now() - start;
    (void)fprintf(stderr, "loss %.4f after %lld steps\n", loss, (long long)count);
    return seconds;
}

static int time_step(char **word, bool f32)
{
    gpt g = {.flops = 0};
    int64_t *to[] = {&g.s.layers, &g.s.width,  &g.s.heads, &g.s.vocabulary,
                     &g.s.batch,  &g.s.length, &g.s.steps};
    for (size_t i = 0; i < sizeof to / sizeof *to; ++i) {
        *to[i] = strtoll(word[i], NULL, 10);
    }
    cs_device_options options = {.f32 = f32};
    cs_backend *backend = open_or_skip(&options);
    build(&g);
    cs_tensor_must(cs_params_allocate(&g.params, backend, true), "parameters");
    cs_tensor_must(cs_run_init(&g.graph, &g.params, &g.run), "run");
    fill(&g);
    (void)steps(&g, 5); /* plans, capture, clocks */
    double seconds = steps(&g, g.s.steps) / (double)g.s.steps;
    double tokens = (double)(g.s.batch * g.s.length);
    (void)printf(
        "{\"program\": \"cospec, %s\", \"layers\": %lld, \"width\": %lld, \"batch\": %lld, "
        "\"length\": %lld, \"parameters\": %lld, \"ms\": %.3f, \"tokens_per_second\": %.0f, "
        "\"tflops\": %.1f}\n",
        backend->name, (long long)g.s.layers, (long long)g.s.width, (long long)g.s.batch,
        (long long)g.s.length, (long long)g.params.items, 1e3 * seconds, tokens / seconds,
        g.flops / seconds * 1e-12);
    cs_run_free(&g.run);
    cs_params_free(&g.params);
    cs_graph_free(&g.graph);
    cs_backend_free(&backend);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "check") == 0) {
        return check(argc > 2 ? argv[2] : "");
    }
    if (argc == 3 && strcmp(argv[1], "parity") == 0) {
        return parity(argv[2]);
    }
    if (argc >= 9 && strcmp(argv[1], "step") == 0) {
        return time_step(argv + 2, argc > 9 && strcmp(argv[9], "fp32") == 0);
    }
    (void)fprintf(
        stderr,
        "usage: test_gpu check [WORD] | parity FILE | step LAYERS WIDTH HEADS VOCABULARY BATCH "
        "LENGTH STEPS [fp32]\n");
    return 2;
}
