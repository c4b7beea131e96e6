/* The CUDA plug-in's own sources, executed by the emulator: every shared case of an operation in
 * float and bf16, and those of cuda_cases.c, against the reference in double, in orders of threads
 * and blocks that change from launch to launch. The third step of a comparison is a replayed graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"
#include "cuda_cases.h"
#include "tensor/device.h"
#include "tensor/plugin.h"

const cs_plugin *cs_cuda_plugin(void);
void emulate_shuffle(bool on);

static cs_backend *open_backend(bool f32, bool no_graphs)
{
    cs_backend *backend = NULL;
    cs_device_options options = {.f32 = f32, .no_graphs = no_graphs};
    cs_tensor_must(cs_plugin_open(cs_cuda_plugin(), &options, &backend), "emulation");
    emulate_shuffle(true);
    return backend;
}

static void compare(const cs_tensor_case *list, bool f32)
{
    cs_backend *backend = open_backend(f32, false);
    int bad = 0;
    for (const cs_tensor_case *c = list; c->name; ++c) {
        char why[CS_TENSOR_WHY] = "";
        /* in float, long attention is the plain kernel of the shared cases again */
        bool skipped = f32 && strncmp(c->name, "width ", 6) == 0;
        if (!skipped && !cs_tensor_compare(backend, c, why)) {
            print_error("%s: %s\n", c->name, why);
            ++bad;
        }
    }
    cs_backend_free(&backend);
    assert_int_equal(bad, 0);
}

static void shared_cases_f32(void **state)
{
    (void)state;
    compare(cs_tensor_cases, true);
}

static void shared_cases_bf16(void **state)
{
    (void)state;
    compare(cs_tensor_cases, false);
}

static void own_cases_f32(void **state)
{
    (void)state;
    compare(cs_cuda_cases, true);
}

static void own_cases_bf16(void **state)
{
    (void)state;
    compare(cs_cuda_cases, false);
}

/* Norm and updates, with and without clipping. */
static void updates(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; ++f32) {
        cs_backend *backend = open_backend(f32, false);
        char why[CS_TENSOR_WHY] = "";
        for (int clip = 0; clip < 2; ++clip) {
            if (!cs_tensor_check_adamw(backend, clip ? 0.5 : 0, why)) {
                fail_msg("%s", why);
            }
        }
        cs_backend_free(&backend);
    }
}

/* No bit of a row's output depends on a key that it must not see. */
static void leaks(const cs_tensor_case *list, bool f32)
{
    cs_backend *backend = open_backend(f32, true);
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
    cs_backend_free(&backend);
}

static void no_leaks(void **state)
{
    (void)state;
    leaks(cs_tensor_cases, true);
    leaks(cs_tensor_cases, false);
    leaks(cs_cuda_cases, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_cases_f32), cmocka_unit_test(shared_cases_bf16),
        cmocka_unit_test(own_cases_f32),    cmocka_unit_test(own_cases_bf16),
        cmocka_unit_test(updates),          cmocka_unit_test(no_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
