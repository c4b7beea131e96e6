/* The fast CPU backend against the reference, and its promise of one result for any number of
 * threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/threads.h"
#include "tensor/cpu_private.h"
#include "tensor_support.h"

#define OK(call) assert_int_equal((call), CS_OK)

static const char *const units[] = {"base", "avx2", "avx512"};

/* Every case with every vector unit that this machine has. */
static void compare_all(const char *unit)
{
    cs_backend *backend = NULL;
    char why[CS_TENSOR_WHY];
    OK(cs_cpu_open(3, unit, &backend));
    for (const cs_tensor_case *c = cs_tensor_cases; c->name; ++c) {
        if (!cs_tensor_compare(backend, c, why)) {
            fail_msg("%s, %s: %s", unit, c->name, why);
        }
    }
    cs_backend_free(&backend);
}

static void test_reference(void **state)
{
    const char *unit = *state;
    if (!cs_cpu_kernels_named(unit)) {
        skip();
    }
    compare_all(unit);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        {"reference_base", test_reference, NULL, NULL, (void *)(uintptr_t)units[0]},
        {"reference_avx2", test_reference, NULL, NULL, (void *)(uintptr_t)units[1]},
        {"reference_avx512", test_reference, NULL, NULL, (void *)(uintptr_t)units[2]},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
