/* The CUDA plug-in on a GPU: every operation against the reference, one step in several modes, and
 * its time.
 *
 * test_gpu device              the card's name; where the device is there and a library it needs is
 *                              not: exit code 1
 * test_gpu check MODE [WORD [SECONDS]]
 *                              every case (whose name holds WORD), lines "ok" and "not ok"; memory
 *                              poisoned and guarded, repeated bit for bit (tensor_support.h). A case
 *                              that dies or takes longer than SECONDS (20) fails and the next runs;
 *                              SECONDS 0: all in this process, as a sanitizer wants it
 * test_gpu parity FILE         models in float against the golden numbers of PyTorch in double
 *                              (tests/golden/trainer_parity.json)
 * test_gpu agree MODE SHAPE FILE [OTHER]
 *                              loss and gradients of one step of a GPT, run three times (launched,
 *                              captured, replayed) with equal bits, into FILE; compared with
 *                              those that another mode wrote into OTHER
 * test_gpu step MODE SHAPE STEPS    its time (forward, backward, clipping, AdamW): a line of JSON
 * test_gpu kernels MODE SHAPE STEPS the time of each kernel in it, by CUDA events
 *
 * MODE: fp32 or bf16 (cuBLASLt's products, replayed graphs), fp32-own or bf16-own (neither),
 * bf16-launched (cuBLASLt, no graphs), bf16-searched (of cuBLASLt's algorithms for weight gradients
 * the fastest). SHAPE: LAYERS WIDTH HEADS VOCABULARY BATCH LENGTH. A product
 * that cuBLASLt refuses, which a slow kernel does in its place, fails agree, step and kernels.
 *
 * Without a GPU: one line SKIP with the reason, exit code 77.
 */
#include <math.h>
#include <stdio.h>

#include "../cuda_emulation/cuda_cases.h"
#include "../parity_support.h"
#include "../tensor_support.h"
#include "base/auto.h"
#include "each_case.h"
#include "gpu.h"
#include "io/json.h"

static const struct {
    const char *name;
    cs_device_options options;
} modes[] = {
    {"fp32", {.f32 = true}},
    {"fp32-own", {.f32 = true, .own_products = true, .no_graphs = true}},
    {"bf16", {.f32 = false}},
    {"bf16-launched", {.no_graphs = true}},
    {"bf16-searched", {.search_products = true}},
    {"bf16-own", {.own_products = true, .no_graphs = true}},
};

const cs_device_options *gpu_mode(const char *name)
{
    int count = (int)(sizeof modes / sizeof *modes), m = 0;
    while (m < count && strcmp(modes[m].name, name) != 0) {
        ++m;
    }
    if (m == count) {
        (void)fprintf(stderr, "test_gpu: no mode is called %s\n", name);
        exit(2);
    }
    return &modes[m].options;
}

/* CASE_SKIPPED without a GPU, 1 where there is one and a library is missing. */
static int open_backend(const cs_device_options *options, cs_backend **out)
{
    const cs_device_options alone = {.own_products = true};
    if (cs_backend_cuda(NULL, options, out) == CS_OK) return 0;
    char why[CASE_WHY];
    (void)snprintf(why, sizeof why, "%s", cs_reason());
    bool there = cs_backend_cuda(NULL, &alone, out) == CS_OK;
    (void)printf("%s %s\n", there ? "not ok, the device is there but" : "SKIP", why);
    if (there) {
        cs_backend_free(out);
    }
    return there ? 1 : CASE_SKIPPED;
}

cs_backend *gpu_open_or_leave(const cs_device_options *options)
{
    cs_backend *backend = NULL;
    int code = open_backend(options, &backend);
    if (code != 0) {
        exit(code);
    }
    return backend;
}

static int device(void)
{
    const cs_device_options options = {.f32 = false};
    CS_AUTO(cs_backend) *backend = gpu_open_or_leave(&options);
    (void)printf("%s\n", backend->name);
    return 0;
}

/* --- every operation -------------------------------------------------------------------------- */

static const cs_tensor_case *const lists[] = {cs_tensor_cases, cs_tensor_large_cases,
                                              cs_cuda_cases};
static const char *const updates[] = {"AdamW", "AdamW, clipped"};
static cs_backend *backend_now; /* of the process that runs cases */
static const cs_device_options *mode_now;

/* Case i of the lists; NULL: one of the updates, *update. */
static const cs_tensor_case *case_at(int64_t i, int64_t *update)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l) {
        for (const cs_tensor_case *c = lists[l]; c->name; ++c) {
            if (i-- == 0) {
                return c;
            }
        }
    }
    *update = i;
    return NULL;
}

static int open_mode(void)
{
    return open_backend(mode_now, &backend_now);
}

static const char *check_name(int64_t i)
{
    int64_t update = 0;
    const cs_tensor_case *c = case_at(i, &update);
    return c ? c->name : updates[update];
}

static bool check_one(int64_t i, char why[CASE_WHY])
{
    int64_t update = 0;
    const cs_tensor_case *c = case_at(i, &update);
    return c ? cs_tensor_compare(backend_now, c, why)
             : cs_tensor_check_adamw(backend_now, update > 0 ? 0.5 : 0, why);
}

static int check(const char *mode, const char *word, unsigned seconds)
{
    int64_t count = sizeof updates / sizeof *updates;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l) {
        for (const cs_tensor_case *c = lists[l]; c->name; ++c) {
            ++count;
        }
    }
    mode_now = gpu_mode(mode);
    const case_list list = {.count = count,
                            .open = open_mode,
                            .name = check_name,
                            .run = check_one,
                            .mode = mode,
                            .word = word,
                            .seconds = seconds};
    int code = each_case(&list);
    cs_backend_free(&backend_now);
    return code;
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

static json_t *golden; /* of parity */

static const char *parity_name(int64_t i)
{
    return json_string_value(json_object_get(json_array_get(golden, (size_t)i), "name"));
}

/* The loss and every gradient, with the tolerance that the case brings (8 times what PyTorch is off
 * in float). Names the worst. */
static bool parity_one(int64_t i, char why[CASE_WHY])
{
    const json_t *what = json_array_get(golden, (size_t)i);
    CS_AUTO_BY(parity_close, parity_world) w = {0}; /* takes the backend with it */
    double worst = 0, loss = 0;
    double tolerance = json_number_value(json_object_get(what, "float_tolerance"));
    char name[CS_TENSOR_WHY];
    if (!backend_now) {
        backend_now = gpu_open_or_leave(mode_now);
    }
    cs_tensor_must(parity_open(what, &backend_now, &w), "model");
    cs_tensor_must(parity_step(&w), "step");
    cs_tensor_must(cs_run_sum(w.run, w.net.loss.value, &loss), "loss");
    for (int64_t p = -1; p < w.model.params.count; ++p) { /* -1: the loss */
        const cs_param *param = p < 0 ? NULL : &w.model.params.param[p];
        int64_t n = param ? param->rows * param->cols : 1;
        CS_AUTO_FREE double *x = cs_tensor_zeros(n, sizeof *x);
        x[0] = loss;
        if (param) {
            cs_tensor_must(cs_params_get64(&w.model.params, p, CS_PARAM_GRAD, x), "gradient");
        }
        (void)snprintf(name, sizeof name, "%s%s", param ? "grad." : "loss",
                       param ? param->name : "");
        double d = apart(what, name, x, n);
        if (p < 0 || (!isnan(worst) && !(d <= worst))) {
            worst = d;
            (void)snprintf(why, CASE_WHY, "%.100s off by %.3g of its scale, tolerance %.3g", name,
                           d, tolerance);
        }
    }
    return worst <= tolerance && tolerance < 1e-3;
}

static int parity(const char *path)
{
    cs_tensor_must(cs_json_read(path, &golden), path);
    mode_now = gpu_mode("fp32");
    const case_list list = {.count = (int64_t)json_array_size(golden),
                            .open = open_mode,
                            .name = parity_name,
                            .run = parity_one,
                            .mode = "parity",
                            .word = "",
                            .seconds = 20};
    int code = each_case(&list);
    json_decref(golden);
    return code;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && strcmp(what, "device") == 0) {
        return device();
    }
    if (argc >= 3 && argc <= 5 && strcmp(what, "check") == 0) {
        return check(argv[2], argc > 3 ? argv[3] : "",
                     argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 20);
    }
    if (argc == 3 && strcmp(what, "parity") == 0) {
        return parity(argv[2]);
    }
    if ((argc == 4 + GPT_SHAPE || argc == 5 + GPT_SHAPE) && strcmp(what, "agree") == 0) {
        return gpt_agree(argv[2], argv + 3, argv[3 + GPT_SHAPE], argv[4 + GPT_SHAPE]);
    }
    if (argc == 4 + GPT_SHAPE && strcmp(what, "step") == 0) {
        return gpt_time(argv[2], argv + 3, strtoll(argv[3 + GPT_SHAPE], NULL, 10));
    }
    if (argc == 4 + GPT_SHAPE && strcmp(what, "kernels") == 0) {
        return gpt_kernels(argv[2], argv + 3, strtoll(argv[3 + GPT_SHAPE], NULL, 10));
    }
    (void)fprintf(stderr, "usage: test_gpu device | check MODE [WORD [SECONDS]] | parity FILE | "
                          "agree MODE SHAPE FILE [OTHER] | step MODE SHAPE STEPS | kernels MODE "
                          "SHAPE STEPS; SHAPE: LAYERS WIDTH HEADS VOCABULARY BATCH LENGTH\n");
    return 2;
}
