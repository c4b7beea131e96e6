/* Weight gradients by the fastest of cuBLASLt's algorithms (gemm.cu), replaced here by an emulation
 * whose algorithms take emulated time (libraries_products.cpp): which one is called how often, what
 * the search leaves alone, and what becomes of algorithms, memory and calls that fail. */
#include "../test.h"
#include "base/mem.h"
#include "emulated.h"

void emulate_memory_failure(int count);
void emulate_library_failure(int calls);
int64_t emulate_pieces(void);
void emulate_usable_algorithms(int count);
int64_t emulate_algorithm_calls(int algorithm);

/* The emulated algorithms (libraries_products.cpp): the first offered, two that cannot be used, one
 * that fails when run, the fastest, the second fastest. */
enum { FIRST, REFUSED, TOO_LARGE, FAILING, FASTEST, SECOND, ALGORITHMS };

static const cs_device_options searching = {.search_products = true};

typedef struct {
    int64_t of[ALGORITHMS];
} calls;

/* Products that each algorithm was called for since then. */
static calls calls_since(const calls *before)
{
    calls now;
    for (int i = 0; i < ALGORITHMS; ++i) {
        now.of[i] = emulate_algorithm_calls(i) - (before ? before->of[i] : 0);
    }
    return now;
}

/* A step's calls. */
static calls calls_of(cs_tensor_world *world, cs_tensor_result *out)
{
    const calls before = calls_since(NULL);
    step_from_zero(world, out);
    return calls_since(&before);
}

static void assert_calls(calls got, int64_t first, int64_t failing, int64_t fastest, int64_t second)
{
    const int64_t want[ALGORITHMS] = {
        [FIRST] = first, [FAILING] = failing, [FASTEST] = fastest, [SECOND] = second};
    for (int i = 0; i < ALGORITHMS; ++i) {
        assert_int_equal(got.of[i], want[i]);
    }
}

/* Steps of the small case: y, x' and, searched for in the first step, w'. Four calls time one. */
TEST(fastest_products)
{
    for (int no_graphs = 0; no_graphs < 2; ++no_graphs) {
        cs_backend *backend =
            open_with((cs_device_options){.search_products = true, .no_graphs = no_graphs != 0});
        cs_tensor_result first, again;
        cs_tensor_world world;
        assert_true(backend->by_clock);
        cs_tensor_open(&world, &small_case, backend, true);
        assert_calls(calls_of(&world, &first), 2 + 4, 1, 4 + 1, 4);
        for (int i = 0; i < 4; ++i) { /* launched or captured, the last ones replayed */
            const calls got = calls_of(&world, &again);
            assert_true(equal(&first, &again));
            cs_tensor_result_free(&again);
            assert_calls(got, got.of[FIRST], 0, got.of[FASTEST], 0);
            if (no_graphs || i == 3) {
                assert_calls(got, no_graphs ? 2 : 0, 0, no_graphs ? 1 : 0, 0);
            }
        }
        cs_tensor_result_free(&first);
        assert_int_equal(refused(backend), 0);
        cs_tensor_close(&world);
        cs_backend_free(&backend);
        assert_int_equal(emulate_pieces(), 0);
    }
}

/* Not requested, or products in float. */
TEST(first_products)
{
    static const cs_device_options plain[] = {{.f32 = false},
                                              {.f32 = true, .search_products = true}};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_backend) *backend = open_with(plain[i]);
        cs_tensor_result result;
        cs_tensor_world world;
        assert_false(backend->by_clock);
        cs_tensor_open(&world, &small_case, backend, true);
        assert_calls(calls_of(&world, &result), 3, 0, 0, 0);
        cs_tensor_result_free(&result);
        cs_tensor_close(&world);
    }
}

/* Right to the same tolerance, the same bits again, gradients added to what was there. */
TEST(fastest_products_are_right)
{
    compare_on(open_with(searching), cs_tensor_cases, "");
    compare_on(open_with(searching), cs_cuda_cases, "linear");
    assert_int_equal(emulate_pieces(), 0);
}

/* One product backward, w', and no scratch. */
static void alone_net(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 2, 30);
    int x = cs_net_of_table(net, rows, cs_net_frozen(net, "x", 60, 24));
    int w = cs_net_param(net, "w", 160, 24);
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, CS_NONE, CS_ACT_NONE));
}

static const cs_tensor_case alone_case = {"alone", alone_net, NULL, NULL};

/* The search for another shape leaves what was captured: it is replayed, without a call. */
TEST(search_between_replays)
{
    CS_AUTO(cs_backend) *backend = open_with(searching);
    cs_tensor_world small, other;
    cs_tensor_result first, again;
    cs_tensor_open(&small, &small_case, backend, true);
    cs_tensor_open(&other, &alone_case, backend, true);
    for (int i = 0; i < 4; ++i) {
        step_from_zero(&small, &first);
        cs_tensor_result_free(&first);
    }
    step_from_zero(&small, &first);
    assert_calls(calls_of(&other, &again), 1 + 4, 1, 4 + 1, 4);
    cs_tensor_result_free(&again);
    assert_calls(calls_of(&small, &again), 0, 0, 0, 0);
    assert_true(equal(&first, &again));
    cs_tensor_result_free(&first);
    cs_tensor_result_free(&again);
    cs_tensor_close(&small);
    cs_tensor_close(&other);
}

enum { ALONE = 160 * 24 };

/* The gradient of w, where the algorithms from `usable` on fail in backward; products refused. */
static calls alone(cs_device_options options, int usable, int refusals, double out[ALONE])
{
    CS_AUTO(cs_backend) *backend = open_with(options);
    cs_tensor_world world;
    cs_tensor_open(&world, &alone_case, backend, true);
    cs_tensor_must(cs_params_zero_grad(&world.net.params), "gradients");
    cs_tensor_forward(&world);
    const calls before = calls_since(NULL);
    emulate_usable_algorithms(usable);
    cs_tensor_backward(&world);
    emulate_usable_algorithms(ALGORITHMS);
    const calls made = calls_since(&before);
    const int64_t w = cs_params_find(&world.net.params, "w");
    cs_tensor_must(cs_params_get64(&world.net.params, w, CS_PARAM_GRAD, out), "gradient");
    assert_int_equal(refused(backend), refusals);
    cs_tensor_close(&world);
    return made;
}

/* The next best; our own kernel where none is left, which is reported. Sums of these numbers are
 * exact. */
TEST(products_that_fail_when_timed)
{
    double own[ALONE], got[ALONE];
    assert_calls(alone((cs_device_options){.own_products = true}, ALGORITHMS, 0, own), 0, 0, 0, 0);
    assert_calls(alone(searching, ALGORITHMS, 0, got), 4, 1, 4 + 1, 4);
    assert_memory_equal(got, own, sizeof got);
    assert_calls(alone(searching, FASTEST, 0, got), 4 + 1, 1, 1, 1);
    assert_memory_equal(got, own, sizeof got);
    assert_calls(alone(searching, FIRST, 1, got), 1, 1, 1, 1);
    assert_memory_equal(got, own, sizeof got);
}

/* The status of a first step in which allocation `host` (from 1, 0: none), allocation `device` or call
 * `library` (from 0, -1: none) fails; the backend's numbers are right afterwards. */
static cs_status failing_step(int64_t host, int device, int library)
{
    cs_backend *backend = open_with(searching);
    cs_tensor_world world;
    char why[CS_TENSOR_WHY] = "";
    cs_tensor_open(&world, &small_case, backend, true);
    cs_tensor_poison(&world);
    (void)cs_mem_fail_at(host);
    emulate_memory_failure(device);
    emulate_library_failure(library);
    cs_status status = cs_run_forward(world.run);
    if (status == CS_OK) status = cs_run_backward(world.run);
    (void)cs_mem_fail_at(0);
    emulate_memory_failure(-1);
    emulate_library_failure(-1);
    cs_tensor_close(&world);
    if (!cs_tensor_compare(backend, &small_case, why)) { /* by the plans that were made */
        fail_msg("%s", why);
    }
    assert_true(library >= 0 || refused(backend) == 0); /* nor is what lacked memory given up */
    cs_backend_free(&backend);
    assert_int_equal(emulate_pieces(), 0);
    return status;
}

TEST(searches_without_memory)
{
    int64_t host = 1, device = 0;
    cs_status status = CS_OK;
    for (; (status = failing_step(host, -1, -1)) != CS_OK; ++host) {
        assert_int_equal(status, CS_ERR_MEMORY);
        expect_reason("out of memory");
    }
    for (; (status = failing_step(0, (int)device, -1)) != CS_OK; ++device) {
        assert_int_equal(status, CS_ERR_MEMORY);
        expect_reason("GPU memory: ");
    }
    assert_true(host > 2 && device > 2);
}

/* Where an algorithm fails when it is timed another is taken; the product itself must not fail. */
TEST(searches_with_failing_calls)
{
    /* y: its algorithm, itself; w': algorithms, 4 + 1 + 4 + 4 times, itself; x' as y */
    enum { Y = 1, W = Y + 1 + 13 + 1, X = W + 2 };
    for (int n = 0; n <= X + 1; ++n) {
        cs_status status = failing_step(0, -1, n);
        const bool itself = n == Y || n == W || n == X;
        assert_int_equal(status, itself ? CS_ERR_DEVICE : CS_OK);
        if (itself) {
            expect_reason("cuBLASLt product: ");
        }
    }
}
