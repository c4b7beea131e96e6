/* The fast CPU backend: against the reference with every vector unit of this machine, one result
 * for any number of threads, the error bounds of its functions. */
#include "backend_ref.h"
#include "base/threads.h"
#include "tensor/cpu_private.h"
#include "tensor_support.h"
#include "test.h"

static const char unit_base[] = "base", unit_avx2[] = "avx2", unit_avx512[] = "avx512";

static cs_backend *open_cpu(int threads, const char *unit)
{
    cs_backend *backend = NULL;
    OK(cs_cpu_open(threads, unit, &backend));
    return backend;
}

/* --- a small transformer, longer than every block --------------------------------------------- */

enum { ROWS = 150, WIDTH = 72, WORDS = 530 };

static int block(cs_tensor_net *net, int x, const cs_attention_options *o, int *sum)
{
    cs_graph *g = &net->graph;
    int gain = cs_net_param(net, "gain", 1, WIDTH), bias = cs_net_param(net, "bias", 1, WIDTH);
    int w = cs_net_param(net, "qkv", 3 * WIDTH, WIDTH);
    int b = cs_net_param(net, "qkv bias", 1, 3 * WIDTH);
    int h = cs_graph_layer_norm(g, x, CS_NONE, 0,
                                (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, NULL);
    int qkv = cs_graph_linear(g, h, w, b, CS_ACT_NONE);
    int y =
        cs_graph_attention(g, cs_graph_cols(g, qkv, 0, WIDTH), cs_graph_cols(g, qkv, WIDTH, WIDTH),
                           cs_graph_cols(g, qkv, 2 * WIDTH, WIDTH), o);
    int up = cs_net_param(net, "up", 5 * WIDTH + 1, WIDTH);
    int down = cs_net_param(net, "down", WIDTH, 5 * WIDTH + 1);
    h = cs_graph_layer_norm(g, x, y, 0.125, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5},
                            sum);
    return cs_graph_linear(g, cs_graph_linear(g, h, up, CS_NONE, CS_ACT_GELU_TANH), down, CS_NONE,
                           CS_ACT_NONE);
}

static void transformer(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 2, ROWS);
    int words = cs_net_param(net, "words", WORDS, WIDTH);
    int places = cs_net_param(net, "places", ROWS, WIDTH), near = cs_net_param(net, "near", 8, 3);
    int position = cs_net_index(net, rows, cs_fill_position, 0);
    const int table[] = {words, places};
    const int index[] = {cs_net_index(net, rows, cs_fill_some, WORDS), position};
    cs_attention_options o = {.vis = cs_net_index(net, rows, cs_fill_group, 0),
                              .lim = cs_net_index(net, rows, cs_fill_group, 0),
                              .table = near,
                              .pos_q = position,
                              .pos_k = position,
                              .heads = 3,
                              .max_distance = 32,
                              .bidirectional = true,
                              .scale = 0.01, /* scores of order one: well-conditioned gradients */
                              .p = 0.125};
    int x = cs_graph_embed(g, CS_NONE, rows, 2, table, index), r, sum;
    r = block(net, x, &o, &sum);
    x = cs_graph_add(g, sum, r, 0.125);
    r = block(net, x, &o, &sum);
    x = cs_graph_add(g, sum, r, 0);
    int gain = cs_net_param(net, "last gain", 1, WIDTH);
    x = cs_graph_layer_norm(g, x, CS_NONE, 0, (cs_norm){.gain = gain, .bias = CS_NONE, .eps = 1e-5},
                            NULL);
    int logits = cs_graph_linear(g, x, words, CS_NONE, CS_ACT_NONE);
    cs_net_loss(net, cs_graph_cross_entropy(g, logits, WORDS,
                                            cs_net_index(net, rows, cs_fill_some, WORDS),
                                            cs_net_input(net, rows, 1, 0, 1)));
}

static const cs_tensor_case large = {.name = "transformer", .build = transformer};

/* --- against the reference -------------------------------------------------------------------- */

/* The test with each unit of kernels, whose name is its state. */
#define TEST_EACH_UNIT(name)                                                                       \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_is_listed(void)                                \
    {                                                                                              \
        test_add(                                                                                  \
            (struct CMUnitTest){#name " base", name, NULL, NULL, (void *)(uintptr_t)unit_base});   \
        test_add(                                                                                  \
            (struct CMUnitTest){#name " avx2", name, NULL, NULL, (void *)(uintptr_t)unit_avx2});   \
        test_add((struct CMUnitTest){#name " avx512", name, NULL, NULL,                            \
                                     (void *)(uintptr_t)unit_avx512});                             \
    }                                                                                              \
    static void name(void **state)

TEST_EACH_UNIT(test_reference)
{
    const char *unit = *state;
    char why[CS_TENSOR_WHY];
    int64_t hidden, seen;
    if (!cs_cpu_kernels_named(unit)) {
        skip();
    }
    CS_AUTO(cs_backend) *backend = open_cpu(3, unit);
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        if (!cs_tensor_compare(backend, c, why)) {
            fail_msg("%s, %s: %s", unit, c->name, why);
        }
        if (strstr(c->name, "attention") && c->build_with &&
            !cs_tensor_check_leaks(backend, c, &hidden, &seen, why)) {
            fail_msg("%s, %s leaks: %s", unit, c->name, why);
        }
    }
    for (const cs_tensor_case *c = cs_tensor_part_cases; c->name; ++c) {
        if (!cs_tensor_compare(backend, c, why)) {
            fail_msg("%s, %s: %s", unit, c->name, why);
        }
    }
    for (int clip = 0; clip < 3; ++clip) {
        if (!cs_tensor_check_adamw(backend, clip * 0.25, why)) {
            fail_msg("%s, clip %d: %s", unit, clip, why);
        }
    }
}

/* More rows of an expert than the CPU's blocks, and experts of no row. */
enum { EXPERTS = 7, CHOSEN = 3, UNITS = 11, OF_EXPERTS = 18, EXPERT_ROWS = 3 * 200 };

static void experts(cs_tensor_net *net, const void *normalised)
{
    const int rows = cs_net_rows(net, 3, 200), x = cs_net_activation(net, "x", rows, OF_EXPERTS);
    const cs_experts o = {.scores = cs_net_activation(net, "scores", rows, EXPERTS),
                          .in = cs_net_param(net, "in", EXPERTS * 2 * UNITS, OF_EXPERTS),
                          .out = cs_net_param(net, "out", EXPERTS * OF_EXPERTS, UNITS),
                          .chosen = CHOSEN,
                          .act = CS_ACT_SILU,
                          .normalised = *(const bool *)normalised};
    cs_net_output(net, cs_graph_experts(&net->graph, x, &o));
}

static void mix_experts(cs_backend *backend, bool normalised, double *y)
{
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    const cs_tensor_case c = {.name = "experts", .build_with = experts, .setting = &normalised};
    cs_tensor_open(&world, &c, backend, false);
    cs_tensor_poison(&world);
    cs_tensor_forward(&world);
    OK(cs_run_get(world.run, world.net.output[0], y));
}

TEST_EACH_UNIT(test_experts)
{
    enum { ITEMS = EXPERT_ROWS * OF_EXPERTS };
    static double exact[ITEMS], y[2][ITEMS];
    const char *unit = *state;
    if (!cs_cpu_kernels_named(unit)) {
        skip();
    }
    AUTO_OK(cs_backend, *ref, cs_backend_ref64(&ref));
    for (int normalised = 0; normalised < 2; ++normalised) {
        mix_experts(ref, normalised > 0, exact);
        for (int threads = 1; threads < 4; threads += 2) {
            CS_AUTO(cs_backend) *backend = open_cpu(threads, unit);
            mix_experts(backend, normalised > 0, y[threads / 2]);
        }
        assert_memory_equal(y[0], y[1], sizeof *y);
        assert_each(i, 0, ITEMS, fabs(y[0][i] - exact[i]) < 1e-4);
        assert_true(ANY(i, 0, ITEMS, fabs(exact[i]) > 10));
    }
}

TEST(experts_that_do_not_fit_are_refused)
{
    CS_AUTO(cs_graph) graph = {0};
    cs_graph_init(&graph, true);
    const int rows = cs_graph_rows(&graph, 1, 4), token = cs_graph_index(&graph, rows, "token"),
              table = cs_graph_param(&graph, "table", 9, 6, 0, true),
              x = cs_graph_embed(&graph, CS_NONE, rows, 1, &table, &token);
    const cs_experts o = {.scores = x, .in = table, .out = table, .chosen = 2};
    assert_int_equal(cs_graph_experts(&graph, x, &o), CS_NONE);
    assert_fails(cs_graph_finish(&graph), CS_ERR_USAGE, "experts are not supported in training");
    graph.training = false;
    graph.status = CS_OK;
    assert_int_equal(cs_graph_experts(&graph, x, &o), CS_NONE);
    assert_fails(cs_graph_finish(&graph), CS_ERR_USAGE, "experts: table is 9 x 6");
}

TEST_EACH_UNIT(test_large)
{
    const char *unit = *state;
    char why[CS_TENSOR_WHY];
    if (!cs_cpu_kernels_named(unit)) {
        skip();
    }
    CS_AUTO(cs_backend) *backend = open_cpu(2, unit);
    if (!cs_tensor_compare(backend, &large, why)) {
        fail_msg("%s, %s: %s", unit, large.name, why);
    }
    for (const cs_tensor_case *c = cs_tensor_large_cases; c->name; ++c) {
        if (!cs_tensor_compare(backend, c, why)) {
            fail_msg("%s, %s: %s", unit, c->name, why);
        }
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Bits of everything that two steps with an update between them leave behind. */
static uint64_t bits_after(int threads, const cs_tensor_case *what)
{
    const cs_adamw hyper = {0.01F, 0.9F, 0.99F, 1e-8F, 0.1F, 1.0F, 0.1F, 0.01F};
    CS_AUTO(cs_backend) *backend = open_cpu(threads, NULL);
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    uint64_t hash = 14695981039346656037U;
    cs_tensor_open(&world, what, backend, true);
    for (int step = 0; step < 2; ++step) {
        CS_AUTO(cs_tensor_result) result = {0};
        cs_tensor_step(&world, &result);
        for (int i = 0; i < result.blocks; ++i) {
            const unsigned char *byte = (const unsigned char *)result.block[i].x;
            for (size_t k = 0; k < (size_t)result.block[i].n * sizeof(double); ++k) {
                hash = (hash ^ byte[k]) * 1099511628211U;
            }
        }
        OK(cs_params_update(&world.net.params, &hyper));
    }
    return hash;
}

TEST(test_threads)
{
    const int threads[] = {1, 2, 3, 5};
    for (const cs_tensor_case *c = cs_tensor_cases; c; c = c == &large ? NULL : c + 1) {
        if (!c->name) {
            c = &large;
        }
        const uint64_t want = bits_after(1, c);
        for (int i = 0; i < 4; ++i) {
            if (bits_after(threads[i], c) != want) {
                fail_msg("%s: other bits with %d threads", c->name, threads[i]);
            }
        }
    }
}

/* --- products in parts ------------------------------------------------------------------------ */

typedef struct {
    int before[3];
    int after[3 * 1100];
} visits;

static void visit_before(void *ctx, int64_t row, int64_t rows)
{
    visits *v = ctx;
    for (int64_t r = row; r < row + rows; ++r) {
        ++v->before[r];
    }
}

static void visit_after(void *ctx, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    visits *v = ctx;
    for (int64_t r = row; r < row + rows; ++r) {
        for (int64_t c = col; c < col + cols; ++c) {
            ++v->after[r * 1100 + c];
        }
    }
}

/* Wider and deeper than what is packed at once: sums over k come in parts, the last with `after`.
 * Small integers: exact. */
TEST(test_parts)
{
    const int64_t m = 3, n = 1100, k = 16400;
    CS_AUTO(cs_backend) *backend = open_cpu(2, NULL);
    float *b = test_zeros(n * k, sizeof *b);
    float *c = test_zeros(m * n, sizeof *c);
    visits *v = test_zeros(1, sizeof *v);
    ARRAY(float, a, (m * k), i, (float)(i % 3 - 1));
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t s = 0; s < k; ++s) {
            b[j * k + s] = (float)((s + j) % 5 - 2);
        }
    }
    cs_cpu_product product = {.m = m,
                              .n = n,
                              .k = k,
                              .a = a,
                              .lda = k,
                              .a_along = true,
                              .b = b,
                              .ldb = k,
                              .b_along = true,
                              .c = c,
                              .ldc = n,
                              .bias = b,
                              .before = visit_before,
                              .after = visit_after,
                              .ctx = v};
    OK(cs_cpu_multiply((cs_cpu *)backend, &product));
    for (int64_t i = 0; i < m; ++i) {
        assert_int_equal(v->before[i], 1);
        for (int64_t j = 0; j < n; ++j) {
            int64_t sum = j % 5 - 2; /* the bias: the first items of b */
            for (int64_t s = 0; s < k; ++s) {
                sum += ((i * k + s) % 3 - 1) * ((s + j) % 5 - 2);
            }
            assert_int_equal(v->after[i * n + j], 1);
            assert_true(c[i * n + j] == (float)sum);
        }
    }
}

/* --- rows of padding -------------------------------------------------------------------------- */

enum { SEQUENCES = 6, LONGEST = 70, PADDED_ROWS = SEQUENCES * LONGEST };
static const int32_t live[SEQUENCES + 1] = {0, 70, 83, 83, 153, 223, 254}; /* one is empty */

static bool has_content(int64_t row)
{
    const int64_t b = row / LONGEST;
    return row % LONGEST < live[b + 1] - live[b];
}

/* rows x cols small integers; rows of padding are not a number, so that reading one shows. */
static float *padded_matrix(int64_t rows, int64_t cols, int64_t step, bool padded)
{
    float *x = test_zeros(rows * cols, sizeof *x);
    for (int64_t i = 0; i < rows * cols; ++i) {
        x[i] = padded && !has_content(i / cols) ? NAN : (float)((i * step + i / cols) % 7 - 3);
    }
    return x;
}

/* C = A B^T of the rows with content; the others of C stay as they were. */
static void check_padded_rows(cs_cpu *cpu, int64_t n, int64_t k)
{
    float *a = padded_matrix(PADDED_ROWS, k, 3, true), *b = padded_matrix(n, k, 5, false);
    float *c = padded_matrix(PADDED_ROWS, n, 1, false),
          *was = padded_matrix(PADDED_ROWS, n, 1, false);
    const cs_cpu_product product = {.m = PADDED_ROWS,
                                    .n = n,
                                    .k = k,
                                    .a = a,
                                    .lda = k,
                                    .a_along = true,
                                    .b = b,
                                    .ldb = k,
                                    .b_along = true,
                                    .c = c,
                                    .ldc = n,
                                    .rows = {live, SEQUENCES, LONGEST}};
    OK(cs_cpu_multiply(cpu, &product));
    for (int64_t i = 0; i < PADDED_ROWS; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0;
            for (int64_t s = 0; s < k && has_content(i); ++s) {
                sum += a[i * k + s] * b[j * k + s];
            }
            assert_true(c[i * n + j] == (has_content(i) ? sum : was[i * n + j]));
        }
    }
}

/* C += A^T B, the sums over the rows with content. */
static void check_padded_steps(cs_cpu *cpu, int64_t m, int64_t n)
{
    float *a = padded_matrix(PADDED_ROWS, m, 3, true), *b = padded_matrix(PADDED_ROWS, n, 5, true);
    float *c = padded_matrix(m, n, 1, false), *was = padded_matrix(m, n, 1, false);
    const cs_cpu_product product = {.m = m,
                                    .n = n,
                                    .k = PADDED_ROWS,
                                    .a = a,
                                    .lda = m,
                                    .b = b,
                                    .ldb = n,
                                    .c = c,
                                    .ldc = n,
                                    .add = true,
                                    .steps = {live, SEQUENCES, LONGEST}};
    OK(cs_cpu_multiply(cpu, &product));
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            float sum = was[i * n + j];
            for (int64_t r = 0; r < PADDED_ROWS; ++r) {
                sum += has_content(r) ? a[r * m + i] * b[r * n + j] : 0;
            }
            assert_true(c[i * n + j] == sum);
        }
    }
}

/* Narrow matrices are read without packing, others packed, in one block of k or several. */
TEST_EACH_UNIT(test_padding)
{
    if (!cs_cpu_kernels_named(*state)) {
        skip();
    }
    CS_AUTO(cs_backend) *backend = open_cpu(2, *state);
    cs_cpu *cpu = (cs_cpu *)backend;
    check_padded_rows(cpu, 20, 30);
    check_padded_rows(cpu, 20, 512);
    check_padded_rows(cpu, 300, 500);
    check_padded_steps(cpu, 20, 30);
    check_padded_steps(cpu, 97, 512);
    check_padded_steps(cpu, 300, 200);
}

/* --- functions -------------------------------------------------------------------------------- */

enum { GRID = 20001 };

static double exact_act(cs_activation act, double z)
{
    switch (act) {
    case CS_ACT_GELU_TANH:
        return 0.5 * z * (1 + tanh(sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    case CS_ACT_GELU_ERF:
        return 0.5 * z * erfc(-z * M_SQRT1_2);
    case CS_ACT_RELU:
        return z > 0 ? z : 0;
    default:
        return tanh(z);
    }
}

/* The bounds of cpu_math_private.h. GELU's inherits the argument's rounding: some units of z. */
TEST_EACH_UNIT(test_functions)
{
    const cs_cpu_kernels *kernels = cs_cpu_kernels_named(*state);
    if (!kernels) {
        skip();
    }
    static float y[GRID], z[GRID];
    ARRAY(float, x, GRID, i, (float)(i - GRID / 2) * 0.0012F);
    for (int act = CS_ACT_GELU_TANH; act <= CS_ACT_TANH; ++act) {
        memcpy(z, x, sizeof z);
        kernels->activate((cs_activation)act, GRID, z, y);
        for (int i = 0; i < GRID; ++i) {
            double want = exact_act((cs_activation)act, (double)x[i]);
            double bound = act == CS_ACT_TANH ? 4e-7 * fabs(want) : 4e-7 * fabs((double)x[i]);
            assert_true(fabs((double)y[i] - want) <= bound);
        }
    }
    for (int i = 0; i < GRID; ++i) {
        y[i] = x[i] * 7.24F; /* -86.9 .. 86.9 */
        z[i] = y[i];
    }
    (void)kernels->exp_store(GRID, 0, y);
    for (int i = 0; i < GRID; ++i) {
        double want = exp((double)z[i]);
        assert_true(fabs((double)y[i] - want) <= 3e-7 * want);
    }
    float edge[] = {-INFINITY, -1000, -87.5F, 1000, NAN, 0};
    (void)kernels->exp_store(6, 0, edge);
    assert_true(edge[0] == 0 && edge[1] == 0 && edge[2] == 0);
    assert_true(edge[3] > 1e38F && isnan(edge[4]) && edge[5] == 1);
}

/* Dropout as tensor/dropout.h draws it, at lengths around a vector's. */
TEST_EACH_UNIT(test_dropout)
{
    const cs_cpu_kernels *kernels = cs_cpu_kernels_named(*state);
    if (!kernels) {
        skip();
    }
    const cs_cpu_drop d = {0x123456789abcdefU, 7, 2, 77, 31, cs_drop_threshold(0.25), 2, true};
    for (int64_t n = 1; n < 140; n += 3) {
        float keep[140 + 1];
        keep[n] = -1;
        kernels->drop(&d, n, keep);
        assert_true(keep[n] == -1);
        for (int64_t i = 0; i < n; ++i) {
            cs_four_words w =
                cs_drop_words(d.seed, d.step, d.micro, d.purpose, d.row, (uint32_t)i / 4);
            assert_true(keep[i] == (w.word[i % 4] >= d.threshold ? 2.0F : 0.0F));
        }
    }
}

/* --- failures --------------------------------------------------------------------------------- */

TEST(test_names)
{
    cs_backend *backend = NULL;
    assert_fails(cs_cpu_open(1, "abacus", &backend), CS_ERR_DEVICE, "abacus");
}

/* A step whose scratch cannot be had says so, and the next one works. */
TEST(test_memory)
{
    int64_t failed = 0;
    for (bool done = false; !done; ++failed) {
        CS_AUTO(cs_backend) *backend = NULL;
        CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
        const cs_adamw hyper = {.learning_rate = 0.01F, .eps = 1, .bias1 = 1, .bias2 = 1};
        (void)cs_mem_fail_at(failed == 0 ? 1 : 0);
        cs_status status = cs_backend_cpu(2, &backend);
        (void)cs_mem_fail_at(0);
        if (failed == 0) {
            assert_int_equal(status, CS_ERR_MEMORY);
            cs_reason_clear();
            continue;
        }
        OK(status);
        cs_tensor_open(&world, &large, backend, true);
        (void)cs_mem_fail_at(failed);
        status = cs_run_forward(world.run);
        status = status == CS_OK ? cs_run_backward(world.run) : status;
        status = status == CS_OK ? cs_params_update(&world.net.params, &hyper) : status;
        (void)cs_mem_fail_at(0);
        done = status == CS_OK;
        assert_true(done || status == CS_ERR_MEMORY);
        cs_reason_clear();
        OK(cs_params_zero_grad(&world.net.params));
        OK(cs_run_forward(world.run));
        OK(cs_run_backward(world.run));
        OK(cs_params_update(&world.net.params, &hyper));
        assert_true(isfinite(cs_tensor_norm(&world.net.params)));
    }
    assert_true(failed > 5);
}

/* Runs last: the flag stays up. A step stops, an update does not. */
TEST(test_interrupt)
{
    const cs_adamw hyper = {.learning_rate = 1, .eps = 1, .bias1 = 1, .bias2 = 1};
    CS_AUTO(cs_backend) *backend = open_cpu(2, NULL);
    float value[] = {1, 2, 3}, grad[] = {0, 0, 0}, m[] = {4, 4, 4}, v[] = {0, 0, 0};
    const uint8_t decay[3] = {0};
    double norm = 0;
    const cs_update update = {3, value, grad, m, v, decay, &norm, &hyper};
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    cs_tensor_open(&world, &large, backend, true);
    cs_interrupt_set();
    assert_int_equal(cs_run_forward(world.run), CS_ERR_INTERRUPT);
    cs_reason_clear();
    OK(backend->adamw(backend, &update)); /* beta1 is 0: m becomes the gradient */
    assert_true(m[0] == 0 && m[1] == 0 && m[2] == 0 && value[2] == 3);
}
