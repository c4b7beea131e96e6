/* The operations of src/tensor: central differences, and what their definitions promise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tensor_support.h"

#define OK(call) assert_int_equal((call), CS_OK)

static cs_backend *double_backend(void)
{
    cs_backend *backend = NULL;
    OK(cs_backend_ref64(&backend));
    return backend;
}

/* --- gradients -------------------------------------------------------------------------------- */

static void test_gradients(void **state)
{
    (void)state;
    cs_backend *backend = double_backend();
    char why[CS_TENSOR_WHY];
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        if (!cs_tensor_check_gradients(c, backend, why)) {
            fail_msg("%s: %s", c->name, why);
        }
    }
    cs_backend_free(&backend);
}

static cs_status does_nothing(const cs_run *run, const cs_op *op)
{
    (void)run;
    (void)op;
    return CS_OK;
}

/* The check of gradients sees a backward function that does nothing, in every case that has the
 * operation (but for those built to have zero gradients). */
static void test_idle_backward(void **state)
{
    (void)state;
    cs_backend *backend = double_backend();
    char why[CS_TENSOR_WHY];
    for (int kind = 0; kind < CS_OP_COUNT; ++kind) {
        cs_status (*works)(const cs_run *, const cs_op *) = backend->backward[kind];
        int cases = 0;
        backend->backward[kind] = does_nothing;
        for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
            cs_tensor_world world;
            cs_tensor_open(&world, c, backend, true);
            bool has = false, still = world.net.stillness;
            for (int64_t i = 0; i < world.net.graph.ops; ++i) {
                has = has || (world.net.graph.op[i].kind == (cs_op_kind)kind &&
                              world.net.graph.op[i].backward);
            }
            cs_tensor_close(&world);
            if (has && !still) {
                ++cases;
                if (cs_tensor_check_gradients(c, backend, why)) {
                    fail_msg("%s: passes with idle backward %d", c->name, kind);
                }
            }
        }
        assert_true(cases > 0);
        backend->backward[kind] = works;
    }
    cs_backend_free(&backend);
}

static void test_float(void **state)
{
    (void)state;
    cs_backend *backend = NULL;
    char why[CS_TENSOR_WHY];
    OK(cs_backend_ref(&backend));
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        if (!cs_tensor_compare(backend, c, why)) {
            fail_msg("%s: %s", c->name, why);
        }
    }
    cs_backend_free(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_idle_backward),
        cmocka_unit_test(test_float),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
