/* One step of a GPT on the CUDA plug-in: in several modes, its time, the time of its kernels
 * (test_gpu.c). */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../gpt_graph.h"
#include "../tensor_support.h"
#include "base/auto.h"
#include "gpu.h"

static void fill(gpt *g)
{
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 3);
    const int64_t rows = g->s.batch * g->s.length;
    for (int64_t i = 0; i < g->params.count; ++i) {
        const cs_param *p = &g->params.param[i];
        CS_AUTO_FREE float *value = cs_tensor_zeros(p->rows * p->cols, sizeof *value);
        for (int64_t k = 0; k < p->rows * p->cols; ++k) {
            value[k] = (float)(p->rows > 1 ? 0.04 * (cs_rng_uniform(&rng) - 0.5) : 1.0);
        }
        cs_tensor_must(cs_params_set(&g->params, i, CS_PARAM_VALUE, value), "parameters");
    }
    for (int64_t r = 0; r < rows; ++r) {
        cs_run_index(g->run, g->ids)[r] = (int32_t)(r * 7919 % g->s.vocabulary);
        cs_run_index(g->run, g->target)[r] = (int32_t)((r + 1) * 7919 % g->s.vocabulary);
    }
    gpt_places(g);
}

static void open_gpt(char **word, const cs_device_options *options, gpt *g)
{
    int64_t *to[] = {&g->s.layers,     &g->s.width, &g->s.heads,
                     &g->s.vocabulary, &g->s.batch, &g->s.length};
    for (size_t i = 0; i < GPT_SHAPE; ++i) {
        *to[i] = strtoll(word[i], NULL, 10);
    }
    cs_backend *backend = gpu_open_or_leave(options);
    gpt_build(g);
    cs_tensor_must(cs_params_allocate(&g->params, backend, true), "parameters");
    cs_tensor_must(cs_run_init(&g->graph, &g->params, &g->run), "run");
    fill(g);
}

/* Names the products that cuBLASLt refused; how many. */
static int refused(cs_backend *backend)
{
    cs_backend_count row = {.what = ""};
    int found = 0;
    for (int64_t i = 0; row.what; ++i) {
        cs_tensor_must(backend->counted(backend, i, &row), "counts");
        if (row.what && row.refused) {
            (void)printf("not ok, cuBLASLt refuses %s\n", row.what);
            ++found;
        }
    }
    return found;
}

/* 1 where a product was refused. */
static int close_gpt(gpt *g)
{
    CS_AUTO(cs_backend) *backend = g->params.backend;
    int bad = refused(backend) > 0;
    cs_run_free(&g->run);
    cs_params_free(&g->params);
    cs_graph_free(&g->graph);
    return bad;
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
    (void)printf("loss %.4f after %lld steps\n", loss, (long long)count);
    return seconds;
}

int gpt_time(const char *mode, char **word, int64_t count)
{
    gpt g = {.flops = 0};
    open_gpt(word, gpu_mode(mode), &g);
    (void)steps(&g, 5); /* plans, capture, clocks */
    double seconds = steps(&g, count) / (double)count;
    double tokens = (double)(g.s.batch * g.s.length);
    (void)printf(
        "{\"program\": \"cospec, %s\", \"mode\": \"%s\", \"layers\": %lld, \"width\": %lld, "
        "\"batch\": %lld, \"length\": %lld, \"parameters\": %lld, \"ms\": %.3f, "
        "\"tokens_per_second\": %.0f, \"tflops\": %.1f}\n",
        g.params.backend->name, mode, (long long)g.s.layers, (long long)g.s.width,
        (long long)g.s.batch, (long long)g.s.length, (long long)g.params.items, 1e3 * seconds,
        tokens / seconds, g.flops / seconds * 1e-12);
    return close_gpt(&g);
}

/* --- the time of each kernel ------------------------------------------------------------------ */

static int slower_first(const void *a, const void *b)
{
    double x = ((const cs_backend_count *)a)->seconds, y = ((const cs_backend_count *)b)->seconds;
    return (x < y) - (x > y);
}

int gpt_kernels(const char *mode, char **word, int64_t count)
{
    enum { MOST = 512 };
    static cs_backend_count warm[MOST], row[MOST];
    gpt g = {.flops = 0};
    cs_device_options options = *gpu_mode(mode);
    double all = 0;
    int64_t rows = 0;
    options.timed = true;
    open_gpt(word, &options, &g);
    cs_backend *b = g.params.backend;
    (void)steps(&g, 3);
    cs_backend_count *to[] = {warm, row};
    for (int pass = 0; pass < 2; ++pass) { /* rows keep their order and new ones come last */
        for (rows = 0; rows < MOST; ++rows) {
            cs_tensor_must(b->counted(b, rows, &to[pass][rows]), "counts");
            if (!to[pass][rows].what) {
                break;
            }
        }
        if (pass == 0) {
            (void)steps(&g, count);
        }
    }
    for (int64_t i = 0; i < rows; ++i) {
        row[i].seconds = (row[i].seconds - warm[i].seconds) / (double)count;
        row[i].times -= warm[i].times;
        all += row[i].seconds;
    }
    qsort(row, (size_t)rows, sizeof *row, slower_first);
    (void)printf("ms a step  share  launches  kernel (%s, alone on the device)\n", mode);
    for (int64_t i = 0; i < rows; ++i) {
        if (!row[i].refused) {
            (void)printf("%9.3f %5.1f%% %9.1f  %s\n", 1e3 * row[i].seconds,
                         100 * row[i].seconds / all, (double)row[i].times / (double)count,
                         row[i].what);
        }
    }
    (void)printf("%9.3f  in all\n", 1e3 * all);
    return close_gpt(&g) || rows == 0;
}

/* --- one step in several modes ---------------------------------------------------------------- */

/* Loss and every gradient: a block of doubles. */
static double *step_once(gpt *g, int64_t *n)
{
    double *x = cs_tensor_zeros(1 + g->params.items, sizeof *x), *to = x + 1;
    cs_tensor_must(cs_params_zero_grad(&g->params), "gradients");
    cs_tensor_must(cs_run_upload(g->run, (cs_run_key){.seed = 1}), "batch");
    cs_tensor_must(cs_run_forward(g->run), "forward");
    cs_tensor_must(cs_run_backward(g->run), "backward");
    cs_tensor_must(cs_run_sum(g->run, g->loss, x), "loss");
    for (int64_t i = 0; i < g->params.count; ++i) {
        cs_tensor_must(cs_params_get64(&g->params, i, CS_PARAM_GRAD, to), "gradient");
        to += g->params.param[i].rows * g->params.param[i].cols;
    }
    *n = to - x;
    return x;
}

static double distance(int64_t n, const double *a, const double *b)
{
    double apart = 0, size = 0;
    for (int64_t k = 0; k < n; ++k) {
        apart += (a[k] - b[k]) * (a[k] - b[k]);
        size += b[k] * b[k];
    }
    return sqrt(apart / size);
}

/* Of loss and gradient as a whole, as cs_tensor_compare has it, but rounding errors of a sum of n
 * terms add up as sqrt(n), with a factor of 4 (Higham and Mary 2019). Gradients of a single matrix
 * (gains of norms) may cancel: HALF of its norm separates rounding from a gradient that is missing,
 * added twice or transposed, which is off by 1 or more. */
static const double HALF = 0.5;

static double agreement(const gpt *g)
{
    const cs_backend *b = g->params.backend;
    double longest =
        (double)(g->s.vocabulary > g->s.batch * g->s.length ? g->s.vocabulary
                                                            : g->s.batch * g->s.length);
    return 2 * sqrt(2 * (double)g->graph.ops) *
           (2 * cs_tensor_unit_roundoff(b->activation) +
            4 * sqrt(longest) * cs_tensor_unit_roundoff(b->parameter));
}

static bool compare_with(const gpt *g, const double *x, int64_t n, const char *path)
{
    double *y = cs_tensor_zeros(n, sizeof *y), most = agreement(g), worst = 0;
    FILE *f = fopen(path, "rb");
    int64_t worst_at = 0, offset = 1;
    if (!f || fread(y, sizeof *y, (size_t)n, f) != (size_t)n || fgetc(f) != EOF) {
        (void)printf("not ok, %s does not hold %lld numbers\n", path, (long long)n);
        exit(1);
    }
    (void)fclose(f);
    for (int64_t i = 0; i < g->params.count; ++i) {
        int64_t items = g->params.param[i].rows * g->params.param[i].cols;
        double d = distance(items, x + offset, y + offset);
        if (i == 0 || (!isnan(worst) && !(d <= worst))) {
            worst = d;
            worst_at = i;
        }
        offset += items;
    }
    double loss = distance(1, x, y), all = distance(n - 1, x + 1, y + 1);
    (void)printf(
        "loss %.8g, %.3g off; gradient %.3g off, matrix %lld worst with %.3g; at most %.3g "
        "in all, %g of a matrix (2-norm)\n",
        x[0], loss, all, (long long)worst_at, worst, most, HALF);
    free(y);
    return loss <= most && all <= most && worst <= HALF;
}

int gpt_agree(const char *mode, char **word, const char *path, const char *other)
{
    gpt g = {.flops = 0};
    int64_t n = 0;
    open_gpt(word, gpu_mode(mode), &g);
    CS_AUTO_FREE double *x = step_once(&g, &n);
    bool good = isfinite(x[0]);
    for (int again = 0; good && again < 2; ++again) { /* captured, replayed */
        CS_AUTO_FREE double *y = step_once(&g, &n);
        good = memcmp(x, y, (size_t)n * sizeof *x) == 0;
    }
    if (!good) {
        (void)printf("not ok, %s: loss %g, other bits when repeated\n", mode, x[0]);
    }
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(x, sizeof *x, (size_t)n, f) != (size_t)n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    bool near = !other || compare_with(&g, x, n, other);
    (void)printf("%s agree, %s%s%s\n", good && near ? "ok" : "not ok", mode,
                 other ? " with " : ": loss and gradients kept", other ? other : "");
    return close_gpt(&g) || !good || !near;
}
