/* The CUDA plug-in's own sources, executed by the emulator: every shared case of an operation in
 * float and bf16, and those of cuda_cases.c, against the reference in double, in orders of threads
 * and blocks that change from launch to launch. The third step of a comparison is a replayed graph.
 * Then what the plug-in promises of sizes, scratch, staging and its bf16 copies of parameters.
 */
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "base/status.h"
#include "emulated.h"
#include "tensor/cuda_plugin.h"

const cs_plugin *cs_cuda_plugin(void);
void emulate_shuffle(bool on);
void emulate_strict(bool on);
void emulate_card(int major, int minor, size_t shared);

cs_backend *open_with(cs_device_options options)
{
    cs_backend *backend = NULL;
    cs_tensor_must(cs_plugin_open(cs_cuda_plugin(), &options, &backend), "emulation");
    emulate_shuffle(true);
    return backend;
}

/* By our own products. */
static cs_backend *open_backend(bool f32, bool no_graphs)
{
    return open_with((cs_device_options){.f32 = f32, .no_graphs = no_graphs, .own_products = true});
}

void compare_on(cs_backend *backend, const cs_tensor_case *list, const char *word)
{
    const bool f32 = backend->activation == CS_REAL_F32;
    int bad = 0;
    for (const cs_tensor_case *c = list; c->name; ++c) {
        char why[CS_TENSOR_WHY] = "";
        /* in float, long attention is the plain kernel of the shared cases again */
        bool skipped = f32 && strncmp(c->name, "width ", 6) == 0;
        if (!skipped && strstr(c->name, word) && !cs_tensor_compare(backend, c, why)) {
            print_error("%s: %s\n", c->name, why);
            ++bad;
        }
    }
    cs_backend_free(&backend);
    assert_int_equal(bad, 0);
}

static void compare(const cs_tensor_case *list, bool f32)
{
    compare_on(open_backend(f32, false), list, "");
}

/* cuBLASLt's argument lists: transposes, sums, biases, GELU with what was before it. */
TEST(products_of_the_library)
{
    for (int f32 = 0; f32 < 2; ++f32) {
        compare_on(open_with((cs_device_options){.f32 = f32}), cs_tensor_cases, "linear");
        compare_on(open_with((cs_device_options){.f32 = f32}), cs_cuda_cases, "linear");
    }
}

int refused(cs_backend *backend)
{
    cs_backend_count row = {.what = ""};
    int found = 0;
    for (int64_t i = 0; row.what; ++i) {
        OK(backend->counted(backend, i, &row));
        if (row.what && row.refused) {
            assert_non_null(strstr(row.what, "product "));
            assert_true(row.times > 0);
            ++found;
        }
    }
    return found;
}

static const cs_tensor_case *case_of(const cs_tensor_case *list, const char *name)
{
    while (list->name && strcmp(list->name, name) != 0) {
        ++list;
    }
    assert_non_null(list->name);
    return list;
}

/* A library without an algorithm for odd rows: the numbers stay right, and the refusal is reported.
 * Logits of any vocabulary have even ones. */
TEST(refused_products)
{
    static const char *const names[] = {"vocabulary of 50257", "vocabulary of 30522",
                                        "linear, bias"};
    emulate_strict(true);
    for (int f32 = 0; f32 < 2; ++f32) {
        for (int i = 0; i < 3; ++i) {
            CS_AUTO(cs_backend) *backend = open_with((cs_device_options){.f32 = f32});
            const cs_tensor_case *c = case_of(i < 2 ? cs_cuda_cases : cs_tensor_cases, names[i]);
            char why[CS_TENSOR_WHY] = "";
            if (!cs_tensor_compare(backend, c, why)) {
                fail_msg("%s: %s", c->name, why);
            }
            assert_int_equal(refused(backend) > 0, i == 2);
        }
    }
    emulate_strict(false);
}

/* Every launch between two events. */
TEST(kernels_are_timed)
{
    CS_AUTO(cs_backend) *backend = open_with((cs_device_options){.timed = true});
    cs_backend_count row = {.what = ""};
    char why[CS_TENSOR_WHY] = "";
    int kernels = 0, products = 0;
    assert_true(cs_tensor_compare(backend, &cs_tensor_cases[0], why));
    for (int64_t i = 0; row.what; ++i) {
        OK(backend->counted(backend, i, &row));
        kernels += row.what != NULL;
        products += row.what && strstr(row.what, "product ");
        assert_true(!row.what || (row.times > 0 && row.seconds > 0));
    }
    assert_true(kernels > 2 && products > 0);
}

/* The gradient of relative positions takes a separate pass only where it has to. */
TEST(relative_positions_on_the_way)
{
    static const char *const names[] = {
        "width 32, relative, dropout",
        "width 32, relative, more buckets than shared memory has memory for"};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_backend) *backend =
            open_with((cs_device_options){.timed = true, .own_products = true});
        cs_backend_count row = {.what = ""};
        char why[CS_TENSOR_WHY] = "";
        int own_pass = 0;
        if (!cs_tensor_compare(backend, case_of(cs_cuda_cases, names[i]), why)) {
            fail_msg("%s: %s", names[i], why);
        }
        for (int64_t r = 0; row.what; ++r) {
            OK(backend->counted(backend, r, &row));
            own_pass += row.what && strcmp(row.what, "table gradient") == 0;
        }
        assert_int_equal(own_pass, i);
    }
}

/* --- cards --------------------------------------------------------------------------------------- */

/* Shared memory that a block may have, in KiB: CUDA C++ Programming Guide 13.0, table "Technical
 * Specifications per Compute Capability". */
static const struct {
    int major, minor, shared;
} cards[] = {{8, 0, 163}, {8, 6, 99}, {8, 9, 99}, {9, 0, 227}, {10, 0, 227}, {12, 0, 99}};

static bool counted(cs_backend *backend, const char *kernel)
{
    cs_backend_count row = {.what = ""};
    bool found = false;
    for (int64_t i = 0; row.what; ++i) {
        OK(backend->counted(backend, i, &row));
        found = found || (row.what && strcmp(row.what, kernel) == 0);
    }
    return found;
}

static void attention_of_width(cs_tensor_net *net, const void *width)
{
    const int64_t cols = *(const int64_t *)width;
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 1, 2), at = cs_net_index(net, rows, cs_fill_position, 0);
    int x = cs_net_activation(net, "x", rows, cols);
    cs_attention_options o = {
        .vis = at, .lim = at, .table = CS_NONE, .pos_q = CS_NONE, .pos_k = CS_NONE, .heads = 1};
    cs_net_output(net, cs_graph_attention(g, x, x, x, &o));
}

/* The gradient of keys by plain kernels, which has 4 warps of 2 (width + 32) floats a block, needs
 * the most shared memory of all kernels. */
static void too_wide(const int64_t shared)
{
    const int64_t widest = shared * 1024 / 32 - 32, wider = widest + 1;
    const cs_tensor_case fits = {"wide head", NULL, attention_of_width, &widest};
    const cs_tensor_case fits_not = {"wider head", NULL, attention_of_width, &wider};
    CS_AUTO(cs_backend) *backend = open_with((cs_device_options){.f32 = true});
    char why[CS_TENSOR_WHY] = "";
    cs_tensor_world world;
    if (!cs_tensor_compare(backend, &fits, why)) {
        fail_msg("%d KiB: %s", (int)shared, why);
    }
    cs_tensor_open(&world, &fits_not, backend, true);
    cs_tensor_forward(&world);
    assert_fails(cs_run_backward(world.run), CS_ERR_USAGE,
                 "bytes of shared memory, but this GPU has");
    cs_tensor_close(&world);
}

/* On each card the widest heads run on tensor cores, and what does not fit is refused. */
TEST(shared_memory_of_cards)
{
    static const char *const names[] = {"width 128, causal, dropout, relative",
                                        "norm of 1030 columns"};
    for (size_t card = 0; card < sizeof cards / sizeof *cards; ++card) {
        emulate_card(cards[card].major, cards[card].minor, (size_t)cards[card].shared * 1024);
        for (int i = 0; i < 2; ++i) {
            CS_AUTO(cs_backend) *backend =
                open_with((cs_device_options){.timed = true, .own_products = true});
            char why[CS_TENSOR_WHY] = "";
            if (!cs_tensor_compare(backend, case_of(cs_cuda_cases, names[i]), why)) {
                fail_msg("%d.%d: %s: %s", cards[card].major, cards[card].minor, names[i], why);
            }
            assert_int_equal(counted(backend, "key gradient on tensor cores"), i == 0);
        }
        too_wide(cards[card].shared);
    }
    emulate_card(9, 0, (size_t)227 * 1024);
}

/* A card that the plug-in has no code for. */
TEST(older_card)
{
    cs_backend *backend = NULL;
    const cs_device_options options = {.f32 = true};
    emulate_card(7, 5, (size_t)64 * 1024);
    assert_fails(cs_plugin_open(cs_cuda_plugin(), &options, &backend), CS_ERR_DEVICE,
                 "has compute capability 7.5, but 8.0 is needed");
    emulate_card(9, 0, (size_t)227 * 1024);
}

TEST(shared_cases_f32)
{
    compare(cs_tensor_cases, true);
}

TEST(shared_cases_bf16)
{
    compare(cs_tensor_cases, false);
}

TEST(own_cases_f32)
{
    compare(cs_cuda_cases, true);
}

TEST(own_cases_bf16)
{
    compare(cs_cuda_cases, false);
}

/* Norm and updates, with and without clipping. */
TEST(updates)
{
    for (int f32 = 0; f32 < 2; ++f32) {
        CS_AUTO(cs_backend) *backend = open_backend(f32, false);
        char why[CS_TENSOR_WHY] = "";
        for (int clip = 0; clip < 2; ++clip) {
            if (!cs_tensor_check_adamw(backend, clip ? 0.5 : 0, why)) {
                fail_msg("%s", why);
            }
        }
    }
}

/* No bit of a row's output depends on a key that it must not see. */
static void leaks(const cs_tensor_case *list, bool f32)
{
    CS_AUTO(cs_backend) *backend = open_backend(f32, true);
    for (const cs_tensor_case *c = list; c->name; ++c) {
        char why[CS_TENSOR_WHY] = "";
        int64_t hidden = 0, seen = 0;
        bool masked = strstr(c->name, "strictly causal") || strstr(c->name, "query stream") ||
                      strstr(c->name, "empty rows");
        if (masked && !strstr(c->name, "128") &&
            !cs_tensor_check_leaks(backend, c, &hidden, &seen, why)) {
            fail_msg("%s: %s", c->name, why);
        }
        if (masked && !strstr(c->name, "128")) {
            assert_true(hidden > 0 && seen > 0);
        }
    }
}

TEST(no_leaks)
{
    leaks(cs_tensor_cases, true);
    leaks(cs_tensor_cases, false);
    leaks(cs_cuda_cases, false);
}

/* --- promises of the plug-in's memory and replay ---------------------------------------------- */

void step_from_zero(cs_tensor_world *world, cs_tensor_result *out)
{
    cs_tensor_must(cs_params_zero_grad(&world->net.params), "gradients");
    cs_tensor_step(world, out);
}

bool equal(const cs_tensor_result *a, const cs_tensor_result *b)
{
    bool same = a->blocks == b->blocks;
    for (int i = 0; same && i < a->blocks; ++i) {
        same = a->block[i].n == b->block[i].n &&
               memcmp(a->block[i].x, b->block[i].x, (size_t)a->block[i].n * sizeof(double)) == 0;
    }
    return same;
}

static void resize(cs_tensor_world *world, int64_t batch, int64_t length)
{
    cs_tensor_net *net = &world->net;
    net->batch[0] = batch;
    net->length[0] = length;
    cs_tensor_must(cs_run_rows(world->run, 0, batch, length), "sizes");
    for (int i = 0; i < net->indices; ++i) {
        cs_rng rng = cs_tensor_stream(world, CS_FILL_INDEX, i);
        for (int64_t r = 0; r < batch * length; ++r) {
            cs_run_index(world->run, net->index[i].tensor)[r] =
                net->index[i].fill(&rng, r / length, r % length, length, net->index[i].n);
        }
    }
    cs_tensor_must(cs_run_upload(world->run, (cs_run_key){.seed = 5}), "batch");
}

static void linear_of(cs_tensor_net *net, int64_t rows)
{
    int set = cs_net_rows(net, 2, rows), x = cs_net_activation(net, "x", set, 24);
    int w = cs_net_param(net, "w", 16, 24), b = cs_net_param(net, "b", 1, 16);
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, b, CS_ACT_GELU_TANH));
}

static void small_net(cs_tensor_net *net)
{
    linear_of(net, 30);
}

static void larger_net(cs_tensor_net *net)
{
    linear_of(net, 900);
}

const cs_tensor_case small_case = {"small", small_net, NULL, NULL};
static const cs_tensor_case larger_case = {"larger", larger_net, NULL, NULL};

/* One run at two sizes: what was captured for the one is not replayed for the other. */
TEST(two_sizes_on_one_run)
{
    static const int64_t size[][2] = {{2, 30}, {2, 30}, {2, 30}, {1, 30}, {2, 7},
                                      {2, 7},  {2, 7},  {1, 30}, {2, 30}, {2, 7}};
    cs_tensor_world replayed, launched;
    cs_backend *with = open_backend(false, false), *without = open_backend(false, true);
    cs_tensor_open(&replayed, &small_case, with, true);
    cs_tensor_open(&launched, &small_case, without, true);
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        cs_tensor_result got = {.blocks = 0}, want = {.blocks = 0};
        resize(&replayed, size[i][0], size[i][1]);
        resize(&launched, size[i][0], size[i][1]);
        step_from_zero(&replayed, &got);
        step_from_zero(&launched, &want);
        assert_int_equal(want.block[0].n, size[i][0] * size[i][1] * 16);
        assert_true(equal(&got, &want));
        cs_tensor_result_free(&got);
        cs_tensor_result_free(&want);
    }
    cs_tensor_close(&replayed);
    cs_tensor_close(&launched);
    cs_backend_free(&with);
    cs_backend_free(&without);
}

/* The larger run needs more scratch: what was captured with the old one, which the emulator puts
 * out of bounds, is not replayed. */
TEST(scratch_grows_between_replays)
{
    cs_tensor_world small, larger;
    CS_AUTO(cs_backend) *backend = open_backend(false, false);
    cs_tensor_result first = {.blocks = 0}, other = {.blocks = 0};
    cs_tensor_open(&small, &small_case, backend, true);
    cs_tensor_open(&larger, &larger_case, backend, true);
    step_from_zero(&small, &first);
    for (int i = 0; i < 6; ++i) {
        CS_AUTO(cs_tensor_result) again = {.blocks = 0};
        if (i == 2) {
            step_from_zero(&larger, &other);
        }
        step_from_zero(&small, &again);
        assert_true(equal(&first, &again));
    }
    cs_tensor_result_free(&first);
    cs_tensor_result_free(&other);
    cs_tensor_close(&small);
    cs_tensor_close(&larger);
}

/* More than the pinned slots hold, before anything has arrived: no slot is written over too early.
 */
TEST(many_puts_in_flight)
{
    enum { PUTS = 100 };
    CS_AUTO(cs_backend) *backend = open_backend(false, false);
    void *work = NULL;
    int64_t got[PUTS];
    cs_tensor_must(backend->alloc(backend, sizeof got, &work), "memory");
    for (int64_t i = 0; i < PUTS; ++i) {
        int64_t sent = 3 * i;
        cs_tensor_must(backend->put(backend, (int64_t *)work + i, &sent, sizeof sent), "put");
    }
    cs_tensor_must(backend->get(backend, got, work, sizeof got), "get");
    for (int64_t i = 0; i < PUTS; ++i) {
        assert_int_equal(got[i], 3 * i);
    }
    backend->release(backend, work);
}

static void output_now(cs_tensor_world *world, double out[2 * 30 * 16])
{
    cs_tensor_forward(world);
    cs_tensor_must(cs_run_get(world->run, world->net.output[0], out), "output");
}

/* The output now, at the third forward and more a replay, is another than before, and that of
 * parameters rounded anew. */
static void parameters_are_seen(cs_tensor_world *world, double before[2 * 30 * 16])
{
    double now[2 * 30 * 16], anew[2 * 30 * 16];
    const cs_params *p = &world->net.params;
    output_now(world, now);
    assert_memory_not_equal(now, before, sizeof now);
    cs_tensor_must(world->backend->params_changed(world->backend, p->items, p->value), "rounding");
    output_now(world, anew);
    assert_memory_equal(now, anew, sizeof now);
    memcpy(before, now, sizeof now);
}

/* The bf16 copy follows every way in which parameters change. */
TEST(copies_of_parameters_follow)
{
    static const cs_adamw hyper = {
        .learning_rate = 0.1F, .beta1 = 0.9F, .beta2 = 0.9F, .eps = 1e-6F, .bias1 = 1, .bias2 = 1};
    cs_tensor_world world;
    CS_AUTO(cs_backend) *backend = open_backend(false, false);
    double before[2 * 30 * 16];
    cs_tensor_open(&world, &small_case, backend, true);
    cs_params *p = &world.net.params;
    int64_t bytes = p->items * (int64_t)sizeof(float);
    float *value = cs_tensor_zeros(p->items, sizeof *value);
    cs_tensor_must(cs_params_zero_grad(p), "gradients");
    output_now(&world, before);
    for (int i = 0; i < 3; ++i) { /* by the optimizer */
        cs_tensor_forward(&world);
        cs_tensor_backward(&world);
        cs_tensor_must(cs_params_update(p, &hyper), "update");
        parameters_are_seen(&world, before);
    }
    cs_tensor_must(backend->get(backend, value, p->value, bytes), "get");
    for (int64_t i = 0; i < p->items; ++i) {
        value[i] = -value[i];
    }
    cs_tensor_must(backend->put(backend, p->value, value, bytes), "put");
    parameters_are_seen(&world, before);
    const cs_param *w = &p->param[cs_params_find(p, "w")]; /* alone: what it multiplies stays */
    cs_tensor_must(backend->zero(backend, (float *)p->value + w->offset,
                                 w->rows * w->cols * (int64_t)sizeof(float)),
                   "zero");
    parameters_are_seen(&world, before);
    free(value);
    cs_tensor_close(&world);
}
