/* The reference backend: central differences, float against double, and what every backend
 * promises. Values by hand are in test_tensor_values.c. */
#include "backend_ref.h"
#include "tensor_support.h"
#include "test.h"

static cs_backend *double_backend(void)
{
    cs_backend *backend = NULL;
    OK(cs_backend_ref64(&backend));
    return backend;
}

static const cs_tensor_case *const TRAINED[] = {cs_tensor_cases, cs_tensor_part_cases};

/* --- gradients -------------------------------------------------------------------------------- */

TEST(test_gradients)
{
    CS_AUTO(cs_backend) *backend = double_backend();
    char why[CS_TENSOR_WHY];
    for (int list = 0; list < 2; ++list) {
        for (const cs_tensor_case *c = TRAINED[list]; c->name; ++c) {
            if (!cs_tensor_check_gradients(c, backend, why)) {
                fail_msg("%s: %s", c->name, why);
            }
        }
    }
}

static cs_status does_nothing(const cs_run *run, const cs_op *op)
{
    (void)run;
    (void)op;
    return CS_OK;
}

/* Checks that each case of a list in which an operation has a gradient fails without it, except
 * those built to have zero gradients. */
static int fails_idle(const cs_tensor_case *list, cs_backend *backend, cs_op_kind kind)
{
    char why[CS_TENSOR_WHY];
    int cases = 0;
    for (const cs_tensor_case *c = list; c->name; ++c) {
        CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
        cs_tensor_open(&world, c, backend, true);
        bool still = world.net.stillness;
        bool has = ANY(i, 0, world.net.graph.ops,
                       (world.net.graph.op[i].kind == kind && world.net.graph.op[i].backward));
        if (has && !still) {
            ++cases;
            if (cs_tensor_check_gradients(c, backend, why)) {
                fail_msg("%s: passes with idle backward %d", c->name, kind);
            }
        }
    }
    return cases;
}

/* The check of gradients sees a backward function that does nothing. */
TEST(test_idle_backward)
{
    CS_AUTO(cs_backend) *backend = double_backend();
    for (int kind = 0; kind < CS_OP_COUNT; ++kind) {
        cs_status (*works)(const cs_run *, const cs_op *) = backend->backward[kind];
        int cases = 0;
        backend->backward[kind] = does_nothing;
        for (int list = 0; list < 2; ++list) {
            cases += fails_idle(TRAINED[list], backend, (cs_op_kind)kind);
        }
        assert_true(cases > 0 || kind == CS_OP_EXPERTS); /* never trained */
        backend->backward[kind] = works;
    }
}

TEST(test_float)
{
    const cs_tensor_case *list[] = {cs_tensor_cases, cs_tensor_part_cases, cs_tensor_large_cases};
    char why[CS_TENSOR_WHY];
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    for (int i = 0; i < 3; ++i) {
        for (const cs_tensor_case *c = list[i]; c->name; ++c) {
            if (!cs_tensor_compare(backend, c, why)) {
                fail_msg("%s: %s", c->name, why);
            }
        }
    }
}

/* --- promises of every backend ---------------------------------------------------------------- */

static void both(void (*check)(cs_backend *backend))
{
    CS_AUTO(cs_backend) *backend = double_backend();
    check(backend);
    cs_backend_free(&backend);
    OK(cs_backend_ref(&backend));
    check(backend);
}

static void check_leaks(cs_backend *backend)
{
    char why[CS_TENSOR_WHY];
    int64_t hidden, seen, all_hidden = 0, all_seen = 0;
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        if (strstr(c->name, "attention") && c->build_with) {
            if (!cs_tensor_check_leaks(backend, c, &hidden, &seen, why)) {
                fail_msg("%s: %s", c->name, why);
            }
            all_hidden += hidden;
            all_seen += seen;
        }
    }
    assert_true(all_hidden > 1000);
    assert_true(all_seen > 1000);
}

TEST(test_leaks)
{
    both(check_leaks);
}

static void check_adamw(cs_backend *backend)
{
    char why[CS_TENSOR_WHY];
    const double clip[] = {0, 0.25, 1e3};
    for (int i = 0; i < 3; ++i) {
        if (!cs_tensor_check_adamw(backend, clip[i], why)) {
            fail_msg("clip %g: %s", clip[i], why);
        }
    }
}

TEST(test_adamw)
{
    both(check_adamw);
}

/* --- without training ------------------------------------------------------------------------- */

/* The same outputs where nothing is dropped, in less memory. */
TEST(test_evaluation)
{
    CS_AUTO(cs_backend) *backend = double_backend();
    int same = 0;
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        CS_AUTO_BY(cs_tensor_close, cs_tensor_world) train = {0}, eval = {0};
        cs_tensor_open(&train, c, backend, true);
        cs_tensor_open(&eval, c, backend, false);
        cs_tensor_poison(&train);
        cs_tensor_poison(&eval);
        cs_tensor_forward(&train);
        cs_tensor_forward(&eval);
        double a = cs_tensor_objective(&train), b = cs_tensor_objective(&eval);
        assert_true(isfinite(a) && isfinite(b));
        same += a == b;
        assert_int_equal(cs_run_backward(eval.run), CS_ERR_USAGE);
        cs_reason_clear();
    }
    assert_true(same > 40);
}

/* The loss writes its gradient over the logits: a second reader would see that, and is refused. */
TEST(test_shared_logits)
{
    for (int other = 0; other < 3; ++other) { /* reader before, reader behind, none */
        CS_AUTO(cs_graph) g = {0};
        cs_graph_init(&g, true);
        int rows = cs_graph_rows(&g, 2, 3), table = cs_graph_param(&g, "t", 6, 4, 0, true);
        int index = cs_graph_index(&g, rows, "i"), weight = cs_graph_input(&g, rows, 1, "weight");
        int z = cs_graph_embed(&g, CS_NONE, rows, 1, &table, &index);
        if (other == 0) {
            (void)cs_graph_add(&g, z, z, 0);
        }
        (void)cs_graph_cross_entropy(&g, z, 4, index, weight);
        if (other == 1) {
            (void)cs_graph_gather(&g, z, rows, index);
        }
        assert_int_equal(cs_graph_finish(&g), other == 2 ? CS_OK : CS_ERR_USAGE);
        assert_true(other == 2 || strstr(cs_reason(), "4 columns") != NULL);
        cs_reason_clear();
    }
}

TEST(test_memory)
{
    cs_backend *backend = NULL;
    void *memory = NULL;
    (void)cs_mem_fail_at(1);
    assert_int_equal(cs_backend_ref(&backend), CS_ERR_MEMORY);
    (void)cs_mem_fail_at(0);
    cs_reason_clear();
    cs_backend_free(&backend);
    OK(cs_backend_ref(&backend));
    (void)cs_mem_fail_at(1);
    assert_int_equal(backend->alloc(backend, 8, &memory), CS_ERR_MEMORY);
    (void)cs_mem_fail_at(0);
    cs_reason_clear();
    cs_backend_free(&backend);
    assert_null(backend);
    assert_int_equal(cs_real_size(CS_REAL_F32), 4);
    assert_int_equal(cs_real_size(CS_REAL_F64), 8);
    assert_int_equal(cs_real_size(CS_REAL_BF16), 2);
}
